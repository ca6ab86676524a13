"""Finds the model that the settings name: a folder, a hub's cache, a hub, the embedded one.

Knows the order and what stands in for what; the hubs, the checks and the embedded model are
rooms of their own. Blocking: call it in a thread.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Literal

from ernie_chat.config.settings import EMBEDDED, ERNIE
from ernie_chat.errors import DownloadFailed, ErnieChatError, ModelCorrupt, ModelNotFound
from ernie_chat.model import embedded
from ernie_chat.model.checks import inspect
from ernie_chat.model.hubs import Hub, HubSilent, NotOnHub, within
from ernie_chat.model.huggingface import HuggingFace
from ernie_chat.model.modelscope import ModelScope
from ernie_chat.model.source import Model, OnProgress

log = logging.getLogger(__name__)

HubChoice = Literal["auto", "huggingface", "modelscope"]


def locate(
    *,
    model: str,
    hub: HubChoice,
    hub_timeout_s: float,
    cache_dir: Path,
    on_progress: OnProgress,
) -> Model:
    """The model, complete and checked.

    Only for the default model does the embedded one stand in: who names another wants that one.
    `hub_timeout_s` bounds the wait for each hub's first answer, seconds; `on_progress` is called
    from other threads. Raises ModelNotFound, ModelCorrupt, ModelUnsupported and DownloadFailed.
    """
    if model == EMBEDDED:
        return _embedded(cache_dir, wanted=model)
    # os.path, for it takes a name that can't be a path as simply not there.
    folder = Path(os.path.expanduser(model)).absolute()
    if os.path.isdir(folder):
        return inspect(folder, name=folder.name, wanted=model, source="folder")
    if not _is_hub_name(model):
        raise ModelNotFound(f"{folder} is no folder", model=model)

    hubs: tuple[Hub, ...] = (HuggingFace(), ModelScope())
    problem: ErnieChatError | None = None
    for place in hubs:
        if (found := place.cached(model)) is not None:
            try:
                return inspect(found, name=model, wanted=model, source="cache")
            except ModelCorrupt as error:
                log.warning("%s in %s is not whole: %s", model, found, error.detail)
                problem = error
    if not _is_offline():
        asked = [place for place in hubs if hub in ("auto", place.source)]
        found_online = _download(model, asked, hub_timeout_s, on_progress)
        if found_online is not None:
            return found_online
    if model == ERNIE:
        return _embedded(cache_dir, wanted=model)
    raise problem or ModelNotFound(model=model)


def _download(
    model: str, hubs: Iterable[Hub], timeout_s: float, on_progress: OnProgress
) -> Model | None:
    """The model from the first hub that has it; None when none answers or none has it."""
    failed: ErnieChatError | None = None
    for hub in hubs:
        try:
            listing = within(timeout_s, partial(hub.ask, model, timeout_s=timeout_s))
        except (HubSilent, NotOnHub) as error:
            log.info("%s: %s: %s", hub.label, type(error).__name__, error)
            continue
        try:
            folder = hub.fetch(model, listing, on_progress)
        except Exception as error:  # each client has errors of its own, and the disk has too
            log.exception("Downloading %s from %s failed", model, hub.label)
            failed = DownloadFailed(str(error), model=model, hub=hub.label)
            continue
        return inspect(folder, name=model, wanted=model, source=hub.source)
    if failed is not None:
        raise failed
    return None


def _embedded(cache_dir: Path, *, wanted: str) -> Model:
    try:
        folder = embedded.write_embedded(cache_dir)
    except ModelNotFound as error:
        raise ModelNotFound(error.detail, model=wanted) from error
    return inspect(folder, name=embedded.NAME, wanted=wanted, source="embedded")


def _is_hub_name(model: str) -> bool:
    """Whether `model` can be a name on a hub: "owner/name", or an old one without owner."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils._validators import validate_repo_id

    try:
        validate_repo_id(model)
    except HFValidationError:
        return False
    return True


def _is_offline() -> bool:
    """HF_HUB_OFFLINE speaks for every hub."""
    from huggingface_hub import constants

    return constants.is_offline_mode()
