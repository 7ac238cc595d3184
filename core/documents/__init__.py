"""The JSON answer of every verb as a frozen dataclass, made from the facts by one function each.

One module per verb; ``base`` turns any of them into JSON. The published schemas are in ``docs/schema/``.
"""
