"""``python -m core``: see :mod:`core.cli`."""

import gc
import sys

from core.cli import main

gc.set_threshold(50_000, 20, 50)  # a short life with many objects that stay: looking for garbage is 1/6 of it
status = main()
gc.freeze()  # Python looks for garbage at its end too, in vain: a tenth of a short life
sys.exit(status)
