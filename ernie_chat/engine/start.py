"""Builds vLLM's engine. Blocks for seconds: call `build` in a thread of its own."""

from __future__ import annotations

import importlib.metadata
import os
import traceback
from dataclasses import asdict
from typing import Any

from ernie_chat.config.settings import Settings
from ernie_chat.engine.failure import explain
from ernie_chat.engine.options import engine_arguments, environment
from ernie_chat.engine.process import guarded_engine_process
from ernie_chat.engine.vocabulary import Vocabulary, vocabulary_arguments
from ernie_chat.errors import ErnieChatError
from ernie_chat.model.source import Model


def build(settings: Settings, model: Model, vocabulary: Vocabulary) -> Any:
    """A started AsyncLLM. Raises EngineStartFailed, NotEnoughMemory, ModelCorrupt,
    ModelUnsupported or SettingsError."""
    cuda = has_cuda()
    os.environ.update(environment(settings, cuda=cuda))
    try:
        return _build(settings, model, vocabulary, cuda=cuda)
    except ErnieChatError:
        raise
    except Exception as error:
        raise explain(
            model=model.name,
            kind=type(error).__name__,
            message=str(error),
            trace="".join(traceback.format_exception(error)),
        ) from error


def has_cuda() -> bool:
    """Whether vLLM will run on an NVIDIA GPU. Initialises nothing."""
    try:
        version = importlib.metadata.version("vllm")
    except importlib.metadata.PackageNotFoundError:
        return False  # the CPU build has a name of its own
    devices = ("/dev/nvidiactl", "/dev/dxg")  # the latter under Windows' Linux
    return "cpu" not in version and any(map(os.path.exists, devices))


def _build(settings: Settings, model: Model, vocabulary: Vocabulary, *, cuda: bool) -> Any:
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    arguments = engine_arguments(settings, model, cuda=cuda)
    arguments |= vocabulary_arguments(vocabulary, _embedding_rows(model))
    config = AsyncEngineArgs(**arguments).create_engine_config()
    fork = settings.engine_process == "fork" or (settings.engine_process == "auto" and not cuda)
    # Creating the configuration sets this to "spawn" on a CPU, so it is set after that.
    os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "fork" if fork else "spawn"
    with guarded_engine_process(fork=fork) as reports:
        try:
            return AsyncLLM.from_vllm_config(config)
        except Exception as error:
            failure = reports.failure()
            if failure is None:
                raise
            raise explain(model=model.name, **asdict(failure)) from error


def _embedding_rows(model: Model) -> int:
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(model.folder, local_files_only=True)
    rows: int = config.get_text_config().vocab_size
    return rows
