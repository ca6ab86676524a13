"""How the engine is, told to the page: a banner in every browser, and a line for a message that
came too early. The banner is drawn by `public/ernie.js` from the payload made here, which holds
both languages, so that one message serves every browser.
"""

from __future__ import annotations

import logging
from typing import Any

from ernie_chat.engine.status import Status
from ernie_chat.errors import Language
from ernie_chat.running import Running
from ernie_chat.service import Service
from ernie_chat.web.answer import note
from ernie_chat.web.texts import text

log = logging.getLogger(__name__)

LANGUAGES: tuple[Language, ...] = ("en", "zh")


def sentence(status: Status, language: Language) -> str:
    """What the engine is doing, for a person."""
    if status.error is not None:
        return status.error.sentence(language)
    if status.state == "downloading" and status.progress is not None:
        percent = f"{status.progress:.0%}"
        return text("downloading_from", language, hub=status.hub or "hub", percent=percent)
    return text(status.state, language)


def payload(service: Service) -> dict[str, Any]:
    """The banner's state as plain data."""
    status = service.status()
    model = service.model()
    kind: str = status.state
    sentences = {at: sentence(status, at) for at in LANGUAGES}
    more: dict[Language, str] | None = None
    if status.state == "ready" and status.restart_needed:
        kind, sentences = "notice", {at: text("restart_needed", at) for at in LANGUAGES}
    elif status.state == "ready" and model is not None and model.source == "embedded":
        kind, sentences = "notice", {at: text("stands_in", at, name=model.name) for at in LANGUAGES}
        why = "get_ernie" if model.stands_in else "chosen_embedded"
        more = {at: text(why, at, wanted=model.wanted) for at in LANGUAGES}
    return {
        "type": "ernie-status",
        "engine": status.state,
        "state": kind,
        "progress": status.progress,
        "text": sentences,
        "more": more,
    }


async def broadcast(service: Service) -> None:
    """Tell every browser of each change, for as long as the process lives."""
    from chainlit.server import sio

    async for _ in service.changes():
        await sio.emit("window_message", payload(service))


async def wait_visibly(service: Service, language: Language) -> Running:
    """The running engine; while it isn't ready a line in the chat says what it is doing.
    Raises what the start failed with."""
    if service.status().state in ("ready", "failed", "stopped"):
        return await service.ready()
    line = await note("status", "")
    try:
        async for status in service.changes():
            if status.state in ("ready", "failed", "stopped"):
                break
            line.content = text("waiting", language, state=sentence(status, language))
            await line.update()
    finally:
        await line.remove()
    return await service.ready()
