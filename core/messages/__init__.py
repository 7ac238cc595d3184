"""Every sentence a user reads: a key and its values in, the sentence out. The bottom room: it imports nothing
of the project.

Other rooms say ``say("forecast.resume", batch=12)``; the text stands in the module that the first part of the
key names (``core/messages/forecast.py``), under the rest of the key. A catalogue module holds ``SENTENCES``
and, where ids choose the text (findings, recipes), further tables that :func:`say_of` reads:
``say_of("findings", "ACTIONS", "OFFSET_GAP")``.

The result is a plain ``str`` that also remembers its ``key`` and ``values``: programs and tests compare
these, never the English.
"""

from core.messages.catalogue import Sentence, say, say_of

__all__ = ["Sentence", "say", "say_of"]
