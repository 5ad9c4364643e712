"""The check of `chunking.survives-reconnect`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.chunking._chunked import CHUNKS, SIZE, Story

from assay_conformance.history.script import NAME, entry_id
from assay_conformance.model import event
from assay_conformance.pulsar.checks.chunking.survives_reconnect import survives_reconnect


def interrupted(resume_at: int = 1, receipts: int = 1, uuid: str = "") -> Story:
    """Chunks 0 and 1 leave, `receipts` come back, the connection is lost, and the sending goes on."""
    story = Story()
    story.piece(0)
    story.keep(0, 0)
    story.piece(1)
    story.keep(1, 1)
    for _ in range(receipts):
        story.receipt(0)
    story.cut()
    story.producer_again(1)
    for chunk in range(resume_at, CHUNKS):
        story.piece(chunk, conn=1, uuid=uuid)
    return story


def stored_and_delivered(story: Story) -> Story:
    story.keep(1, 2)
    story.keep(2, 3)
    for entry, chunk in enumerate((0, 1, 1, 2)):
        story.arrives(chunk, entry)
    story.gets(3)
    story.ok(0)
    return story


def test_interrupted_message_arrives_once() -> None:
    assert stored_and_delivered(interrupted()).judged(survives_reconnect) == ([], 1)


def test_message_of_one_connection_shows_nothing() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.piece(chunk)
        story.keep(chunk, chunk)
        story.arrives(chunk, chunk)
    story.gets(2)
    story.ok(0)
    assert story.judged(survives_reconnect) == ([], 0)


def test_skipped_chunk_is_found() -> None:
    story = interrupted(resume_at=2, receipts=1)
    assert story.judged(survives_reconnect)[0] == ["chunk-skipped"]


def test_chunk_with_a_receipt_may_be_left_out() -> None:
    story = interrupted(resume_at=2, receipts=2)
    assert story.judged(survives_reconnect)[0] == []


def sent_away(resume_at: int) -> Story:
    """The producer is sent away after chunks 0 and 1; the receipt of chunk 0 comes late, on the same connection."""
    story = Story()
    story.piece(0)
    story.piece(1)
    story.down("CLOSE_PRODUCER", producer_id=0)
    asked = story.producer_asks()
    story.receipt(0)
    answer = {"producer_name": NAME, "last_sequence_id": -1}
    story.down("PRODUCER_SUCCESS", request_id=asked.request_id, fields=answer)
    story.piece(resume_at)
    return story


def test_receipt_that_came_while_the_producer_was_let_in_again_counts() -> None:
    assert sent_away(resume_at=1).judged(survives_reconnect)[0] == []


def test_chunk_that_such_a_receipt_is_not_for_is_missed() -> None:
    assert sent_away(resume_at=2).judged(survives_reconnect)[0] == ["chunk-skipped"]


@pytest.mark.parametrize(("resume_at", "codes"), [(1, []), (2, ["chunk-skipped"])])
def test_receipt_counts_once_though_its_connection_had_two_sessions(resume_at: int, codes: list[str]) -> None:
    story = sent_away(resume_at=0)
    story.cut()
    story.producer_again(1)
    story.piece(resume_at, conn=1)
    assert story.judged(survives_reconnect)[0] == codes


def test_receipt_on_a_later_connection_ahead_of_the_chunks_is_not_theirs() -> None:
    story = Story()
    story.piece(0)
    story.cut()
    story.connected(1)
    asked = story.producer_asks(1)
    story.receipt(0, conn=1)
    answer = {"producer_name": NAME, "last_sequence_id": -1}
    story.down("PRODUCER_SUCCESS", 1, request_id=asked.request_id, fields=answer)
    story.piece(1, conn=1)
    assert story.judged(survives_reconnect)[0] == ["chunk-skipped"]


def altered_on_its_way(resume_at: int) -> Story:
    """Of chunk 0 a bit is flipped; the connection is lost after the SEND_ERROR for it."""
    story = Story()
    story.piece(0, fate=event.Fate.ALTERED, sides=event.Sides.SENDER)
    story.piece(0, fate=event.Fate.ALTERED, sides=event.Sides.RECEIVER, intact=False)
    story.down("SEND_ERROR", 0, producer_id=0, sequence_id=0, fields={"error": "ChecksumError"})
    story.cut()
    story.producer_again(1)
    for chunk in range(resume_at, CHUNKS):
        story.piece(chunk, conn=1)
        story.keep(chunk, chunk)
        story.arrives(chunk, chunk)
    return story


def test_altered_chunk_that_is_left_out_is_found() -> None:
    assert altered_on_its_way(resume_at=1).judged(survives_reconnect)[0] == ["chunk-skipped"]


def refused_before_a_receipt(*, spoilt: int, again: int = CHUNKS, resume_at: int, late: bool = False) -> Story:
    """All chunks leave, one of them spoilt on its way, and those from `again` on once more; a receipt for each other.

    The error for the spoilt one comes first, as it waits for no store, or `late`, after the receipts.
    """
    story = Story()
    for chunk in range(CHUNKS):
        if chunk == spoilt:
            story.piece(chunk, fate=event.Fate.ALTERED, sides=event.Sides.SENDER)
            story.piece(chunk, fate=event.Fate.ALTERED, sides=event.Sides.RECEIVER, intact=False)
        else:
            story.piece(chunk)
    receipts = CHUNKS - 1
    for refused in (not late, late):
        if refused:
            story.down("SEND_ERROR", 0, producer_id=0, sequence_id=0, fields={"error": "ChecksumError"})
            for chunk in range(again, CHUNKS):
                story.piece(chunk)
                receipts += 1
        if refused is not late:
            for _ in range(receipts):
                story.receipt(0)
    story.cut()
    story.producer_again(1)
    story.piece(resume_at, conn=1)
    return story


@pytest.mark.parametrize(("spoilt", "resume_at"), [(0, 1), (0, 2), (1, 2)])
def test_receipt_of_a_chunk_behind_a_spoilt_one_is_not_that_ones(spoilt: int, resume_at: int) -> None:
    story = refused_before_a_receipt(spoilt=spoilt, resume_at=resume_at)
    assert story.judged(survives_reconnect)[0] == ["chunk-skipped"]


@pytest.mark.parametrize(
    "story",
    [
        refused_before_a_receipt(spoilt=1, resume_at=1),
        refused_before_a_receipt(spoilt=0, again=0, resume_at=1),
        refused_before_a_receipt(spoilt=0, resume_at=1, late=True),
    ],
    ids=["the sending goes on there", "it was sent again at once", "the receipt was read before the error"],
)
def test_chunk_that_a_receipt_may_stand_for_may_be_left_out(story: Story) -> None:
    assert story.judged(survives_reconnect)[0] == []


def test_message_that_comes_through_although_a_chunk_was_altered_shows_it() -> None:
    story = altered_on_its_way(resume_at=0)
    story.gets(CHUNKS - 1)
    story.ok(0)
    assert story.judged(survives_reconnect) == ([], 1)


def test_message_of_which_a_chunk_was_altered_need_not_come_through() -> None:
    story = altered_on_its_way(resume_at=0)
    story.ok(0)
    assert story.judged(survives_reconnect) == ([], 0)


def test_new_uuid_after_reconnect_is_found() -> None:
    story = interrupted(resume_at=0, uuid="another")
    assert story.judged(survives_reconnect)[0] == ["uuid-changed"]


def test_chunk_the_broker_does_not_hold_is_found() -> None:
    story = interrupted()
    story.keep(2, 3, uuid="other")
    story.ok(0)
    assert story.judged(survives_reconnect)[0] == ["stored-incomplete"]


def test_message_that_goes_by_the_uuid_of_an_interrupted_one_is_not_judged() -> None:
    story = stored_and_delivered(interrupted())
    story.send(1)
    for chunk in range(CHUNKS):
        story.piece(chunk, 1, conn=1, uuid="p-0")
    story.ok(1)
    assert story.judged(survives_reconnect) == ([], 0)


def test_unknown_send_promises_no_delivery() -> None:
    story = interrupted()
    story.unknown(0)
    assert story.judged(survives_reconnect) == ([], 0)


def test_message_that_a_repeated_receipt_ends_early_need_not_be_stored() -> None:
    story = Story()
    story.piece(0)
    story.piece(1)
    story.receipt(0)
    story.receipt(0, fate=event.Fate.DUPLICATED)
    story.cut()
    story.producer_again(1)
    story.piece(2, conn=1)
    story.receipt(0, conn=1)
    story.ok(0)
    assert story.judged(survives_reconnect)[0] == []


@pytest.mark.parametrize(("times", "codes"), [(2, []), (3, ["delivered-twice"])])
def test_message_that_came_whole_over_two_connections_may_be_handed_over_twice(times: int, codes: list[str]) -> None:
    story = interrupted()
    story.keep(1, 2)
    story.keep(2, 3)
    story.ok(0)
    for conn in (9, 10):
        if conn == 10:
            story.cut(9)
            story.connected(10)
            story.subscribed(10)
        for entry, chunk in enumerate((0, 1, 1, 2)):
            story.arrives(chunk, entry, conn=conn)
    for _ in range(times):
        story.gets(3)
    assert story.judged(survives_reconnect)[0] == codes


def test_interrupted_message_delivered_twice_is_found() -> None:
    story = stored_and_delivered(interrupted())
    story.gets(3)
    assert story.judged(survives_reconnect)[0] == ["delivered-twice"]


def test_message_whose_last_chunk_was_stored_twice_may_come_twice() -> None:
    story = stored_and_delivered(interrupted())
    for entry, chunk in enumerate(range(CHUNKS), start=4):
        story.arrives(chunk, entry)
    story.gets(6)
    assert story.judged(survives_reconnect) == ([], 1)


def test_interrupted_message_that_is_damaged_is_found() -> None:
    story = interrupted()
    story.keep(1, 2)
    story.keep(2, 3)
    story.received(0, message_id=entry_id(3), size=SIZE, digest=1)
    story.ok(0)
    assert story.judged(survives_reconnect)[0] == ["damaged"]


def test_interrupted_message_that_is_withheld_is_found() -> None:
    story = interrupted()
    for entry, chunk in enumerate((0, 1, 1, 2)):
        story.arrives(chunk, entry)
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(survives_reconnect)[0] == ["not-delivered"]
