"""A folder that passes for a whole ERNIE checkpoint: real form, no sense in the weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.ernie_tokenizer import write_ernie_tokenizer

CONFIG: dict[str, Any] = {
    "architectures": ["Ernie4_5ForCausalLM"],
    "model_type": "ernie4_5",
    "max_position_embeddings": 131072,
    "eos_token_id": 2,
}
GENERATION: dict[str, Any] = {
    "do_sample": True,
    "temperature": 0.8,
    "top_p": 0.8,
    "eos_token_id": 2,
}


def safetensors(tensors: dict[str, int]) -> bytes:
    """A safetensors file; `tensors` gives each one's size in bytes."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, size in tensors.items():
        header[name] = {"dtype": "U8", "shape": [size], "data_offsets": [offset, offset + size]}
        offset += size
    head = json.dumps(header).encode()
    data = bytes(i * 7 % 251 for i in range(offset))
    return len(head).to_bytes(8, "little") + head + data


def write_small_model(folder: Path) -> Path:
    write_ernie_tokenizer(folder)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "generation_config.json").write_text(json.dumps(GENERATION))
    (folder / "model.safetensors").write_bytes(safetensors({"a": 200_000, "b": 100_000}))
    return folder
