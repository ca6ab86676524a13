"""The command as it is typed: what it prints, and its exit status."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ernie_chat.__main__ import main
from tests.support.app import ROOT, AppProcess, free_port


async def run(*arguments: str) -> tuple[int, str, str]:
    """Exit status, and what went to stdout and to stderr."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "ernie_chat", *arguments,
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


def write(folder: Path, name: str, lines: Sequence[str]) -> str:
    file = folder / name
    file.write_text("\n".join(lines), "utf-8")
    return str(file)


async def test_what_went_well_and_what_did_not(scripted: AppProcess, tmp_path: Path) -> None:
    good = write(tmp_path, "good.yaml", ["name: All is well", "turns:", "  - say: echo 你好"])
    bad = write(
        tmp_path,
        "bad.yaml",
        [
            "turns:",
            "  - say: count 30",
            "    stop_after: {tokens: 2}",
            "    expect: {finish: stopped, contains: four}",
            "  - say: hang",
            "    timeout_s: 0.2",
            "  - say: echo never",
        ],
    )
    status, out, err = await run("replay", good, bad, "--url", scripted.url, "--timeout", "30")
    assert (status, err) == (1, "")
    assert f"{good}: All is well" in out
    assert 'say "echo 你好"  (stop; first text' in out
    assert 'say "count 30", stop after 2 tokens  (stopped; ' in out
    assert '        FAIL  contains "four"\n              came: "0 1 ' in out
    assert "        ok    finish stopped\n" in out
    assert f"FAIL  didn't end within 0.2 s\n              at {bad}:5\n" in out
    assert "never" not in out
    assert out.endswith(f"1 of 2 went as expected\n  not: {bad}\n")

    status, out, _ = await run("replay", good, "--url", scripted.url + "/")
    assert status == 0
    assert out.endswith("1 of 1 went as expected\n")


async def test_bad_files_are_told_before_anything_is_replayed(tmp_path: Path) -> None:
    bad = write(tmp_path, "bad.yaml", ["turns:", "  - sai: a"])
    status, out, err = await run("replay", bad, str(tmp_path / "none.yaml"))
    assert (status, out) == (1, "")
    assert f'{bad}:2: unknown key "sai"; did you mean "say"?\n' in err
    assert "none.yaml: No such file or directory\n" in err


async def test_no_app(tmp_path: Path) -> None:
    good = write(tmp_path, "good.yaml", ["turns:", "  - say: a"])
    status, out, err = await run("replay", good, "--url", f"http://localhost:{free_port()}")
    assert (status, err) == (1, "")
    assert "can't reach http://localhost" in out
    assert "make chat" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["replay", "a", "--url", "localhost:8000"], "is no address like"),
        (["replay", "a", "--timeout", "nan"], "is no number of seconds"),
        (["replay"], "FILE"),
        (["repla"], "invalid choice: 'repla'"),
        ([], "COMMAND"),
    ],
)
def test_wrong_arguments(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_help_names_the_commands_and_imports_none_of_them() -> None:
    program = (
        "import sys, runpy\n"
        "sys.argv = ['ernie_chat', '--help']\n"
        "try: runpy.run_module('ernie_chat', run_name='__main__')\n"
        "finally: print(sorted({'chainlit', 'vllm', 'torch', 'pydantic', 'yaml', 'socketio',"
        " 'aiohttp'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "replay  replay scripted chats" in done.stdout
    assert done.stdout.endswith("[]\n")
