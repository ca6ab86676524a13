"""Both languages say the same things, with the same fields."""

from __future__ import annotations

import string
from pathlib import Path

import pytest

from ernie_chat import errors
from ernie_chat.config.settings import Settings
from ernie_chat.errors import ErnieChatError, from_plain
from ernie_chat.web import starters
from ernie_chat.web.texts import TEXTS, language_of


def fields(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


def every_error() -> list[type[ErnieChatError]]:
    return [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, ErnieChatError)
    ]


@pytest.mark.parametrize("key", TEXTS)
def test_texts_have_both_languages(key: str) -> None:
    assert fields(TEXTS[key]["en"]) == fields(TEXTS[key]["zh"])


@pytest.mark.parametrize("kind", every_error())
def test_errors_have_both_languages_and_never_fail(kind: type[ErnieChatError]) -> None:
    assert fields(kind.sentences["en"]) == fields(kind.sentences["zh"])
    for language in ("en", "zh"):
        assert kind().sentence(language).strip()


@pytest.mark.parametrize("kind", every_error())
def test_errors_survive_as_plain_data(kind: type[ErnieChatError]) -> None:
    error = kind("detail", model="m", port=8000)
    again = from_plain(error.as_plain())
    assert type(again) is kind
    assert (again.detail, again.fields) == (error.detail, error.fields)


@pytest.mark.parametrize(
    ("tag", "language"),
    [("zh-CN", "zh"), ("zh", "zh"), ("ZH-TW", "zh"), ("en-US", "en"), ("fr", "en"), (None, "en")],
)
def test_language_of(tag: str | None, language: str) -> None:
    assert language_of(tag) == language


@pytest.mark.parametrize(("tag", "first"), [("zh-CN", "你是谁？"), ("en", "Who are you?")])
@pytest.mark.parametrize("content", [None, "[[prompt"])
async def test_starters_speak_the_readers_language_even_if_the_file_broke(
    tag: str, first: str, content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = None if content is None else tmp_path / "mine.toml"
    if file is not None and content is not None:
        file.write_text(content)
    monkeypatch.setattr(starters, "settings", lambda: Settings(hot_prompts=file))
    offered = await starters.starters(None, tag)
    assert len(offered) == 4
    assert (offered[0].label, offered[0].message) == (first, first)
