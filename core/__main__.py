"""``python -m core``: see :mod:`core.cli`."""

import gc
import sys

from core.cli import main

gc.set_threshold(50_000, 20, 50)  # a short life with many objects that stay: looking for garbage is 1/6 of it
sys.exit(main())
