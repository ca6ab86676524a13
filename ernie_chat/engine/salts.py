"""Who may find a prompt's KV blocks: a salt that begins where the shared tokens end.

A block's hash covers its tokens and the hash before it. vLLM puts a request's `cache_salt` into
the first block's hash, and so into all of them: one user's prompt can't be found by another, and
the system prompt isn't shared either. Here the salt goes into the first block that holds a token
of the user's own. `install` changes vLLM's hash function so, in the engine's process; `encoded`
is what it then reads. A vLLM whose function isn't the known one is left as it is: salts then hide
whole prompts, and shared prefixes are only found by requests without a salt.
"""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

log = logging.getLogger(__name__)

_KEYS = "generate_block_hash_extra_keys"


def encoded(salt: str, shared_tokens: int) -> str | None:
    """vLLM's `cache_salt` for a request."""
    return f"{shared_tokens}:{salt}" if salt else None


def install() -> bool:
    """Let salts begin after the shared tokens, in this process from now on; False if this vLLM
    doesn't do what is built upon. Idempotent."""
    from vllm.v1.core import block_pool, kv_cache_utils

    original = getattr(kv_cache_utils, _KEYS, None)
    if getattr(original, "salts", False):
        return True
    if original is None or not _is_known(original):
        log.warning("this vLLM hashes KV blocks in another way: salted prompts share no prefix")
        return False

    def with_late_salt(request: Any, start: int, end: int, *rest: Any) -> Any:
        keys, *others = original(request, start, end, *rest)
        if salt := request.cache_salt:
            shared = int(salt.partition(":")[0])
            kept = [key for key in keys or () if key != salt]
            if start <= shared < end:
                kept.append(salt)
            keys = tuple(kept) or None
        return keys, *others

    with_late_salt.salts = True  # type: ignore[attr-defined]
    setattr(kv_cache_utils, _KEYS, with_late_salt)
    setattr(block_pool, _KEYS, with_late_salt)
    return True


def _is_known(function: Any) -> bool:
    """Whether it puts the salt into the first block's keys, and nothing else into any."""
    request = SimpleNamespace(
        cache_salt="0:salt", mm_features=[], lora_request=None, prompt_embeds=None
    )
    try:
        return bool(
            function(request, 0, 16, 0) == (("0:salt",), 0)
            and function(request, 16, 32, 0) == (None, 0)
        )
    except Exception:  # whatever another version's function may raise on arguments it doesn't know
        return False
