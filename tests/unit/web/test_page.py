"""The page Chainlit really serves, after `page.install`."""

from __future__ import annotations

import re

from ernie_chat.web.page import install, without_foreign_links


def test_foreign_links_go_and_own_stay() -> None:
    html = (
        '<link rel="icon" href="/favicon"><link rel="stylesheet" href="https://x.example/a.css" />'
        '<script src="/a.js"></script>'
    )
    assert without_foreign_links(html) == (
        '<link rel="icon" href="/favicon"><script src="/a.js"></script>'
    )


def test_chainlits_page_asks_no_other_host() -> None:
    from chainlit import server

    before = server.get_html_template("")
    try:
        install()
        install()  # as after a reload
        after = server.get_html_template("")
        assert re.search(r"(?:href|src)=\"https?://", before), "nothing to strip: page.py can go"
        assert not re.search(r"<(?:link|script|img)[^>]*(?:href|src)=\"https?://", after)
        assert '<div id="root"' in after
    finally:
        server.get_html_template = server.get_html_template.__wrapped__  # type: ignore[attr-defined]
