"""Text in, text out, offsets true, and no way to type a control token."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from ernie_chat.chat.tokenizer import Tokenizer
from ernie_chat.errors import ModelCorrupt, ModelUnsupported
from ernie_chat.model.tokenizer import ModelTokenizer, load_tokenizer
from tests.support.ernie_tokenizer import (
    BEGIN,
    CONTROL,
    END,
    TEMPLATE,
    TEXT,
    ernie_with,
)

TEXTS = [
    "",
    " ",
    "\n\n",
    "Hello, world!  Two spaces, a\ttab.\r\n",
    "你好，世界。𠮷野家",
    "🙂🙂 👨‍👩‍👧 🇨🇳 e\u0301 ñ 삼겹살 A 世ab",
    "def f(x):\n    return x ** 2  # 平方\n",
    "\u200b\ufeff\u0000",
    "x" * 5000,
]


@pytest.fixture(params=["embedded", "ernie"])
def either(request: pytest.FixtureRequest) -> ModelTokenizer:
    """Both kinds: byte-level BPE, and BPE with byte fallback."""
    name = {"embedded": "tokenizer", "ernie": "ernie_tokenizer"}[request.param]
    found = request.getfixturevalue(name)
    assert isinstance(found, ModelTokenizer)
    return found


@pytest.fixture(params=["embedded", "ernie"])
def folder(request: pytest.FixtureRequest) -> Path:
    found = request.getfixturevalue(f"{request.param}_folder")
    assert isinstance(found, Path)
    return found


# Text


@pytest.mark.parametrize("text", TEXTS)
def test_text_comes_back(either: Tokenizer, text: str) -> None:
    assert either.decode(either.encode(text)) == text


def check_offsets(tokenizer: Tokenizer, text: str) -> None:
    """Offsets are in characters, in order, leave nothing out, and each id's text is there."""
    ids, offsets = tokenizer.encode_offsets(text)
    assert ids == tokenizer.encode(text)
    assert len(offsets) == len(ids)
    position = 0
    for i, (start, end) in zip(ids, offsets, strict=True):
        assert start <= position <= end <= len(text)
        assert start < end
        alone = tokenizer.decode([i])
        if "\ufffd" not in alone:
            assert alone.strip() in text[start:end]
        position = end
    assert position == len(text)


@pytest.mark.parametrize("text", TEXTS)
def test_offsets(either: Tokenizer, text: str) -> None:
    check_offsets(either, text)


# SmolLM2's vocabulary lacks six control characters; they are left out.
UNKNOWN = "\x04\x06\x13\x14\x16\x1d"
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters=UNKNOWN).filter(
    lambda character: not 0x40000 <= ord(character) <= 0xDFFFF
)


@settings(max_examples=300, deadline=None)
@given(text=st.text(CHARACTERS, max_size=40))
def test_any_text_comes_back_with_true_offsets(
    tokenizer: Tokenizer, ernie_tokenizer: Tokenizer, text: str
) -> None:
    check_offsets(tokenizer, text)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    check_offsets(ernie_tokenizer, text)
    # U+2581 stands for a space in this kind of tokenizer, so it comes back as one.
    assert ernie_tokenizer.decode(ernie_tokenizer.encode(text)) == text.replace("▁", " ")


def test_offsets_of_one_character_in_several_ids(
    tokenizer: Tokenizer, ernie_tokenizer: Tokenizer
) -> None:
    ids, offsets = ernie_tokenizer.encode_offsets("a🙂b")
    assert len(ids) == 6
    assert offsets == [(0, 1), (1, 2), (1, 2), (1, 2), (1, 2), (2, 3)]
    ids, offsets = tokenizer.encode_offsets("é👩x")
    assert offsets == [(0, 1), (1, 2), (1, 2), (1, 2), (2, 3)]


@pytest.mark.parametrize("strange", ["\ud83d", "\U00040000", "\U000dffff"])
def test_what_is_no_character_is_not_an_error(either: Tokenizer, strange: str) -> None:
    ids, offsets = either.encode_offsets(f"a{strange}b")
    assert either.decode(ids) == "a\ufffdb"
    assert (offsets[0], offsets[-1]) == ((0, 1), (2, 3))


def test_characters_without_a_token_are_left_out(tokenizer: Tokenizer) -> None:
    ids, offsets = tokenizer.encode_offsets(f"a{UNKNOWN}b")
    assert tokenizer.decode(ids) == "ab"
    assert offsets == [(0, 1), (7, 8)]


def test_plain_text_has_the_ids_that_the_model_was_trained_on(folder: Path) -> None:
    mine = load_tokenizer(folder)
    theirs = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    for text in TEXTS:
        assert mine.encode(text) == theirs.encode(text, add_special_tokens=False).ids


def test_several_threads(either: Tokenizer) -> None:
    expected = [either.encode(text) for text in TEXTS]
    with ThreadPoolExecutor(8) as pool:
        for got in pool.map(lambda _: [either.encode(text) for text in TEXTS], range(64)):
            assert got == expected


# Control tokens


def test_every_added_token_is_control(folder: Path) -> None:
    content = json.loads((folder / "tokenizer.json").read_text())
    tokenizer = load_tokenizer(folder)
    assert len(content["added_tokens"]) >= 13
    for entry in content["added_tokens"]:
        assert tokenizer.control_id(entry["content"]) == entry["id"]
    assert tokenizer.control_ids == {entry["id"] for entry in content["added_tokens"]}
    lengths = [len(token) for token in tokenizer.control_tokens]
    assert lengths == sorted(lengths, reverse=True)
    with pytest.raises(KeyError):
        tokenizer.control_id("hello")


def test_no_control_token_can_be_typed(either: Tokenizer) -> None:
    for token in either.control_tokens:
        for other in either.control_tokens:
            assert not either.control_ids.intersection(either.encode(token + other))
        for text in (
            token, token * 2, f"a{token}b", f" {token} ", f"天{token}空", f"\n{token}\n",
            f"<{token}>", token[:-1] + token, f"{token[0]} {token[1:]}", f"{token}🙂{token}",
        ):  # fmt: skip
            ids = either.encode(text)
            assert not either.control_ids.intersection(ids), text
            assert either.decode(ids) == text


def test_the_trap_is_real(ernie_folder: Path) -> None:
    """Without its added tokens the tokenizer as it is still makes control tokens, by merging."""
    content = json.loads((ernie_folder / "tokenizer.json").read_text())
    content["added_tokens"] = []
    naive = tokenizers.Tokenizer.from_str(json.dumps(content))
    assert naive.encode("</s>").tokens == ["</s>"]
    assert naive.encode(END).tokens == [END]


def test_a_typed_byte_token_is_no_byte(ernie_tokenizer: Tokenizer) -> None:
    assert ernie_tokenizer.decode(ernie_tokenizer.encode("<0x0A>")) == "<0x0A>"


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_no_mixture_makes_a_control_token(
    tokenizer: Tokenizer, ernie_tokenizer: Tokenizer, data: st.DataObject
) -> None:
    for each in (tokenizer, ernie_tokenizer):
        parts = st.sampled_from([*each.control_tokens, "<", ">", "|", "<|", "|>", " ", "s", "世"])
        text = "".join(data.draw(st.lists(parts, max_size=8)))
        assert not each.control_ids.intersection(each.encode(text))
        assert each.decode(each.encode(text)) == text


def test_decode_leaves_control_tokens_out(either: Tokenizer) -> None:
    ids = either.encode("left") + sorted(either.control_ids) + either.encode(" right")
    assert either.decode(ids) == "left right"


def test_ids_that_no_token_has_are_left_out(either: Tokenizer) -> None:
    """ERNIE's embedding has more rows than its tokenizer has tokens."""
    assert either.decode([*either.encode("left"), 10_000_000, *either.encode(" right")]) == (
        "left right"
    )


def with_added(source: Path, target: Path, *tokens: dict[str, Any]) -> ModelTokenizer:
    """The tokenizer in `source` with more added tokens."""
    target.mkdir()
    content = json.loads((source / "tokenizer.json").read_text())
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    content["added_tokens"] += [{**plain, "special": False, **token} for token in tokens]
    (target / "tokenizer.json").write_text(json.dumps(content))
    (target / "tokenizer_config.json").write_bytes((source / "tokenizer_config.json").read_bytes())
    return load_tokenizer(target)


def test_added_tokens_that_are_text_stay_text(ernie_folder: Path, tmp_path: Path) -> None:
    """Some tokenizers add runs of spaces: those are no control tokens, and keep their ids."""
    ids = (5000, 5001)
    tokenizer = with_added(
        ernie_folder,
        tmp_path / "model",
        {"id": ids[0], "content": "<|tool|>", "special": False},
        {"id": ids[1], "content": "~~~~"},
    )
    assert tokenizer.control_id("<|tool|>") == ids[0]
    assert ids[1] not in tokenizer.control_ids
    assert tokenizer.encode("~~~~") == [ids[1]]
    assert tokenizer.decode([ids[1]]) == "~~~~"
    assert ids[0] not in tokenizer.encode("<|tool|>")


# SentencePiece


@pytest.fixture(scope="module")
def sentencepiece_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An older ERNIE revision: a SentencePiece file, and a class that exists only as code."""
    import sentencepiece

    folder = tmp_path_factory.mktemp("older-4.5")
    (folder / "text").write_text(TEXT, encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text"), model_prefix=str(folder / "tokenizer"), model_type="bpe",
        vocab_size=900, byte_fallback=True, add_dummy_prefix=False, character_coverage=1.0,
        normalization_rule_name="identity", remove_extra_whitespaces=False, minloglevel=2,
        unk_id=0, bos_id=1, eos_id=2, control_symbols=[f"<mask:{i}>" for i in range(8)],
        user_defined_symbols=[BEGIN, END],
    )  # fmt: skip
    config = {
        "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "cls_token": BEGIN,
        "sep_token": END, "mask_token": "<mask:1>", "tokenizer_class": "Ernie4_5_Tokenizer",
        "auto_map": {"AutoTokenizer": ["tokenization_ernie4_5.Ernie4_5_Tokenizer", None]},
        "chat_template": TEMPLATE,
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def test_sentencepiece(sentencepiece_folder: Path) -> None:
    import sentencepiece

    tokenizer = load_tokenizer(sentencepiece_folder)
    model = str(sentencepiece_folder / "tokenizer.model")
    theirs = sentencepiece.SentencePieceProcessor(model_file=model)
    assert set(tokenizer.control_tokens) == set(CONTROL)
    for text in [*TEXTS, *TEXT.splitlines()]:
        if "\0" not in text:
            assert tokenizer.encode(text) == theirs.encode(text)
        assert tokenizer.decode(tokenizer.encode(text)) == text
        check_offsets(tokenizer, text)
    test_no_control_token_can_be_typed(tokenizer)


def test_damaged_sentencepiece(sentencepiece_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(b"no protobuf")
    config = (sentencepiece_folder / "tokenizer_config.json").read_text()
    (tmp_path / "tokenizer_config.json").write_text(config)
    with pytest.raises(ModelCorrupt) as caught:
        load_tokenizer(tmp_path)
    assert caught.value.fields["file"] == "tokenizer.model"


# Damage


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff\xfe", b'{"model": {}}', b'{"model": {"type": "BPE", "vocab": 1}}'],
)
def test_damaged_tokenizer(tmp_path: Path, content: bytes) -> None:
    folder = ernie_with(tmp_path)
    (folder / "tokenizer.json").write_bytes(content)
    with pytest.raises(ModelCorrupt) as caught:
        load_tokenizer(folder)
    assert caught.value.fields["file"] == "tokenizer.json"


def test_missing_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(ModelCorrupt):
        load_tokenizer(tmp_path)


def test_not_bpe(tmp_path: Path) -> None:
    folder = ernie_with(tmp_path)
    content = {"model": {"type": "Unigram", "vocab": [["a", 0.0]]}}
    (folder / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(ModelUnsupported):
        load_tokenizer(folder)
