"""Hugging Face, through its own client and in its own cache.

The client drops a broken file's bytes when it gives up, so the large files are put into its
cache from here, each resumed where it was cut off and checked against its SHA-256; the client
then finds them and brings the rest. HF_HOME, HF_ENDPOINT and HF_TOKEN are read by the client.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from ernie_chat.model.hubs import UNWANTED, WANTED, HubSilent, Listing, Meter, NotOnHub
from ernie_chat.model.source import OnProgress, Source

if TYPE_CHECKING:
    from huggingface_hub.hf_api import ModelInfo, RepoSibling


class HuggingFace:
    source: Source = "huggingface"
    label = "Hugging Face"

    def cached(self, repo: str) -> Path | None:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HFValidationError

        try:
            return Path(
                snapshot_download(
                    repo, local_files_only=True, allow_patterns=WANTED, ignore_patterns=UNWANTED
                )
            )
        except (OSError, HFValidationError):  # the client's "not here" is an OSError
            return None

    def ask(self, repo: str, *, timeout_s: float) -> Listing:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError
        from huggingface_hub.utils._paths import filter_repo_objects

        try:
            info = HfApi().model_info(repo, files_metadata=True, timeout=timeout_s)
        except HFValidationError as error:
            raise NotOnHub(str(error)) from error
        except HfHubHTTPError as error:
            if error.response.status_code in (401, 403, 404):
                raise NotOnHub(str(error)) from error
            raise HubSilent(str(error)) from error
        except Exception as error:  # the transport's errors, which the client doesn't wrap
            raise HubSilent(str(error)) from error
        files = filter_repo_objects(
            info.siblings or (),
            allow_patterns=WANTED,
            ignore_patterns=UNWANTED,
            key=lambda file: file.rfilename,
        )
        wanted = list(files)
        if not wanted:
            raise NotOnHub(f"{repo} holds no weights")
        return Listing(total=sum(file.size or 0 for file in wanted), files=(info, wanted))

    def fetch(self, repo: str, listing: Listing, on_progress: OnProgress) -> Path:
        from huggingface_hub import snapshot_download

        info, wanted = listing.files
        meter = Meter(self.label, listing.total, on_progress)
        for file in wanted:
            _discard_damaged(repo, file)
            if file.lfs is not None:
                _fetch_large(repo, info, file, meter)
        folder = snapshot_download(repo, allow_patterns=WANTED, ignore_patterns=UNWANTED)
        meter.finish()
        return Path(folder)


def _blobs(repo: str) -> Path:
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    return Path(constants.HF_HUB_CACHE, repo_folder_name(repo_id=repo, repo_type="model"), "blobs")


def _discard_damaged(repo: str, file: RepoSibling) -> None:
    """A file whose content doesn't hash to its name would be taken for whole by the client."""
    name = file.lfs.sha256 if file.lfs else file.blob_id
    if name and (blob := _blobs(repo) / name).is_file() and not _is_intact(blob):
        blob.unlink()


def _is_intact(blob: Path) -> bool:
    if len(blob.name) == 64:
        with blob.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == blob.name
    content = blob.read_bytes()  # small: everything large is LFS
    head = b"blob %d\0" % len(content)
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest() == blob.name


def _fetch_large(repo: str, info: ModelInfo, file: RepoSibling, meter: Meter) -> None:
    from huggingface_hub import hf_hub_url
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils._headers import build_hf_headers

    assert file.lfs is not None
    blob = _blobs(repo) / file.lfs.sha256
    blob.parent.mkdir(parents=True, exist_ok=True)
    part = blob.with_name(f"{blob.name}.part")
    with FileLock(f"{part}.lock"):
        if blob.is_file():
            meter.add(file.lfs.size)
            return
        with part.open("ab") as out:
            if out.tell() > file.lfs.size:
                out.truncate(0)
            start = out.tell()
            meter.add(start)
            http_get(
                hf_hub_url(repo, file.rfilename, revision=info.sha),
                out,
                resume_size=start,
                headers=build_hf_headers(),
                expected_size=file.lfs.size,
                displayed_filename=file.rfilename,
                tqdm_class=_counting(meter),
            )
        if _sha256(part) != file.lfs.sha256:
            part.unlink()
            raise OSError(f"{file.rfilename} arrived damaged")
        part.replace(blob)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _counting(meter: Meter) -> type[Any]:
    """The client's own progress bar in the terminal, which tells `meter` as well."""
    from huggingface_hub.utils.tqdm import tqdm

    class Counting(tqdm):
        def update(self, n: float | None = 1) -> bool | None:
            meter.add(int(n or 0))
            drawn: bool | None = super().update(n)
            return drawn

    return Counting
