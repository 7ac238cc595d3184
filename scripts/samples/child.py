"""Runs one function of a sample in a process that will be killed: `python -m scripts.samples.child MODULE
FUNCTION SAMPLE`."""

import importlib
import sys

from scripts.samples.stage import Stage

if __name__ == "__main__":
    module, function, name = sys.argv[1:]
    getattr(importlib.import_module(module), function)(Stage(name))
