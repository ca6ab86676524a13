"""The policy that chats are trimmed by: several old turns at once, so that the prefix lasts.

A prompt that lost its oldest turn shares only the system prompt with the one before, and all else
must be computed again. Leaving out one turn a message would pay that at every message; leaving
out more at once pays it every few messages, and remembers less in between. The numbers are in
docs/prefix-cache.md, from `python -m ernie_chat bench trimming`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ernie_chat.chat.history import Trimming, oldest_first


def low_water(share: float) -> Trimming:
    """When the history doesn't fit, leave out the oldest turns until it fills at most `share`
    (0 to 1) of what it may have beside the system prompt and the newest message. 1 is
    `oldest_first`."""
    if not 0 <= share <= 1:
        raise ValueError(f"a share is from 0 to 1, not {share}")

    def trim(lengths: Sequence[int], budget: int) -> int:
        if lengths[0] <= budget:
            return 0
        alone = lengths[-1]
        return oldest_first(lengths, alone + int((budget - alone) * share))

    return trim
