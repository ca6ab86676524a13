"""The hot prompts' file."""

from __future__ import annotations

from pathlib import Path

import pytest

from ernie_chat.errors import SettingsError
from ernie_chat.prefix.catalogue import OWN, load, load_or_own

ENTRY = """
[[prompt]]
id = "one"
label = { en = "One", zh = "一" }
message = { en = "Say one.", zh = "说一。" }
"""


def file(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "mine.toml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_our_own() -> None:
    prompts = load(None)
    assert len(prompts) == 10
    assert next(prompt.label.zh for prompt in prompts if prompt.starter) == "你是谁？"
    assert sum(prompt.starter for prompt in prompts) == 4
    for prompt in prompts:
        if prompt.prefix:
            assert prompt.message.en.endswith(":\n")
            assert prompt.message.zh.endswith("：\n")


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    (prompt,) = load(file(tmp_path, ENTRY))
    assert (prompt.id, prompt.message["en"], prompt.message["zh"]) == ("one", "Say one.", "说一。")
    assert not prompt.starter
    assert not prompt.prefix


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (ENTRY.replace("zh = ", "cn = "), "prompt 1 (one): label.zh: Field required"),
        (ENTRY + ENTRY, "two prompts have the id 'one'"),
        (ENTRY.replace('"Say one."', '"  "'), "prompt 1 (one): message.en"),
        (ENTRY + "starters = true", "prompt 1 (one): starters"),
        (ENTRY.replace('id = "one"', ""), "prompt 1: id: Field required"),
        ("", "prompt: Field required"),
        ("prompt = 3", "prompt: "),
        ("prompt = [3]", "prompt 1: "),
        ("[[prompt", "it is not TOML"),
        (b"\xff", "UTF-8"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, content: str | bytes, said: str) -> None:
    path = file(tmp_path, content)
    with pytest.raises(SettingsError) as caught:
        load(path)
    sentence = caught.value.sentence("en")
    assert said in sentence
    assert "mine.toml" in sentence
    assert OWN.name in sentence
    assert load_or_own(path) == load(None)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nothing\.toml: it can't be read"):
        load(tmp_path / "nothing.toml")
