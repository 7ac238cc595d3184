"""``python -m scripts.bench``: see :mod:`scripts.bench.compare`."""

import sys

from scripts.bench.compare import main

sys.exit(main())
