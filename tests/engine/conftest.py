"""The real engine with the embedded model, started once for the whole run."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator

import pytest

from ernie_chat.config.settings import Settings
from ernie_chat.engine.interface import Engine
from ernie_chat.engine.keep import kept
from ernie_chat.running import Running
from ernie_chat.service import Service

SETTINGS = Settings(
    model="embedded",
    context_length=1024,
    max_num_seqs=8,
    dtype="float32",  # in bfloat16 two tokens are often equally likely, and shapes decide
    kv_cache_gib=0.25,
    gpu_memory_utilization=0.1,  # some tests start a second engine beside this one
    warm_up=False,  # tests say what is in the prefix cache
    log_level="WARNING",
)


@pytest.fixture(scope="session")
async def service() -> AsyncIterator[Service]:
    """The service with its engine ready."""
    service = Service(SETTINGS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what importing vLLM warns of isn't ours to mend
        service.begin()
        await service.ready()
    yield service
    context = kept().llm.engine_core.resources.ctx
    await service.shutdown()
    context.destroy(linger=0)  # vLLM leaves it to the collector, which warns


@pytest.fixture(scope="session")
async def running(service: Service) -> Running:
    """Engine, model and tokenizer."""
    return await service.ready()


@pytest.fixture(scope="session")
def engine(running: Running) -> Engine:
    """The engine alone."""
    return running.engine
