"""The check of `batching.highest-sequence-id`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.batching._histories import ids, lowest

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CASE_NUMBER, MESSAGE_BYTES, NAME, PRODUCER, Script, digest_of
from assay_conformance.model.event import Identity, Member, Meta
from assay_conformance.pulsar.checks.batching.highest_sequence_id import highest_sequence_id
from assay_conformance.pulsar.checks.batching.lowest_sequence_id import lowest_sequence_id


def test_batch_with_all_its_ids_is_accepted() -> None:
    check = ids()
    assert (check.findings, check.exercised) == ([], 1)


def test_batch_without_its_highest_id_is_found() -> None:
    assert [finding.code for finding in ids(highest_sequence_id=0).findings] == ["no-highest-id"]


def test_batch_whose_metadata_lacks_the_highest_id_is_found() -> None:
    meta = Meta(producer_name=NAME, sequence_id=0, batch=3)
    assert [finding.code for finding in ids(meta=meta).findings] == ["no-highest-id"]


def test_batch_that_tells_another_id_as_its_highest_is_found() -> None:
    assert [finding.code for finding in ids(highest_sequence_id=5).findings] == ["wrong-highest-id"]


def test_batch_whose_messages_have_no_ids_is_found() -> None:
    story = Script()
    story.producer(batching=True)
    members = tuple(
        Member(size=MESSAGE_BYTES, digest=digest_of(number), identity=Identity(CASE_NUMBER, PRODUCER, number))
        for number in range(2)
    )
    story.send_frame(0, 1, batch=True, highest_sequence_id=1, members=members)
    assert [finding.code for finding in trial(highest_sequence_id, story.done()).findings] == ["no-single-ids"]
    assert trial(lowest_sequence_id, story.done()).exercised == 0


def test_range_of_a_batch_whose_ids_begin_anew_inside_is_not_judged() -> None:
    members = tuple(Member(size=1, digest=0, sequence_id=id) for id in (3, 0, 1))
    meta = Meta(producer_name=NAME, sequence_id=3, highest_sequence_id=1, batch=3)
    assert ids(members=members, meta=meta, sequence_id=3, highest_sequence_id=1).findings == []
    assert lowest(members=members, meta=meta, sequence_id=3, highest_sequence_id=1).findings == []


def test_ids_of_a_key_based_batch_are_not_judged() -> None:
    story = Script()
    story.producer(batching=True, batching_type="key_based")
    story.send_frame(0, 1, batch=True)
    assert trial(highest_sequence_id, story.done()).exercised == 0
