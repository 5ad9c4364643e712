"""The check of `batching.succeeds-or-fails-as-one`, both ways, on histories of a few lines."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script, entry_id
from assay_conformance.model.event import MessageId
from assay_conformance.pulsar.checks.batching.succeeds_or_fails_as_one import succeeds_or_fails_as_one


def _receipted(*ends: MessageId | None) -> Check:
    """A batch in entry 0; each message ends with such an id, or fails."""
    story = Script()
    story.producer(batching=True)
    for number in range(len(ends)):
        story.send(number)
    story.send_frame(*range(len(ends)), batch=True)
    story.receipt(0, id=entry_id(0))
    for number, id in enumerate(ends):
        if id is None:
            story.unknown(number)
        else:
            story.ok(number, message_id=id)
    return trial(succeeds_or_fails_as_one, story.done())


def test_batch_whose_messages_get_their_places_is_accepted() -> None:
    check = _receipted(entry_id(0, 0, 2), entry_id(0, 1, 2))
    assert (check.findings, check.exercised) == ([], 1)


def test_batch_that_fails_as_a_whole_is_accepted() -> None:
    check = _receipted(None, None)
    assert (check.findings, check.exercised) == ([], 1)


def test_client_that_does_not_tell_the_size_is_accepted() -> None:
    assert _receipted(entry_id(0, 0), entry_id(0, 1)).findings == []


def test_batch_that_fails_in_part_is_found() -> None:
    assert [finding.code for finding in _receipted(entry_id(0, 0, 2), None).findings] == ["ends-differ"]


def test_message_with_the_place_of_another_is_found() -> None:
    check = _receipted(entry_id(0, 1, 2), entry_id(0, 2, 2))
    assert [finding.code for finding in check.findings] == ["wrong-place", "wrong-place"]


def test_message_in_another_entry_than_its_receipt_says_is_found() -> None:
    check = _receipted(entry_id(0, 0, 2), entry_id(1, 1, 2))
    assert [finding.code for finding in check.findings] == ["wrong-entry"]


def test_receipts_of_a_batch_whose_ids_another_had_are_not_told_apart() -> None:
    story = Script()
    story.producer(batching=True)
    for number in range(4):
        story.send(number)
    story.send_frame(0, 1, batch=True)
    story.unknown(0)
    story.unknown(1)
    story.send_frame(2, 3, batch=True, sequence_id=0)
    story.receipt(0, id=entry_id(4))
    story.receipt(0, id=entry_id(5))
    story.ok(2, message_id=entry_id(4, 0, 2))
    story.ok(3, message_id=entry_id(4, 1, 2))
    assert "wrong-entry" not in [finding.code for finding in trial(succeeds_or_fails_as_one, story.done()).findings]


def test_receipts_of_a_batch_are_not_told_apart_where_the_application_chose_an_id_twice() -> None:
    story = Script()
    story.producer(batching=True)
    for number, id in enumerate((5, 6, 6)):
        story.send(number, sequence_id=id)
    story.send_frame(0, 1, batch=True, sequence_id=5)
    story.send_frame(2, sequence_id=6)
    story.receipt(6, id=entry_id(5))
    story.receipt(5, id=entry_id(4))
    story.ok(0, message_id=entry_id(5, 0, 2))
    story.ok(1, message_id=entry_id(5, 1, 2))
    assert "wrong-entry" not in [finding.code for finding in trial(succeeds_or_fails_as_one, story.done()).findings]
