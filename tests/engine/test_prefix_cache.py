"""What is found in the prefix cache, by whom, and that it changes no answer."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ernie_chat.engine.interface import Delta, Engine, Request
from ernie_chat.running import Running
from tests.support.engine import collect, joined, request

_starts = itertools.count(1000)


def fresh(tokens: int) -> list[int]:
    """A prompt that no test before has asked."""
    start = next(_starts)
    return [start, *(2000 + (start * 7 + i * 13) % 20_000 for i in range(tokens - 1))]


async def cached(engine: Engine, ids: Sequence[int], salt: str = "", shared: int = 0) -> int:
    """Tokens of `ids` that a request of `salt` finds cached."""
    asked = replace(request(ids, max_tokens=1), cache_salt=salt, shared_tokens=shared)
    return (await collect(engine, asked))[0].cached_tokens


@pytest.fixture
def block(engine: Engine) -> int:
    return engine.block_size


async def test_whole_blocks_are_found(engine: Engine, block: int) -> None:
    ids = fresh(3 * block + 5)
    assert await cached(engine, ids) == 0
    assert await cached(engine, ids) == 3 * block
    assert await cached(engine, ids[: 2 * block + 1]) == 2 * block


async def test_the_last_token_is_always_computed(engine: Engine, block: int) -> None:
    ids = fresh(2 * block)
    await cached(engine, ids)
    assert await cached(engine, ids) == block


async def test_a_salt_hides_a_prompt(engine: Engine, block: int) -> None:
    ids = fresh(4 * block + 1)
    assert await cached(engine, ids, "anna") == 0
    assert await cached(engine, ids, "anna") == 4 * block
    assert await cached(engine, ids, "ben") == 0
    assert await cached(engine, ids) == 0


@pytest.mark.parametrize("over", [0, 3], ids=["whole blocks", "within a block"])
async def test_shared_tokens_are_found_by_everybody(engine: Engine, block: int, over: int) -> None:
    """The block in which they end is the first private one."""
    ids = fresh(4 * block + 1)
    shared = 2 * block + over
    await cached(engine, ids, "anna", shared)
    assert await cached(engine, ids, "ben", shared) == 2 * block
    assert await cached(engine, ids, "anna", shared) == 4 * block


async def test_a_shared_warm_up_serves_every_salt(engine: Engine, block: int) -> None:
    ids = fresh(2 * block)
    await cached(engine, ids)
    for salt in ("", "anna", "ben"):
        assert await cached(engine, [*ids, 5, 6], salt, 2 * block) == 2 * block


async def test_what_one_user_says_is_shared_tells_another_nothing(
    engine: Engine, block: int
) -> None:
    """Shared tokens are the server's word: a prompt that only the first user's request called
    shared isn't found by one that doesn't."""
    ids = fresh(2 * block + 1)
    await cached(engine, ids, "anna", 0)
    assert await cached(engine, ids, "ben", 2 * block) == 0


async def test_greedy_answers_are_the_same_with_and_without_the_cache(running: Running) -> None:
    engine, tokenizer = running.engine, running.tokenizer
    texts = [
        "Count from one to twenty in words, then say which of these numbers are prime. " * 3,
        "Explain to a child why the sky is blue, what a rainbow is, and where it ends. " * 5,
        "你好！请用简单的话介绍一下北京的历史、美食和天气。" * 6,
    ]
    for n, text in enumerate(texts):
        ids = tokenizer.encode(text)
        cold = await _answer(engine, _asked(ids, f"cold-{n}"))
        await _answer(engine, _asked(ids, f"hot-{n}"))
        hot = await _answer(engine, _asked(ids, f"hot-{n}"))
        assert cold[0].cached_tokens == 0
        assert hot[0].cached_tokens > 0
        assert joined(hot) == joined(cold)


def _asked(ids: Sequence[int], salt: str) -> Request:
    return replace(request(ids, max_tokens=48), cache_salt=salt)


async def _answer(engine: Engine, asked: Request) -> list[Delta]:
    return await collect(engine, asked)


async def test_prefill_is_timed(engine: Engine, block: int) -> None:
    deltas = await collect(engine, request(fresh(4 * block), max_tokens=4))
    assert deltas[0].prefill_s is not None
    assert 0 < deltas[0].prefill_s < 60
    assert all(delta.prefill_s is None for delta in deltas[1:])
