"""The page without other hosts: Chainlit's index.html asks two of them for fonts and styles,
which would hold up the first paint on a machine without network and tell strangers who chats.

Chainlit has no setting for the second, so its template function is wrapped. Works again after
each reload; wrapping twice is harmless.
"""

from __future__ import annotations

import re
from typing import Any

_FOREIGN_LINK = re.compile(r"<link\b[^>]*\bhref=\"https?://[^>]*>\s*")


def without_foreign_links(html: str) -> str:
    """`html` without its <link> tags that name another host."""
    return _FOREIGN_LINK.sub("", html)


def install() -> None:
    """Serve the page through `without_foreign_links` from now on."""
    from chainlit import server

    original: Any = getattr(server.get_html_template, "__wrapped__", server.get_html_template)

    def get_html_template(root_path: str) -> str:
        return without_foreign_links(original(root_path))

    get_html_template.__wrapped__ = original  # type: ignore[attr-defined]
    server.get_html_template = get_html_template
