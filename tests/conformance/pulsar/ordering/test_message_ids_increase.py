"""Message ids, both ways."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import DUPLICATE, Script, entry_id
from assay_conformance.model.event import MessageId, Meta, ReadBack
from assay_conformance.pulsar.checks.ordering.message_ids_increase import message_ids_increase


def judged(story: Script) -> tuple[list[str], int]:
    said = trial(message_ids_increase, story.done())
    return [finding.code for finding in said.findings], said.exercised


def _holds(*ids: tuple[int, int]) -> Script:
    story = Script()
    story.add(ReadBack, topic="t", entries=tuple(MessageId(*id) for id in ids))
    return story


def _receipted(*places: tuple[int, int]) -> Script:
    """Message n is stored as entry n, and receipted as the entry of its place."""
    story = Script()
    story.producer()
    for number, (_, entry) in enumerate(places):
        story.send_frame(number)
        story.stored(number, entry=entry)
    for number, (named, _) in enumerate(places):
        story.receipt(number, id=entry_id(named))
    return story


def test_entries_of_two_ledgers_are_accepted() -> None:
    assert judged(_holds((1, 0), (1, 1), (4, 0))) == ([], 1)


def test_topic_with_nothing_but_one_ledger_shows_no_new_one() -> None:
    assert judged(_holds((1, 0), (1, 1))) == ([], 0)


def test_entry_that_is_left_out_is_found() -> None:
    assert judged(_holds((1, 0), (1, 2)))[0] == ["ids-not-in-step"]


def test_later_ledger_with_a_smaller_id_is_found() -> None:
    assert judged(_holds((4, 0), (1, 0)))[0] == ["ids-not-in-step"]


def test_receipts_that_name_their_entries_are_accepted() -> None:
    assert judged(_receipted((0, 0), (1, 1))) == ([], 1)


def test_receipts_that_change_places_are_found() -> None:
    assert judged(_receipted((1, 0), (0, 1)))[0] == ["receipt-names-another", "id-falls", "receipt-names-another"]


def test_receipt_of_a_duplicate_names_nothing() -> None:
    story = _receipted((0, 0))
    story.send_frame(0)
    story.receipt(0, id=DUPLICATE)
    assert judged(story) == ([], 0)


def test_receipt_of_what_is_not_stored_is_another_requirements_matter() -> None:
    story = _receipted((0, 0))
    story.send_frame(1)
    story.receipt(1, id=entry_id(99))
    assert judged(story) == ([], 0)


def test_damaged_chunk_has_an_error_of_its_own() -> None:
    story = Script()
    story.producer()
    for chunk, intact in enumerate((True, False, True, True)):
        meta = Meta(producer_name="p", sequence_id=0, chunk_id=chunk, chunks=4)
        story.send_frame(0, unit=chunk, meta=meta, intact=intact)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": "ChecksumError"})
    for entry, chunk in enumerate((0, 2, 3)):
        story.stored(0, entry=entry, unit=chunk)
        story.receipt(0, id=entry_id(entry))
    assert judged(story)[0] == []


def test_of_several_chunks_nobody_knows_which_was_refused() -> None:
    story = Script()
    story.producer()
    for chunk in range(3):
        story.send_frame(0, unit=chunk, meta=Meta(producer_name="p", sequence_id=0, chunk_id=chunk, chunks=3))
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": "ChecksumError"})
    for chunk in range(2):
        story.stored(0, entry=chunk, unit=chunk)
        story.receipt(0, id=entry_id(chunk))
    assert judged(story)[0] == []


def test_of_two_messages_with_one_id_nobody_knows_which_was_the_duplicate() -> None:
    story = Script()
    story.producer()
    story.send_frame(0)
    story.send_frame(1, sequence_id=0)
    story.stored(0, entry=0)
    story.receipt(0, id=DUPLICATE)
    story.receipt(0, id=entry_id(0))
    assert judged(story)[0] == []


def test_duplicate_of_a_last_chunk_is_answered_ahead_of_the_chunks_before_it() -> None:
    story = Script()
    story.producer()
    story.send(0)
    chunks: list[dict[str, Any]] = [
        {"unit": number, "meta": Meta(producer_name="p", sequence_id=0, chunk_id=number, chunks=2)}
        for number in range(2)
    ]
    for chunk in chunks:
        story.send_frame(0, **chunk)
    story.stored(0, **chunks[0])
    story.receipt(0, id=DUPLICATE)
    story.receipt(0)
    assert judged(story)[0] == []
