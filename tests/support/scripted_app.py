"""A tiny Chainlit app for tests of replays: answers as its message says, and tells the numbers of
an answer as the product does. Run by `tests.support.app`.
"""

from __future__ import annotations

import asyncio
from typing import Any

import chainlit as cl
from chainlit import socket
from chainlit.context import init_ws_context
from chainlit.input_widget import Slider, TextInput
from chainlit.server import sio
from chainlit.session import WebsocketSession

TICK_S = 0.01


class State:
    """What a chat remembers."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.task: asyncio.Task[Any] | None = None
        self.working = 0
        self.answer: cl.Message | None = None
        self.asked = ""
        self.prompt_tokens = 0


def state() -> State:
    found = cl.user_session.get("state") or State()
    cl.user_session.set("state", found)
    return found


def session() -> WebsocketSession:
    found = cl.context.session
    assert isinstance(found, WebsocketSession)
    return found


async def note(kind: str, text: str) -> None:
    await cl.Message(content=text, metadata={"ernie": {"note": kind}}).send()


@cl.on_chat_start
async def on_chat_start() -> None:
    await cl.ChatSettings(
        [
            TextInput(id="system_prompt", label="System prompt", initial=""),
            Slider(id="temperature", label="Temperature", initial=0.5, min=0, max=2),
        ]
    ).send()


@cl.on_settings_update
async def on_settings_update(values: dict[str, Any]) -> None:
    state().settings = values
    if values["temperature"] > 2:
        await note("error", "too hot")


@cl.on_message
async def on_message(message: cl.Message) -> None:
    now = state()
    now.task = asyncio.current_task()
    now.asked = message.content
    now.working += 1
    try:
        await obey(message.content)
    except asyncio.CancelledError:
        await note("notice", "stopped before anything was said")
    finally:
        now.working -= 1


async def obey(message: str) -> None:
    """A message is a command and what it is about."""
    command, _, rest = message.partition(" ")
    match command:
        case "echo":
            await answer([rest])
        case "count":
            await answer([f"{n} " for n in range(int(rest))])
        case "who":
            settings = sorted(state().settings.items())
            await answer([f"{session().language} {settings}"])
        case "long":
            await note("notice", f"{len(rest)} left out")
            await answer(["short"], left_out=len(rest))
        case "hang":
            await asyncio.Event().wait()
        case "break":
            await note("error", "it broke")
        case "close":
            await sio.disconnect(session().socket_id)


async def answer(words: list[str], *, left_out: int = 0) -> None:
    now = state()
    now.answer = message = cl.Message(content="")
    finish, cached, sent = "stop", now.prompt_tokens, 0
    now.prompt_tokens += 10
    try:
        for word in words:
            await message.stream_token(word)
            sent += 1
            await asyncio.sleep(TICK_S)
    except asyncio.CancelledError:
        finish = "stopped"
    message.metadata = {
        "ernie": {
            "finish": finish,
            "answer_tokens": sent,
            "left_out_tokens": left_out,
            "prompt_tokens": now.prompt_tokens,
            "cached_tokens": cached,
        }
    }
    await message.update()
    await cl.Action(name="regenerate", payload={}).send(for_id=message.id)


@cl.action_callback("regenerate")
async def on_regenerate(_: cl.Action) -> None:
    now = state()
    await cl.context.emitter.task_start()
    if now.answer is not None:
        await now.answer.remove()
    await answer([f"again: {now.asked}"])
    await cl.context.emitter.task_end()


async def stop(sid: str) -> None:
    init_ws_context(sid)
    task = state().task
    assert task is not None
    task.cancel()


async def connection_successful(sid: str) -> None:
    """A chat that comes back is shown what it may have missed, as the product does."""
    await socket.connection_successful(sid)
    context = init_ws_context(sid)
    now = state()
    if session().restored and now.answer is not None:
        if now.working:
            await context.emitter.task_start()
        await context.emitter.send_step(now.answer.to_dict())


sio.on("stop", stop)
sio.on("connection_successful", connection_successful)
