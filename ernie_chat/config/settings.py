"""The settings: one typed model, filled from the environment (`ERNIE_CHAT_*`).

Every knob of the product is here with its unit and its reason; nobody edits code to configure.
Knows no room; starts nothing.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from ernie_chat.errors import SettingsError

ERNIE = "baidu/ERNIE-4.5-0.3B-PT"
EMBEDDED = "embedded"


def _number(value: object) -> object:
    """A choice among numbers comes as text from the environment; Literal compares it as it is."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


class Settings(BaseSettings):
    """What can be set. Fields that change the engine are listed in `engine_fields`."""

    model_config = SettingsConfigDict(
        env_prefix="ERNIE_CHAT_", frozen=True, extra="ignore", protected_namespaces=()
    )

    # The model
    model: Annotated[str, Field(min_length=1)] = ERNIE
    """A folder, a hub name, or "embedded" for the small model that ships as a package."""
    hub: Literal["auto", "huggingface", "modelscope"] = "auto"
    """Where to download from; "auto" tries Hugging Face first, then ModelScope."""
    hub_timeout_s: Annotated[float, Field(gt=0, le=60)] = 4.0
    """Seconds to wait for a hub's first answer before the next source is tried."""
    cache_dir: Path = Path("~/.cache/ernie_chat")
    """Where the embedded model is written; outside the source tree, so `-w` never sees it."""

    # The engine
    context_length: Annotated[int, Field(ge=256, le=131_072)] = 4096
    """Tokens of prompt and answer together."""
    max_num_seqs: Annotated[int, Field(ge=1, le=1024)] = 64
    """Answers decoded at the same time."""
    kv_cache_gib: Annotated[float, Field(gt=0)] = 1.0
    """KV cache on the CPU, GiB. On a GPU `gpu_memory_utilization` decides."""
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Share of the GPU's memory the engine may take."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """"auto": the checkpoint's on a GPU; on a CPU what was measured fastest there."""
    block_size: Annotated[Literal[8, 16, 32, 64, 128] | None, BeforeValidator(_number)] = None
    """Tokens in a KV block; None leaves it to the backend's default of ours."""
    enforce_eager: bool | None = None
    """No compiled graphs; None: eager on the CPU (starts at once), graphs on a GPU."""
    engine_process: Literal["auto", "fork", "spawn"] = "auto"
    """How the engine's process is made; "auto" forks on the CPU (6 s sooner), spawns on CUDA."""

    # Prompt
    truncate: bool = True
    """Shorten a long message to its first and last tokens."""
    truncate_head: Annotated[int, Field(ge=1)] = 384
    truncate_tail: Annotated[int, Field(ge=0)] = 128
    max_message_chars: Annotated[int, Field(ge=1)] = 400_000
    """A larger message is refused before it is tokenised."""
    system_prompt: str = ""
    """The system prompt of a new chat."""
    max_tokens: Annotated[int, Field(ge=1)] = 1024
    """Length limit of an answer, tokens; also a slider in the page."""

    # Prefix cache
    history_low_water: Annotated[float, Field(gt=0, le=1)] = 0.6
    """When a chat outgrows the context, its oldest turns leave until the rest fills this share of
    what history may have (beside system prompt and newest message): the next turns then keep an
    unchanged, cached prefix. 1: as few as can."""
    warm_up: bool = True
    """Prefill hot prompts while nobody asks."""
    hot_prompts: Path | None = None
    """A file like `ernie_chat/prefix/hot_prompts.toml` to use in its place."""
    learn_prompts: bool = True
    """Count what is asked again and again, in `cache_dir`, and keep that hot too."""
    warm_up_chunk_tokens: Annotated[int, Field(ge=8)] = 128
    """A user who asks waits for one such chunk of a warm-up at most: 0.1 s on two CPU cores."""
    retouch_share: Annotated[float, Field(ge=0, lt=0.9)] = 0.5
    """A hot prefix is touched again when so much of the KV cache was computed since; 0: never."""

    # Streaming
    frame_ms: Annotated[float, Field(ge=0, le=1000)] = 40.0
    """After the first token, text is sent to the browser at most once per frame."""
    disconnect_grace_s: Annotated[float, Field(ge=0)] = 20.0
    """A closed tab's answer runs on this long, so that a reconnect finds it whole."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    @model_validator(mode="after")
    def _fits(self) -> Settings:
        if self.truncate and self.truncate_head + self.truncate_tail >= self.context_length:
            raise ValueError(
                "truncate_head + truncate_tail must be smaller than context_length"
                f" ({self.truncate_head} + {self.truncate_tail} >= {self.context_length})"
            )
        return self

    def engine_fingerprint(self) -> str:
        """Two settings with the same fingerprint can share a running engine."""
        return self.model_dump_json(include=ENGINE_FIELDS)


ENGINE_FIELDS = {
    "model", "hub", "cache_dir", "context_length", "max_num_seqs", "kv_cache_gib",
    "gpu_memory_utilization", "dtype", "block_size", "enforce_eager", "engine_process",
}  # fmt: skip
"""A change of any of these needs a restart; the rest takes effect on `-w` reload."""


def load_settings() -> Settings:
    """The settings in force now, read from the environment. Raises SettingsError."""
    try:
        return Settings()
    except ValidationError as error:
        problems = "; ".join(
            f"ERNIE_CHAT_{'_'.join(map(str, e['loc'])).upper()}: {e['msg']}"
            if e["loc"]
            else e["msg"]
            for e in error.errors()
        )
        raise SettingsError(problem=problems) from error


@functools.cache
def settings() -> Settings:
    """`load_settings`, once per load of this module (a `-w` reload reads them anew)."""
    return load_settings()
