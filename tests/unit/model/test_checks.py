"""A folder is a whole model, or the error names the file that isn't."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ernie_chat.errors import ModelCorrupt, ModelUnsupported
from ernie_chat.model.checks import end_of_turn, inspect
from ernie_chat.model.source import Generation, Model
from ernie_chat.model.tokenizer import ModelTokenizer, load_tokenizer
from tests.support.ernie_tokenizer import END
from tests.support.small_model import safetensors, write_small_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_small_model(tmp_path / "model")


def look(folder: Path) -> Model:
    return inspect(folder, name="small", wanted="small", source="folder")


def change(file: Path, **changes: Any) -> None:
    """Replace keys of a JSON file; None takes a key out."""
    content = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({k: v for k, v in content.items() if v is not None}))


def test_whole(folder: Path) -> None:
    tokenizer = load_tokenizer(folder)
    model = look(folder)
    assert model.folder == folder
    assert model.generation == Generation(temperature=0.8, top_p=0.8)
    assert model.context_length == 131072
    assert model.stop_token_ids == (2, tokenizer.control_id(END))


def test_embedded(embedded_folder: Path) -> None:
    model = inspect(embedded_folder, name="SmolLM2", wanted="embedded", source="embedded")
    tokenizer = load_tokenizer(embedded_folder)
    assert model.stop_token_ids == (tokenizer.control_id("<|im_end|>"),)
    assert model.context_length == 8192
    assert model.generation == Generation(temperature=0.2, top_p=0.9, repetition_penalty=1.1)
    assert not model.stands_in


def test_several_ends_of_text(folder: Path) -> None:
    change(folder / "generation_config.json", eos_token_id=[2, 5])
    assert set(look(folder).stop_token_ids) > {2, 5}


def test_without_generation_config(folder: Path) -> None:
    (folder / "generation_config.json").unlink()
    assert look(folder).generation == Generation()
    assert 2 in look(folder).stop_token_ids


def test_greedy_by_its_own_word(folder: Path) -> None:
    change(folder / "generation_config.json", do_sample=False)
    assert look(folder).generation == Generation(temperature=0.0)


def test_end_of_turn(ernie_tokenizer: ModelTokenizer, tokenizer: ModelTokenizer) -> None:
    assert end_of_turn(ernie_tokenizer) == END
    assert end_of_turn(tokenizer) == "<|im_end|>"


def test_template_that_ends_no_turn(folder: Path) -> None:
    template = "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    change(folder / "tokenizer_config.json", chat_template=template)
    assert end_of_turn(load_tokenizer(folder)) is None
    assert look(folder).stop_token_ids == (2,)


# Damage


def expect_corrupt(folder: Path, file: str) -> None:
    with pytest.raises(ModelCorrupt) as caught:
        look(folder)
    assert caught.value.fields == {"model": "small", "file": file}


@pytest.mark.parametrize("file", ["config.json", "generation_config.json", "tokenizer_config.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b"null"])
def test_damaged_json(folder: Path, file: str, content: bytes) -> None:
    (folder / file).write_bytes(content)
    expect_corrupt(folder, file)


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
def test_missing(folder: Path, file: str) -> None:
    (folder / file).unlink()
    expect_corrupt(folder, file)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: content[:150],
        lambda content: content[:5],
        lambda content: b"",
        lambda content: content + b"\0",
        lambda content: bytes(len(content)),
        lambda content: b"\xff" * len(content),
        lambda content: content[:8] + b"?" + content[9:],
        lambda content: (2).to_bytes(8, "little") + b"[]",
        lambda content: (9).to_bytes(8, "little") + b'{"a": {}}',
    ],
)
def test_damaged_weights(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(damage(file.read_bytes()))
    expect_corrupt(folder, "model.safetensors")


def shard(folder: Path, weight_map: dict[str, str]) -> None:
    (folder / "model.safetensors").unlink()
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def test_shards(folder: Path) -> None:
    shard(folder, {"a": "1.safetensors", "b": "2.safetensors"})
    (folder / "1.safetensors").write_bytes(safetensors({"a": 10}))
    expect_corrupt(folder, "2.safetensors")
    (folder / "2.safetensors").write_bytes(safetensors({"c": 10}))
    expect_corrupt(folder, "2.safetensors")
    (folder / "2.safetensors").write_bytes(safetensors({"b": 10}))
    assert look(folder).name == "small"


@pytest.mark.parametrize("weight_map", [{"a": "../a.safetensors"}, {"a": 1}, [], None])
def test_damaged_index(folder: Path, weight_map: Any) -> None:
    shard(folder, weight_map)
    expect_corrupt(folder, "model.safetensors.index.json")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
KEYS = [
    ("config.json", ["max_position_embeddings", "eos_token_id", "text_config"]),
    ("generation_config.json", ["temperature", "top_p", "do_sample", "eos_token_id"]),
    (
        "tokenizer_config.json",
        ["chat_template", "eos_token", "added_tokens_decoder", "additional_special_tokens"],
    ),
    ("tokenizer.json", ["model", "added_tokens", "decoder", "normalizer", "truncation"]),
]


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_value_in_any_file_is_read_or_one_of_our_errors(
    folder: Path, data: st.DataObject
) -> None:
    name, keys = data.draw(st.sampled_from(KEYS))
    file = folder / name
    before = file.read_text()
    content = json.loads(before) | {data.draw(st.sampled_from(keys)): data.draw(ANYTHING)}
    file.write_text(json.dumps(content))
    with contextlib.suppress(ModelCorrupt, ModelUnsupported):
        assert look(folder).context_length > 0
    file.write_text(before)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(header=st.dictionaries(st.sampled_from(["a", "__metadata__"]), ANYTHING))
def test_any_header_of_weights(folder: Path, header: Any) -> None:
    head = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + b"data")
    expect_corrupt(folder, "model.safetensors")


# Not for us


def test_other_formats_of_weights(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelUnsupported, match="safetensors"):
        look(folder)


def test_base_model(folder: Path) -> None:
    change(folder / "tokenizer_config.json", chat_template=None)
    with pytest.raises(ModelUnsupported, match="no chat model"):
        look(folder)


def test_context_length_of_the_text_part(folder: Path) -> None:
    part = {"max_position_embeddings": 4096}
    change(folder / "config.json", max_position_embeddings=None, text_config=part)
    assert look(folder).context_length == 4096


def test_sampling_defaults_that_are_no_numbers(folder: Path) -> None:
    odd = {"temperature": float("nan"), "top_p": "0.8", "repetition_penalty": True}
    change(folder / "generation_config.json", **odd)
    assert look(folder).generation == Generation()


@pytest.mark.parametrize("odd", [0, -1, True, "4096", [], None])
def test_no_context_length(folder: Path, odd: Any) -> None:
    change(folder / "config.json", max_position_embeddings=odd, text_config=odd)
    with pytest.raises(ModelUnsupported, match="context length"):
        look(folder)
