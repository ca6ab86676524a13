"""Boundaries are those of UAX #29, found in linear time."""

from __future__ import annotations

from itertools import accumulate

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from ernie_chat.chat import graphemes
from ernie_chat.chat.graphemes import boundary_after, boundary_before

ODD = ["a", " ", "\r", "\n", "天", "👩", "👨", "\u200d", "🏽", "\ufe0f", "🇨", "🇳", "\u0301",
       "각", "ᄀ", "ᅡ", "क", "\u094d", "ष", "\u0600", "\u200c", "☺"]  # fmt: skip


def boundaries(text: str) -> list[int]:
    """All of them, by the library's own search."""
    return [0, *accumulate(map(len, regex.findall(r"\X", text)))]


@settings(max_examples=200, deadline=None)
@given(text=st.text(st.sampled_from(ODD), max_size=30) | st.text(max_size=12))
def test_agree_with_a_search_from_the_start(text: str) -> None:
    true = boundaries(text)
    for position in range(len(text) + 1):
        assert boundary_before(text, position) == max(b for b in true if b <= position)
        assert boundary_after(text, position) == min(b for b in true if b >= position)


@pytest.mark.parametrize(
    "text", ["a" + "\u0301" * 30_000, "🇨🇳" * 10_000, "\u0301" * 30_000, "👩\u200d" * 10_000]
)
def test_work_is_linear(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0
    cluster = graphemes._CLUSTER

    class Counting:
        @staticmethod
        def match(text: str) -> object:
            nonlocal seen
            seen += len(text)
            return cluster.match(text)

    monkeypatch.setattr(graphemes, "_CLUSTER", Counting)
    boundary_after(text, len(text) - 5)
    assert seen <= 80 * len(text)
