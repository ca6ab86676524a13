"""Chat templates, written as the model was trained with them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ernie_chat.chat.tokenizer import TemplateMessage, Tokenizer
from ernie_chat.errors import ModelUnsupported
from ernie_chat.model.tokenizer import ModelTokenizer, load_tokenizer
from tests.support.ernie_tokenizer import BEGIN, END, ernie_with

CHATS: list[list[TemplateMessage]] = [
    [{"role": "user", "content": "你好"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi <b>&'\"{{ x }}"}],
    [
        {"role": "user", "content": "1"},
        {"role": "assistant", "content": "one\n"},
        {"role": "user", "content": " 2 "},
    ],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
]


def test_ernie_template(ernie_tokenizer: Tokenizer) -> None:
    render = ernie_tokenizer.render
    single = render(CHATS[0], add_generation_prompt=True)
    assert single == f"{BEGIN}User: 你好\nAssistant: "
    closed = render(CHATS[3], add_generation_prompt=False)
    assert closed == f"{BEGIN}User: a\nAssistant: b{END}"


def prompt_ids(tokenizer: ModelTokenizer, rendered: str) -> list[int]:
    """Ids of a rendered template, for chats in which nobody types a control token."""
    pattern = "|".join(map(re.escape, tokenizer.control_tokens))
    ids: list[int] = []
    for part in re.split(f"({pattern})", rendered):
        control = part in tokenizer.control_tokens
        ids += [tokenizer.control_id(part)] if control else tokenizer.encode(part)
    return ids


def test_prompts_equal_those_of_transformers(embedded_folder: Path, ernie_folder: Path) -> None:
    """In a process of its own: importing transformers takes longer than all other tests here."""
    script = """
import json, sys
from transformers import AutoTokenizer
def both(tokenizer, chat, prompt):
    text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=prompt)
    return text, tokenizer(text, add_special_tokens=False)["input_ids"]
chats = json.loads(sys.argv[1])
print(json.dumps([
    both(tokenizer, chat, prompt)
    for tokenizer in (AutoTokenizer.from_pretrained(f, local_files_only=True) for f in sys.argv[2:])
    for chat in chats for prompt in (False, True)
]))
"""
    folders = (embedded_folder, ernie_folder)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, json.dumps(CHATS), *map(str, folders)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    theirs = json.loads(done.stdout.splitlines()[-1])
    mine = []
    for tokenizer in map(load_tokenizer, folders):
        for chat in CHATS:
            for prompt in (False, True):
                rendered = tokenizer.render(chat, add_generation_prompt=prompt)
                mine.append([rendered, prompt_ids(tokenizer, rendered)])
    assert mine == theirs


def test_template_file_goes_before_the_config(tmp_path: Path) -> None:
    folder = ernie_with(tmp_path)
    (folder / "chat_template.jinja").write_text("{{ messages[0]['content'] }}!")
    rendered = load_tokenizer(folder).render(CHATS[0], add_generation_prompt=False)
    assert rendered == "你好!"


def test_one_of_several_templates(tmp_path: Path) -> None:
    several = [{"name": "rag", "template": "no"}, {"name": "default", "template": "yes"}]
    tokenizer = load_tokenizer(ernie_with(tmp_path, chat_template=several))
    assert tokenizer.render(CHATS[0], add_generation_prompt=False) == "yes"


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("{{ {'a': '<你>'} | tojson }}", '{"a": "<你>"}'),
        ("{% for i in [1, 2, 3] %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "1"),
        ("{% generation %}x{% endgeneration %}", "x"),
        ("{{ strftime_now('%%') }}", "%"),
        ("  {% if true %}\nx\n  {% endif %}\n", "x\n"),
        ("{{ bos_token }}{{ sep_token }}", f"<s>{END}"),
    ],
)
def test_what_templates_use(tmp_path: Path, source: str, written: str) -> None:
    tokenizer = load_tokenizer(ernie_with(tmp_path, chat_template=source))
    assert tokenizer.render(CHATS[0], add_generation_prompt=False) == written


@pytest.mark.parametrize(
    "source",
    [
        "{{ raise_exception('roles must alternate') }}",
        "{{ messages.append(1) }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ messages[0].x.y }}",
        "{{ 1 + 'a' }}",
    ],
)
def test_a_template_that_fails_is_one_error(tmp_path: Path, source: str) -> None:
    tokenizer = load_tokenizer(ernie_with(tmp_path, chat_template=source))
    with pytest.raises(ModelUnsupported):
        tokenizer.render(CHATS[0], add_generation_prompt=False)


def test_no_template(tmp_path: Path) -> None:
    with pytest.raises(ModelUnsupported, match="chat template") as caught:
        load_tokenizer(ernie_with(tmp_path, chat_template=None), name="base")
    assert caught.value.fields["model"] == "base"


def test_template_that_does_not_compile(tmp_path: Path) -> None:
    with pytest.raises(ModelUnsupported):
        load_tokenizer(ernie_with(tmp_path, chat_template="{% for %}"))
