"""A model folder's tokenizer, read so that user text can never become a control token.

The folder's BPE is rebuilt without its control tokens: not as added tokens, not in the
vocabulary, not as the outcome of a merge. What isn't there can't be produced, whatever is typed.
The control tokens themselves are a table beside it. Knows nothing of prompts or turns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tokenizers

from ernie_chat.chat.tokenizer import TemplateMessage, Tokenizer
from ernie_chat.errors import ModelCorrupt, ModelUnsupported
from ernie_chat.model.json_file import read_object
from ernie_chat.model.template import ChatTemplate

_CONTROL = re.compile(r"<\|[^|\s]+\|>|<mask:\d+>")
"""Spellings that are control tokens even where a tokenizer forgot to declare them special."""

_BYTE = re.compile(r"<0x[0-9A-Fa-f]{2}>")
_NO_CHARACTER = re.compile("[\ud800-\udfff\U00040000-\U000dffff]")
"""Halves of surrogate pairs can't be encoded; of the planes where Unicode has put nothing, some
vocabularies lack the first byte, so that the rest would be broken text."""


def load_tokenizer(folder: Path, *, name: str = "") -> ModelTokenizer:
    """The tokenizer and chat template in `folder`; `name` is what errors call the model.

    Raises ModelCorrupt (a file is missing or unreadable) and ModelUnsupported (no chat template,
    or a tokenizer that isn't BPE).
    """
    name = name or str(folder)
    config = _read_config(folder, name)
    backend = _read_backend(folder, name)
    if backend["model"].get("type", "BPE") != "BPE":
        raise ModelUnsupported(model=name, reason="its tokenizer is not BPE")
    names = {
        key: token
        for key, value in config.items()
        if key.endswith("_token") and (token := _spelling(value))
    }
    template = ChatTemplate(_template_source(folder, config, name), names=names, model=name)
    try:
        control = _control_tokens(backend, config, template.source)
        plain = tokenizers.Tokenizer.from_str(json.dumps(_without(backend, control.keys())))
    except Exception as error:  # the library raises bare Exception; a wrong shape, what it may
        raise ModelCorrupt(str(error), model=name, file="tokenizer.json") from error
    return ModelTokenizer(plain, control, template, names)


class ModelTokenizer(Tokenizer):
    """See `Tokenizer`. `names` maps a token's part to its spelling: `eos_token` to `</s>`."""

    def __init__(
        self,
        plain: tokenizers.Tokenizer,
        control: Mapping[str, int],
        template: ChatTemplate,
        names: Mapping[str, str],
    ) -> None:
        self._plain = plain
        self._control = dict(control)
        self._template = template
        self.names = dict(names)
        self.control_ids = frozenset(control.values())
        self.control_tokens = tuple(sorted(control, key=lambda token: (-len(token), token)))

    def encode(self, text: str) -> list[int]:
        return self._encoding(text).ids

    def encode_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        encoding = self._encoding(text)
        return encoding.ids, encoding.offsets

    def control_id(self, token: str) -> int:
        return self._control[token]

    def decode(self, ids: Sequence[int]) -> str:
        known = [i for i in ids if i not in self.control_ids]
        return self._plain.decode(known, skip_special_tokens=False)

    def render(self, messages: Sequence[TemplateMessage], *, add_generation_prompt: bool) -> str:
        return self._template.render(messages, add_generation_prompt=add_generation_prompt)

    def _encoding(self, text: str) -> tokenizers.Encoding:
        # One for one, so that offsets stay true.
        return self._plain.encode(_NO_CHARACTER.sub("\ufffd", text), add_special_tokens=False)


# What the folder holds


def _read_config(folder: Path, name: str) -> dict[str, Any]:
    """tokenizer_config.json over special_tokens_map.json, either of which may be missing."""
    files = (folder / "special_tokens_map.json", folder / "tokenizer_config.json")
    merged: dict[str, Any] = {}
    for file in files:
        if file.exists():
            merged |= read_object(file, name)
    return merged


def _read_backend(folder: Path, name: str) -> dict[str, Any]:
    """The content of tokenizer.json, made from a SentencePiece file where there is none."""
    if (folder / "tokenizer.json").exists() or not (folder / "tokenizer.model").exists():
        backend = read_object(folder / "tokenizer.json", name)
    else:
        backend = _from_sentencepiece(folder, name)
    model = backend.get("model")
    if not isinstance(model, dict) or not model.get("vocab"):
        raise ModelCorrupt("no vocabulary", model=name, file="tokenizer.json")
    return backend


def _from_sentencepiece(folder: Path, name: str) -> dict[str, Any]:
    # Older ERNIE revisions name a class of their own that only exists as code in the repository,
    # which is never run: the generic class reads the same file.
    from transformers import PreTrainedTokenizerFast

    try:
        loaded = PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
        backend: dict[str, Any] = json.loads(loaded.backend_tokenizer.to_str())
    except Exception as error:  # whatever a damaged protobuf makes the library raise
        raise ModelCorrupt(str(error), model=name, file="tokenizer.model") from error
    return backend


def _template_source(folder: Path, config: Mapping[str, Any], name: str) -> str:
    """The template file, else the one in the config, of which there may be several by name."""
    file = folder / "chat_template.jinja"
    if file.exists():
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ModelCorrupt(str(error), model=name, file=file.name) from error
    source = config.get("chat_template")
    if isinstance(source, list):
        named = [entry for entry in source if isinstance(entry, dict)]
        source = {str(entry.get("name")): entry.get("template") for entry in named}
    if isinstance(source, dict):
        source = source.get("default")
    if not isinstance(source, str) or not source:
        raise ModelUnsupported(model=name, reason="it has no chat template, so it is no chat model")
    return source


# Control tokens


def _spelling(value: Any) -> str:
    """A token is written as its spelling, or as an object that holds it."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else ""


def _control_tokens(
    backend: Mapping[str, Any], config: Mapping[str, Any], template: str
) -> dict[str, int]:
    """Spelling and id of every token that is special, or that only a template should write."""
    vocab: dict[str, int] = backend["model"]["vocab"]
    added = [*backend.get("added_tokens", ())]
    added += [
        {**entry, "id": int(i)} for i, entry in config.get("added_tokens_decoder", {}).items()
    ]
    ids = vocab | {entry["content"]: entry["id"] for entry in added}
    control = {
        entry["content"]
        for entry in added
        if entry.get("special") or (entry["content"].strip() and entry["content"] in template)
    }
    control |= {token for token in ids if _CONTROL.fullmatch(token)}
    control |= set(_named(config))
    if unknown := backend["model"].get("unk_token"):
        control.add(unknown)
    return {token: ids[token] for token in control if token in ids}


def _named(config: Mapping[str, Any]) -> Iterable[str]:
    """Tokens that the config declares special by giving them a part to play."""
    for key, value in config.items():
        if key.endswith("_token"):
            yield _spelling(value)
        elif key in ("additional_special_tokens", "extra_special_tokens"):
            for token in value.values() if isinstance(value, dict) else value or ():
                yield _spelling(token)


def _without(backend: Mapping[str, Any], control: Iterable[str]) -> dict[str, Any]:
    """The tokenizer with no way left to make a control token, and nothing it adds by itself."""
    banned = set(control)
    model = backend["model"]
    # Merges made from a SentencePiece vocabulary may spell out a byte token, too: "<0x0A>" typed
    # would come back as a line break.
    unmade = banned | {token for token in model["vocab"] if _BYTE.fullmatch(token)}
    merges = [
        pair
        for pair in model["merges"]
        if not unmade.intersection(parts := _parts(pair)) and "".join(parts) not in unmade
    ]
    vocab = {token: i for token, i in model["vocab"].items() if token not in banned}
    added = [entry for entry in backend.get("added_tokens", ()) if entry["content"] not in banned]
    # In the vocabulary their ids are fixed; otherwise they would be counted on from its new size.
    vocab |= {entry["content"]: entry["id"] for entry in added}
    return {
        **backend,
        # Without an unknown token, a character that has none is left out.
        "model": {**model, "vocab": vocab, "merges": merges, "unk_token": None, "dropout": None},
        "added_tokens": added,
        "post_processor": None,
        "truncation": None,
        "padding": None,
    }


def _parts(pair: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(pair.split(" ")) if isinstance(pair, str) else tuple(pair)
