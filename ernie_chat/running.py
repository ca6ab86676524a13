"""What answers, put together: the engine, its model and tokenizer, and what keeps its prefix
cache useful. The one place that knows all of these; starts nothing but the warming.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from ernie_chat.chat.session import ChatSession
from ernie_chat.chat.tokenizer import Tokenizer
from ernie_chat.config.settings import Settings
from ernie_chat.engine.embedded import EmbeddedEngine
from ernie_chat.engine.interface import Engine
from ernie_chat.engine.keep import kept
from ernie_chat.model.source import Model
from ernie_chat.prefix import catalogue, exposed
from ernie_chat.prefix.engine import WarmedEngine
from ernie_chat.prefix.metrics import PrefixMetrics
from ernie_chat.prefix.prefixes import Prefixes
from ernie_chat.prefix.warmer import Warmer

log = logging.getLogger("ernie_chat")

LEARNED_FILE = "learned_prompts.json"
"""In `cache_dir`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What is needed to answer."""

    engine: Engine
    model: Model
    tokenizer: Tokenizer
    prefixes: Prefixes


def running(settings: Settings, llm: Any, model: Model, tokenizer: Tokenizer) -> Running:
    """Around the AsyncLLM `llm`, new or from before a reload."""
    from prometheus_client import REGISTRY  # which has vLLM's own numbers

    engine = EmbeddedEngine(llm, tokenizer)
    metrics = PrefixMetrics(kept().prefix_numbers)
    warmer = Warmer(
        engine,
        metrics,
        chunk_tokens=settings.warm_up_chunk_tokens,
        retouch_share=settings.retouch_share or None,
    )
    new_chat = ChatSession.create(
        tokenizer,
        settings,
        context_length=engine.context_length,
        stop_token_ids=model.stop_token_ids,
        system_prompt=settings.system_prompt,
    )
    prefixes = Prefixes(
        warmer,
        new_chat,
        catalogue.load_or_own(settings.hot_prompts),
        secret=kept().prefix_secret,
        learned_file=(
            settings.cache_dir.expanduser() / LEARNED_FILE if settings.learn_prompts else None
        ),
    )
    warmed = WarmedEngine(engine, warmer, metrics)
    keep = kept()
    keep.prefix_collector = exposed.expose(
        metrics, engine, REGISTRY, instead_of=keep.prefix_collector
    )
    return Running(engine=warmed, model=model, tokenizer=tokenizer, prefixes=prefixes)


async def keep_warm(settings: Settings, running: Running) -> None:
    """From now on, in the place of what code of before a reload did."""
    await stop_warming()
    if settings.warm_up and kept().llm is not None:  # not shut down meanwhile
        kept().prefix_task = asyncio.create_task(_warm(running.prefixes), name="prefixes")


async def stop_warming() -> None:
    """When this returns, what was learned is written. Idempotent."""
    task, kept().prefix_task = kept().prefix_task, None
    if task is not None:
        task.cancel()
        await asyncio.wait({task})


async def _warm(prefixes: Prefixes) -> None:
    try:
        await prefixes.run()
    except Exception:
        log.exception("hot prompts are no longer prefilled; answers go on")
    finally:
        prefixes.save()
