"""A start that fails says why. Each is a real start, of a second engine beside the shared one."""

from __future__ import annotations

import gc
import shutil
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ernie_chat.config.settings import Settings
from ernie_chat.engine.start import build
from ernie_chat.engine.threads import in_own_thread
from ernie_chat.errors import (
    ErnieChatError,
    ModelCorrupt,
    NotEnoughMemory,
    SettingsError,
    from_plain,
)
from ernie_chat.running import Running
from tests.engine.conftest import SETTINGS


async def failure(running: Running, settings: Settings, **changes: Any) -> ErnieChatError:
    """What a start with these settings, and the model changed so, fails with."""
    model = replace(running.model, **changes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # vLLM leaves its ZeroMQ context to the collector
        with pytest.raises(ErnieChatError) as caught:
            await in_own_thread(lambda: build(settings, model, running.tokenizer), name="start")
        plain = caught.value.as_plain()
        del caught
        gc.collect()
    return from_plain(plain)


@pytest.fixture
def folder(running: Running, tmp_path: Path) -> Path:
    """A copy of the model, to be damaged."""
    return Path(shutil.copytree(running.model.folder, tmp_path / "model"))


def cut_short(weights: Path) -> None:
    weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])


def overwrite_header(weights: Path) -> None:
    with weights.open("r+b") as file:
        file.write(b"\xff" * 64)


def leave_out_a_tensor(weights: Path) -> None:
    from safetensors.numpy import save_file

    save_file({}, weights)


@pytest.mark.parametrize("damage", [cut_short, overwrite_header, leave_out_a_tensor])
async def test_a_corrupt_checkpoint(
    running: Running, folder: Path, damage: Callable[[Path], None]
) -> None:
    damage(folder / "model.safetensors")
    error = await failure(running, SETTINGS, folder=folder, name="broken")
    assert type(error) is ModelCorrupt
    assert "broken" in error.sentence("en")
    assert "safetensors" in error.sentence("zh")
    assert error.detail
    await running.engine.check()


async def test_too_little_memory_for_the_cache(running: Running) -> None:
    error = await failure(running, SETTINGS.model_copy(update={"kv_cache_gib": 100_000.0}))
    assert type(error) is NotEnoughMemory
    assert "memory" in error.detail.lower()


async def test_a_context_that_the_cache_cannot_hold(running: Running) -> None:
    settings = SETTINGS.model_copy(update={"kv_cache_gib": 0.01, "context_length": 8192})
    error = await failure(running, settings)
    assert type(error) is NotEnoughMemory
    assert "ERNIE_CHAT_CONTEXT_LENGTH" in error.sentence("en")


async def test_a_block_size_that_the_cpu_does_not_take(running: Running) -> None:
    error = await failure(running, SETTINGS.model_copy(update={"block_size": 16}))
    assert type(error) is SettingsError
    assert "ERNIE_CHAT_BLOCK_SIZE" in error.sentence("en")
