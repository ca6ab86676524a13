"""What is a message, and what isn't (C-8)."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from ernie_chat.chat.message import checked, well_formed
from ernie_chat.errors import EmptyMessage, MessageTooLarge


@pytest.mark.parametrize(
    "text",
    ["", " ", "\n", "\t\r\n", "\u3000", "\u200b\u200d\ufeff", "\u2060\u00ad", "\u3164",
     "\u2800", "\ufe0f", "\x00\x1b", "\u200b" * 5000, "\ud83d"],
)  # fmt: skip
def test_nothing_to_see_is_no_message(text: str) -> None:
    with pytest.raises(EmptyMessage):
        checked(text, max_chars=10_000)


def test_no_format_or_space_character_makes_a_message() -> None:
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zs", "Zl", "Zp"):
            with pytest.raises(EmptyMessage):
                checked(chr(code), max_chars=1)


@pytest.mark.parametrize(
    "text",
    [".", "你", "👨‍👩‍👧", "🏳️‍🌈", "می‌خواهم", "क्‍ष", "\u0301", " a ", "\u200bx\u200b", "0"],
)
def test_anything_to_see_is_left_as_it_is(text: str) -> None:
    assert checked(text, max_chars=20) == text


def test_size() -> None:
    assert checked("x" * 10, max_chars=10) == "x" * 10
    with pytest.raises(MessageTooLarge) as caught:
        checked(" " * 11, max_chars=10)
    assert caught.value.fields == {"characters": 11, "limit": 10}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\ud83d\ude00", "😀"),
        ("a\ud83d", "a\ufffd"),
        ("\ude00b", "\ufffdb"),
        ("a\ud83db", "a\ufffdb"),
        ("\ud83d\ud83d\ude00", "\ufffd😀"),
        ("\ufeffx\ud83d", "\ufeffx\ufffd"),
        ("你好", "你好"),
    ],
)
def test_surrogates(text: str, expected: str) -> None:
    assert well_formed(text) == expected
