"""`python -m ernie_chat bench`: what the prefix cache gains here, as ratios within one run.

Starts an engine of its own, with the settings in force; end a running app first, it would share
the machine.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Collection

from ernie_chat.config.settings import load_settings
from ernie_chat.errors import ErnieChatError
from ernie_chat.measure import bench_prefix
from ernie_chat.service import Service

WHAT = ("prefix", "trimming")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "what", choices=WHAT,
        help="prefix: TTFT and cached tokens on the engine; trimming: counted, without an engine",
    )  # fmt: skip
    parser.add_argument(
        "--part", dest="parts", action="append", choices=bench_prefix.PARTS,
        help="of prefix, only this; may be given again",
    )  # fmt: skip


def run(arguments: Namespace) -> int:
    """The exit status."""
    try:
        if arguments.what == "trimming":
            _trimming()
        else:
            asyncio.run(_prefix(arguments.parts or bench_prefix.PARTS))
    except ErnieChatError as error:
        print(error.sentence("en"), error.detail, file=sys.stderr)
        return 1
    return 0


async def _prefix(parts: Collection[str]) -> None:
    settings = load_settings()
    service = Service(settings.model_copy(update={"warm_up": False}))
    service.begin()
    try:
        await bench_prefix.bench(await service.ready(), settings, parts)
    finally:
        await service.shutdown()


def _trimming() -> None:
    from ernie_chat.engine.cpu import CPU_BLOCK_SIZE
    from ernie_chat.measure import trimming
    from ernie_chat.model.locate import locate
    from ernie_chat.model.tokenizer import load_tokenizer

    settings = load_settings()
    model = locate(
        model=settings.model,
        hub=settings.hub,
        hub_timeout_s=settings.hub_timeout_s,
        cache_dir=settings.cache_dir,
        on_progress=lambda progress: None,
    )
    tokenizer = load_tokenizer(model.folder, name=model.name)
    trimming.table(tokenizer, settings, block_size=settings.block_size or CPU_BLOCK_SIZE)
