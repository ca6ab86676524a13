"""The page's rules for messages."""

from __future__ import annotations

from typing import Any

from ernie_chat.measure.transcript import Transcript


def step(identity: str, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"id": identity, "parentId": parent, "type": "assistant_message", "output": "", **fields}


def token(identity: str, text: str, *, instead: bool = False, is_input: bool = False) -> Any:
    return {"id": identity, "token": text, "isSequence": instead, "isInput": is_input}


def ids(transcript: Transcript) -> list[str]:
    return [message.id for message in transcript]


def test_a_streamed_answer() -> None:
    transcript = Transcript()
    transcript.put(step("a", output="He", streaming=True), at=1.0)
    transcript.append(token("a", "ll"), at=2.0)
    transcript.append(token("a", "o"), at=4.0)
    (answer,) = transcript
    assert (answer.text, answer.length, answer.streaming) == ("Hello", 5, True)
    assert answer.arrivals == [1.0, 2.0, 4.0]
    numbers = {"ernie": {"finish": "stop"}}
    transcript.update(step("a", output="Hello!", streaming=False, metadata=numbers), at=5.0)
    assert (answer.text, answer.length, answer.finish) == ("Hello!", 6, "stop")
    assert answer.arrivals == [1.0, 2.0, 4.0]


def test_a_piece_instead_of_all() -> None:
    transcript = Transcript()
    transcript.put(step("a", output="one", streaming=True), at=0)
    transcript.append(token("a", "two", instead=True), at=0)
    transcript.append(token("a", "x", is_input=True), at=0)
    assert next(iter(transcript)).text == "two"


def test_what_the_page_never_saw_it_does_not_show() -> None:
    transcript = Transcript()
    transcript.append(token("a", "x"), at=0)
    transcript.update(step("a", output="x"), at=0)
    transcript.remove("a")
    assert ids(transcript) == []


def test_a_message_sent_again_keeps_its_place_and_what_was_left_out() -> None:
    transcript = Transcript()
    transcript.put(step("a", output="one", name="Me"), at=0)
    transcript.put(step("b"), at=0)
    transcript.put({"id": "a", "output": "two"}, at=0)
    first = next(iter(transcript))
    assert (ids(transcript), first.text, first.fields["name"]) == (["a", "b"], "two", "Me")
    assert transcript.end == 2
    assert [m.id for m in transcript.since(1)] == ["b"]


def chat() -> Transcript:
    """Two messages sent quickly, then their answers."""
    transcript = Transcript()
    for identity, parent in [
        ("said 1", None), ("said 2", None), ("run 1", "said 1"), ("answer 1", "run 1"),
        ("run 2", "said 2"), ("answer 2", "run 2"), ("notice", None),
    ]:  # fmt: skip
        transcript.put(step(identity, parent), at=0)
    return transcript


def test_an_edit_takes_away_what_came_after() -> None:
    transcript = chat()
    transcript.cut_after("said 2")
    assert ids(transcript) == ["said 1", "said 2", "run 1", "answer 1"]
    transcript.cut_after("said 1")
    assert ids(transcript) == ["said 1"]


def test_a_message_goes_with_what_belongs_to_it() -> None:
    transcript = chat()
    transcript.remove("said 1")
    assert ids(transcript) == ["said 2", "run 2", "answer 2", "notice"]


def test_messages_that_belong_to_each_other_in_a_circle_end() -> None:
    transcript = Transcript()
    transcript.put(step("a", "b"), at=0)
    transcript.put(step("b", "a"), at=0)
    transcript.cut_after("a")
    transcript.remove("a")
    assert ids(transcript) == []


def test_buttons_are_there_while_their_messages_are() -> None:
    transcript = chat()
    for identity, under in [("1", "answer 1"), ("2", "answer 2"), ("3", "answer 2")]:
        name = "copy" if identity == "3" else "regenerate"
        transcript.actions[identity] = {"id": identity, "name": name, "forId": under}
    assert [b["id"] for b in transcript.buttons("regenerate")] == ["1", "2"]
    transcript.remove("answer 2")
    assert [b["id"] for b in transcript.buttons("regenerate")] == ["1"]


def test_errors_are_what_the_page_shows_as_errors() -> None:
    transcript = Transcript()
    note = {"ernie": {"note": "error"}}
    transcript.put(step("1", metadata=note), at=0)
    transcript.put(step("2", isError=True), at=0)
    transcript.put(step("3", isError=True, type="run", end="now"), at=0)
    transcript.put(step("4", metadata={"ernie": "odd"}), at=0)
    assert [m.failed for m in transcript] == [True, True, False, False]
    assert [m.ended for m in transcript if m.of_app] == [True]
