"""ERNIE Chat: Chainlit's events, one call each. Run: chainlit run app.py"""

from __future__ import annotations

import chainlit as cl

from ernie_chat.web import lifecycle, page, sockets, starters
from ernie_chat.web.conversation import Conversation

page.install()
sockets.install(
    on_stop=lambda: Conversation.current().stop(),
    on_return=lambda: Conversation.current().come_back(),
)
cl.on_app_startup(lifecycle.start_up)
cl.on_app_shutdown(lifecycle.shut_down)
cl.set_starters(starters.starters)


@cl.on_chat_start
async def on_chat_start() -> None:
    await Conversation.current().begin()


@cl.on_message
async def on_message(message: cl.Message) -> None:
    await Conversation.current().answer(message.content, key=message.id)


@cl.action_callback("regenerate")
async def on_regenerate(action: cl.Action) -> None:
    await Conversation.current().regenerate(action.payload)


@cl.on_settings_update
async def on_settings_update(values: dict[str, object]) -> None:
    await Conversation.current().change_settings(values)


@cl.on_chat_end
async def on_chat_end() -> None:
    await Conversation.current().leave()
