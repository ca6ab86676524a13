"""Both kinds of tokenizer, and one with any template."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import tokenizers

from ernie_chat.chat.session import ChatSession, Prepared
from ernie_chat.chat.tokenizer import Tokenizer
from ernie_chat.config.settings import Settings


@dataclass(frozen=True, slots=True)
class Kind:
    """A tokenizer, its end of turn, and every token that ends an answer; and what its
    tokenizer.json is when read as it is, to compare with."""

    tokenizer: Tokenizer
    original: tokenizers.Tokenizer
    end: int
    stops: tuple[int, ...]

    def chat(self, *, context_length: int = 4096, system: str = "", **more: object) -> ChatSession:
        return ChatSession.create(
            self.tokenizer,
            Settings(**more),  # type: ignore[arg-type]
            context_length=context_length,
            stop_token_ids=self.stops,
            system_prompt=system,
        )

    def answer(self, chat: ChatSession, said: str, answer: str, *, key: str = "") -> Prepared:
        """A whole turn, ended by the model."""
        prepared = chat.prepare(said, key=key or said, max_tokens=64)
        ids = [*self.tokenizer.encode(answer), self.end]
        chat.commit(prepared, token_ids=ids, text=answer, stopped=False)
        return prepared

    def controls(self, ids: Sequence[int]) -> list[int]:
        """The control tokens among `ids`."""
        return [i for i in ids if i in self.tokenizer.control_ids]

    def encode_template(self, text: str) -> list[int]:
        """Ids of text that a template wrote, by the tokenizer as it came with the model: right as
        long as no user's text is in it that looks like a control token."""
        ids: list[int] = self.original.encode(text, add_special_tokens=False).ids
        return ids


def original(folder: Path) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))


@pytest.fixture(scope="session")
def smol(tokenizer: Tokenizer, embedded_folder: Path) -> Kind:
    end = tokenizer.control_id("<|im_end|>")
    return Kind(
        tokenizer, original(embedded_folder), end, (end, tokenizer.control_id("<|endoftext|>"))
    )


@pytest.fixture(scope="session")
def ernie(ernie_tokenizer: Tokenizer, ernie_folder: Path) -> Kind:
    end = ernie_tokenizer.control_id("<|end_of_sentence|>")
    stops = (ernie_tokenizer.control_id("</s>"), end)
    return Kind(ernie_tokenizer, original(ernie_folder), end, stops)


@pytest.fixture(scope="session", params=["smol", "ernie"])
def kind(request: pytest.FixtureRequest) -> Kind:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Kind)
    return found


@pytest.fixture
def with_template(ernie_folder: Path, tmp_path: Path) -> Callable[[str], Kind]:
    """ERNIE's tokenizer with another chat template."""
    from ernie_chat.model.tokenizer import load_tokenizer

    def make(template: str) -> Kind:
        folder = tmp_path / "model"
        shutil.copytree(ernie_folder, folder)
        config = json.loads((folder / "tokenizer_config.json").read_text())
        config["chat_template"] = template
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        tokenizer = load_tokenizer(folder)
        end = tokenizer.control_id("<|end_of_sentence|>")
        return Kind(tokenizer, original(folder), end, (end,))

    return make
