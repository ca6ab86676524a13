"""Both kinds of tokenizer, and one with any template."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from ernie_chat.chat.session import ChatSession, Prepared
from ernie_chat.chat.tokenizer import Tokenizer
from ernie_chat.config.settings import Settings


@dataclass(frozen=True, slots=True)
class Kind:
    """A tokenizer, its end of turn, and every token that ends an answer."""

    tokenizer: Tokenizer
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
        """Ids of text a template wrote, its control tokens recognised. The plain way, which is
        right as long as no user's text is in it."""
        first = min(self.tokenizer.control_tokens, key=lambda t: text.find(t) % (len(text) + 1))
        before, found, after = text.partition(first)
        if not found:
            return self.tokenizer.encode(text) if text else []
        ids = self.tokenizer.encode(before) if before else []
        return [*ids, self.tokenizer.control_id(first), *self.encode_template(after)]


@pytest.fixture(scope="session")
def smol(tokenizer: Tokenizer) -> Kind:
    end = tokenizer.control_id("<|im_end|>")
    return Kind(tokenizer, end, (end, tokenizer.control_id("<|endoftext|>")))


@pytest.fixture(scope="session")
def ernie(ernie_tokenizer: Tokenizer) -> Kind:
    end = ernie_tokenizer.control_id("<|end_of_sentence|>")
    return Kind(ernie_tokenizer, end, (ernie_tokenizer.control_id("</s>"), end))


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
        return Kind(tokenizer, end, (end,))

    return make
