"""ModelScope, through its own client and in its own cache.

The client resumes and checks by itself, but calls a folder cached as soon as a file is in it: a
mark beside its cache tells a download that never ended. MODELSCOPE_CACHE and the like are read
by the client. (`modelscope_hub` is what `modelscope` itself downloads with; importing the latter
would import torch.)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ernie_chat.model.hubs import UNWANTED, WANTED, HubSilent, Listing, Meter, NotOnHub
from ernie_chat.model.source import OnProgress, Source


class ModelScope:
    source: Source = "modelscope"
    label = "ModelScope"

    def cached(self, repo: str) -> Path | None:
        from modelscope_hub import HubApi
        from modelscope_hub.config import HubConfig
        from modelscope_hub.errors import CacheNotFound

        # Asked first, for the client makes folders in the home directory on sight.
        config = HubConfig()
        if not config.cache_dir.is_dir() or _mark(repo).exists():
            return None
        try:
            return Path(HubApi(config).download_repo(repo, "model", local_files_only=True))
        except (CacheNotFound, OSError):
            return None

    def ask(self, repo: str, *, timeout_s: float) -> Listing:
        import requests
        from modelscope_hub import HubApi
        from modelscope_hub.config import HubConfig
        from modelscope_hub.errors import (
            AuthenticationError,
            InvalidParameter,
            NotExistError,
            PermissionDeniedError,
        )

        try:
            config = HubConfig()
            # The client would try again and again where there is no way at all.
            requests.head(str(config.endpoint), timeout=timeout_s)
            endpoint = HubApi(config).resolve_endpoint_for_read(repo)
            api = HubApi(HubConfig(endpoint=endpoint))
            entries = api.legacy.list_repo_files(repo, "model")
        except (
            NotExistError, AuthenticationError, PermissionDeniedError, InvalidParameter,
        ) as error:  # fmt: skip
            raise NotOnHub(str(error)) from error
        except Exception as error:  # the transport's errors, wrapped or not
            raise HubSilent(str(error)) from error
        wanted = [entry for entry in entries if _is_wanted(entry)]
        if not wanted:
            raise NotOnHub(f"{repo} holds no weights")
        return Listing(total=sum(int(e.get("Size") or 0) for e in wanted), files=(api, wanted))

    def fetch(self, repo: str, listing: Listing, on_progress: OnProgress) -> Path:
        api, wanted = listing.files
        meter = Meter(self.label, listing.total, on_progress)
        mark = _mark(repo)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
        folder = api.download_repo(
            repo, "model", file_list=wanted, progress_callbacks=[_counting(meter)]
        )
        mark.unlink(missing_ok=True)
        meter.finish()
        return Path(folder)


def _mark(repo: str) -> Path:
    from modelscope_hub.config import HubConfig

    return Path(HubConfig().cache_dir) / f".{repo.replace('/', '--')}.unfinished"


def _is_wanted(entry: dict[str, Any]) -> bool:
    from fnmatch import fnmatch

    path = str(entry.get("Path") or "")
    return (
        entry.get("Type") != "tree"
        and any(fnmatch(path, pattern) for pattern in WANTED)
        and not any(fnmatch(path, pattern) for pattern in UNWANTED)
    )


def _counting(meter: Meter) -> type[Any]:
    """The client makes one of these for every file, in the file's own thread."""

    class Counting:
        def __init__(self, filename: str, file_size: int) -> None:
            pass

        def update(self, size: int) -> None:
            meter.add(size)

        def end(self) -> None:
            pass

    return Counting
