"""What is kept hot, and who may find what."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from ernie_chat.chat.session import ChatSession
from ernie_chat.chat.tokenizer import Tokenizer
from ernie_chat.config.settings import Settings
from ernie_chat.prefix import prefixes as module
from ernie_chat.prefix.catalogue import HotPrompt, load
from ernie_chat.prefix.metrics import PrefixMetrics
from ernie_chat.prefix.prefixes import LOCAL, Prefixes, User
from ernie_chat.prefix.private import salt_of
from ernie_chat.prefix.warmer import Prefix, Warmer, common_length
from tests.support.engine import FakeEngine

SYSTEM = "You are a patient teacher. Answer in the language you are asked in, in short sentences."
AN, BO, GUEST = User("an", lasting=True), User("bo", lasting=True), User("x", lasting=False)


class Recorder(Warmer):
    """Keeps what it is told, instead of warming it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(FakeEngine(tokenizer), PrefixMetrics({}))
        self.told: list[Prefix] = []
        self.told_first = asyncio.Event()
        self.told_own = asyncio.Event()
        self.expected: list[Prefix] = []

    def hot(self, prefixes: object) -> None:
        self.told = list(prefixes)  # type: ignore[call-overload]
        self.told_first.set()
        if any(prefix.salt for prefix in self.told):
            self.told_own.set()

    def soon(self, prefix: Prefix) -> None:
        self.expected.append(prefix)


class Parts:
    """Prefixes with their warmer's ears, over the embedded model's tokenizer."""

    def __init__(self, tokenizer: Tokenizer, file: Path | None = None, **settings: int) -> None:
        self._tokenizer = tokenizer
        self._settings = Settings(system_prompt=SYSTEM, **settings)  # type: ignore[arg-type]
        self.warmer = Recorder(tokenizer)
        self.prefixes = Prefixes(
            self.warmer, self.chat(), load(None), secret=b"secret", learned_file=file
        )

    def chat(self, *, context_length: int = 4096, system: str = SYSTEM) -> ChatSession:
        return ChatSession.create(
            self._tokenizer,
            self._settings,
            context_length=context_length,
            stop_token_ids=(),
            system_prompt=system,
        )

    def prompt(self, said: str, *, system: str = SYSTEM) -> list[int]:
        chat = self.chat(system=system)
        return list(chat.prepare(said, key="k", max_tokens=64).prompt_ids)

    async def ask(self, chat: ChatSession, said: str, user: User, *, answer: str = "Yes.") -> None:
        prepared = chat.prepare(said, key=uuid.uuid4().hex, max_tokens=64)
        ids = self._tokenizer.encode(answer)
        chat.commit(prepared, token_ids=ids, text=answer, stopped=False)
        await self.prefixes.answered(chat, prepared, max_tokens=64, user=user)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """From when the warmer was first told."""
        task = asyncio.create_task(self.prefixes.run())
        await asyncio.wait_for(self.warmer.told_first.wait(), 5)
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
def parts(tokenizer: Tokenizer) -> Parts:
    return Parts(tokenizer)


def template(prompt_id: str) -> HotPrompt:
    return next(prompt for prompt in load(None) if prompt.id == prompt_id)


def test_the_system_prompt_is_everybodys_and_the_message_its_users(parts: Parts) -> None:
    prompt = parts.prompt("My number is 4711.")
    salt, shared = parts.prefixes.access(prompt, AN)
    assert salt == salt_of("an", b"secret") != parts.prefixes.access(prompt, BO)[0]
    other = parts.prompt("What is the time?")
    assert 20 < shared <= common_length(prompt, other)


def test_a_system_prompt_of_ones_own_is_ones_own(parts: Parts) -> None:
    prompt = parts.prompt("Hello.", system="My name is An, and my number is 4711.")
    assert parts.prefixes.access(prompt, AN)[1] < 6


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_instruction_is_everybodys_and_what_follows_its_users(
    parts: Parts, language: str
) -> None:
    said = getattr(template("translate").message, language)
    prompt, other = parts.prompt(said + "My secret."), parts.prompt(said + "Your secret.")
    shared = parts.prefixes.access(prompt, AN)[1]
    assert common_length(prompt, other) - 3 <= shared <= common_length(prompt, other)


async def test_the_catalogue_is_hot_from_the_start(parts: Parts) -> None:
    async with parts.running():
        pass
    prompts = [parts.prompt(template("review").message.zh + "x = 1"), parts.prompt("Who are you?")]
    for prompt in prompts:
        assert max(common_length(prompt, hot.ids) for hot in parts.warmer.told) > len(prompt) - 12
    assert not any(hot.salt for hot in parts.warmer.told)


async def test_what_a_user_asks_again_is_hot_for_that_user(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LEARN_EVERY_S", 0.01)
    parts = Parts(tokenizer, tmp_path / "learned.json")
    said = "What did the sea say to the shore this morning?"
    async with parts.running():
        for _ in range(2):
            await parts.ask(parts.chat(), said, AN)
            await parts.ask(parts.chat(), "Guests are not learned from.", GUEST)
            await parts.ask(parts.chat(system="Mine."), "With a system prompt of its own.", AN)
        await asyncio.wait_for(parts.warmer.told_own.wait(), 5)
    (hot,) = [hot for hot in parts.warmer.told if hot.salt]
    assert list(hot.ids) == parts.prompt(said)
    assert (hot.salt, hot.shared_tokens) == parts.prefixes.access(hot.ids, AN)
    assert "sea" in (tmp_path / "learned.json").read_text()


async def test_learned_by_an_earlier_run(tokenizer: Tokenizer, tmp_path: Path) -> None:
    file = tmp_path / "learned.json"
    earlier = Parts(tokenizer, file)
    async with earlier.running():
        for _ in range(2):
            await earlier.ask(earlier.chat(), "How high is the tide at noon?", LOCAL)
    earlier.prefixes.save()
    later = Parts(tokenizer, file)
    async with later.running():
        pass
    assert [list(hot.ids) for hot in later.warmer.told if hot.salt] == [
        later.prompt("How high is the tide at noon?")
    ]


async def test_the_next_turn_is_prefilled_only_when_turns_will_leave(parts: Parts) -> None:
    chat = parts.chat(context_length=600)
    expected = []
    for i in range(30):
        parts.warmer.expected.clear()
        await parts.ask(chat, "And then?", AN, answer=f"So {i} went. " * 9)
        expected.append(bool(parts.warmer.expected))
        prompt = list(chat.prepare("And then?", key="next", max_tokens=64).prompt_ids)
        for prefix in parts.warmer.expected:
            assert prompt[: len(prefix.ids)] == list(prefix.ids)
            assert (prefix.salt, prefix.shared_tokens) == parts.prefixes.access(prompt, AN)
    assert 2 <= sum(expected) <= 8


def test_a_hot_prompt_that_cant_be_asked_stops_nothing(tokenizer: Tokenizer) -> None:
    parts = Parts(tokenizer, max_message_chars=100)
    assert parts.prefixes.access(parts.prompt("Who are you?"), AN)[1] > 20
