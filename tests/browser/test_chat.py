"""What people do with the page, in a real browser, answered by the real engine."""

from __future__ import annotations

import asyncio
import re

from playwright.async_api import expect

from tests.browser.conftest import OpenPage

LONG = "Count from 1 to 500 in words, one number a line, and leave none out."


async def test_ask_and_see_it_stream(open_page: OpenPage) -> None:
    chat = await open_page()
    await chat.ready()
    await chat.ask(LONG)
    early = await chat.streaming(2)
    await expect(chat.stop).to_be_visible()
    later = await chat.streaming(len(early) + 40)
    assert later.startswith(early.rstrip()[:1])
    await chat.stop.click()
    await chat.answered(1)


async def test_the_line_under_an_answer(open_page: OpenPage) -> None:
    chat = await open_page()
    await chat.ready()
    await chat.ask("What is the capital of France?")
    assert "Paris" in await chat.answered(1)
    await expect(chat.stats()).to_have_text(
        re.compile(
            r"^(cut at the length limit · )?\d+\.\d\d s to first token · \d+ tokens/s"
            r" · \d+ prompt tokens · \d+ cached$"
        )
    )


async def test_stop_keeps_what_is_there_and_the_next_message_works(open_page: OpenPage) -> None:
    chat = await open_page()
    await chat.ready()
    await chat.ask(LONG)
    await chat.streaming(30)
    await chat.stop.click()
    kept = await chat.answered(1)
    assert kept.strip()
    await expect(chat.stats()).to_contain_text("stopped")
    await expect(chat.notes).to_have_count(0)  # no "Task manually stopped."
    await chat.ask("What is the capital of France?")
    await chat.answered(2)
    assert await chat.text_of(chat.answers.first) == kept


async def test_edit_starts_over_from_there_and_can_be_stopped(open_page: OpenPage) -> None:
    chat = await open_page()
    await chat.ready()
    await chat.ask("Say hello.")
    await chat.answered(1)
    await chat.ask("Say goodbye.")
    await chat.answered(2)
    await chat.edit(0, LONG)
    await expect(chat.said).to_have_count(1)
    await expect(chat.stop).to_be_visible()
    await chat.streaming(30)
    await chat.stop.click()
    await chat.answered(1)
    await expect(chat.stats()).to_contain_text("stopped")


async def test_regenerate_replaces_the_newest_answer(open_page: OpenPage) -> None:
    chat = await open_page()
    await chat.ready()
    await chat.ask("Name a colour.")
    await chat.answered(1)
    await chat.ask("Name an animal.")
    await chat.answered(2)
    await expect(chat.regenerate).to_have_count(1)
    old = await chat.answers.last.locator("[id^=step-]").get_attribute("id")
    await chat.regenerate.click()
    await expect(chat.page.locator(f"#{old}")).to_have_count(0)
    await chat.answered(2)


async def test_a_long_paste_is_shortened_and_said(open_page: OpenPage) -> None:
    chat = await open_page()
    await chat.ready()
    words = " ".join(f"word{n}" for n in range(1000))
    await chat.ask(words)
    await chat.answered(1)
    await expect(chat.notes).to_have_count(1)
    await expect(chat.notes).to_have_text(
        re.compile(r"has [\d,]+ tokens. I read its first 38\d and last 12\d; [\d,]+ in the middle")
    )
    await expect(chat.stats()).to_contain_text("dropped")
    await expect(chat.said).to_contain_text("word500")  # the user's own text stays as it was


async def test_blank_messages_get_a_kind_word(open_page: OpenPage) -> None:
    chat = await open_page()
    await chat.ready()
    await chat.ask("\u200b\u200d\u2060")
    await expect(chat.notes).to_contain_text("no text in it")
    await chat.ask("Say hello.")
    await chat.answered(1)


async def test_chinese(open_page: OpenPage) -> None:
    chat = await open_page(locale="zh-CN")
    await chat.ready()
    await expect(chat.banner).to_contain_text("不是 ERNIE")
    await expect(chat.page.get_by_text("你是谁？")).to_be_visible()
    await chat.ask("你好，你是谁？")
    assert await chat.answered(1)
    await expect(chat.said.last).to_contain_text("你好，你是谁？")
    await expect(chat.stats()).to_contain_text("首字")


async def test_reload_begins_a_new_chat_that_works(open_page: OpenPage) -> None:
    chat = await open_page()
    await chat.ready()
    await chat.ask("Say hello.")
    await chat.answered(1)
    await chat.page.reload()
    await chat.ready()
    await expect(chat.said).to_have_count(0)
    await chat.ask("Say hello.")
    await chat.answered(1)


async def test_a_starter_is_asked_with_one_click(open_page: OpenPage) -> None:
    chat = await open_page()
    await chat.ready()
    await chat.page.get_by_role("button", name="Who are you?").click()
    await expect(chat.said).to_have_text("Who are you?")
    await chat.answered(1)


async def test_settings_reach_the_engine(open_page: OpenPage) -> None:
    chat = await open_page()
    await chat.ready()
    await chat.page.locator("#chat-settings-open-modal").click()
    dialog = chat.page.get_by_role("dialog")
    await expect(dialog).to_contain_text("Temperature")
    slider = dialog.get_by_role("slider").last
    await slider.focus()
    await slider.press("Home")
    await dialog.locator("#confirm").click()
    await chat.ask(LONG)
    await chat.answered(1)
    await expect(chat.stats()).to_contain_text("cut at the length limit")


async def test_copy(open_page: OpenPage) -> None:
    chat = await open_page()
    await chat.ready()
    await chat.ask("Say hello.")
    answer = await chat.answered(1)
    await chat.answers.last.locator("button:has(.lucide-copy)").click()
    copied = ""
    async with asyncio.timeout(10):  # the page writes it in its own time
        while not copied.strip():
            copied = await chat.page.evaluate("navigator.clipboard.readText()")
    assert copied.split()[:3] == answer.split()[:3]
