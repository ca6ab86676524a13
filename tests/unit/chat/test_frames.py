"""Templates of several makes, taken apart."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ernie_chat.chat.frames import Frames, Slot
from ernie_chat.chat.tokenizer import TemplateMessage
from ernie_chat.errors import ModelUnsupported
from tests.unit.chat.conftest import Kind

WithTemplate = Callable[[str], Kind]


def test_ernie(ernie: Kind) -> None:
    frames = Frames(ernie.tokenizer)
    system = Slot(role="system", strip_left=False, strip_right=False)
    user = Slot(role="user", strip_left=False, strip_right=False)
    begin = ernie.tokenizer.control_id("<|begin_of_sentence|>")
    assert frames.opening(system=False) == (begin, ("User: ", user, "\nAssistant: "))
    assert frames.opening(system=True) == (begin, (system, "\nUser: ", user, "\nAssistant: "))
    assert frames.following(system=True) == (ernie.end, ("User: ", user, "\nAssistant: "))
    assert frames.following(system=False) == frames.following(system=True)


def test_chatml_with_a_system_prompt_of_its_own(smol: Kind) -> None:
    frames = Frames(smol.tokenizer)
    start = smol.tokenizer.control_id("<|im_start|>")
    user = Slot(role="user", strip_left=False, strip_right=False)
    opening = frames.opening(system=False)
    assert smol.controls([part for part in opening if isinstance(part, int)]) == [
        start, smol.end, start, smol.end, start,
    ]  # fmt: skip
    assert "SmolLM" in str(opening[1])
    assert frames.following(system=False) == (
        smol.end, ("\n",), start, ("user\n", user), smol.end, ("\n",), start, ("assistant\n",),
    )  # fmt: skip


TRIMMING = (
    "{% for m in messages %}{{ m['role'] + ': ' + m['content'] | trim }}<|end_of_sentence|>\n"
    "{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)


def check_whole(kind: Kind, system: str, message: str, *, whole: str) -> None:
    prepared = kind.chat(system=system).prepare(message, key="k", max_tokens=16)
    assert prepared.prompt_ids == kind.encode_template(whole)


@pytest.mark.parametrize("message", ["  hello \n", "\u3000你好\t", "hello", "a\n\nb "])
def test_a_template_that_strips(with_template: WithTemplate, message: str) -> None:
    kind = with_template(TRIMMING)
    messages: list[TemplateMessage] = [
        {"role": "system", "content": " be kind "},
        {"role": "user", "content": message},
    ]
    whole = kind.tokenizer.render(messages, add_generation_prompt=True)
    assert message.strip() in whole
    check_whole(kind, " be kind ", message, whole=whole)


def test_a_template_that_strips_one_side(with_template: WithTemplate) -> None:
    kind = with_template("{% for m in messages %}[{{ m['content'].lstrip() }}]{% endfor %}")
    check_whole(kind, "", "  hi  ", whole="[hi  ]")


NO_SYSTEM = [
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    "{% for m in messages %}<s>{{ m['role'] }}\n{{ m['content'] }}</s>{% endfor %}",
    "{% for m in messages %}{% if m['role'] != 'system' %}<s>{{ m['role'] }}\n{{ m['content'] }}"
    "</s>{% endif %}{% endfor %}",
]


@pytest.mark.parametrize("template", NO_SYSTEM)
def test_a_template_without_system_role(with_template: WithTemplate, template: str) -> None:
    kind = with_template(template)
    check_whole(kind, "Be kind.", "hi", whole="<s>user\nBe kind.\n\nhi</s>")
    check_whole(kind, "", "hi", whole="<s>user\nhi</s>")


def test_a_template_that_insists_on_turns(with_template: WithTemplate) -> None:
    kind = with_template(
        "{% for m in messages %}"
        "{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('roles must alternate') }}{% endif %}"
        "{{ m['content'] }}<|end_of_sentence|>{% endfor %}"
    )
    chat = kind.chat(system="Be kind.")
    kind.answer(chat, "one", "1")
    chat.commit(  # nothing said
        chat.prepare("two", key="two", max_tokens=8), token_ids=[], text="", stopped=True
    )
    ids = kind.answer(chat, "three", "3").prompt_ids
    assert kind.tokenizer.decode(ids) == "Be kind.\n\none1three"


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('never') }}",
        "no message at all",
        "{% for m in messages %}{{ m['content'] }}{{ m['content'] }}{% endfor %}",
        "{% for m in messages %}{{ m['content'] | upper }}{% endfor %}",
        "{% for m in messages %}{{ m['content'][:20] }}{% endfor %}",
        "{{ messages[-1]['content'] }}{{ messages[0]['content'] }}",
    ],
)
def test_a_template_that_can_not_be_followed(with_template: WithTemplate, template: str) -> None:
    kind = with_template(template)
    with pytest.raises(ModelUnsupported):
        kind.chat().prepare("hello", key="k", max_tokens=8)


def test_later_turns_of_a_template_that_can_not_be_followed(with_template: WithTemplate) -> None:
    """One that leaves old answers out, and one that says the first message again."""
    kind = with_template(
        "{% for m in messages if m['role'] == 'user' %}{{ m['content'] }}{% endfor %}"
    )
    with pytest.raises(ModelUnsupported):
        Frames(kind.tokenizer).following(system=False)
