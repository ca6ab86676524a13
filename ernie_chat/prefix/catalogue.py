"""The everyday prompts of this installation: `hot_prompts.toml`, or a file in its place."""

from __future__ import annotations

import functools
import logging
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, model_validator

from ernie_chat.errors import Language, SettingsError

log = logging.getLogger(__name__)

OWN = Path(__file__).with_name("hot_prompts.toml")

Words = Annotated[str, StringConstraints(pattern=r"\S")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Both(_Strict):
    """The same in both languages."""

    en: Words
    zh: Words

    def __getitem__(self, language: Language) -> str:
        return self.en if language == "en" else self.zh


class HotPrompt(_Strict):
    """One entry of the file."""

    id: Words
    label: Both
    message: Both
    starter: bool = False
    """Offered on the empty page."""
    prefix: bool = False
    """Only the beginning of what is asked."""


class _Catalogue(_Strict):
    prompt: tuple[HotPrompt, ...]

    @model_validator(mode="after")
    def _named_once(self) -> _Catalogue:
        ids = [prompt.id for prompt in self.prompt]
        for name in ids:
            if ids.count(name) > 1:
                raise ValueError(f"two prompts have the id {name!r}; give one of them another")
        return self


def load(path: Path | None) -> tuple[HotPrompt, ...]:
    """The prompts of `path`; None is the file beside this one. Raises SettingsError that says
    which entry is wrong and what to do."""
    path = OWN if path is None else path.expanduser()
    try:
        content = tomllib.loads(path.read_text("utf-8"))
        return _Catalogue.model_validate(content).prompt
    except OSError as error:
        problem = f"it can't be read ({error.strerror})"
    except UnicodeDecodeError:
        problem = "it is not UTF-8; save it as UTF-8"
    except tomllib.TOMLDecodeError as error:
        problem = f"it is not TOML: {error}"
    except ValidationError as error:
        problem = "; ".join(_said(content, e["loc"], e["msg"]) for e in error.errors())
    raise SettingsError(
        problem=f"hot prompts in {path.name}: {problem}. See {OWN.name} for how it is written"
    )


@functools.cache
def load_or_own(path: Path | None) -> tuple[HotPrompt, ...]:
    """`load`, or the file beside this one where that can't be used: a reload must not fail.
    Read once for each load of this module."""
    try:
        return load(path)
    except SettingsError as error:
        log.error("%s", error.sentence("en"))
        return load(None)


def _said(content: Mapping[str, object], where: tuple[int | str, ...], message: str) -> str:
    """`where` is pydantic's path: ("prompt", 3, "message", "zh")."""
    if len(where) < 2:
        return f"{where[0]}: {message}" if where else message
    _, index, *field = where
    prompts = content["prompt"]
    assert isinstance(prompts, list)
    assert isinstance(index, int)
    entry = prompts[index]
    name = entry.get("id") if isinstance(entry, dict) else None
    named = f"prompt {index + 1}" + (f" ({name})" if isinstance(name, str) else "")
    return f"{named}: {'.'.join(map(str, field))}: {message}" if field else f"{named}: {message}"
