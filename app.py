"""Checkpoint Explorer: ``streamlit run app.py``. The frame is in ``ui/shell.py``, each screen in ``pages/``."""

from ui import shell

shell.main()
