"""One user's chat over the socket, as a load generator would use it."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from ernie_chat.measure.client import ChatClient, ChatLost
from tests.support.app import AppProcess


async def answer(chat: ChatClient, text: str) -> str:
    since = chat.transcript.end
    await chat.say(text)
    await chat.until(lambda: any(m.finish for m in chat.transcript.since(since)))
    return next(m.text for m in chat.transcript.since(since) if m.finish)


async def test_many_chats_at_once_in_one_process(scripted: AppProcess) -> None:
    async def one(number: int) -> str:
        async with ChatClient(scripted.url) as chat:
            await answer(chat, "count 20")
            return await answer(chat, f"echo {number}")

    assert await asyncio.gather(*map(one, range(20))) == [str(n) for n in range(20)]


async def test_every_event_has_its_time(scripted: AppProcess) -> None:
    events: list[tuple[float, str, Any]] = []
    ticks = itertools.count()
    async with ChatClient(
        scripted.url,
        clock=lambda: float(next(ticks)),
        on_event=lambda *event: events.append(event),
    ) as chat:
        await answer(chat, "count 5")
        await chat.until(lambda: bool(chat.transcript.buttons("regenerate")))
        written = next(m for m in chat.transcript if m.finish)
    times = [at for at, _, _ in events]
    assert times == sorted(set(times))
    pieces = [at for at, name, _ in events if name in ("stream_start", "stream_token")]
    assert written.arrivals == pieces
    assert len(pieces) == 5
    names = [name for _, name, _ in events]
    assert names.index("task_start") < names.index("stream_start") < names.index("action")


async def test_a_new_chat_is_empty_and_knows_nothing(scripted: AppProcess) -> None:
    async with ChatClient(scripted.url) as chat:
        await answer(chat, "echo a")
        before = chat.session
        await chat.new_chat()
        assert chat.session != before
        assert [m for m in chat.transcript if m.of_user or m.of_assistant] == []
        await answer(chat, "echo b")
        numbers = next(m.numbers for m in chat.transcript if m.finish)
        assert numbers["cached_tokens"] == 0


async def test_a_button_without_its_handler_is_refused(scripted: AppProcess) -> None:
    async with ChatClient(scripted.url) as chat:
        await answer(chat, "echo a")
        await chat.until(lambda: bool(chat.transcript.buttons("regenerate")))
        chat.transcript.buttons("regenerate")[0]["name"] = "gone"
        with pytest.raises(ChatLost, match=r"refused with 404: .*No callback"):
            await chat.press("gone")


async def test_after_a_lost_connection_nothing_is_sent(scripted: AppProcess) -> None:
    async with ChatClient(scripted.url) as chat:
        await chat.say("close")
        with pytest.raises(ChatLost, match="connection was lost"):
            await chat.until(lambda: False)
        with pytest.raises(ChatLost):
            await chat.say("echo a")
