"""Runs a script: one user's chat with a running app, turn by turn, each with its result.

Prints nothing, and knows the socket protocol only through `ChatClient`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from ernie_chat.measure.client import ChatClient, ChatLost
from ernie_chat.measure.expectation import Check, Outcome, check
from ernie_chat.measure.script import Moment, Script, Turn
from ernie_chat.measure.transcript import Message

TIMEOUT_S = 120.0
"""Seconds for a turn, where neither script nor caller says otherwise. A bound for what hangs, not
a measure of speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """What came of a turn."""

    number: int
    """In the script, from 1."""
    turn: Turn
    outcome: Outcome | None
    """None when it wasn't waited for, or did not come to an end."""
    checks: tuple[Check, ...]
    trouble: str | None
    """Why the turn, and the script with it, could not go on."""
    seconds: float
    """From sending the turn to its end."""
    first_text_s: float | None
    """From sending the turn to its answer's first text, as a browser sees it."""

    @property
    def ok(self) -> bool:
        return self.trouble is None and all(check.ok for check in self.checks)


async def replay(
    script: Script, *, url: str, timeout_s: float = TIMEOUT_S
) -> AsyncGenerator[TurnResult, None]:
    """Each turn's result, as it ends. After a turn that could not go on, none follow; after one
    that brought something unexpected, they do. Raises ChatLost when the app can't be reached."""
    timeout_s = script.timeout_s or timeout_s
    async with ChatClient(url, language=script.language) as chat:
        player = _Player(script, chat, timeout_s)
        for number in range(1, len(script.turns) + 1):
            result = await player.play(number)
            yield result
            if result.trouble is not None:
                return


class _Player:
    """A script being replayed."""

    def __init__(self, script: Script, chat: ChatClient, timeout_s: float) -> None:
        self._script = script
        self._chat = chat
        self._timeout_s = timeout_s
        self._said: dict[int, str] = {}  # turn to the id of what it said
        self._waited: list[str] = []  # ids of messages whose answers are waited for
        self._tasks_ended = 0  # before the newest answered turn
        self._set_up = False
        self._since = 0  # where the messages of the turns now waited for begin
        self._reconnects = 0

    async def play(self, number: int) -> TurnResult:
        turn = self._script.turns[number - 1]
        timeout_s = turn.timeout_s or self._timeout_s
        await asyncio.sleep(turn.pause_s)
        began = time.perf_counter()
        trouble, outcome, checks = None, None, []
        try:
            async with asyncio.timeout(timeout_s):
                await self._prepare()
                began = time.perf_counter()
                await self._do(number, turn)
                if turn.answered and turn.wait:
                    checks = await self._see_through(turn, began)
            if turn.wait:
                outcome = self._outcome()
                checks += check(turn.expect, outcome, answered=turn.answered)
        except TimeoutError:
            trouble = f"didn't end within {timeout_s:g} s"
        except (ChatLost, LookupError) as error:
            trouble = str(error)
        ended = time.perf_counter()
        first = self._first_text(began)
        if turn.wait:
            self._since = self._chat.transcript.end
            self._waited.clear()
        return TurnResult(
            number=number,
            turn=turn,
            outcome=outcome,
            checks=tuple(checks),
            trouble=trouble,
            seconds=ended - began,
            first_text_s=first,
        )

    async def _prepare(self) -> None:
        """The settings of the script, in a chat that is new."""
        if not self._set_up and self._script.panel:
            await self._chat.change_settings(self._script.panel)
        self._set_up = True

    async def _do(self, number: int, turn: Turn) -> None:
        chat = self._chat
        if turn.answered:
            self._tasks_ended = chat.tasks_ended
            self._reconnects = chat.reconnects
        match turn.verb:
            case "say":
                assert turn.say is not None
                self._said[number] = await chat.say(turn.say)
                self._waited.append(self._said[number])
            case "edit":
                assert turn.edit is not None
                message = self._message(turn.edit.turn)
                await chat.edit(message, turn.edit.say)
                self._waited.append(message.id)
            case "regenerate":
                await chat.press("regenerate")
            case "settings":
                assert turn.settings is not None
                await chat.change_settings(turn.settings)
            case "reconnect":
                assert turn.reconnect is not None
                await chat.reconnect(turn.reconnect.away_s)
            case "new_chat":
                await chat.new_chat()
                self._said, self._set_up, self._since = {}, False, 0

    def _message(self, turn: int) -> Message:
        return next(m for m in self._chat.transcript if m.id == self._said[turn])

    async def _see_through(self, turn: Turn, began: float) -> list[Check]:
        """Wait for the end of what was asked, and do on the way what the turn says."""
        moment = turn.stop_after or turn.drop_after
        if moment is None:
            await self._chat.until(self._done)
            return []
        await self._await(moment, began)
        if self._done():
            what = "stopped" if turn.stop_after else "interrupted"
            return [Check(f"{what} after {moment}", "the answer had already ended")]
        if turn.drop_after:
            await self._chat.reconnect(turn.drop_after.away_s)
        else:
            await self._chat.stop()
        await self._chat.until(self._done)
        return []

    async def _await(self, moment: Moment, began: float) -> None:
        """Until that moment of the answer, or its end."""
        if moment.seconds is not None:
            try:
                async with asyncio.timeout(began + moment.seconds - time.perf_counter()):
                    await self._chat.until(self._done)
            except TimeoutError:
                pass
            return

        def come() -> bool:
            answer = self._chat.growing(self._since)
            if answer is None:
                return self._done()
            return len(answer.arrivals) >= (moment.tokens or 0) and answer.length >= (
                moment.characters or 0
            )

        await self._chat.until(come, pieces=True)

    def _done(self) -> bool:
        """All that was asked has been dealt with, and the page offers to send the next."""
        chat = self._chat
        if chat.busy:
            return False
        new = chat.transcript.since(self._since)
        # Ends of tasks can't be counted for messages: one sent at once crosses with the task
        # that began the chat.
        worked = {m.parent for m in new if m.of_app and m.ended}
        if self._waited and worked.issuperset(self._waited):
            return True
        if not self._waited and chat.tasks_ended > self._tasks_ended:
            return True
        # The end itself may have been missed while the socket was away: the answer tells.
        return chat.reconnects > self._reconnects and any(m.finish for m in new)

    def _outcome(self) -> Outcome:
        transcript = self._chat.transcript
        new = transcript.since(self._since)
        answer = next((m for m in reversed(new) if m.finish), None)
        return Outcome(
            answer=None if answer is None else answer.text,
            numbers={} if answer is None else answer.numbers,
            notices=tuple(m.text for m in new if m.note == "notice"),
            errors=tuple(m.text for m in new if m.failed),
            answers=sum(1 for m in transcript if m.finish),
        )

    def _first_text(self, began: float) -> float | None:
        for message in self._chat.transcript.since(self._since):
            if message.finish and message.arrivals:
                return message.arrivals[0] - began
        return None
