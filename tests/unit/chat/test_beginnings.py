"""What prompts will begin with, said before they are asked."""

from __future__ import annotations

import pytest

from tests.unit.chat.conftest import Kind

SYSTEM = "Be kind."


@pytest.mark.parametrize("system", ["", SYSTEM])
def test_every_new_chat_begins_with_the_system_ids(kind: Kind, system: str) -> None:
    ids = kind.chat(system=system).system_ids()
    for said in ("hello", "你好", "\n#", "   x", "1 2 3"):
        prompt = kind.chat(system=system).prepare(said, key="k", max_tokens=9).prompt_ids
        assert prompt[: len(ids)] == ids
    assert len(ids) >= len(kind.tokenizer.encode(system))
    assert kind.tokenizer.decode(ids).count(system) >= 1


def test_a_whole_hot_prompt_is_the_prompt(kind: Kind) -> None:
    chat = kind.chat(system=SYSTEM)
    for said in ("Who are you?", "long " * 700):
        prepared = kind.chat(system=SYSTEM).prepare(said, key="k", max_tokens=9)
        assert chat.hot_ids(said, whole=True) == prepared.prompt_ids


def test_a_hot_beginning_is_what_its_prompts_share(kind: Kind) -> None:
    text = "Translate into Chinese. Keep names as they are.\n\nText:\n"
    ids = kind.chat().hot_ids(text, whole=False)
    assert len(ids) > len(kind.tokenizer.encode(text)) - 3
    for more in ("hello", "你好", "3.", " x"):
        assert kind.chat().prepare(text + more, key="k", max_tokens=9).prompt_ids[: len(ids)] == ids


def test_the_next_prompt_begins_as_likely(kind: Kind) -> None:
    """Also when turns have to leave for it, as long as its message is like the one before."""
    chat = kind.chat(context_length=500, system=SYSTEM)
    assert chat.likely_prefix(max_tokens=64) == chat.system_ids()
    left, lasted = 0, 0
    for i in range(100, 160):
        likely = chat.likely_prefix(max_tokens=64)
        prepared = kind.answer(chat, "And then?", f"answer {i} " * 5, key=str(i))
        dropped = prepared.dropped_turns
        assert prepared.prompt_ids[: len(likely)] == likely
        assert len(prepared.prompt_ids) - len(likely) < 20
        lasted += dropped == left
        left = dropped
    assert left > 30
    assert lasted > 30
