"""A model's chat template: Jinja source that arrives with the weights, run in a sandbox.

Compiled as transformers compiles it, so that what it writes here is what the model was trained
on. Knows no tokens: the text it writes is all it gives.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ernie_chat.chat.tokenizer import TemplateMessage
from ernie_chat.errors import ModelUnsupported


class ChatTemplate:
    """One compiled template with the named tokens (`bos_token`, ...) that it may use.

    Raises ModelUnsupported when the source can't be compiled, and from `render` when the
    template refuses the messages or asks for more than the sandbox grants.
    """

    def __init__(self, source: str, *, names: Mapping[str, str], model: str) -> None:
        self.source = source
        self._names = dict(names)
        self._model = model
        try:
            self._template = _environment().from_string(source)
        except jinja2.TemplateError as error:
            raise self._refusal(error) from error

    def render(self, messages: Sequence[TemplateMessage], *, add_generation_prompt: bool) -> str:
        values = self._names | {
            "messages": [dict(message) for message in messages],
            "tools": None,
            "documents": None,
            "add_generation_prompt": add_generation_prompt,
        }
        try:
            return self._template.render(values)
        except Exception as error:  # foreign code may fail in any way
            raise self._refusal(error) from error

    def _refusal(self, error: Exception) -> ModelUnsupported:
        return ModelUnsupported(
            f"{type(error).__name__} in the chat template: {error}",
            model=self._model,
            reason=f"its chat template fails ({error})",
        )


class _Generation(jinja2.ext.Extension):
    """`{% generation %}` marks an answer for training; what is inside is written as it is."""

    tags = {"generation"}

    def parse(self, parser: jinja2.parser.Parser) -> list[jinja2.nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, jinja2.ext.loopcontrols]
    )
    # Jinja's own tojson escapes for HTML.
    environment.filters["tojson"] = _to_json
    helpers: dict[str, Callable[..., Any]] = {
        "raise_exception": _raise,
        "strftime_now": lambda form: datetime.now().strftime(form),
    }
    environment.globals.update(helpers)
    return environment


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _raise(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)
