"""Checkpoint Explorer: ``streamlit run app.py``. The frame: ``ui/shell.py``; each screen: ``pages/``."""

from ui import shell

shell.main()
