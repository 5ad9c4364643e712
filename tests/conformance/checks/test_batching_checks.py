from typing import Any

import msgspec
import pytest

from assay_conformance.checks.batching.closing import ClosesAtFirstLimit, FlushClosesBatch
from assay_conformance.checks.batching.entry import CompressedAsOne, DelayedAlone, GoesByLowestId, NamesAllIds
from assay_conformance.checks.batching.outcome import EndsAsOne
from assay_conformance.checks.batching.small_queue import SmallQueueMovesOn
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import (
    CASE_NUMBER,
    MESSAGE_BYTES,
    MS,
    NAME,
    PRODUCER,
    Script,
    digest_of,
    entry_id,
)
from assay_conformance.model.case import Rate, Topic, Topology
from assay_conformance.model.event import Identity, Member, MessageId, Meta, Outcome

LIMITS: dict[str, Any] = {"batching_max_messages": 3, "batching_max_bytes": 10_000, "batching_max_publish_delay_ms": 50}


def _batch(count: int, sent_ms: float = 130, case: object = ANY_CASE, **limits: int | bool) -> ClosesAtFirstLimit:
    story = Script()
    story.producer(**{"batching": True, **LIMITS, **limits})
    story.at(100)
    for number in range(count):
        story.send(number)
    story.at(sent_ms).send_frame(*range(count), batch=True)
    story.ok(0)
    return trial(ClosesAtFirstLimit, story.done(), case)  # type: ignore[arg-type]


def _codes(check: ClosesAtFirstLimit) -> list[str]:
    return [finding.code for finding in check.findings]


def test_batch_within_its_limits_is_accepted() -> None:
    check = _batch(3)
    assert (check.findings, check.exercised) == ([], 1)


def test_batch_that_leaves_by_its_delay_is_accepted() -> None:
    check = _batch(1, sent_ms=152)
    assert (check.findings, check.exercised) == ([], 1)


def test_batch_that_leaves_before_any_limit_shows_nothing() -> None:
    assert _batch(2).exercised == 0


@pytest.mark.parametrize(("room_bytes", "exercised"), [(-1, 1), (0, 0)])
def test_batch_is_full_where_the_next_message_would_exceed_its_bytes(room_bytes: int, exercised: int) -> None:
    story = Script()
    story.producer(batching=True, **{**LIMITS, "batching_max_bytes": 3 * MESSAGE_BYTES + room_bytes})
    for number in range(3):
        story.send(number)
    story.send_frame(0, 1, batch=True)
    story.send_frame(2, batch=True)
    assert trial(ClosesAtFirstLimit, story.done()).exercised == exercised


def test_too_many_messages_are_found() -> None:
    assert _codes(_batch(4)) == ["too-many-messages"]


def test_message_taken_after_the_bytes_were_reached_is_found() -> None:
    assert _codes(_batch(3, batching_max_bytes=2 * MESSAGE_BYTES)) == ["too-many-bytes"]


def test_message_that_reaches_the_bytes_is_accepted() -> None:
    assert _codes(_batch(2, batching_max_bytes=2 * MESSAGE_BYTES)) == []


def test_batch_that_leaves_late_is_found() -> None:
    assert _codes(_batch(2, sent_ms=400)) == ["too-late"]


def test_delay_is_not_judged_where_the_broker_may_not_read() -> None:
    topology = Topology(topics=(Topic(name="t", publish_rate=Rate(messages=1)),))
    assert _codes(_batch(2, 400, msgspec.structs.replace(ANY_CASE, topology=topology))) == []


def test_batch_that_waited_for_a_connection_is_not_late() -> None:
    story = Script()
    story.producer(batching=True, **LIMITS)
    story.cut()
    story.send(0)
    story.at(800)
    story.producer_again(1)
    story.send_frame(0, conn=1, batch=True)
    story.ok(0)
    assert _codes(trial(ClosesAtFirstLimit, story.done())) == []


def test_producer_that_does_not_batch_is_not_judged() -> None:
    assert _batch(4, batching=False).exercised == 0


def test_load_sampled_after_the_batch_left_counts() -> None:
    story = Script()
    story.producer(batching=True, **LIMITS)
    story.at(100).send(0)
    story.at(400).send_frame(0, batch=True)
    story.ok(0)
    story.at(450).load(400, loop_lag_ms=200)
    check = trial(ClosesAtFirstLimit, story.done())
    assert (_codes(check), bool(check.undecided_because)) == ([], True)


def test_batch_of_a_message_that_the_agent_kept_back_is_not_late() -> None:
    story = Script()
    story.producer(batching=True, **LIMITS)
    story.at(100).send(0)
    story.at(800).send_frame(0, batch=True)
    story.ok(0, called_ns=790_000_000)
    assert _codes(trial(ClosesAtFirstLimit, story.done())) == []


# --- flush and synchronous sends ---

FAR: dict[str, Any] = {"batching": True, "batching_max_messages": 100, "batching_max_publish_delay_ms": 5_000}


def _flushed(left_ms: float, **config: Any) -> FlushClosesBatch:
    story = Script()
    story.producer(**{**FAR, **config})
    story.at(100).send(0)
    flush = story.invoke("flush", PRODUCER)
    story.at(left_ms).send_frame(0, batch=True)
    story.receipt(0)
    story.ok(0, called_ns=100 * MS)
    story.complete(flush)
    return trial(FlushClosesBatch, story.done())


def test_batch_that_leaves_when_flushed_is_accepted() -> None:
    check = _flushed(105)
    assert (check.findings, check.exercised) == ([], 1)


def test_batch_that_outlives_a_flush_is_found() -> None:
    assert [finding.code for finding in _flushed(900).findings] == ["stayed-open"]


def test_flush_of_a_batch_that_is_due_shows_nothing() -> None:
    assert _flushed(105, batching_max_publish_delay_ms=50).exercised == 0


def test_batch_that_had_left_before_the_flush_shows_nothing() -> None:
    assert _flushed(100.5).exercised == 0


def _sent_synchronously(left_ms: float, *, receipt_first: bool = True) -> FlushClosesBatch:
    story = Script()
    story.producer(**FAR)
    story.at(100).send(0, mode="sync")
    story.at(left_ms).send_frame(0, batch=True)
    for step in (story.receipt, story.ok) if receipt_first else (story.ok, story.receipt):
        step(0)
    return trial(FlushClosesBatch, story.done())


def test_synchronous_send_that_leaves_and_returns_with_its_receipt_is_accepted() -> None:
    check = _sent_synchronously(105)
    assert (check.findings, check.exercised) == ([], 2)


def test_synchronous_send_of_a_producer_that_does_not_batch_shows_nothing() -> None:
    story = Script()
    story.producer()
    story.send(0, mode="sync")
    story.send_frame(0)
    story.receipt(0)
    story.ok(0)
    assert trial(FlushClosesBatch, story.done()).exercised == 0


def test_synchronous_send_that_waits_for_company_is_found() -> None:
    assert [finding.code for finding in _sent_synchronously(900).findings] == ["stayed-open"]


def test_synchronous_send_leaves_the_batches_of_other_partitions_alone() -> None:
    story = Script()
    story.connected()
    opening = story.invoke("open_producer", PRODUCER, args={"topic": "t", "config": FAR})
    for partition in range(2):
        story.producer_ready(producer_id=partition, topic=f"t-partition-{partition}")
    story.complete(opening, producer_name=NAME)
    story.at(100).send(0)
    story.send(1, mode="sync")
    story.send_frame(1, batch=True, producer_id=1, sequence_id=0)
    story.receipt(0, producer_id=1)
    story.ok(1)
    story.at(5_100).send_frame(0, batch=True)
    story.ok(0)
    check = trial(FlushClosesBatch, story.done())
    assert (check.findings, check.exercised) == ([], 2)


def test_synchronous_send_that_returns_before_its_receipt_is_found() -> None:
    assert [finding.code for finding in _sent_synchronously(105, receipt_first=False).findings] == ["returned-early"]


# --- a queue smaller than a batch ---

SMALL: dict[str, Any] = {
    "batching": True,
    "batching_max_messages": 10,
    "batching_max_publish_delay_ms": 50,
    "max_pending_messages": 2,
    "block_if_queue_full": True,
}


def _small_queue(second_ms: float, *inside: int) -> SmallQueueMovesOn:
    story = Script()
    story.producer(**SMALL)
    story.at(100)
    for number in range(5):
        story.send(number)
    story.at(151).send_frame(0, 1, batch=True)
    story.at(160).receipt(0)
    story.ok(0, called_ns=100 * MS)
    story.ok(1, called_ns=100 * MS)
    story.at(second_ms).send_frame(*inside, batch=True)
    for number in inside:
        story.ok(number, called_ns=102 * MS)
    return trial(SmallQueueMovesOn, story.done())


def test_batches_that_leave_by_their_delay_and_fit_the_queue_are_accepted() -> None:
    check = _small_queue(212, 2, 3)
    assert (check.findings, check.exercised) == ([], 2)


def test_batch_that_leaves_long_after_there_was_room_is_found() -> None:
    assert [finding.code for finding in _small_queue(600, 2, 3).findings] == ["too-late"]


def test_room_is_made_when_a_send_ends_however_late_the_agent_says_so() -> None:
    story = Script()
    story.producer(**SMALL)
    sends = [story.at(100).send(number) for number in range(3)]
    story.at(151).send_frame(0, 1, batch=True)
    story.at(452).send_frame(2, batch=True)
    for number, ended_ms in ((0, 400), (1, 400), (2, 460)):
        story.complete(sends[number], Outcome.UNKNOWN, called_ns=102 * MS, done_ns=ended_ms * MS)
    assert trial(SmallQueueMovesOn, story.done()).findings == []


def test_room_is_made_by_a_send_that_the_bench_heard_of_before_its_agent_did() -> None:
    """The agent's clock, as the bench knows it, is half a millisecond fast."""
    story = Script()
    story.producer(**SMALL)
    sends = [story.at(100).send(number) for number in range(3)]
    story.at(151).send_frame(0, 1, batch=True)
    story.at(451)
    for send in sends[:2]:
        story.complete(send, Outcome.UNKNOWN, called_ns=102 * MS, done_ns=453 * MS)
    story.at(452).send_frame(2, batch=True)
    story.at(600).complete(sends[2], Outcome.UNKNOWN, called_ns=102 * MS)
    assert trial(SmallQueueMovesOn, story.done()).findings == []


def test_batch_larger_than_the_queue_is_found() -> None:
    assert [finding.code for finding in _small_queue(212, 2, 3, 4).findings] == ["larger-than-queue"]


def _behind_full_queue(second_ms: float, *, flushed: bool = False, **settings: Any) -> SmallQueueMovesOn:
    story = Script()
    story.producer(**{**SMALL, "batching_max_publish_delay_ms": 500, **settings})
    story.at(100)
    for number in range(5):
        story.send(number)
    story.at(601).send_frame(0, 1, batch=True)
    story.at(610).receipt(0)
    for number in (0, 1):
        story.ok(number, called_ns=100 * MS)
    if flushed:
        story.at(615).complete(story.invoke("flush", PRODUCER))
    story.at(second_ms).send_frame(2, 3, batch=True)
    for number in (2, 3):
        story.ok(number, called_ns=102 * MS)
    return trial(SmallQueueMovesOn, story.done())


def test_batch_that_leaves_because_its_queue_is_full_is_found() -> None:
    assert [finding.code for finding in _behind_full_queue(620).findings] == ["too-early"]


def test_batches_a_delay_apart_are_accepted_whenever_their_messages_came() -> None:
    assert _behind_full_queue(1_095).findings == []


@pytest.mark.parametrize("otherwise", [{"flushed": True}, {"batching_max_bytes": 20}, {"batching_type": "key_based"}])
def test_batch_behind_a_full_queue_that_something_else_may_have_closed_is_not_judged(otherwise: dict[str, Any]) -> None:
    assert _behind_full_queue(620, **otherwise).findings == []


def _stuck(*, receipted: bool) -> SmallQueueMovesOn:
    story = Script()
    story.producer(**SMALL)
    sends = [story.send(number) for number in range(3)]
    story.send_frame(0, 1, batch=True)
    if receipted:
        story.receipt(0)
    story.at(6_000).overdue(sends[2], 5_000)
    return trial(SmallQueueMovesOn, story.done())


def test_message_that_never_leaves_with_nothing_in_flight_is_found() -> None:
    assert [finding.code for finding in _stuck(receipted=True).findings] == ["stuck"]


def test_message_that_waits_for_a_receipt_is_not_stuck() -> None:
    assert _stuck(receipted=False).findings == []


# --- what an entry says ---


def _batch_of_three(**fields: Any) -> Script:
    story = Script()
    story.producer(batching=True)
    meta = Meta(producer_name=NAME, sequence_id=0, highest_sequence_id=2, batch=3)
    story.send_frame(0, 1, 2, batch=True, **{"highest_sequence_id": 2, "meta": meta, **fields})
    return story


def _ids(**fields: Any) -> NamesAllIds:
    return trial(NamesAllIds, _batch_of_three(**fields).done())


def _lowest(**fields: Any) -> GoesByLowestId:
    return trial(GoesByLowestId, _batch_of_three(**fields).done())


def test_batch_with_all_its_ids_is_accepted() -> None:
    check = _ids()
    assert (check.findings, check.exercised) == ([], 1)


def test_batch_without_its_highest_id_is_found() -> None:
    assert [finding.code for finding in _ids(highest_sequence_id=0).findings] == ["no-highest-id"]


def test_batch_whose_metadata_lacks_the_highest_id_is_found() -> None:
    meta = Meta(producer_name=NAME, sequence_id=0, batch=3)
    assert [finding.code for finding in _ids(meta=meta).findings] == ["no-highest-id"]


def test_batch_that_tells_another_id_as_its_highest_is_found() -> None:
    assert [finding.code for finding in _ids(highest_sequence_id=5).findings] == ["wrong-highest-id"]


def test_batch_that_goes_by_its_lowest_id_is_accepted() -> None:
    check = _lowest()
    assert (check.findings, check.exercised) == ([], 1)


def test_batch_that_goes_by_its_highest_id_is_found() -> None:
    members = tuple(Member(size=1, digest=0, sequence_id=id) for id in range(3))
    assert [finding.code for finding in _lowest(sequence_id=2, members=members).findings] == ["other-id"]
    assert _ids(sequence_id=2, members=members).findings == []


def test_batch_whose_metadata_goes_by_another_id_is_found() -> None:
    meta = Meta(producer_name=NAME, sequence_id=2, highest_sequence_id=2, batch=3)
    assert [finding.code for finding in _lowest(meta=meta).findings] == ["other-id"]


def test_batch_whose_messages_have_no_ids_is_found() -> None:
    story = Script()
    story.producer(batching=True)
    members = tuple(
        Member(size=MESSAGE_BYTES, digest=digest_of(number), identity=Identity(CASE_NUMBER, PRODUCER, number))
        for number in range(2)
    )
    story.send_frame(0, 1, batch=True, highest_sequence_id=1, members=members)
    assert [finding.code for finding in trial(NamesAllIds, story.done()).findings] == ["no-single-ids"]
    assert trial(GoesByLowestId, story.done()).exercised == 0


def test_range_of_a_batch_whose_ids_begin_anew_inside_is_not_judged() -> None:
    members = tuple(Member(size=1, digest=0, sequence_id=id) for id in (3, 0, 1))
    meta = Meta(producer_name=NAME, sequence_id=3, highest_sequence_id=1, batch=3)
    assert _ids(members=members, meta=meta, sequence_id=3, highest_sequence_id=1).findings == []
    assert _lowest(members=members, meta=meta, sequence_id=3, highest_sequence_id=1).findings == []


def test_ids_of_a_key_based_batch_are_not_judged() -> None:
    story = Script()
    story.producer(batching=True, batching_type="key_based")
    story.send_frame(0, 1, batch=True)
    assert trial(NamesAllIds, story.done()).exercised == 0


def _compressed(unpacked_bytes: int | None, *numbers: int, **fields: Any) -> CompressedAsOne:
    story = Script()
    story.producer(batching=True, compression="LZ4")
    for number in range(2):
        story.send(number)
    meta = Meta(
        producer_name=NAME,
        sequence_id=0,
        batch=2,
        compression="LZ4",
        uncompressed_size=150,
        unpacked_bytes=unpacked_bytes,
    )
    story.send_frame(*numbers, batch=True, meta=meta, **fields)
    return trial(CompressedAsOne, story.done())


def test_batch_compressed_as_a_whole_is_accepted() -> None:
    check = _compressed(None, 0, 1)
    assert (check.findings, check.exercised) == ([], 1)


def test_batch_of_another_size_than_it_says_is_found() -> None:
    assert [finding.code for finding in _compressed(170, 0, 1, members=()).findings] == ["wrong-size"]


def test_batch_whose_body_is_no_batch_is_found() -> None:
    assert [finding.code for finding in _compressed(None, 0, 1, members=()).findings] == ["unreadable"]


def test_batch_of_other_messages_than_were_asked_for_is_found() -> None:
    assert [finding.code for finding in _compressed(None, 0, 7).findings] == ["member-changed"]


def test_codec_that_cannot_be_unpacked_is_another_matter() -> None:
    assert _compressed(-1, 0, 1, members=()).findings == []


def _delayed(*order: int, deliver_at_ms: int | None = 5_000) -> DelayedAlone:
    """Messages 0 and 1 were in the open batch when 2, a delayed one, was asked for."""
    story = Script()
    story.producer(batching=True)
    for number in range(2):
        story.send(number)
    story.send(2, deliver_after_ms=1_000)
    meta = Meta(producer_name=NAME, sequence_id=2, deliver_at_ms=deliver_at_ms)
    for first in order:
        if first == 0:
            story.send_frame(0, 1, batch=True)
        else:
            story.send_frame(2, meta=meta)
    return trial(DelayedAlone, story.done())


def test_delayed_message_behind_the_batch_is_accepted() -> None:
    check = _delayed(0, 2)
    assert (check.findings, check.exercised) == ([], 1)


def test_delayed_message_that_overtakes_the_batch_is_found() -> None:
    assert [finding.code for finding in _delayed(2, 0).findings] == ["overtakes-batch"]


def test_delayed_message_that_lost_its_time_is_found() -> None:
    assert [finding.code for finding in _delayed(0, 2, deliver_at_ms=None).findings] == ["time-lost"]


def test_delayed_message_that_others_have_to_wait_with_is_found() -> None:
    story = Script()
    story.producer(batching=True)
    story.send(0)
    story.send(1, deliver_after_ms=1_000)
    story.send_frame(0, 1, meta=Meta(producer_name=NAME, sequence_id=0, batch=2, deliver_at_ms=5_000))
    assert [finding.code for finding in trial(DelayedAlone, story.done()).findings] == ["batched"]


# --- what a receipt means ---


def _receipted(*ends: MessageId | None) -> EndsAsOne:
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
    return trial(EndsAsOne, story.done())


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
    assert "wrong-entry" not in [finding.code for finding in trial(EndsAsOne, story.done()).findings]


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
    assert "wrong-entry" not in [finding.code for finding in trial(EndsAsOne, story.done()).findings]


def test_synchronous_send_whose_id_another_had_may_have_had_its_receipt() -> None:
    story = Script()
    story.producer(batching=True)
    story.send(0, mode="sync")
    story.send(1, mode="sync")
    story.send_frame(0, batch=True)
    story.unknown(0)
    story.send_frame(1, batch=True, sequence_id=0)
    story.receipt(0)
    story.ok(1)
    assert trial(FlushClosesBatch, story.done()).findings == []
