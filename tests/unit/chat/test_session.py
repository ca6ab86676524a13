"""A chat from message to message: what fits, what stays, what is told."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ernie_chat.chat.session import MIN_ANSWER, ChatSession, Prepared
from ernie_chat.config.settings import Settings
from ernie_chat.errors import EmptyMessage, MessageTooLarge, ModelUnsupported, SystemPromptTooLong
from tests.unit.chat.conftest import Kind

SYSTEM = "Be kind."


def contains(ids: Sequence[int], part: Sequence[int]) -> bool:
    return any(list(ids[i : i + len(part)]) == list(part) for i in range(len(ids)))


def message_of(kind: Kind, length: int, *, system: str = "") -> str:
    """A message whose prompt, alone, is exactly `length` tokens."""
    chat = kind.chat(context_length=100_000, system=system, truncate=False)
    overhead = len(chat.prepare("a", key="k", max_tokens=1).prompt_ids)
    text = "a" + "\n7" * ((length - overhead) // 2) + "7" * ((length - overhead) % 2)
    assert len(chat.prepare(text, key="k", max_tokens=1).prompt_ids) == length
    return text


# It fits (C-9)


@pytest.mark.parametrize("over", [-1, 0, 1])
@pytest.mark.parametrize("max_tokens", [1, 64, 400])
def test_a_message_at_the_limit_of_the_context(kind: Kind, over: int, max_tokens: int) -> None:
    text = message_of(kind, 600 + over)
    chat = kind.chat(context_length=600, truncate=False)
    prepared = chat.prepare(text, key="k", max_tokens=max_tokens)
    assert len(prepared.prompt_ids) + prepared.max_tokens <= 600
    least = min(max_tokens, MIN_ANSWER)
    assert least <= prepared.max_tokens <= min(max_tokens, least + 16)
    if max_tokens == 1 and over == -1:
        assert (prepared.message, prepared.truncated) == (text, None)
        assert len(prepared.prompt_ids) == 599
    else:
        assert prepared.truncated is not None
        assert len(prepared.prompt_ids) >= 600 - prepared.max_tokens - 16


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_history_at_the_limit_of_the_context(kind: Kind, over: int) -> None:
    wide = kind.chat(context_length=10_000)
    for key in ("one", "two"):
        kind.answer(wide, key, "An answer.")
    length = len(wide.prepare("three", key="three", max_tokens=20).prompt_ids)
    chat = kind.chat(context_length=length + 20 - over)
    chat.restore(wide.turns)
    prepared = chat.prepare("three", key="three", max_tokens=20)
    assert prepared.max_tokens == 20
    assert len(prepared.prompt_ids) + 20 <= length + 20 - over
    assert prepared.dropped_turns == (over > 0)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_always_fits(kind: Kind, data: st.DataObject) -> None:
    context = data.draw(st.integers(256, 900))
    head, tail = data.draw(st.integers(1, 128)), data.draw(st.integers(0, 127))
    chat = kind.chat(
        context_length=context,
        truncate_head=head,
        truncate_tail=tail,
        truncate=data.draw(st.booleans()),
        system=data.draw(st.sampled_from(["", SYSTEM, "You are old. " * 50])),
    )
    text = st.builds(
        lambda part, times: "x" + part * times,
        st.sampled_from(["hello ", "天", "🙂", "\u0301", "</s>", "ab12 "]),
        st.integers(0, 400),
    )
    system = kind.tokenizer.encode(chat.system_prompt)
    for key in range(data.draw(st.integers(1, 6))):
        asked = data.draw(st.integers(1, 1200))
        prepared = chat.prepare(data.draw(text), key=str(key), max_tokens=asked)
        assert len(prepared.prompt_ids) + prepared.max_tokens <= context
        assert min(asked, MIN_ANSWER, context // 4) <= prepared.max_tokens <= asked
        assert len(system) <= context // 4
        assert chat.system_prompt in kind.tokenizer.decode(prepared.prompt_ids)
        assert prepared.message in kind.tokenizer.decode(prepared.prompt_ids)
        ids = (kind.tokenizer.encode("hello world ") * 400)[: data.draw(st.integers(0, 300))]
        chat.commit(prepared, token_ids=ids[: prepared.max_tokens], text="", stopped=True)


def test_a_long_answer_is_granted_when_there_is_room(kind: Kind) -> None:
    chat = kind.chat(context_length=1000)
    first = chat.prepare("hi", key="hi", max_tokens=5000)
    assert len(first.prompt_ids) + first.max_tokens == 1000
    room = []
    for i in range(60):
        kind.answer(chat, f"message {i}", "word " * 20)
        later = chat.prepare("hi", key="hi", max_tokens=5000)
        assert 500 <= later.max_tokens == 1000 - len(later.prompt_ids)
        room.append(later.max_tokens)
    assert min(room) < 600
    assert chat.turns


def test_a_template_that_leaves_no_room(kind: Kind) -> None:
    with pytest.raises(ModelUnsupported):
        kind.chat(context_length=8).prepare("hello", key="k", max_tokens=8)


# What stays


def test_oldest_turns_leave_first(kind: Kind) -> None:
    chat = kind.chat(context_length=400, system=SYSTEM)
    for i in range(40):
        prepared = kind.answer(chat, f"message {i:02}", f"answer {i:02}")
        text = kind.tokenizer.decode(prepared.prompt_ids)
        assert SYSTEM in text
        assert f"message {i:02}" in text
        assert prepared.dropped_turns == len([j for j in range(i) if f"message {j:02}" not in text])
        assert [turn.key for turn in chat.turns] == [
            f"message {j:02}" for j in range(prepared.dropped_turns, i + 1)
        ]
    assert prepared.dropped_turns > 10
    assert len(chat.turns) > 5


def test_dropped_tokens_are_those_that_are_missing(kind: Kind) -> None:
    wide, narrow = kind.chat(context_length=10_000), kind.chat(context_length=400)
    for i in range(25):
        whole = kind.answer(wide, f"message {i}", "word " * 10)
        prepared = kind.answer(narrow, f"message {i}", "word " * 10)
        assert prepared.dropped_tokens == len(whole.prompt_ids) - len(prepared.prompt_ids)
    assert prepared.dropped_tokens > 0


def test_prepare_changes_nothing(kind: Kind) -> None:
    chat = kind.chat(context_length=300)
    for i in range(10):
        kind.answer(chat, f"message {i}", "word " * 10)
    before = chat.turns
    first = chat.prepare("hello " * 100, key="k", max_tokens=100)
    assert first.dropped_turns > 0
    assert chat.turns == before
    assert chat.prepare("hello " * 100, key="k", max_tokens=100) == first


def test_leaving_out_more_at_once_keeps_a_prefix_for_longer(kind: Kind) -> None:
    def changes(share: float) -> int:
        """How often the start of the prompt is another than the last time."""
        chat = kind.chat(context_length=400, history_low_water=share)
        count, last = 0, -1
        for i in range(40):
            dropped = kind.answer(chat, f"message {i}", f"answer {i}").dropped_turns
            count, last = count + (dropped != last), dropped
        return count

    assert changes(0.4) * 3 < changes(1)


def test_a_trimming_that_leaves_too_much_is_put_right(kind: Kind) -> None:
    chat = ChatSession.create(
        kind.tokenizer,
        Settings(),
        context_length=300,
        stop_token_ids=kind.stops,
        trimming=lambda lengths, budget: 0,
    )
    for i in range(20):
        prepared = kind.answer(chat, f"message {i}", "word " * 10)
        assert len(prepared.prompt_ids) + prepared.max_tokens <= 300
    assert prepared.dropped_turns > 0


def test_memory_is_bounded(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ernie_chat.chat.session.FORGOTTEN_KEYS", 5)
    chat = kind.chat(context_length=256)
    for i in range(60):
        kind.answer(chat, f"message {i}", "word " * 10)
    assert len(chat.turns) < 20
    assert len(chat._forgotten) == 5


# Long messages (C-11)


def coded(at: int) -> str:
    words = ["apple pear plum"] * 2000
    words.insert(at, "The code word is ZANZIBAR.")
    return " ".join(words)


@pytest.mark.parametrize(("at", "survives"), [(0, True), (1000, False), (2000, True)])
def test_the_code_word(
    kind: Kind, at: int, survives: bool, caplog: pytest.LogCaptureFixture
) -> None:
    text = coded(at)
    tokens = len(kind.tokenizer.encode(text))
    assert tokens > 5000
    with caplog.at_level(logging.INFO):
        prepared = kind.chat().prepare(text, key="k", max_tokens=100)
    assert ("ZANZIBAR" in kind.tokenizer.decode(prepared.prompt_ids)) == survives
    cut = prepared.truncated
    assert cut is not None
    assert abs(cut.tokens_before - tokens) <= 4 * (len(text) // 16_384)
    assert cut.tokens_before - 512 <= cut.left_out <= cut.tokens_before - 500
    assert f"{cut.left_out} left out" in caplog.text
    assert "apple" not in caplog.text
    assert "ZANZIBAR" not in caplog.text


def test_512_tokens_are_kept_and_513_are_not(kind: Kind) -> None:
    text = "7" * 512
    assert len(kind.tokenizer.encode(text)) == 512
    prepared = kind.chat().prepare(text, key="k", max_tokens=10)
    assert (prepared.message, prepared.truncated) == (text, None)
    prepared = kind.chat().prepare(text + "7", key="k", max_tokens=10)
    assert prepared.truncated is not None
    assert len(kind.tokenizer.encode(prepared.message)) <= 512


def test_truncation_can_be_set_and_switched_off(kind: Kind) -> None:
    text = "7" * 600
    assert kind.chat(truncate=False).prepare(text, key="k", max_tokens=10).message == text
    prepared = kind.chat(truncate_head=30, truncate_tail=10).prepare(text, key="k", max_tokens=10)
    assert prepared.truncated is not None
    assert prepared.truncated.head == 30


def test_what_is_forgotten_is_logged_without_text(
    kind: Kind, caplog: pytest.LogCaptureFixture
) -> None:
    chat = kind.chat(context_length=256)
    with caplog.at_level(logging.INFO):
        for i in range(30):
            kind.answer(chat, f"secret {i}", "word " * 5)
    assert "turns of" in caplog.text
    assert "secret" not in caplog.text


# What can't be answered


@pytest.mark.parametrize("text", ["", " ", "\n", "\u200b\ufeff"])
def test_an_empty_message_leaves_everything_as_it_is(kind: Kind, text: str) -> None:
    chat = kind.chat()
    kind.answer(chat, "one", "1")
    with pytest.raises(EmptyMessage):
        chat.prepare(text, key="two", max_tokens=8)
    assert [turn.key for turn in chat.turns] == ["one"]
    kind.answer(chat, "three", "3")


def test_a_message_too_large(kind: Kind) -> None:
    with pytest.raises(MessageTooLarge):
        kind.chat(max_message_chars=10).prepare("x" * 11, key="k", max_tokens=8)


def test_half_a_surrogate_pair(kind: Kind) -> None:
    prepared = kind.chat(system="a\ud83d").prepare("b\ud83d", key="k", max_tokens=8)
    assert prepared.message == "b\ufffd"
    assert "a\ufffd" in kind.tokenizer.decode(prepared.prompt_ids)


# The system prompt


def test_a_system_prompt_too_long_is_refused_and_the_old_one_stays(kind: Kind) -> None:
    chat = kind.chat(context_length=400, system=SYSTEM)
    with pytest.raises(SystemPromptTooLong) as caught:
        chat.set_system_prompt("7" * 101)
    assert caught.value.fields == {"tokens": 101, "limit": 100}
    assert chat.system_prompt == SYSTEM
    chat.set_system_prompt("7" * 100)
    ids = chat.prepare("hello", key="k", max_tokens=8).prompt_ids
    assert contains(ids, kind.tokenizer.encode("7" * 100))


def test_a_system_prompt_from_the_configuration_is_shortened(
    kind: Kind, caplog: pytest.LogCaptureFixture
) -> None:
    chat = kind.chat(context_length=400, system="secret " * 1000)
    assert 80 <= len(kind.tokenizer.encode(chat.system_prompt)) <= 100
    assert "cut to" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("blank", ["", " \n", "\t"])
def test_a_blank_system_prompt_is_none(kind: Kind, blank: str) -> None:
    chat = kind.chat(system=SYSTEM)
    chat.set_system_prompt(blank)
    without = kind.chat().prepare("hello", key="k", max_tokens=8)
    assert chat.prepare("hello", key="k", max_tokens=8).prompt_ids == without.prompt_ids


# Going back


def said(prepared: Prepared, kind: Kind) -> list[str]:
    text = kind.tokenizer.decode(prepared.prompt_ids)
    return [word for word in ("one", "two", "three", "four") if word in text]


def test_an_edit_forgets_what_came_after(kind: Kind) -> None:
    chat = kind.chat()
    for word in ("one", "two", "three"):
        kind.answer(chat, word, "ok", key=word)
    chat.rewind("new")
    assert len(chat.turns) == 3
    chat.rewind("two")
    assert said(kind.answer(chat, "four", "ok", key="two"), kind) == ["one", "four"]
    assert [turn.key for turn in chat.turns] == ["one", "two"]


def test_going_back_can_be_undone(kind: Kind) -> None:
    chat = kind.chat()
    kind.answer(chat, "one", "ok")
    before = chat.turns
    chat.rewind("one")
    assert chat.turns == ()
    chat.restore(before)
    assert said(chat.prepare("two", key="two", max_tokens=8), kind) == ["one", "two"]


def test_an_edit_of_a_forgotten_message_begins_there(kind: Kind) -> None:
    chat = kind.chat(context_length=256)
    for i in range(40):
        last = kind.answer(chat, f"message {i}", "word " * 5)
    assert last.dropped_turns > 10
    chat.rewind("message 3")
    assert chat.turns == ()
    prepared = chat.prepare("again", key="message 3", max_tokens=8)
    assert prepared.dropped_turns == 3
    assert prepared.prompt_ids == kind.chat().prepare("again", key="k", max_tokens=8).prompt_ids


def test_turns_restored_are_not_counted_as_forgotten(kind: Kind) -> None:
    chat = kind.chat(context_length=256)
    while not (last := chat.prepare("x" * 30, key="x", max_tokens=64)).forgets:
        kind.answer(chat, f"message {len(chat.turns)}", "word " * 5)
    before = chat.turns
    chat.commit(last, token_ids=[], text="", stopped=False)
    assert len(chat.turns) < len(before)
    chat.restore(before)
    assert chat.prepare("x" * 30, key="x", max_tokens=64) == last


def test_a_turn_tells_what_was_kept(kind: Kind) -> None:
    chat = kind.chat()
    prepared = chat.prepare("hello", key="k", max_tokens=8)
    ids = kind.tokenizer.encode("Hi the")
    chat.commit(prepared, token_ids=ids, text="Hi the", stopped=True)
    (turn,) = chat.turns
    assert (turn.key, turn.message, turn.answer, turn.stopped) == ("k", "hello", "Hi the", True)
    assert turn.answer_ids == tuple(ids)
