"""Settings and model to what vLLM is told: environment variables and engine arguments.

Plain data, no vLLM import, so that it is tested in milliseconds.
"""

from __future__ import annotations

from typing import Any

from ernie_chat.config.settings import Settings
from ernie_chat.engine.cpu import CPU_BLOCK_SIZE, fast_dtype, usable_cores
from ernie_chat.errors import SettingsError
from ernie_chat.model.source import Model


def environment(settings: Settings, *, cuda: bool) -> dict[str, str]:
    """Variables that must be set before vLLM and torch are first imported."""
    quiet = settings.log_level != "DEBUG"
    variables = {
        "VLLM_LOGGING_LEVEL": "ERROR" if quiet else "INFO",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        # The model is a folder on this disk by now; nothing may look for updates.
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",  # its threads and a fork don't go together
    }
    if quiet:
        variables |= {"TRANSFORMERS_VERBOSITY": "error", "TORCH_CPP_LOG_LEVEL": "ERROR"}
    if not cuda:
        variables |= {
            # With "uni", the worker lives in the engine's process. AsyncLLM makes that process
            # in any case; on a CPU vLLM accepts "uni" only when this is 0.
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            "OMP_NUM_THREADS": str(usable_cores()),
        }
        if is_eager(settings, cuda=cuda):
            # vLLM compiles its sampler even in eager mode: 25 s on a new machine, 3 s with a warm
            # cache, and it needs a C++ compiler.
            variables["TORCHDYNAMO_DISABLE"] = "1"
    return variables


def is_eager(settings: Settings, *, cuda: bool) -> bool:
    """No compiled graphs: on the CPU compiling costs more than a chat ever gets back."""
    return not cuda if settings.enforce_eager is None else settings.enforce_eager


def engine_arguments(settings: Settings, model: Model, *, cuda: bool) -> dict[str, Any]:
    """Keyword arguments of vLLM's AsyncEngineArgs. Raises SettingsError."""
    context_length = min(settings.context_length, model.context_length)
    arguments: dict[str, Any] = {
        "model": str(model.folder),
        "served_model_name": model.name,
        # Token ids in, token ids out: the app has the one tokenizer. vLLM's would cost a second
        # and refuse folders that name a tokenizer class of their own.
        "skip_tokenizer_init": True,
        "trust_remote_code": False,
        "max_model_len": context_length,
        "max_num_seqs": settings.max_num_seqs,
        "enable_prefix_caching": True,
        # Users before warm-ups, which fill the prefix cache when nobody waits.
        "scheduling_policy": "priority",
        # So that evictions are counted. A watched block takes 1.1 kB.
        "kv_cache_metrics": True,
        "kv_cache_metrics_sample": 0.05 if cuda else 1.0,
        # Sampling is always said in full; vLLM's own reading of the file would override it.
        "generation_config": "vllm",
        "enforce_eager": is_eager(settings, cuda=cuda),
        "use_tqdm_on_load": False,
        "enable_log_requests": False,
    }
    if cuda:
        arguments |= {
            "dtype": settings.dtype,
            "gpu_memory_utilization": settings.gpu_memory_utilization,
        }
    else:
        arguments |= {
            "dtype": fast_dtype() if settings.dtype == "auto" else settings.dtype,
            "kv_cache_memory_bytes": int(settings.kv_cache_gib * 2**30),
            "distributed_executor_backend": "uni",
            "block_size": CPU_BLOCK_SIZE,
        }
        if settings.block_size is not None and settings.block_size % CPU_BLOCK_SIZE:
            raise SettingsError(
                problem=f"ERNIE_CHAT_BLOCK_SIZE: on a CPU it must be a multiple of {CPU_BLOCK_SIZE}"
            )
    if settings.block_size is not None:
        arguments["block_size"] = settings.block_size
    return arguments
