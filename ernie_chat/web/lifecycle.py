"""The process begins and ends: port, engine, banner. Chainlit would swallow what goes wrong here
and serve a page without an engine, so nothing is left for it to swallow."""

from __future__ import annotations

import asyncio
import logging
import os
import sys

from ernie_chat.config.settings import settings
from ernie_chat.errors import ErnieChatError
from ernie_chat.prefix import catalogue
from ernie_chat.service import service
from ernie_chat.web import status
from ernie_chat.web.port import check_port

_broadcast: set[asyncio.Task[None]] = set()


async def start_up() -> None:
    """Check what can be checked at once, then start the engine behind the page."""
    from chainlit.config import config

    try:
        check_port(config.run.host, config.run.port)
        catalogue.load(settings().hot_prompts)
        logging.getLogger("ernie_chat").setLevel(settings().log_level)
    except ErnieChatError as error:
        print(f"\n{error.sentence('zh')}\n{error.sentence('en')}\n", file=sys.stderr, flush=True)
        os._exit(1)  # as Chainlit itself ends; an exception would only be logged
    service().begin()
    _broadcast.add(asyncio.create_task(status.broadcast(service())))


async def shut_down() -> None:
    """Leave no process behind."""
    for task in _broadcast:
        task.cancel()
    await service().shutdown()
