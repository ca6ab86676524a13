"""Whose a prompt is: the cache salt that keeps one user from finding another's by timing.

A salt is made from the user's name by a secret of this process, so nobody can guess another's.
"""

from __future__ import annotations

import hashlib
import hmac


def salt_of(user: str, secret: bytes) -> str:
    """The cache salt of `user`: 128 bits, hexadecimal."""
    return hmac.new(secret, user.encode(), hashlib.blake2b).hexdigest()[:32]
