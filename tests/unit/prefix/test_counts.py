"""What recurs is learned; what was asked once is not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ernie_chat.prefix import counts
from ernie_chat.prefix.counts import HALF_LIFE_S, Learned, PromptCounts

KEY = b"k" * 32
RULES = "Translate this into Chinese, keep names and numbers as they are, and explain nothing: "


def counted(*said: tuple[str, str], now: float = 0.0) -> PromptCounts:
    found = PromptCounts(KEY)
    for user, text in said:
        found.saw(text, user=user, now=now)
    return found


def hottest(found: PromptCounts, now: float = 0.0) -> list[Learned]:
    return found.hottest(9, now=now)


def test_once_is_nothing() -> None:
    found = counted(("an", "Hello."), ("an", "Good morning."))
    assert hottest(found) == []
    assert found.entries(now=0) == []


def test_a_long_message_is_not_kept_by_its_beginnings() -> None:
    text = RULES * 9
    assert counted(("an", text)).entries(now=0) == []
    twice = counted(("an", text), ("an", text))
    assert [entry.text for entry in twice.entries(now=0)] == [text]


def test_twice_is_learned_for_who_asked() -> None:
    found = counted(("an", "Hello."), ("an", "Hello."))
    assert hottest(found) == [Learned("Hello.", whole=True, user="an")]


def test_spellings_count_as_one_and_the_latest_is_kept() -> None:
    found = counted(("an", "hello  there"), ("an", " Hello\nthere "))
    assert [item.text for item in hottest(found)] == [" Hello\nthere "]


def test_characters_composed_or_not_count_as_one() -> None:
    found = counted(("an", "caf\u00e9"), ("an", "cafe\u0301"))
    assert [item.text for item in hottest(found)] == ["cafe\u0301"]


def test_a_beginning_recurs_when_it_goes_on_differently() -> None:
    found = counted(("an", RULES + "a cat"), ("an", RULES + "a dog"))
    assert hottest(found) == [Learned(RULES[:64], whole=False, user="an")]


def test_the_same_message_again_is_no_beginning() -> None:
    text = RULES + "a cat"
    found = counted(("an", text), ("an", text))
    assert hottest(found) == [Learned(text, whole=True, user="an")]


def test_of_nested_beginnings_the_longest() -> None:
    found = counted(("an", RULES * 4 + "a cat"), ("an", RULES * 4 + "a dog"))
    assert [len(item.text) for item in hottest(found)] == [256]


def test_what_one_user_begins_longer_hides_no_beginning_from_the_others() -> None:
    longer = RULES + "z" * 1900
    said = [("an", longer)] * 2 + [(f"user {i}", f"{RULES}text {i}") for i in range(5)]
    assert hottest(counted(*said)) == [
        Learned(longer, whole=True, user="an"),
        Learned(RULES[:64], whole=False, user=None),
    ]


def test_of_nested_beginnings_that_are_everybodys_the_longest() -> None:
    found = counted(*[(user, RULES * 2 + user) for user in ("an", "bo", "cy")])
    assert hottest(found) == [Learned((RULES * 2)[:128], whole=False, user=None)]


def test_a_text_over_the_limit_is_counted_by_its_beginnings() -> None:
    found = counted(("an", "x" * 5000 + "1"), ("an", "x" * 5000 + "2"))
    assert hottest(found) == [Learned("x" * 2048, whole=False, user="an")]


def test_a_text_over_the_limit_is_not_kept_whole() -> None:
    text = "x" * (counts.MAX_CHARS + 1)
    assert counted(("an", text), ("an", text)).entries(now=0) == []
    assert hottest(counted(*[("an", text[1:])] * 2)) == [Learned(text[1:], whole=True, user="an")]


def test_what_was_not_seen_for_longest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "MAX_BYTES", 5_000)
    found = counted(*[("an", "old")] * 2, *[("an", "kept")] * 2)
    for i in range(20):
        found.saw(f"{i}", user="an", now=0)
        found.saw("kept", user="an", now=0)
    assert [item.text for item in hottest(found)] == ["kept"]


def test_what_three_users_ask_is_everybodys() -> None:
    two = [("an", "Hello."), ("bo", "Hello.")]
    assert {item.user for item in hottest(counted(*two))} == {"an", "bo"}
    assert hottest(counted(*two, ("cy", "hello."))) == [Learned("hello.", whole=True, user=None)]
    again = counted(*two, *two, *two)
    assert {item.user for item in hottest(again)} == {"an", "bo"}


def test_counts_fade() -> None:
    found = counted(*[("an", "Hello.")] * 3)
    assert hottest(found, now=HALF_LIFE_S * 0.99)
    assert not hottest(found, now=HALF_LIFE_S * 1.01)
    found.saw("Hello.", user="an", now=HALF_LIFE_S)
    assert hottest(found, now=HALF_LIFE_S)[0].text == "Hello."


def test_twice_within_days_is_enough() -> None:
    found = counted(("an", "Hello."))
    found.saw("Hello.", user="an", now=6 * 86_400)
    assert hottest(found, now=6 * 86_400)


def test_what_was_asked_long_ago_is_not_kept() -> None:
    found = counted(*[("an", "Hello.")] * 2)
    assert found.entries(now=2.9 * HALF_LIFE_S)
    assert not found.entries(now=3.1 * HALF_LIFE_S)


def test_a_clock_set_back_takes_nothing() -> None:
    assert hottest(counted(*[("an", "Hello.")] * 2, now=1e9), now=5)


def test_what_saves_most_comes_first() -> None:
    often, long = "Hi", "A rather long question about everything"
    found = counted(*[("an", often)] * 5, *[("an", long)] * 2)
    assert [item.text for item in hottest(found)] == [long, often]
    assert [item.text for item in found.hottest(1, now=0)] == [long]


def test_entries_come_back_but_users_only_when_met() -> None:
    earlier = counted(*[("an", "Hello.")] * 3, *[("bo", "Bye.")] * 3)
    found = PromptCounts(KEY)
    found.restore(earlier.entries(now=0))
    assert hottest(found) == []
    found.meet("an")
    assert hottest(found) == [Learned("Hello.", whole=True, user="an")]
    assert "an" not in str(earlier.entries(now=0)[0].users)


def test_what_was_seen_since_wins() -> None:
    found = counted(*[("an", "HELLO.")] * 2)
    found.restore(counted(*[("an", "Hello.")] * 9).entries(now=0))
    assert [(entry.text, entry.count) for entry in found.entries(now=0)] == [("HELLO.", 2)]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=3000), max_size=60))
def test_bounded(texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "MAX_BYTES", 20_000)
        found = PromptCounts(KEY)
        for text in texts * 2:
            found.saw(text.encode("utf-8", "replace").decode(), user="an", now=0)
        held = found._entries
        assert held.currsize == sum(map(held.getsizeof, held.values())) <= 20_000
