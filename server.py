"""Checkpoint Explorer behind its gate: ``streamlit run server.py``, which is what ``scripts/run`` does."""

from streamlit.starlette import App

from ui.gate import GATE

app = App("app.py", middleware=[GATE])
