"""`python -m ernie_chat replay`: replays scripted chats against a running app and prints what was
expected and what came. Exit status 0 when all went as expected, 1 when not.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from contextlib import aclosing
from pathlib import Path
from urllib.parse import urlsplit

from ernie_chat.measure.client import ChatLost
from ernie_chat.measure.replay import TIMEOUT_S, TurnResult, replay
from ernie_chat.measure.script import Turn
from ernie_chat.measure.script_file import ScriptError, ScriptFile, load_script

SHOWN = 60
"""Characters of a message that are quoted."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="docs/replay.md")
    parser.add_argument(
        "--url", type=_url, default="http://localhost:8000", help="the page (%(default)s)"
    )
    parser.add_argument(
        "--timeout", type=_seconds, default=TIMEOUT_S, metavar="S",
        help="seconds that a turn may take, where its file doesn't say (%(default)g)",
    )  # fmt: skip


def run(arguments: Namespace) -> int:
    """The exit status. Reads every file before the first is replayed."""
    files, bad = [], False
    for path in arguments.files:
        try:
            files.append(load_script(path))
        except ScriptError as error:
            print(error, file=sys.stderr)
            bad = True
    if bad:
        return 1
    return asyncio.run(_replay_all(files, arguments.url, arguments.timeout))


async def _replay_all(files: list[ScriptFile], url: str, timeout_s: float) -> int:
    failed = []
    for file in files:
        print(f"{file.path}: {file.script.name}" if file.script.name else file.path, flush=True)
        try:
            went_well = await _replay_one(file, url, timeout_s)
        except ChatLost as error:
            print(f"  {error}\n  Is the app running there? Start it with: make chat")
            return 1
        if not went_well:
            failed.append(str(file.path))
    print(f"{len(files) - len(failed)} of {len(files)} went as expected")
    for name in failed:
        print(f"  not: {name}")
    return 1 if failed else 0


async def _replay_one(file: ScriptFile, url: str, timeout_s: float) -> bool:
    went_well = True
    async with aclosing(replay(file.script, url=url, timeout_s=timeout_s)) as results:
        async for result in results:
            for line in lines(result, f"{file.path}:{file.lines[result.number - 1]}"):
                print(line, flush=True)
            went_well &= result.ok
    return went_well


def lines(result: TurnResult, place: str) -> list[str]:
    """A turn's result for a reader; `place` is where in its file it stands."""
    told = [f"  {result.number:>2}  {_action(result.turn)}{_came(result)}"]
    for check in result.checks:
        if check.ok:
            told.append(f"        ok    {check.expected}")
        else:
            told.append(f"        FAIL  {check.expected}")
            told.append(f"              came: {check.came}")
    if result.trouble is not None:
        told.append(f"        FAIL  {result.trouble}")
    if not result.ok:
        told.append(f"              at {place}")
    return told


def _action(turn: Turn) -> str:
    match turn.verb:
        case "say":
            action = f"say {_short(turn.say or '')}"
        case "edit":
            assert turn.edit is not None
            action = f"edit turn {turn.edit.turn} to {_short(turn.edit.say)}"
        case "settings":
            values = (turn.settings or {}).items()
            action = f"settings {', '.join(f'{name}={_short(str(v))}' for name, v in values)}"
        case verb:
            action = verb.replace("_", " ")
    if turn.stop_after:
        action += f", stop after {turn.stop_after}"
    if turn.drop_after:
        action += f", drop after {turn.drop_after}"
    return action


def _came(result: TurnResult) -> str:
    """How the answer ended and what it took; empty where there is none."""
    outcome = result.outcome
    if outcome is None or not outcome.numbers:
        return ""
    numbers = outcome.numbers
    parts = [
        f"{numbers.get('finish')}",
        f"{numbers.get('answer_tokens', '?')} tokens in {result.seconds:.1f} s",
        f"{numbers.get('prompt_tokens', '?')} prompt, {numbers.get('cached_tokens', '?')} cached",
    ]
    if result.first_text_s is not None:
        parts.insert(1, f"first text {result.first_text_s:.2f} s")
    return f"  ({'; '.join(parts)})"


def _short(text: str) -> str:
    text = text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text):,} characters)"
    return '"' + "".join(c if c.isprintable() else repr(c)[1:-1] for c in text) + '"'


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ArgumentTypeError(f'"{text}" is no address like http://localhost:8000')
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise ArgumentTypeError(f'"{text}" is no number of seconds above 0')
    return seconds
