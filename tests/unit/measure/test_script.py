"""What a script may say, and what it means."""

from __future__ import annotations

import pytest

from ernie_chat.measure.script import Finish, Range
from tests.unit.measure.scripts import problems, script


def test_every_kind_of_turn() -> None:
    turns = script(
        """
        turns:
          - say: Hello
          - edit: {turn: 1, say: Hallo}
          - regenerate: true
          - settings: {temperature: 0, max_tokens: 16, system_prompt: Be brief.}
          - reconnect: true
          - reconnect: {away_s: 2}
          - new_chat: true
        """
    ).turns
    verbs = [turn.verb for turn in turns]
    assert verbs == [
        "say", "edit", "regenerate", "settings", "reconnect", "reconnect", "new_chat",
    ]  # fmt: skip
    assert [turn.answered for turn in turns] == [True] * 3 + [False] * 4
    assert [turn.reconnect.away_s for turn in turns if turn.reconnect] == [0.5, 2]
    values = turns[3].settings
    assert values == {"temperature": 0, "max_tokens": 16, "system_prompt": "Be brief."}
    assert isinstance(values["max_tokens"], int)


def test_one_value_needs_no_list() -> None:
    expect = script(
        """
        turns:
          - say: Hello
            expect: {contains: [a, b], not_contains: c, finish: stop, cached_tokens: 3}
        """
    ).turns[0].expect  # fmt: skip
    assert expect.contains == ("a", "b")
    assert expect.not_contains == ("c",)
    assert expect.finish == ("stop",)
    assert expect.cached_tokens == Range(at_least=3, at_most=3)


def test_a_message_in_pieces() -> None:
    turn = script('turns: [{say: ["a ", {repeat: "b ", times: 3}, c]}, {say: ""}]').turns
    assert [t.say for t in turn] == ["a b b b c", ""]


def test_the_panel_of_a_script() -> None:
    written = script('{system_prompt: "", settings: {top_p: 1}, turns: [{say: a}]}')
    assert written.panel == {"top_p": 1, "system_prompt": ""}
    assert script("turns: [{say: a}]").panel == {}


@pytest.mark.parametrize(
    ("bounds", "fits", "doesnt", "words"),
    [
        (Range(at_least=2), [2, 9], [1], "at least 2"),
        (Range(at_most=2), [0, 2], [3], "at most 2"),
        (Range(at_least=1, at_most=2), [1, 2], [0, 3], "at least 1 and at most 2"),
        (Range(at_least=0, at_most=0), [0], [1, -1], "0"),
    ],
)
def test_ranges(bounds: Range, fits: list[int], doesnt: list[int], words: str) -> None:
    assert all(map(bounds.holds, fits))
    assert not any(map(bounds.holds, doesnt))
    assert str(bounds) == words


@pytest.mark.parametrize("end", ["stop", "length", "stopped", "error"])
def test_every_end_can_be_expected(end: Finish) -> None:
    assert script(f"turns: [{{say: a, expect: {{finish: {end}}}}}]").turns[0].expect.finish == (
        end,
    )


@pytest.mark.parametrize(
    ("turn", "problem"),
    [
        ("{}", "does nothing"),
        ("{say: a, new_chat: true}", "has say and new_chat"),
        ("{say: 12}", "must be text"),
        ("{say: [a, {repeat: b, times: 0}]}", "must be text"),
        ("{say: {repeat: aaaa, times: 3000000}}", "must be text"),
        ("{regenerate: false}", "Input should be True"),
        ("{say: a, stop_after: {}}", "give one of"),
        ("{say: a, stop_after: {tokens: 1, seconds: 1}}", "give one of"),
        ("{say: a, drop_after: {away_s: 1}}", "give one of"),
        ("{say: a, drop_after: {tokens: 1}, stop_after: {tokens: 1}}", "either"),
        ("{say: a, stop_after: {tokens: 0}}", "greater than or equal to 1"),
        ("{settings: {a: 1}, stop_after: {tokens: 1}}", "brings none"),
        ("{settings: {a: [1]}}", "must be text"),
        ("{settings: {a: {b: 1}}}", "must be text"),
        ("{new_chat: true, expect: {contains: a}}", 'expect "contains"'),
        ("{say: a, expect: {answer: false, finish: stop}}", 'expect of "finish"'),
        ("{say: a, wait: false, expect: {finish: stop}}", "leaves nothing"),
        ("{say: a, expect: {matches: '('}}", "not a regular expression"),
        ("{say: a, pause_s: -1}", "greater than or equal to 0"),
        ("{say: a, timeout_s: 0}", "greater than 0"),
        ("{say: a, timeout_s: .nan}", "finite number"),
        ("{settings: {a: .inf}}", "must be text"),
    ],
)
def test_turns_that_make_no_sense(turn: str, problem: str) -> None:
    (found,) = problems(f"turns: [{turn}, {{say: the last}}]")
    assert problem in found


def test_only_what_stands_in_the_page_can_be_edited() -> None:
    def edited(*before: str) -> list[str]:
        turns = [*before, "{edit: {turn: 2, say: b}}"]
        return problems("turns:\n" + "".join(f"  - {turn}\n" for turn in turns))

    assert edited("{say: a}", "{say: a}") == []
    assert edited("{say: a}", "{say: a}", "{edit: {turn: 2, say: c}}") == []
    (found,) = edited("{say: a}")
    assert found == "3: turn 2 doesn't come before this one"
    (found,) = edited("{say: a}", "{regenerate: true}")
    assert 'turn 2 is no "say"' in found
    gone = "4: what turn 2 said is no longer in the page"
    assert edited("{say: a}", "{say: a}", "{new_chat: true}") == [gone.replace("4", "5")]
    assert edited("{say: a}", "{say: a}", "{edit: {turn: 1, say: c}}") == [gone.replace("4", "5")]


def test_regenerate_needs_something_said() -> None:
    assert problems("turns:\n  - new_chat: true\n  - regenerate: true\n") == [
        "3: nothing was said yet in this chat"
    ]


def test_the_last_turn_is_waited_for() -> None:
    assert problems("turns:\n  - {say: a, wait: false}\n") == [
        "2: the last turn has to be waited for"
    ]
