"""How the committed samples were made: real streaming queries, real crashes. Run by
`scripts/make_samples.py`."""
