"""A script from its file: YAML read safely, checked, and every problem told with its line.

Knows no sockets.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ernie_chat.measure.script import Script, known_keys

LARGEST_FILE = 20_000_000
"""Bytes."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a file, at a line counted from 1 (None: with the file as a whole)."""

    file: Path
    line: int | None
    text: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.text}"


class ScriptError(Exception):
    """The file is no script. Says everything that was found wrong, a line each."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, problems)))


@dataclass(frozen=True, slots=True)
class ScriptFile:
    """A script, and where in its file each turn begins."""

    path: Path
    script: Script
    lines: tuple[int, ...]
    """Of each turn, from 1."""


def load_script(path: Path) -> ScriptFile:
    """The script in the file `path`. Raises ScriptError."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ScriptError([Problem(path, None, f"larger than {LARGEST_FILE:,} bytes")])
        content = path.read_bytes()
    except OSError as error:
        raise ScriptError([Problem(path, None, error.strerror or str(error))]) from error
    return parse_script(content, path)


def parse_script(content: bytes | str, path: Path) -> ScriptFile:
    """The script that `content` is; `path` is only named in errors. Raises ScriptError."""
    try:
        loader = _Loader(content)
        try:
            root = loader.get_single_node()
            data = None if root is None else loader.construct_document(root)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        raise ScriptError([Problem(path, line, error.problem or str(error))]) from error
    except yaml.YAMLError as error:
        raise ScriptError([Problem(path, None, f"not YAML: {error}")]) from error
    except (RecursionError, ValueError) as error:  # nested without end; 2026-13-45 as a date
        raise ScriptError([Problem(path, None, f"not YAML: {error}")]) from error
    if not isinstance(root, yaml.MappingNode):
        raise ScriptError([Problem(path, 1, 'not a script: it must begin with keys like "turns:"')])
    try:
        script = Script.model_validate(data)
    except ValidationError as error:
        problems = [_problem(path, root, e) for e in error.errors()]
        raise ScriptError(sorted(problems, key=lambda p: p.line or 0)) from error
    return ScriptFile(path=path, script=script, lines=_turn_lines(root))


class _Loader(yaml.SafeLoader):
    """YAML's safe loader; a key that is there twice is an error, not silently the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key must be a name", key.start_mark
                )
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f'"{key.value}" is there twice', key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _problem(path: Path, root: yaml.MappingNode, error: ErrorDetails) -> Problem:
    location: Sequence[Any] = error["loc"]
    if error["type"] == "misplaced":
        location = error["ctx"]["at"]
    line, names = _find(root, location)
    return Problem(path, line, _sentence(error, names))


def _find(root: yaml.Node, location: Sequence[Any]) -> tuple[int, list[str]]:
    """The line of `location` in the file, or of the innermost part of it that is there; and the
    names on the way. Names of pydantic's own in a location are passed over."""
    node, line, names = root, root.start_mark.line + 1, []
    for step in location:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(step):
                    node, line = value, key.start_mark.line + 1
                    names.append(str(step))
                    break
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            node = node.value[step]
            line = node.start_mark.line + 1
            names.append(str(step + 1))
    return line, names


def _sentence(error: ErrorDetails, names: Sequence[str]) -> str:
    *within, last = error["loc"] or ("",)
    match error["type"]:
        case "misplaced":
            return error["msg"]
        case "missing":
            return f'"{last}" is missing'
        case "extra_forbidden" | "invalid_key":
            known = known_keys(within)
            near = difflib.get_close_matches(str(last), known, n=1)
            hint = f'did you mean "{near[0]}"?' if near else f"known here: {', '.join(known)}"
            return f'unknown key "{last}"; {hint}'
        case "string_type":
            message = "must be text; put it in quotes"
        case _:
            message = error["msg"].removeprefix("Value error, ")
    return f"{'.'.join(names)}: {message}" if names else message


def _turn_lines(root: yaml.MappingNode) -> tuple[int, ...]:
    turns = next(value for key, value in root.value if key.value == "turns")
    return tuple(turn.start_mark.line + 1 for turn in turns.value)
