"""Ids that spell nothing are never sampled: a second engine, told that most ids spell nothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import pytest

from ernie_chat.chat.tokenizer import Tokenizer
from ernie_chat.engine.embedded import EmbeddedEngine
from ernie_chat.engine.start import build
from ernie_chat.engine.threads import in_own_thread
from ernie_chat.running import Running
from tests.engine.conftest import SETTINGS
from tests.support.engine import collect, request

FIRST = 400
"""The embedded model's ids from here on are made to spell nothing."""


class Stunted:
    """A tokenizer whose vocabulary ends early."""

    control_ids: frozenset[int] = frozenset()

    def __init__(self, whole: Tokenizer) -> None:
        self._whole = whole

    def encode(self, text: str) -> list[int]:
        return self._whole.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        return self._whole.decode([i for i in ids if i < FIRST])


@pytest.fixture
def metrics_of_the_first_engine() -> Iterator[None]:
    """A new engine takes the metrics of the one before out of the process's registry; this puts
    them back."""
    from prometheus_client import REGISTRY

    before = set(REGISTRY._collector_to_names)
    yield
    for collector in set(REGISTRY._collector_to_names) - before:
        REGISTRY.unregister(collector)
    for collector in before - set(REGISTRY._collector_to_names):
        REGISTRY.register(collector)


@pytest.mark.usefixtures("metrics_of_the_first_engine")
async def test_ids_without_a_token_are_never_sampled(running: Running) -> None:
    stunted = Stunted(running.tokenizer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        llm = await in_own_thread(lambda: build(SETTINGS, running.model, stunted), name="start")
    engine = EmbeddedEngine(llm, stunted)
    context = llm.engine_core.resources.ctx
    try:
        for temperature in (0.0, 2.0):
            asked = request([5, 6, 7], max_tokens=24, temperature=temperature)
            masked = [i for delta in await collect(engine, asked) for i in delta.token_ids]
            free = [i for delta in await collect(running.engine, asked) for i in delta.token_ids]
            assert len(masked) == 24
            assert max(masked) < FIRST
            assert max(free) >= FIRST, "without the mask other ids would have come"
    finally:
        await in_own_thread(engine.shutdown, name="shutdown")
        context.destroy(linger=0)
