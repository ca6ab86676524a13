"""Warming on the real engine: what was prefilled is found, by whom it may be found."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import suppress
from dataclasses import replace

from ernie_chat.prefix.engine import WarmedEngine
from ernie_chat.prefix.metrics import PrefixMetrics
from ernie_chat.prefix.warmer import Prefix, Warmer
from ernie_chat.running import Running
from tests.support.engine import collect, request

_starts = itertools.count(2000, 700)


def fresh(length: int) -> tuple[int, ...]:
    """Ids that no other test's prompt begins with."""
    start = next(_starts)
    return tuple(range(start, start + length))


async def warmed(running: Running, *prefixes: Prefix) -> tuple[WarmedEngine, PrefixMetrics]:
    metrics = PrefixMetrics({})
    warmer = Warmer(running.engine, metrics, quiet_s=0)
    warmer.hot(prefixes)
    task = asyncio.create_task(warmer.run())
    async with asyncio.timeout(60):
        await warmer.settled()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    return WarmedEngine(running.engine, warmer, metrics), metrics


async def test_a_warmed_prefix_is_found(running: Running) -> None:
    ids = fresh(200)
    engine, metrics = await warmed(running, Prefix(ids=ids))
    whole = 200 // engine.block_size * engine.block_size
    assert metrics["warm_up_tokens"] == whole
    deltas = await collect(engine, request([*ids, 5, 6, 7], max_tokens=2))
    assert deltas[0].cached_tokens == whole
    assert metrics.hit_rate_tokens == whole / 203


async def test_a_users_own_prefix_is_found_by_that_user_only(running: Running) -> None:
    ids = fresh(200)
    block = running.engine.block_size
    engine, _ = await warmed(running, Prefix(ids=ids, salt="an", shared_tokens=2 * block))
    for salt, cached in (("an", 200 // block * block), ("bo", 2 * block)):
        asked = replace(
            request([*ids, 5, 6, 7], max_tokens=2), cache_salt=salt, shared_tokens=2 * block
        )
        assert (await collect(engine, asked))[0].cached_tokens == cached


async def test_evictions_are_counted(running: Running) -> None:
    engine = running.engine
    before = engine.evicted_blocks
    for _ in range(engine.cache_tokens // 900 + 2):
        await collect(engine, request(fresh(900), max_tokens=1))
    assert engine.evicted_blocks > before
