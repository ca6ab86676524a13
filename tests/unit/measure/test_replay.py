"""Scripts replayed against a real Chainlit process."""

from __future__ import annotations

import pytest

from ernie_chat.measure.client import ChatLost
from ernie_chat.measure.replay import TurnResult, replay
from tests.support.app import AppProcess, free_port
from tests.unit.measure.scripts import script

TIMEOUT_S = 30


async def replayed(app: AppProcess, text: str, *, timeout_s: float = TIMEOUT_S) -> list[TurnResult]:
    return [result async for result in replay(script(text), url=app.url, timeout_s=timeout_s)]


async def goes_well(app: AppProcess, text: str) -> list[TurnResult]:
    """Every expectation of the script is met."""
    results = await replayed(app, text)
    assert [(r.trouble, [c for c in r.checks if not c.ok]) for r in results] == [
        (None, []) for _ in script(text).turns
    ]
    return results


async def test_answers_and_their_numbers(scripted: AppProcess) -> None:
    first, second = await goes_well(
        scripted,
        """
        turns:
          - say: echo 你好 👨‍👩‍👧
            expect: {equals: 你好 👨‍👩‍👧, finish: stop, cached_tokens: 0, truncated: false}
          - say: count 20
            expect: {matches: "^0 1 .* 19 $", cached_tokens: {at_least: 10}, answers: 2}
        """,
    )
    assert (first.number, second.number) == (1, 2)
    assert second.first_text_s is not None
    assert 0 < second.first_text_s < second.seconds
    assert second.outcome is not None
    assert second.outcome.numbers["answer_tokens"] == 20


async def test_the_first_message_crosses_with_the_start_of_the_chat(scripted: AppProcess) -> None:
    """Chainlit ends a task for that too, which ends no answer."""
    for _ in range(5):
        await goes_well(scripted, "turns: [{say: count 10, expect: {contains: ' 9'}}]")


async def test_language_and_settings_of_a_script(scripted: AppProcess) -> None:
    await goes_well(
        scripted,
        """
        language: zh-CN
        system_prompt: Be brief.
        settings: {temperature: 0}
        turns:
          - say: who
            expect: {equals: "zh-CN [('system_prompt', 'Be brief.'), ('temperature', 0)]"}
          - settings: {temperature: 1}
          - say: who
            expect: {contains: "('temperature', 1)"}
          - new_chat: true
            expect: {answers: 0}
          - say: who
            expect: {contains: "'Be brief.'), ('temperature', 0)", answers: 1, prompt_tokens: 10}
        """,
    )


@pytest.mark.parametrize("moment", ["tokens: 5", "characters: 10", "seconds: 0.1"])
async def test_stop(scripted: AppProcess, moment: str) -> None:
    (stopped, _) = await goes_well(
        scripted,
        f"""
        turns:
          - say: count 100000
            stop_after: {{{moment}}}
            expect: {{finish: stopped, contains: "0 1 2 "}}
          - say: echo next
            expect: {{equals: next, answers: 2}}
        """,
    )
    assert stopped.outcome is not None
    assert 5 <= stopped.outcome.numbers["answer_tokens"] < 100000


async def test_stop_before_anything_was_said(scripted: AppProcess) -> None:
    await goes_well(
        scripted,
        """
        turns:
          - say: hang
            stop_after: {seconds: 0.1}
            expect: {answer: false, notice: before anything, answers: 0}
        """,
    )


async def test_an_answer_that_ends_too_early_to_be_stopped_is_told(scripted: AppProcess) -> None:
    (result,) = await replayed(scripted, "turns: [{say: echo a, stop_after: {tokens: 9}}]")
    assert [(c.expected, c.came) for c in result.checks if not c.ok] == [
        ("stopped after 9 tokens", "the answer had already ended")
    ]


async def test_edit_and_regenerate(scripted: AppProcess) -> None:
    await goes_well(
        scripted,
        """
        turns:
          - say: echo one
          - say: echo two
            expect: {answers: 2}
          - edit: {turn: 1, say: count 100000}
            stop_after: {tokens: 3}
            expect: {finish: stopped, answers: 1}
          - regenerate: true
            expect: {equals: "again: count 100000", answers: 1}
          - regenerate: true
            expect: {answers: 1}
          - edit: {turn: 1, say: echo three}
            expect: {equals: three, answers: 1}
        """,
    )


async def test_notices_errors_and_nothing(scripted: AppProcess) -> None:
    await goes_well(
        scripted,
        """
        turns:
          - say: ["long ", {repeat: ab, times: 300}]
            expect: {truncated: true, left_out_tokens: 600, notice: 600 left, notices: 1}
          - say: nothing
            expect: {answer: false, notices: 0}
          - say: break
            expect: {error: broke, notices: 0}
          - settings: {temperature: 3}
            expect: {error: hot}
          - say: echo next
            expect: {equals: next}
        """,
    )


@pytest.mark.parametrize("away_s", [0.05, 1.0])
async def test_a_dropped_socket_finds_the_whole_answer(scripted: AppProcess, away_s: float) -> None:
    """While it still grows, and after it has ended."""
    await goes_well(
        scripted,
        f"""
        turns:
          - say: count 40
            drop_after: {{tokens: 5, away_s: {away_s}}}
            expect: {{matches: "^0 1 2 .* 20 21 .* 39 $", finish: stop, answers: 1}}
          - reconnect: {{away_s: 0}}
            expect: {{answers: 1}}
          - say: count 3
            expect: {{equals: "0 1 2 ", answers: 2}}
        """,
    )


async def test_a_message_that_is_not_waited_for(scripted: AppProcess) -> None:
    first, _ = await goes_well(
        scripted,
        """
        turns:
          - say: count 20
            wait: false
          - say: count 30
            expect: {matches: " 29 $", answers: 2}
        """,
    )
    assert first.outcome is None


async def test_a_turn_that_hangs_ends_the_script(scripted: AppProcess) -> None:
    (result,) = await replayed(scripted, "turns: [{say: hang, timeout_s: 0.2}, {say: echo never}]")
    assert result.trouble == "didn't end within 0.2 s"
    (result,) = await replayed(scripted, "turns: [{say: hang}, {say: echo never}]", timeout_s=0.2)
    assert not result.ok


async def test_a_lost_connection_ends_the_script(scripted: AppProcess) -> None:
    (result,) = await replayed(scripted, "turns: [{say: close}, {say: echo never}]")
    assert result.trouble is not None
    assert "connection was lost" in result.trouble


async def test_a_setting_or_a_button_that_is_not_in_the_page(scripted: AppProcess) -> None:
    (result,) = await replayed(scripted, "turns: [{settings: {temprature: 1}}, {say: echo a}]")
    assert result.trouble == (
        "the settings panel has no “temprature”; it has system_prompt, temperature"
    )
    _, result = await replayed(
        scripted,
        "turns: [{say: nothing, expect: {answer: false}}, {regenerate: true}, {say: echo a}]",
    )
    assert result.trouble == "there is no button “regenerate” in the page"


async def test_no_app() -> None:
    url = f"http://localhost:{free_port()}"
    with pytest.raises(ChatLost, match=f"can't reach {url}"):
        async for _ in replay(script("turns: [{say: a}]"), url=url):
            pass
