"""Prefixes are prefilled when nobody asks, by an engine that keeps what a prefix cache keeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from ernie_chat.chat.tokenizer import Tokenizer
from ernie_chat.engine.interface import Delta, Request, Sampling
from ernie_chat.prefix.engine import WarmedEngine
from ernie_chat.prefix.metrics import PrefixMetrics
from ernie_chat.prefix.warmer import MOST_SOON, PRIORITY, Prefix, Warmer
from tests.support.engine import FakeEngine, collect, request

BLOCK = 16


class CachingEngine(FakeEngine):
    """Says of a prompt what was in an earlier one. `gate` holds warm-ups up."""

    def __init__(self, tokenizer: Tokenizer, *, cache_tokens: int = 4096) -> None:
        super().__init__(tokenizer, ["Hello there."], cache_tokens=cache_tokens)
        self.known: list[tuple[int, ...]] = []
        self.reached = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        if request.priority:
            self.reached.set()
            await self.gate.wait()
        ids = tuple(request.prompt_ids)
        ends = range(BLOCK, len(ids), BLOCK)
        found = [end for end in ends if any(known[:end] == ids[:end] for known in self.known)]
        self.known.append(ids)
        async for delta in super().stream(request):
            yield Delta(
                text=delta.text,
                token_ids=delta.token_ids,
                finish=delta.finish,
                prompt_tokens=delta.prompt_tokens,
                cached_tokens=max(found, default=0),
                prefill_s=delta.prefill_s,
            )


class Parts:
    """An engine, its warmer and what they count."""

    def __init__(self, tokenizer: Tokenizer, **warmer: float | None) -> None:
        cache = warmer.pop("cache_tokens", None) or 4096
        self.engine = CachingEngine(tokenizer, cache_tokens=int(cache))
        self.metrics = PrefixMetrics({})
        self.warmer = Warmer(
            self.engine,
            self.metrics,
            chunk_tokens=32,
            quiet_s=0,
            retouch_share=warmer.get("retouch_share", 0.5),
        )
        self.warmed = WarmedEngine(self.engine, self.warmer, self.metrics)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.warmer.run())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def done(self) -> None:
        async with asyncio.timeout(5):
            await self.warmer.settled()

    @property
    def warm_ups(self) -> list[Request]:
        return [request for request in self.engine.requests if request.priority]


@pytest.fixture
def parts(tokenizer: Tokenizer) -> Parts:
    return Parts(tokenizer)


def ids(length: int, start: int = 1000) -> tuple[int, ...]:
    return tuple(range(start, start + length))


async def test_whole_blocks_in_chunks_for_one_token_behind_everybody(parts: Parts) -> None:
    parts.warmer.hot([Prefix(ids=ids(5 * BLOCK + 3), salt="an", shared_tokens=7)])
    async with parts.working():
        await parts.done()
    assert [len(request.prompt_ids) for request in parts.warm_ups] == [32, 64, 80]
    for sent in parts.warm_ups:
        assert (sent.priority, sent.sampling.max_tokens) == (PRIORITY, 1)
        assert (sent.cache_salt, sent.shared_tokens) == ("an", 7)
    assert parts.metrics["warm_ups"] == 1
    assert parts.metrics["warm_up_tokens"] == 32 + 32 + 16


async def test_a_user_finds_what_was_warmed(parts: Parts) -> None:
    parts.warmer.hot([Prefix(ids=ids(64))])
    async with parts.working():
        await parts.done()
        deltas = await collect(parts.warmed, request(ids(70)))
    assert deltas[0].cached_tokens == 64
    assert (parts.metrics["requests"], parts.metrics["cached_tokens"]) == (1, 64)


async def test_nothing_that_fills_no_block_of_its_own(parts: Parts) -> None:
    parts.warmer.hot(
        [Prefix(ids=ids(BLOCK - 1)), Prefix(ids=ids(40)), Prefix(ids=(*ids(32), 1, 2, 3))]
    )
    async with parts.working():
        await parts.done()
    assert [len(request.prompt_ids) for request in parts.warm_ups] == [32]


async def test_hot_prefixes_take_a_share_of_the_cache_at_most(tokenizer: Tokenizer) -> None:
    parts = Parts(tokenizer, cache_tokens=640)
    parts.warmer.hot([Prefix(ids=ids(96)), Prefix(ids=ids(96, 5000)), Prefix(ids=ids(64, 9000))])
    async with parts.working():
        await parts.done()
    assert {sent.prompt_ids[0] for sent in parts.warm_ups} == {1000, 9000}


async def test_a_user_stops_it_and_it_goes_on_after(parts: Parts) -> None:
    parts.engine.gate.clear()
    parts.warmer.hot([Prefix(ids=ids(64))])
    async with parts.working():
        await asyncio.wait_for(parts.engine.reached.wait(), 5)
        answer = parts.warmed.stream(
            Request(id="user", prompt_ids=ids(9), sampling=Sampling(temperature=0, max_tokens=9))
        )
        await anext(answer)
        parts.engine.gate.set()
        for _ in range(100):  # turns of the loop in which it could go on
            await asyncio.sleep(0)
        assert parts.metrics["warm_ups_cancelled"] == 1
        assert parts.warm_ups == []
        await answer.aclose()
        await parts.done()
    assert [len(sent.prompt_ids) for sent in parts.warm_ups] == [32, 64]


async def test_what_a_chat_goes_on_from_comes_before_what_is_hot(parts: Parts) -> None:
    parts.warmer.hot([Prefix(ids=ids(32))])
    parts.warmer.soon(Prefix(ids=ids(40, 5000), salt="an"))
    async with parts.working():
        await parts.done()
    assert [sent.prompt_ids[0] for sent in parts.warm_ups] == [5000, 1000]
    assert len(parts.warm_ups[0].prompt_ids) == 32


async def test_only_so_many_wait_for_their_prefill(parts: Parts) -> None:
    for i in range(MOST_SOON + 3):
        parts.warmer.soon(Prefix(ids=ids(32, 1000 * i)))
    parts.warmer.soon(Prefix(ids=ids(32, 3000)))  # anew: now the last of them
    async with parts.working():
        await parts.done()
    begins = [sent.prompt_ids[0] // 1000 for sent in parts.warm_ups]
    assert begins == [*range(4, MOST_SOON + 3), 3]


async def test_two_users_own_ends_of_a_shared_beginning_take_their_own_room(
    tokenizer: Tokenizer,
) -> None:
    parts = Parts(tokenizer, cache_tokens=4 * (32 + 2 * 32))
    common = ids(64)
    parts.warmer.hot(
        [
            Prefix(ids=common, salt="an", shared_tokens=32),
            Prefix(ids=common, salt="bo", shared_tokens=32),
            Prefix(ids=common, salt="cy", shared_tokens=32),  # no room
        ]
    )
    async with parts.working():
        await parts.done()
    assert {sent.cache_salt for sent in parts.warm_ups} == {"an", "bo"}


@pytest.mark.parametrize("retouch", [0.5, None])
async def test_what_would_be_evicted_soon_is_touched_again(
    tokenizer: Tokenizer, retouch: float | None
) -> None:
    parts = Parts(tokenizer, cache_tokens=1024, retouch_share=retouch)
    parts.warmer.hot([Prefix(ids=ids(32))])
    async with parts.working():
        await parts.done()
        for i in range(3):
            assert len(parts.warm_ups) == 1
            await collect(parts.warmed, request(ids(200, 3000 * i + 2000)))
            await parts.done()
    assert len(parts.warm_ups) == (2 if retouch else 1)
    assert parts.metrics["re_touches"] == (1 if retouch else 0)


async def test_what_was_lost_is_warmed_anew(tokenizer: Tokenizer) -> None:
    parts = Parts(tokenizer, cache_tokens=512, retouch_share=None)
    parts.warmer.hot([Prefix(ids=ids(32))])
    async with parts.working():
        await parts.done()
        for i in range(3):
            await collect(parts.warmed, request(ids(200, 3000 * i + 2000)))
        await parts.done()
    assert parts.metrics["warm_ups"] == 2


async def test_it_ends_with_the_engine(tokenizer: Tokenizer) -> None:
    engine = FakeEngine(tokenizer, tokens_until_death=0)
    warmer = Warmer(engine, PrefixMetrics({}), quiet_s=0)
    warmer.hot([Prefix(ids=ids(32))])
    await asyncio.wait_for(warmer.run(), 5)
