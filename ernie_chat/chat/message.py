"""What counts as a message, before anything is tokenised. Knows only characters."""

from __future__ import annotations

import regex

from ernie_chat.errors import EmptyMessage, MessageTooLarge

_VISIBLE = regex.compile(r"[^\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufffd]")
"""U+2800 is the Braille pattern without a dot, U+FFFD a character that got lost on the way."""


def checked(text: str, *, max_chars: int) -> str:
    """`text`, well-formed. Raises MessageTooLarge, or EmptyMessage when nothing in it can be
    seen: white space, zero-width and control characters don't make a message."""
    if len(text) > max_chars:
        raise MessageTooLarge(characters=len(text), limit=max_chars)
    text = well_formed(text)
    if not _VISIBLE.search(text):
        raise EmptyMessage
    return text


def well_formed(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates, which JSON can carry but UTF-8
    can't, replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
