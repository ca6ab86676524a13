"""Token ids in, deltas out, of the real engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

import pytest

from ernie_chat.engine.interface import Engine
from ernie_chat.running import Running
from tests.support.engine import ask, collect, joined, request


def gauge(name: str) -> float:
    """A gauge of the engine, as a Prometheus scrape would show it."""
    from prometheus_client import REGISTRY

    return sum(
        sample.value
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if sample.name == name
    )


async def until(condition: Callable[[], bool]) -> None:
    """Gauges can only be looked at."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def idle() -> bool:
    return not gauge("vllm:num_requests_running") and not gauge("vllm:num_requests_waiting")


async def test_the_capital_of_france(running: Running) -> None:
    stops = running.model.stop_token_ids
    deltas = await collect(
        running.engine,
        ask(running.tokenizer, "What is the capital of France?", stop_token_ids=stops),
    )
    ids = [token for delta in deltas for token in delta.token_ids]
    assert joined(deltas) == "The capital of France is Paris."
    assert [delta.finish for delta in deltas[:-1]] == [None] * (len(deltas) - 1)
    assert deltas[-1].finish == "stop"
    assert ids[-1] in stops
    assert running.tokenizer.decode(ids) == joined(deltas)


async def test_the_same_prompt_again_comes_from_the_cache(running: Running) -> None:
    asked = "Which of the planets that circle our sun is the largest one, and how large is it?"
    first = await collect(running.engine, ask(running.tokenizer, asked, max_tokens=4))
    again = await collect(running.engine, ask(running.tokenizer, asked, max_tokens=4))
    assert again[0].prompt_tokens == first[0].prompt_tokens
    assert 0 < again[0].cached_tokens < again[0].prompt_tokens
    assert again[0].cached_tokens % running.engine.block_size == 0
    assert joined(again) == joined(first)


async def test_the_length_limit(running: Running) -> None:
    deltas = await collect(running.engine, ask(running.tokenizer, "Tell a story.", max_tokens=5))
    assert deltas[-1].finish == "length"
    assert sum(len(delta.token_ids) for delta in deltas) == 5


async def test_a_prompt_that_fills_the_context(running: Running) -> None:
    ids = running.tokenizer.encode(" the sea") * running.engine.context_length
    for room in (1, 5):
        fits = ids[: running.engine.context_length - room]
        deltas = await collect(running.engine, request(fits, max_tokens=room))
        assert sum(len(delta.token_ids) for delta in deltas) == room
        assert deltas[-1].finish == "length"
        assert deltas[-1].prompt_tokens == len(fits)


@pytest.mark.parametrize(
    ("prompt", "max_tokens"),
    [([], 8), ([5] * 1024, 1), ([5] * 1000, 25), ([5, -1], 8), ([5, 10**6], 8)],
    ids=["empty", "full", "too long", "negative id", "id without a row"],
)
async def test_a_request_that_breaks_the_interface_harms_nothing(
    running: Running, prompt: list[int], max_tokens: int
) -> None:
    with pytest.raises(ValueError, match=r"prompt is empty or has ids|don't fit 1024"):
        await collect(running.engine, request(prompt, max_tokens=max_tokens))
    await running.engine.check()
    assert await collect(running.engine, ask(running.tokenizer, "Hello", max_tokens=1))


async def test_a_temperature_that_no_sampler_takes_is_a_callers_mistake(running: Running) -> None:
    with pytest.raises(ValueError, match="temperature") as caught:
        await collect(running.engine, ask(running.tokenizer, "Hello", temperature=9.0))
    assert type(caught.value) is ValueError


async def test_closing_the_stream_aborts_at_once(running: Running) -> None:
    async with aclosing(
        running.engine.stream(ask(running.tokenizer, "Count to 500.", max_tokens=512))
    ) as stream:
        async for _ in stream:
            break
        assert gauge("vllm:num_requests_running") == 1
    async with asyncio.timeout(1):
        await until(idle)


async def test_cancelling_the_reader_aborts_at_once(running: Running) -> None:
    begun = asyncio.Event()

    async def read() -> None:
        async for _ in running.engine.stream(
            ask(running.tokenizer, "Count to 500.", max_tokens=512)
        ):
            begun.set()

    reader = asyncio.create_task(read())
    await begun.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    async with asyncio.timeout(1):
        await until(idle)


async def test_eight_at_once(running: Running) -> None:
    answers = await asyncio.gather(
        *(
            collect(
                running.engine,
                ask(running.tokenizer, f"What is {n} plus {n}?", max_tokens=16),
            )
            for n in range(8)
        )
    )
    assert all(sum(len(d.token_ids) for d in deltas) == 16 for deltas in answers)
    assert len({joined(deltas) for deltas in answers}) > 1


async def test_a_request_that_waits_can_be_cancelled(running: Running) -> None:
    """More than the engine decodes at once: the last waits, is cancelled, and nothing is left."""

    async def read(n: int) -> None:
        text = f"Count from {n} to 500."
        await collect(running.engine, ask(running.tokenizer, text, max_tokens=64))

    async with asyncio.TaskGroup() as group:
        busy = [group.create_task(read(n)) for n in range(8)]
        await until(lambda: gauge("vllm:num_requests_running") == len(busy))
        waiting = asyncio.create_task(read(9))
        await until(lambda: gauge("vllm:num_requests_waiting") == 1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    async with asyncio.timeout(1):
        await until(idle)


async def test_sampling_is_repeatable_with_a_seed(engine: Engine, running: Running) -> None:
    asked = ask(running.tokenizer, "Name an animal.", max_tokens=8)
    seeded = replace(asked.sampling, temperature=1.0, seed=7)
    first, again = [
        joined(await collect(engine, replace(asked, id=f"seeded-{n}", sampling=seeded)))
        for n in range(2)
    ]
    assert first == again


async def test_chinese_arrives_whole(running: Running) -> None:
    asked = ask(running.tokenizer, "把这句话翻译成中文: good morning 🙂 你好", max_tokens=48)
    deltas = await collect(running.engine, asked)
    ids = [token for delta in deltas for token in delta.token_ids]
    assert joined(deltas) == running.tokenizer.decode(ids)
    assert all("\N{REPLACEMENT CHARACTER}" not in delta.text for delta in deltas[:-1])
