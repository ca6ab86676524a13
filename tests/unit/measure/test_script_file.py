"""A file that is no script says so in words and lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ernie_chat.measure.script import known_keys
from ernie_chat.measure.script_file import ScriptError, load_script, parse_script
from tests.support.app import ROOT
from tests.unit.measure.scripts import FILE, problems

REPLAYS = sorted((ROOT / "tests/replays").glob("*.replay.yaml"))


def test_every_problem_has_its_line() -> None:
    found = problems(
        """\
        name: 7
        langage: de
        turns:
          - say: hello
            stop_after: {second: 3}
          - edit:
              turn: 1
              say: x
            expect:
              finish: stopp
              cached_tokens:
                atleast: 3
          - {}
        """
    )
    assert found == [
        "1: name: must be text; put it in quotes",
        '2: unknown key "langage"; did you mean "language"?',
        '5: unknown key "second"; did you mean "seconds"?',
        "10: turns.2.expect.finish: Input should be 'stop', 'length', 'stopped' or 'error'",
        '12: unknown key "atleast"; did you mean "at_least"?',
        "13: turns.3: a turn does nothing; give one of say, edit, regenerate, settings,"
        " reconnect, new_chat",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "1: not a script"),
        ("- say: a", "1: not a script"),
        ("name: a", '1: "turns" is missing'),
        ("turns: []", '"turns" is empty'),
        ("turns: no", "1: turns: Input should be a valid tuple"),
        ("turns:\n  - say: a\n    say: b", '3: "say" is there twice'),
        ("turns:\n  - say: 'a", "2: found unexpected end of stream"),
        ("turns:\n  - !!python/object:os.system {}", "2: could not determine a constructor"),
        ("a: 1\n---\nb: 2", "2: but found another document"),
        ("turns: [{say: a, qqqq: 1}]", 'unknown key "qqqq"; known here: say, edit'),
        ("turns: [{say: a, 5: 1}]", 'unknown key "5"; known here: say, edit'),
        ("turns: [{say: a, [1, 2]: 1}]", "1: a key must be a name"),
        ("turns: &a [{say: a}, *a]", "turns.2"),
        ("[" * 1500, "not YAML"),
        ("turns: 2026-13-45", "not YAML"),
        ("turns: \0", "not YAML"),
    ],
)
def test_what_is_no_script(text: str, problem: str) -> None:
    (found,) = problems(text)
    assert problem in found


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(ScriptError, match="not YAML"):
        parse_script(b"\xff\xfe\xff turns", FILE)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ScriptError) as caught:
        load_script(tmp_path / "none.yaml")
    assert str(caught.value) == f"{tmp_path / 'none.yaml'}: No such file or directory"
    with pytest.raises(ScriptError, match="Is a directory"):
        load_script(tmp_path)


def test_lines_of_turns(tmp_path: Path) -> None:
    file = tmp_path / "chat.replay.yaml"
    file.write_text(
        "name: 你好\n\nturns:\n  - say: a\n\n  - say: >\n      b\n  - say: c\n", "utf-8"
    )
    loaded = load_script(file)
    assert loaded.lines == (4, 6, 8)
    assert loaded.script.name == "你好"


@pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.name)
def test_the_products_own_replays_are_scripts(path: Path) -> None:
    assert load_script(path).script.name


def test_the_example_in_the_documentation_is_a_script_with_every_key() -> None:
    page = (ROOT / "docs/replay.md").read_text("utf-8")
    example = page.partition("```yaml\n")[2].partition("```")[0]
    parse_script(example, FILE)
    keys = {
        *known_keys(()),
        *known_keys(("turns",)),
        *known_keys(("turns", "expect")),
        *known_keys(("turns", "stop_after")),
        *known_keys(("turns", "drop_after")),
    }
    missing = {key for key in keys if not re.search(rf"\b{key}\b", page)}
    assert missing == set()
