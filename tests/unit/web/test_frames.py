"""Frames: nothing lost or doubled, whole graphemes, first at once, the engine let go of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ernie_chat.engine.interface import Delta
from ernie_chat.web.frames import GraphemeHold, frames

FAMILY = "👨‍👩‍👧"
TEXTS = [
    "A 世ab",
    "삼겹살",
    "🙂🙂",
    FAMILY,
    "𠮷野家",
    "🇨🇳🇫🇷",
    "e\u0301te\u0301",
    "नमस्ते",
    "a\r\nb",
    "👍🏽!",
]


def delta(text: str, *, last: bool = False, ids: tuple[int, ...] = (1,)) -> Delta:
    return Delta(
        text=text, token_ids=ids, finish="stop" if last else None, prompt_tokens=3, cached_tokens=0
    )


async def of(texts: Iterable[str], closed: list[bool] | None = None) -> AsyncGenerator[Delta, None]:
    texts = list(texts)
    try:
        for n, text in enumerate(texts):
            yield delta(text, last=n == len(texts) - 1, ids=(n,))
    finally:
        if closed is not None:
            closed.append(True)


@pytest.mark.parametrize("text", TEXTS)
async def test_one_character_at_a_time_comes_out_whole(text: str) -> None:
    made = [frame async for frame in frames(of(text), frame_s=0)]
    assert "".join(frame.text for frame in made) == text
    assert [i for frame in made for i in frame.token_ids] == list(range(len(text)))
    assert made[-1].finish == "stop"


def test_a_family_is_never_shown_in_parts() -> None:
    hold = GraphemeHold()
    seen = [hold.push(part) for part in ["Hi ", *FAMILY, "!"]]
    assert [text for text in seen if text] == ["Hi ", f"{FAMILY}!"]


def test_two_flags_are_told_apart() -> None:
    hold = GraphemeHold()
    shown = ""
    for part in "🇨🇳🇫🇷 ":
        shown += hold.push(part)
        assert len(shown) % 2 == 0 or shown.endswith(" ")
    assert shown == "🇨🇳🇫🇷 "


def test_chinese_and_spaces_do_not_wait() -> None:
    hold = GraphemeHold()
    assert hold.push("你") == "你"
    assert hold.push("好，") == "好，"
    assert hold.push("a ") == "a "


@given(st.lists(st.text(max_size=4), min_size=1, max_size=12))
def test_hold_keeps_every_character(parts: list[str]) -> None:
    hold = GraphemeHold()
    assert "".join(map(hold.push, parts)) + hold.flush() == "".join(parts)


async def test_first_frame_does_not_wait() -> None:
    """With a frame of an hour the first delta still arrives; the second would take the hour."""
    stream = frames(of(["first ", "second"]), frame_s=3600)
    async with asyncio.timeout(5):
        assert (await anext(stream)).text == "first "
    await stream.aclose()


async def test_closing_closes_the_engines_stream() -> None:
    closed: list[bool] = []
    stream = frames(of(["a ", "b ", "c"], closed), frame_s=0)
    await anext(stream)
    await stream.aclose()
    assert closed == [True]


async def test_cancelling_while_a_frame_lasts_closes_the_engines_stream() -> None:
    closed: list[bool] = []
    first = asyncio.Event()

    async def read() -> None:
        stream = frames(of(["a ", "b"], closed), frame_s=3600)
        try:
            async for _ in stream:
                first.set()
        finally:
            await stream.aclose()

    task = asyncio.create_task(read())
    await first.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed == [True]


async def test_a_failing_engine_is_not_swallowed() -> None:
    async def failing() -> AsyncGenerator[Delta, None]:
        yield delta("a ")
        raise RuntimeError("gone")

    stream = frames(failing(), frame_s=0)
    assert (await anext(stream)).text == "a "
    with pytest.raises(RuntimeError, match="gone"):
        await anext(stream)
