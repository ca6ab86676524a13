"""What will likely be asked here, and by whom: hot prompts, learned ones, the chats that go on.

Turns text into prefixes for the warmer, and says for every prompt who may find it in the prefix
cache: a new chat's beginning as the configuration writes it (system prompt, hot prompt) is
everybody's, all else is its user's own. Knows chats and the warmer, no engine and no browser.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ernie_chat.chat.session import ChatSession, Prepared
from ernie_chat.errors import ErnieChatError
from ernie_chat.prefix import counts_file
from ernie_chat.prefix.catalogue import HotPrompt
from ernie_chat.prefix.counts import PromptCounts
from ernie_chat.prefix.counts_file import CountsFile
from ernie_chat.prefix.private import salt_of
from ernie_chat.prefix.warmer import Prefix, Warmer, common_length

log = logging.getLogger(__name__)

LEARNED = 32
"""Learned prefixes that are kept hot beside the catalogue's."""
LEARN_EVERY_S = 20.0


@dataclass(frozen=True, slots=True)
class User:
    """Whose prompts these are. `lasting`: the same name comes again, so it is worth learning
    what this user asks; otherwise it is one browser session's."""

    name: str
    lasting: bool


LOCAL = User("local", lasting=True)
"""Who sits at this machine."""


class Prefixes:
    """See the module. Use from one event loop."""

    def __init__(
        self,
        warmer: Warmer,
        new_chat: ChatSession,
        catalogue: Iterable[HotPrompt],
        *,
        secret: bytes,
        learned_file: Path | None,
    ) -> None:
        """`new_chat` has the configuration's system prompt and no turns. Without a
        `learned_file` nothing is learned."""
        self._warmer = warmer
        self._new_chat = new_chat
        self._secret = secret
        self._file = learned_file
        self._counts: PromptCounts | None = None  # until the file was read
        self._configured = self._written(catalogue)
        self._public = self._configured
        self._learned_more = asyncio.Event()

    def access(self, prompt_ids: Sequence[int], user: User) -> tuple[str, int]:
        """`cache_salt` and `shared_tokens` of a request."""
        shared = max((common_length(prompt_ids, ids) for ids in self._public), default=0)
        return salt_of(user.name, self._secret), shared

    async def answered(
        self, chat: ChatSession, prepared: Prepared, *, max_tokens: int, user: User
    ) -> None:
        """A chat of `user` has its answer to `prepared`. Learns what chats begin with, and
        prefills what the next prompt will likely begin with where the engine hasn't just
        computed that: when turns will have to leave."""
        turns = chat.turns
        if not turns or turns[-1].key != prepared.key:
            return
        begins = len(turns) == 1 and not prepared.dropped_turns
        if begins and chat.system_prompt == self._new_chat.system_prompt:
            self._learn(prepared.message, user)
        computed = [*prepared.prompt_ids, *turns[-1].answer_ids]
        likely = await asyncio.to_thread(chat.likely_prefix, max_tokens=max_tokens)
        missing = len(likely) - common_length(likely, computed)
        if missing >= self._warmer.block_size:
            salt, shared = self.access(likely, user)
            self._warmer.soon(Prefix(ids=tuple(likely), salt=salt, shared_tokens=shared))

    async def run(self) -> None:
        """Keep hot what is hot, until cancelled."""
        if self._file is not None:
            content = await asyncio.to_thread(counts_file.read, self._file)
            self._counts = PromptCounts(bytes.fromhex(content.key))
            self._counts.restore(content.entries)
            self._counts.meet(LOCAL.name)
        await self._renew()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._warmer.run(), name="warmer")
            tasks.create_task(self._renew_as_learned(), name="learner")

    def save(self) -> None:
        """Write what was learned since it was last written; blocks."""
        if (content := self._unsaved()) is not None:
            assert self._file is not None
            counts_file.write(self._file, content)

    def _learn(self, text: str, user: User) -> None:
        if self._counts is not None and user.lasting:
            self._counts.saw(text, user=user.name)
            self._learned_more.set()

    def _unsaved(self) -> CountsFile | None:
        if self._counts is None or not self._learned_more.is_set():
            return None
        self._learned_more.clear()
        entries = [replace(entry) for entry in self._counts.entries()]
        return CountsFile(key=self._counts.key.hex(), entries=entries)

    async def _renew_as_learned(self) -> None:
        while True:
            await self._learned_more.wait()
            await asyncio.sleep(LEARN_EVERY_S)
            if (content := self._unsaved()) is not None:
                assert self._file is not None
                await asyncio.to_thread(counts_file.write, self._file, content)
            await self._renew()

    async def _renew(self) -> None:
        learned = self._counts.hottest(LEARNED) if self._counts is not None else []
        said = [(item.text, item.whole) for item in learned if item.user is None]
        common = await asyncio.to_thread(self._tokenised, said)
        self._public = (*self._configured, *map(tuple, common))
        hot = [Prefix(ids=ids) for ids in self._public]
        own = [(item, item.user) for item in learned if item.user is not None]
        said = [(item.text, item.whole) for item, _ in own]
        tokenised = await asyncio.to_thread(self._tokenised, said)
        for ids, (_, user) in zip(tokenised, own, strict=True):
            salt, shared = self.access(ids, User(user, lasting=True))
            hot.append(Prefix(ids=tuple(ids), salt=salt, shared_tokens=shared))
        self._warmer.hot(hot)
        log.debug("%d prefixes are hot, %d of them learned", len(hot), len(learned))

    def _written(self, catalogue: Iterable[HotPrompt]) -> tuple[tuple[int, ...], ...]:
        said = [
            (message, not prompt.prefix)
            for prompt in catalogue
            for message in (prompt.message.en, prompt.message.zh)
        ]
        prefixes = [self._new_chat.system_ids(), *self._tokenised(said)]
        return tuple(dict.fromkeys(tuple(ids) for ids in prefixes if ids))

    def _tokenised(self, texts: Sequence[tuple[str, bool]]) -> list[list[int]]:
        return [self._ids(text, whole=whole) for text, whole in texts]

    def _ids(self, text: str, *, whole: bool) -> list[int]:
        try:
            return self._new_chat.hot_ids(text, whole=whole)
        except ErnieChatError as error:  # nobody can ask it, so nothing is lost
            log.warning("a hot prompt can't be asked here: %s", error.sentence("en"))
            return []
