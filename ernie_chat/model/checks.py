"""Is this folder a whole chat model, and what does it say about itself?

Reads headers and small files only, milliseconds for any size of weights. Whether the engine can
run the architecture is the engine's to say.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ernie_chat.errors import ModelCorrupt, ModelUnsupported
from ernie_chat.model.json_file import read_object
from ernie_chat.model.source import Generation, Model, Source
from ernie_chat.model.tokenizer import ModelTokenizer, load_tokenizer

_CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "max_sequence_length", "seq_length")
_HEADER_LIMIT = 100_000_000
"""Longest header the safetensors format allows, bytes."""

_PROBE = "Quinquagesima"
"""An answer that no template contains by itself."""


def inspect(folder: Path, *, name: str, wanted: str, source: Source) -> Model:
    """The model in `folder`. Raises ModelCorrupt, naming the file, and ModelUnsupported."""
    config = read_object(folder / "config.json", name)
    check_weights(folder, name)
    tokenizer = load_tokenizer(folder, name=name)
    file = folder / "generation_config.json"
    generation = read_object(file, name) if file.exists() else {}
    return Model(
        folder=folder,
        name=name,
        wanted=wanted,
        source=source,
        generation=_generation(generation),
        stop_token_ids=_stop_token_ids(generation, config, tokenizer),
        context_length=_context_length(config, name),
    )


# Weights


def check_weights(folder: Path, name: str) -> None:
    """Every tensor of every safetensors file lies within its file, and none is missing."""
    for file, tensors in _weight_files(folder, name).items():
        missing = tensors - _stored_tensors(folder / file, name)
        if missing:
            raise ModelCorrupt(f"lacks {sorted(missing)[:3]}", model=name, file=file)


def _weight_files(folder: Path, name: str) -> dict[str, set[str]]:
    """Files of weights, each with the tensors that an index expects in it."""
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        if any(folder.glob("*.safetensors")):
            return {file.name: set() for file in folder.glob("*.safetensors")}
        if any(folder.glob("*.bin")) or any(folder.glob("*.gguf")):
            raise ModelUnsupported(model=name, reason="its weights are not in safetensors files")
        raise ModelCorrupt("no weights", model=name, file="model.safetensors")
    files: dict[str, set[str]] = {}
    try:
        for tensor, file in read_object(index, name)["weight_map"].items():
            if Path(file).name != file:
                raise ValueError(f"{file} is not beside the index")
            files.setdefault(file, set()).add(tensor)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ModelCorrupt(str(error), model=name, file=index.name) from error
    return files


def _stored_tensors(file: Path, name: str) -> set[str]:
    """Names in a safetensors file: 8 bytes of header length, a JSON header, then the tensors."""
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if not 0 < length <= min(size - 8, _HEADER_LIMIT):
                raise ValueError(f"header of {length} bytes in a file of {size}")
            header = json.loads(stream.read(length))
        header.pop("__metadata__", None)
        end = max((entry["data_offsets"][1] for entry in header.values()), default=0)
        if size != 8 + length + end:
            raise ValueError(f"{size} bytes, should be {8 + length + end}")
        return set(header)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ModelCorrupt(str(error), model=name, file=file.name) from error


# What the model says about itself


def _generation(content: Mapping[str, Any]) -> Generation:
    def number(key: str) -> float | None:
        value = content.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return float(value) if math.isfinite(value) else None

    greedy = content.get("do_sample") is False
    return Generation(
        temperature=0.0 if greedy else number("temperature"),
        top_p=None if greedy else number("top_p"),
        repetition_penalty=number("repetition_penalty"),
    )


def _context_length(config: Mapping[str, Any], name: str) -> int:
    for part in (config, config.get("text_config")):
        if not isinstance(part, Mapping):
            continue
        for key in _CONTEXT_KEYS:
            for value in _integers(part.get(key)):
                if value > 0:
                    return value
    raise ModelUnsupported(model=name, reason="its config.json gives no context length")


def _stop_token_ids(
    generation: Mapping[str, Any], config: Mapping[str, Any], tokenizer: ModelTokenizer
) -> tuple[int, ...]:
    """Ids that end an answer: what the files call end of text, and what the template writes
    after an answer (for ERNIE that is not the end of text)."""
    ids = {*_integers(generation.get("eos_token_id")), *_integers(config.get("eos_token_id"))}
    for token in (tokenizer.names.get("eos_token"), end_of_turn(tokenizer)):
        if token in tokenizer.control_tokens:
            ids.add(tokenizer.control_id(token))
    return tuple(sorted(ids))


def _integers(value: Any) -> Iterable[int]:
    values = value if isinstance(value, list) else [value]
    return [i for i in values if isinstance(i, int) and not isinstance(i, bool)]


def end_of_turn(tokenizer: ModelTokenizer) -> str | None:
    """The control token that the template writes right after an answer, if it writes one."""
    written = tokenizer.render(
        [{"role": "user", "content": _PROBE}, {"role": "assistant", "content": _PROBE}],
        add_generation_prompt=False,
    )
    after = written.rpartition(_PROBE)[2].lstrip()
    return next((token for token in tokenizer.control_tokens if after.startswith(token)), None)
