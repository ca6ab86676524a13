"""A program with an engine, to be killed by tests. Run: python -m tests.support.engine_program

Prints one JSON object a line: `engine` (process ids, once it is ready), `tokens` (of each delta of
a long answer), `finish` (the error that ended the answer), then `state` (each status, for ever).
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from typing import Any

from ernie_chat.config.settings import Settings
from ernie_chat.errors import ErnieChatError
from ernie_chat.service import Service
from tests.support.engine import request


def say(**values: Any) -> None:
    print(json.dumps(values), flush=True)


async def main() -> None:
    service = Service(
        Settings(model="embedded", context_length=2048, kv_cache_gib=0.25, log_level="ERROR")
    )
    service.begin()
    running = await service.ready()
    say(engine=[child.pid for child in multiprocessing.active_children()])
    prompt = running.tokenizer.encode("Once upon a time")
    try:
        async for delta in running.engine.stream(request(prompt, max_tokens=1500)):
            say(tokens=len(delta.token_ids))
    except ErnieChatError as error:
        say(finish=error.code)
    async for status in service.changes():
        say(state=status.state)


if __name__ == "__main__":
    asyncio.run(main())
