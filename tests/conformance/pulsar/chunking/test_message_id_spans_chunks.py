"""Ids of chunked messages, both ways. Message 0 has three chunks, stored as entries 0 to 2."""

from __future__ import annotations

import pytest

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, DUPLICATE, NAME, Script, entry_id
from assay_conformance.model.event import Fate, Meta, Sides
from assay_conformance.pulsar.checks.chunking.message_id_spans_chunks import message_id_spans_chunks

CHUNKS = 3


def _meta(chunk: int, id: int = 0) -> Meta:
    return Meta(producer_name=NAME, sequence_id=id, uuid=f"p-{id}", chunk_id=chunk, chunks=CHUNKS)


def _judged(story: Script) -> tuple[list[str], int]:
    said = trial(message_id_spans_chunks, story.done())
    return [finding.code for finding in said.findings], said.exercised


def _sent(told: int) -> tuple[list[str], int]:
    """Reported under the entry of chunk `told`."""
    story = Script()
    story.producer(chunking=True)
    story.send(0)
    for chunk in range(CHUNKS - 1):
        story.send_frame(0, meta=_meta(chunk), unit=chunk, members=())
    story.send_frame(0, meta=_meta(CHUNKS - 1))
    for chunk in range(CHUNKS):
        story.receipt(0, id=entry_id(chunk))
    story.ok(0, message_id=entry_id(told))
    return _judged(story)


def test_id_of_the_last_chunk_is_accepted() -> None:
    assert _sent(2) == ([], 1)


def test_id_of_the_first_chunk_is_found() -> None:
    assert _sent(0) == (["other-id"], 1)


@pytest.mark.parametrize(("fate", "codes"), [(Fate.DUPLICATED, []), (Fate.PASSED, ["other-id"])])
def test_a_message_that_a_second_receipt_of_its_first_chunk_ended_is_not_judged(fate: Fate, codes: list[str]) -> None:
    story = Script()
    story.producer(chunking=True)
    story.send(0)
    story.send_frame(0, meta=_meta(0), unit=0, members=())
    story.receipt(0, id=entry_id(0), sides=Sides.SENDER, fate=fate)
    story.receipt(0, id=entry_id(0), sides=Sides.RECEIVER)
    story.receipt(0, id=entry_id(0), sides=Sides.RECEIVER, fate=fate)
    story.send_frame(0, meta=_meta(CHUNKS - 1))
    story.receipt(0, id=entry_id(2))
    story.ok(0, message_id=entry_id(0))
    assert _judged(story)[0] == codes


@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize(("id", "codes"), [(0, []), (1, ["other-id"])])
def test_under_an_id_used_anew_receipts_of_an_older_message_may_end_the_next(
    id: int, codes: list[str], *, chosen: bool
) -> None:
    """Message 0 has timed out as its receipts come; `id` is that of message 1, `chosen` by the application."""
    story = Script()
    story.producer(chunking=True)
    story.send(0, **({"sequence_id": 0} if chosen else {}))
    _leave(story, number=0, id=0)
    story.unknown(0)
    story.send(1, **({"sequence_id": id} if chosen else {}))
    _leave(story, number=1, id=id)
    for entry in range(2 * CHUNKS):
        story.receipt(0 if entry < CHUNKS else id, id=entry_id(entry))
    story.ok(1, message_id=entry_id(CHUNKS - 1))
    assert _judged(story)[0] == codes


def _leave(story: Script, number: int, id: int) -> None:
    for chunk in range(CHUNKS - 1):
        unit = CHUNKS * number + chunk
        story.send_frame(number, sequence_id=id, meta=_meta(chunk, id), unit=unit, members=())
    story.send_frame(number, sequence_id=id, meta=_meta(CHUNKS - 1, id))


def test_chunks_sent_again_and_stored_before_have_no_id_to_tell() -> None:
    assert _sent_again(answered=True) == ([], 0)


def test_no_id_without_a_word_of_the_broker_is_found() -> None:
    assert _sent_again(answered=False) == (["other-id"], 1)


def _sent_again(*, answered: bool) -> tuple[list[str], int]:
    """Reported without an id; `answered`: because the last chunk came again, and its receipt said so."""
    story = Script()
    story.producer(chunking=True)
    story.send(0)
    for chunk in range(CHUNKS - 1):
        story.send_frame(0, meta=_meta(chunk), unit=chunk, members=())
    story.send_frame(0, meta=_meta(CHUNKS - 1))
    for chunk in range(CHUNKS):
        story.receipt(0, id=entry_id(chunk))
    if answered:
        story.send_frame(0, meta=_meta(CHUNKS - 1))
        story.receipt(0, id=DUPLICATE)
    story.ok(0, message_id=DUPLICATE)
    return _judged(story)


def _sought(named: int, *sought: int) -> tuple[list[str], int]:
    """Messages are `sought` by their entries, the chunked one is that of entry 2, and SEEK names entry `named`."""
    story = Script()
    story.consumer()
    for chunk in range(CHUNKS - 1):
        story.message(0, entry=chunk, meta=_meta(chunk), members=())
    story.message(0, entry=CHUNKS - 1, meta=_meta(CHUNKS - 1))
    story.received(0, entry=2)
    for entry in sought:
        story.invoke("seek", CONSUMER, args={"consumer": CONSUMER, "message_id": [1, entry, -1, -1, 0]})
    story.up("SEEK", consumer_id=0, request_id=9, ids=(entry_id(named),))
    return _judged(story)


def test_seek_to_the_first_chunk_is_accepted() -> None:
    assert _sought(0, 2) == ([], 1)


def test_seek_to_the_last_chunk_is_found() -> None:
    assert _sought(2, 2) == (["sought-inside"], 1)


def test_of_two_seeks_at_once_either_may_leave() -> None:
    assert _sought(2, 1, 2) == ([], 0)
