"""The one engine of this process and the model it answers with: begins, tells how it is, ends.

The meeting point of the rooms `model` and `engine`; `running` puts together what answers. What
must survive a reload of the app is in `engine.keep`; a `Service` is only a view of it, so the new
code's service goes on with the old code's engine, or with its start that is still in progress.
Knows no browser and no chat.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict

from ernie_chat.config.settings import Settings, settings
from ernie_chat.engine.embedded import EmbeddedEngine
from ernie_chat.engine.interface import Engine, Request, Sampling
from ernie_chat.engine.keep import kept, publish
from ernie_chat.engine.process import end_engine_processes
from ernie_chat.engine.start import build
from ernie_chat.engine.status import SETTLED, Status
from ernie_chat.engine.threads import in_own_thread
from ernie_chat.errors import EngineDied, EngineStartFailed, EngineStopped, ErnieChatError
from ernie_chat.model.locate import locate
from ernie_chat.model.source import Generation, Model, Progress
from ernie_chat.model.tokenizer import load_tokenizer
from ernie_chat.running import Running, keep_warm, running, stop_warming

log = logging.getLogger("ernie_chat")


@functools.cache
def service() -> Service:
    """The service; one for each load of this module, all of them over the same engine."""
    return Service(settings())


class Service:
    """Use from one event loop."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._running: Running | None = None
        self._opening = asyncio.Lock()

    def begin(self) -> None:
        """Start finding the model and building the engine, unless that has been done. Returns at
        once."""
        keep = kept()
        if keep.fingerprint is None:
            keep.fingerprint = self._settings.engine_fingerprint()
            publish(Status(state="loading"))
            keep.starting = asyncio.create_task(self._start(), name="engine start")

    def status(self) -> Status:
        keep = kept()
        started_with = keep.fingerprint
        return Status.from_plain(
            keep.status,
            restart_needed=started_with is not None
            and started_with != self._settings.engine_fingerprint(),
        )

    async def changes(self) -> AsyncIterator[Status]:
        """The status now, then at every change. States that pass while the caller is busy are
        left out. Never ends by itself."""
        while True:
            changed = kept().changed
            yield self.status()
            await changed.wait()

    def model(self) -> Model | None:
        """The model, once it has been found."""
        plain = kept().model
        if plain is None:
            return None
        return Model(**plain | {"generation": Generation(**plain["generation"])})

    async def ready(self) -> Running:
        """The running engine, waited for. Raises what the start failed with, EngineDied, or
        EngineStopped."""
        async for status in self.changes():
            if status.state in SETTLED:
                break
        if status.error is not None:
            raise status.error
        if status.state != "ready":
            raise EngineStopped
        async with self._opening:
            if self._running is None:  # this code came with a reload, the engine was there before
                model = self.model()
                assert model is not None
                tokenizer = await asyncio.to_thread(load_tokenizer, model.folder, name=model.name)
                llm = kept().llm
                if llm is None:  # shut down meanwhile
                    raise EngineStopped
                self._running = running(self._settings, llm, model, tokenizer)
                await keep_warm(self._settings, self._running)
        return self._running

    async def shutdown(self) -> None:
        """End the engine; its processes are gone when this returns. Idempotent."""
        keep = kept()
        publish(Status(state="stopped"))
        if keep.starting is not None:
            keep.starting.cancel()
            keep.starting = None
        llm, keep.llm, self._running = keep.llm, None, None
        await stop_warming()
        if llm is not None:
            if llm.output_handler is not None:
                # Before its source ends: it would take that for the engine's death, and log it.
                llm.output_handler.cancel()
                await asyncio.wait({llm.output_handler})
            await in_own_thread(llm.shutdown, name="engine shutdown")
        end_engine_processes()

    async def _start(self) -> None:
        """From nothing to ready, or failed; told in the status and in a log line for each step."""
        keep = kept()
        try:
            began = time.perf_counter()
            model = await _find(self._settings)
            keep.model = asdict(model)
            log.info("model: %s from %s%s", model.name, model.source, _seconds(began))
            publish(Status(state="loading"))

            began = time.perf_counter()
            tokenizer = await asyncio.to_thread(load_tokenizer, model.folder, name=model.name)
            keep.llm = await in_own_thread(
                lambda: build(self._settings, model, tokenizer), name="engine start"
            )
            log.info("engine: loaded%s", _seconds(began))
            publish(Status(state="warming"))

            began = time.perf_counter()
            await _warm_up(EmbeddedEngine(keep.llm, tokenizer), tokenizer.encode("Hello"))
            self._running = running(self._settings, keep.llm, model, tokenizer)
            keep.llm.output_handler.add_done_callback(_lost)
            log.info("engine: ready%s", _seconds(began))
            publish(Status(state="ready"))
            await keep_warm(self._settings, self._running)
        except ErnieChatError as error:
            _fail(error)
        except Exception as error:
            log.exception("the engine could not start")
            _fail(EngineStartFailed(f"{type(error).__name__}: {error}"))
        finally:
            keep.starting = None


async def _find(settings: Settings) -> Model:
    loop = asyncio.get_running_loop()

    def tell(progress: Progress) -> None:
        share = progress.done / progress.total if progress.total else None
        publish(Status(state="downloading", progress=share, hub=progress.hub))

    def tell_from_thread(progress: Progress) -> None:
        loop.call_soon_threadsafe(tell, progress)

    return await in_own_thread(
        lambda: locate(
            model=settings.model,
            hub=settings.hub,
            hub_timeout_s=settings.hub_timeout_s,
            cache_dir=settings.cache_dir,
            on_progress=tell_from_thread,
        ),
        name="model search",
    )


async def _warm_up(engine: Engine, prompt_ids: Sequence[int]) -> None:
    """One short answer, so that the first user doesn't pay for what happens only once."""
    request = Request(
        id="warm-up", prompt_ids=prompt_ids, sampling=Sampling(temperature=0.8, max_tokens=2)
    )
    async for _ in engine.stream(request):
        pass


def _lost(_: asyncio.Task[None]) -> None:
    """The task that reads the engine's outputs has ended: nothing will answer any more."""
    if kept().status["state"] == "ready":
        error = EngineDied("the engine's process ended")
        log.error("%s", error.detail)
        publish(Status(state="failed", error=error))


def _fail(error: ErnieChatError) -> None:
    log.error("%s %s", error.sentence("en"), f"({error.detail})" if error.detail else "")
    publish(Status(state="failed", error=error))


def _seconds(began: float) -> str:
    return f", {time.perf_counter() - began:.1f} s"
