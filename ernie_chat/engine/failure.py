"""Why an engine did not start, from what vLLM, torch and safetensors say.

The only place that reads foreign error texts. What it doesn't know stays EngineStartFailed, with
the original as detail for the log.
"""

from __future__ import annotations

import re

from ernie_chat.errors import (
    EngineStartFailed,
    ErnieChatError,
    ModelCorrupt,
    ModelUnsupported,
    NotEnoughMemory,
)

_MEMORY = re.compile(
    r"out of memory|can't allocate memory|Cannot allocate memory|bad_alloc|MemoryError"
    r"|Available memory on node|Free memory on device|No available memory for the cache"
    r"|larger than the available KV cache memory"
    r"|larger than the maximum number of tokens that can be stored"
    r"|Failed core proc\(s\): \{[^}]*-9",  # killed: on Linux most often by the memory's guard
    re.IGNORECASE,
)
_CORRUPT = re.compile(
    r"SafetensorError|deserializing header|safetensors_rust|not initialized from checkpoint"
    r"|Attempted to load weight|There is no module or parameter named"
    r"|Cannot find any model weights|size mismatch|UnpicklingError|JSONDecodeError",
    re.IGNORECASE,
)
_UNSUPPORTED = re.compile(
    r"[Mm]odel architectures .* are not supported|does not recognize this architecture"
    r"|trust_remote_code|Unknown quantization method|not supported for quantization"
    r"|bfloat16 is only supported|is not supported on|not supported by the current"
)
_READING = re.compile(r"safetensors|weight_utils|load_weights")
"""In a traceback: it happened while weights were read."""
_READING_KINDS = {"OverflowError", "UnicodeDecodeError", "JSONDecodeError", "EOFError", "KeyError"}
_FILE = re.compile(r"[\w.\-]+\.(?:safetensors(?:\.index\.json)?|bin|json)\b")
_DETAIL_LIMIT = 1000


def explain(*, model: str, kind: str, message: str, trace: str = "") -> ErnieChatError:
    """The error a person sees for the exception `kind: message` with its traceback."""
    said = f"{kind}: {message}"
    detail = said[:_DETAIL_LIMIT]
    if _MEMORY.search(said):
        return NotEnoughMemory(detail)
    if _CORRUPT.search(said) or (kind in _READING_KINDS and _READING.search(trace)):
        file = _FILE.search(said)
        return ModelCorrupt(detail, model=model, file=file.group() if file else "*.safetensors")
    if _UNSUPPORTED.search(said):
        return ModelUnsupported(detail, model=model, reason=_first_sentence(message))
    return EngineStartFailed(detail)


def _first_sentence(message: str) -> str:
    line = next((line.strip() for line in message.splitlines() if line.strip()), message)
    return line.split(". ")[0].rstrip(".")[:200]
