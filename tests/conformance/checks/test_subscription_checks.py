"""Subscriptions: one consumer, the active one, one at a time, one a key, and where it goes on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.nack import RedeliveriesCounted
from assay_conformance.checks.subscription import (
    ExclusiveHasOne,
    FailoverHandsOver,
    KeySharedKeepsKeys,
    ResumesAfterAcked,
    SharedGivesToOne,
)
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.case import Case, Rate, Step, Topic, Topology, Who
from assay_conformance.model.event import Fate, MessageId, Meta, Sides
from assay_conformance.model.fault import Cut, CutHow, Direction, Fault, OnFrame

FIRST, SECOND, THIRD = CONSUMER, CONSUMER + 1, CONSUMER + 2


def _said(check: type[Check], story: Script, case: Case = ANY_CASE) -> tuple[list[str], int]:
    tried = trial(check, story.done(), case)
    return [finding.code for finding in tried.findings], tried.exercised


def _two(kind: str) -> Script:
    """Two consumers, on connections 0 and 1, with permits."""
    story = Script()
    story.consumer(FIRST, conn=0, kind=kind)
    story.consumer(SECOND, conn=1, kind=kind)
    story.flow(100)
    story.flow(100, conn=1)
    return story


# --- exclusive-has-one -----------------------------------------------------------------------------------------------


def _second(answer: str, **fields: Any) -> Script:
    story = Script()
    story.consumer(FIRST)
    story.connected(1)
    asked = {"topic": story.full("t"), "subscription": "s", "subType": "Exclusive"}
    story.up("SUBSCRIBE", 1, consumer_id=0, request_id=77, fields=asked)
    story.down(answer, 1, request_id=77, fields=fields)
    return story


def test_second_exclusive_consumer_that_is_refused_is_accepted() -> None:
    assert _said(ExclusiveHasOne, _second("ERROR", error="ConsumerBusy")) == ([], 1)


def test_second_exclusive_consumer_that_is_let_in_is_found() -> None:
    assert _said(ExclusiveHasOne, _second("SUCCESS"))[0] == ["second-admitted"]


def test_another_error_proves_nothing() -> None:
    assert _said(ExclusiveHasOne, _second("ERROR", error="ServiceNotReady")) == ([], 0)


def test_consumer_in_place_of_one_whose_connection_ended_is_accepted() -> None:
    story = Script()
    story.consumer(FIRST)
    story.cut(0)
    story.consumer(SECOND, conn=1)
    assert _said(ExclusiveHasOne, story) == ([], 0)


def test_second_shared_consumer_is_no_matter_of_this() -> None:
    assert _said(ExclusiveHasOne, _two("Shared")) == ([], 0)


# --- failover-hands-over ---------------------------------------------------------------------------------------------


def _failover(*second_gets: int) -> Script:
    """The first consumer gets 0, 1 and 2 and acks 0; the second becomes active and gets these."""
    story = _two("Failover")
    story.down("ACTIVE_CONSUMER_CHANGE", 0, consumer_id=0, fields={"is_active": True})
    for number in range(3):
        story.message(number)
    story.ack_frame(0)
    story.cut(0)
    story.down("ACTIVE_CONSUMER_CHANGE", 1, consumer_id=0, fields={"is_active": True})
    for number in second_gets:
        story.message(number, conn=1)
    return story


def test_next_active_consumer_that_begins_with_the_unacked_is_accepted() -> None:
    assert _said(FailoverHandsOver, _failover(1, 2, 3)) == ([], 1)


@pytest.mark.parametrize("gets", [(3,), (2, 1), (1, 3)])
def test_next_active_consumer_that_passes_over_is_found(gets: tuple[int, ...]) -> None:
    assert "passed-over" in _said(FailoverHandsOver, _failover(*gets))[0]


def test_entry_for_a_consumer_that_is_not_active_is_found() -> None:
    story = _two("Failover")
    story.down("ACTIVE_CONSUMER_CHANGE", 0, consumer_id=0, fields={"is_active": True})
    story.message(0, conn=1)
    assert _said(FailoverHandsOver, story)[0] == ["two-active"]


def test_what_is_acked_meanwhile_needs_not_come() -> None:
    story = _failover()
    story.ack_frame(1, 2, conn=1)
    story.message(3, conn=1)
    assert _said(FailoverHandsOver, story) == ([], 0)


# --- shared-gives-to-one ---------------------------------------------------------------------------------------------


def test_entries_at_one_consumer_each_are_accepted() -> None:
    story = _two("Shared")
    story.message(0)
    story.message(1, conn=1)
    assert _said(SharedGivesToOne, story) == ([], 0)


def test_entry_at_two_consumers_is_found() -> None:
    story = _two("Shared")
    story.message(0)
    story.message(0, conn=1)
    assert _said(SharedGivesToOne, story)[0] == ["at-two-consumers"]


def test_entry_that_was_asked_for_again_may_go_to_the_other() -> None:
    story = _two("Shared")
    story.message(0)
    story.redeliver_frame(0)
    story.message(0, conn=1)
    assert _said(SharedGivesToOne, story) == ([], 0)


@pytest.mark.parametrize(("fate", "codes"), [(Fate.PASSED, ["at-two-consumers"]), (Fate.DUPLICATED, [])])
def test_entry_that_a_fault_asks_for_twice_may_go_out_in_between(fate: Fate, codes: list[str]) -> None:
    story = _two("Shared")
    story.message(0)
    story.redeliver_frame(0, fate=fate)
    story.message(0)
    story.message(0, conn=1)
    assert _said(SharedGivesToOne, story)[0] == codes


def test_entry_beside_one_that_a_fault_asks_for_twice_is_at_one_consumer() -> None:
    story = _two("Shared")
    story.message(0)
    story.message(1)
    story.redeliver_frame(0, fate=Fate.DUPLICATED)
    story.message(1, conn=1)
    assert _said(SharedGivesToOne, story)[0] == ["at-two-consumers"]


def test_entry_of_a_consumer_that_went_may_go_to_the_other() -> None:
    story = _two("Shared")
    story.message(0)
    story.cut(0)
    story.message(0, conn=1)
    story.after(1_000)
    assert _said(SharedGivesToOne, story) == ([], 1)


def _left_behind(permits: int = 100, after_ms: int = 1_000) -> Script:
    story = Script()
    story.consumer(FIRST, conn=0, kind="Shared")
    story.consumer(SECOND, conn=1, kind="Shared")
    story.flow(100)
    story.flow(permits, conn=1)
    story.message(0)
    story.cut(0)
    story.after(after_ms)
    return story


def test_entry_left_behind_is_found() -> None:
    assert _said(SharedGivesToOne, _left_behind())[0] == ["left-behind"]


def test_what_a_broker_makes_of_an_altered_acknowledgment_is_its_own_affair() -> None:
    story = _left_behind(after_ms=0)
    story.ack_frame(5, conn=1, fate=Fate.ALTERED)
    assert _said(SharedGivesToOne, story.after(1_000))[0] == []


def test_heir_that_has_permits_for_a_moment_is_not_served_yet() -> None:
    story = _left_behind(permits=0)
    story.flow(1, conn=1)
    story.cut(1)
    assert _said(SharedGivesToOne, story.after(1_000))[0] == []


def _chunks_left_behind(heir_has: int) -> list[str]:
    """A consumer with both chunks of a message goes; another without further permits has been sent the first since."""
    story = _two("Shared")
    story.consumer(THIRD, conn=2, kind="Shared")
    story.flow(1, conn=2)
    chunks = [Meta(producer_name="p", sequence_id=0, uuid="p-0", chunk_id=number, chunks=2) for number in range(2)]
    for number, meta in enumerate(chunks):
        story.message(number, meta=meta)
    story.cut(0)
    story.message(0, conn=heir_has, meta=chunks[0])
    story.after(1_000)
    return _said(SharedGivesToOne, story)[0]


def test_chunk_waits_for_the_consumer_that_has_the_others() -> None:
    assert _chunks_left_behind(heir_has=2) == []


def test_chunk_that_does_not_come_to_the_consumer_that_has_the_others_is_found() -> None:
    assert _chunks_left_behind(heir_has=1) == ["left-behind"]


@pytest.mark.parametrize(("came", "codes"), [(1, []), (2, ["left-behind"])])
def test_message_that_came_in_part_is_for_nobody_else(came: int, codes: list[str]) -> None:
    """A broker of Pulsar 4.0 holds it for the consumer that is gone; a whole one is for anybody."""
    story = _two("Shared")
    for number in range(came):
        meta = Meta(producer_name="p", sequence_id=0, uuid="p-0", chunk_id=number, chunks=2)
        story.message(number, meta=meta)
    story.cut(0)
    story.after(1_000)
    assert _said(SharedGivesToOne, story)[0] == codes


def test_chunk_whose_first_one_is_acknowledged_is_for_nobody() -> None:
    story = _two("Shared")
    for number in range(2):
        meta = Meta(producer_name="p", sequence_id=0, uuid="p-0", chunk_id=number, chunks=2)
        story.message(number, meta=meta)
    story.ack_frame(0)
    story.cut(0)
    story.after(1_000)
    assert _said(SharedGivesToOne, story)[0] == []


def _left_behind_a_chunk(*acked: int) -> list[str]:
    """A consumer with both chunks of a message and another message goes; `acked` were acknowledged before."""
    story = _two("Shared")
    for number in range(3):
        chunk = Meta(producer_name="p", sequence_id=0, uuid="p-0", chunk_id=number, chunks=2)
        meta = chunk if number < 2 else Meta(producer_name="p", sequence_id=1)
        story.stored(number, meta=meta)
        story.message(number, meta=meta)
    story.ack_frame(*acked)
    story.cut(0)
    story.after(1_000)
    return _said(SharedGivesToOne, story)[0]


def test_entry_behind_a_chunk_that_is_for_nobody_waits_with_it() -> None:
    assert _left_behind_a_chunk(0) == []


def test_entry_left_behind_a_message_that_is_acknowledged_is_found() -> None:
    assert _left_behind_a_chunk(0, 1) == ["left-behind"]


def test_chunk_that_is_stored_ahead_of_the_first_is_for_nobody() -> None:
    """The other consumer gets the message whole; what had come of it out of order stays behind."""
    story = _two("Shared")
    chunks = [Meta(producer_name="p", sequence_id=0, uuid="p-0", chunk_id=number, chunks=2) for number in range(2)]
    story.message(0, meta=chunks[1])
    story.cut(0)
    story.message(1, conn=1, meta=chunks[0])
    story.message(2, conn=1, meta=chunks[1])
    story.after(1_000)
    assert _said(SharedGivesToOne, story)[0] == []


def test_entry_behind_a_chunk_that_is_stored_ahead_of_the_first_waits_with_it() -> None:
    """The chunk was not due when the entry went out for the first time."""
    story = _two("Shared")
    chunks = [Meta(producer_name="p", sequence_id=0, uuid="p-0", chunk_id=number, chunks=2) for number in (1, 0, 1)]
    for number, meta in enumerate([*chunks, Meta(producer_name="p", sequence_id=1)]):
        story.stored(number, meta=meta)
    story.message(3)
    story.cut(0)
    story.after(1_000)
    assert _said(SharedGivesToOne, story)[0] == []


def test_permits_for_a_consumer_that_the_broker_closed_are_none() -> None:
    story = _left_behind(permits=0)
    story.down("CLOSE_CONSUMER", 1, consumer_id=0)
    story.flow(100, conn=1)
    story.after(1_000)
    assert _said(SharedGivesToOne, story)[0] == []


def test_entry_nobody_has_permits_for_may_stay() -> None:
    assert _said(SharedGivesToOne, _left_behind(permits=0)) == ([], 0)


def test_entry_may_take_a_moment() -> None:
    assert _said(SharedGivesToOne, _left_behind(after_ms=20)) == ([], 0)


def test_entry_a_rate_may_hold_back_is_not_judged() -> None:
    case = msgspec.structs.replace(
        ANY_CASE, topology=Topology(topics=(Topic(name="t", dispatch_rate=Rate(messages=1)),))
    )
    assert _said(SharedGivesToOne, _left_behind(), case) == ([], 0)


HOLE = msgspec.structs.replace(
    ANY_CASE,
    faults=(Fault(trigger=OnFrame(command="PING", direction=Direction.TO_CLIENT), action=Cut(how=CutHow.BLACKHOLE)),),
)


def test_broker_that_does_not_know_a_consumer_went_has_not_left_its_entries_behind() -> None:
    story = Script()
    story.consumer(FIRST, conn=0, kind="Shared")
    story.consumer(SECOND, conn=1, kind="Shared")
    story.flow(100, conn=1)
    story.message(0)
    story.closed(0)
    story.after(1_000)
    assert _said(SharedGivesToOne, story, HOLE) == ([], 0)


# --- key-shared-keeps-keys -------------------------------------------------------------------------------------------


def _keyed(story: Script, number: int, key: str | None, conn: int, ordering: bytes | None = None) -> None:
    meta = Meta(producer_name="p", sequence_id=number, key=key, ordering_key=ordering)
    story.message(number, conn=conn, meta=meta)


def _keys(*sent: tuple[str | None, int]) -> Script:
    story = _two("Key_Shared")
    for number, (key, conn) in enumerate(sent):
        _keyed(story, number, key, conn)
    return story


def test_keys_that_stay_are_accepted() -> None:
    assert _said(KeySharedKeepsKeys, _keys(("a", 0), ("b", 1), ("a", 0), ("b", 1))) == ([], 2)


def test_key_at_two_consumers_is_found() -> None:
    assert _said(KeySharedKeepsKeys, _keys(("a", 0), ("a", 1)))[0] == ["key-at-two-consumers"]


def test_entries_without_a_key_may_go_to_anyone() -> None:
    assert _said(KeySharedKeepsKeys, _keys((None, 0), (None, 1))) == ([], 0)


def test_ordering_key_goes_before_the_key() -> None:
    story = _two("Key_Shared")
    _keyed(story, 0, "a", 0, b"one")
    _keyed(story, 1, "b", 1, b"one")
    assert _said(KeySharedKeepsKeys, story)[0] == ["key-at-two-consumers"]


def test_key_may_move_when_somebody_comes() -> None:
    story = _keys(("a", 0))
    story.consumer(SECOND + 1, conn=2, kind="Key_Shared")
    _keyed(story, 1, "a", 2)
    assert _said(KeySharedKeepsKeys, story) == ([], 0)


def test_key_may_move_when_somebody_goes() -> None:
    story = _keys(("a", 0))
    story.cut(0)
    _keyed(story, 1, "a", 1)
    assert _said(KeySharedKeepsKeys, story) == ([], 0)


@pytest.mark.parametrize(("closes", "codes"), [(True, []), (False, ["key-at-two-consumers"])])
def test_key_may_move_behind_what_crosses_the_close_of_its_consumer(closes: bool, codes: list[str]) -> None:
    story = _two("Key_Shared")
    if closes:
        story.up("CLOSE_CONSUMER", consumer_id=0, request_id=90)
    _keyed(story, 1, "a", 0)
    _keyed(story, 1, "a", 1)
    assert _said(KeySharedKeepsKeys, story)[0] == codes


def test_key_of_a_consumer_only_its_client_knows_gone_is_not_judged() -> None:
    story = _two("Key_Shared")
    story.consumer(SECOND + 1, conn=2, kind="Key_Shared")
    story.closed(0)
    _keyed(story, 0, "a", 0)
    _keyed(story, 1, "a", 1)
    assert _said(KeySharedKeepsKeys, story, HOLE) == ([], 0)


# --- resumes-after-acked ---------------------------------------------------------------------------------------------


def _resumed(*gets: int, durable: bool = True) -> Script:
    """0 to 3 are sent, 0 and 1 acked, and another consumer comes."""
    story = Script()
    story.connected(0)
    story.subscribed(0, durable=durable)
    for number in range(4):
        story.message(number)
    story.ack_frame(0, 1)
    story.cut(0)
    story.connected(1)
    story.subscribed(1, durable=durable)
    for number in gets:
        story.message(number, conn=1)
    return story


def test_going_on_at_the_first_unacked_is_accepted() -> None:
    assert _said(ResumesAfterAcked, _resumed(2, 3, 4)) == ([], 1)


def test_passing_over_the_unacked_is_found() -> None:
    assert "passed-over" in _said(ResumesAfterAcked, _resumed(4))[0]


def test_starting_over_is_found() -> None:
    assert _said(ResumesAfterAcked, _resumed(0, 1, 2))[0] == ["acked-again"]


@pytest.mark.parametrize(("pause_ms", "codes"), [(20, []), (300, ["acked-again"])])
def test_acknowledgement_that_crosses_an_unload_may_be_lost_in_it(pause_ms: int, codes: list[str]) -> None:
    story = Script()
    story.consumer()
    for number in range(2):
        story.message(number)
    story.ack_frame(0)
    story.after(pause_ms).down("CLOSE_CONSUMER", consumer_id=0)
    story.subscribed()
    story.message(0)
    assert _said(ResumesAfterAcked, story)[0] == codes


@pytest.mark.parametrize(("pause_ms", "codes"), [(0, []), (250, ["acked-again"])])
def test_ack_of_before_may_come_while_the_first_permits_are_served(pause_ms: int, codes: list[str]) -> None:
    """Permits and acknowledgement come in one read, which is written down before the broker answers any of it."""
    story = Script()
    story.connected(0)
    story.subscribed(0)
    story.message(0)
    story.message(1)
    story.cut(0)
    story.connected(1)
    story.subscribed(1)
    story.flow(10, conn=1)
    story.ack_frame(0, conn=1)
    story.after(pause_ms).message(0, conn=1)
    assert _said(ResumesAfterAcked, story) == (codes, 1)


def test_ack_ahead_of_the_answer_to_subscribe_may_settle_what_it_names() -> None:
    story = Script()
    story.connected(0)
    story.subscribed(0)
    story.message(0)
    story.message(1)
    story.down("CLOSE_CONSUMER", 0, consumer_id=0)
    fields = {"topic": story.full("t"), "subscription": "s", "subType": "Exclusive"}
    asked = story.up("SUBSCRIBE", 0, consumer_id=0, request_id=77, fields=fields)
    story.ack_frame(0)
    story.down("SUCCESS", 0, request_id=asked.request_id)
    story.message(1)
    assert _said(ResumesAfterAcked, story)[0] == []


def test_ack_that_crosses_the_close_of_its_consumer_settles_nothing() -> None:
    story = Script()
    story.connected(0)
    story.subscribed(0)
    story.message(0)
    story.down("CLOSE_CONSUMER", 0, consumer_id=0)
    story.ack_frame(0)
    story.subscribed(0)
    story.message(0)
    assert _said(ResumesAfterAcked, story)[0] == []


def test_broker_that_died_may_have_lost_acks() -> None:
    case = msgspec.structs.replace(ANY_CASE, steps=(Step(Who.BROKER, "restart"),))
    assert _said(ResumesAfterAcked, _resumed(0, 1, 2), case) == ([], 1)


def test_reader_starts_where_it_likes() -> None:
    assert _said(ResumesAfterAcked, _resumed(0, durable=False)) == ([], 0)


def test_acknowledgement_that_crosses_the_end_of_its_consumer_settles_nothing() -> None:
    story = Script()
    story.consumer(FIRST)
    story.message(0)
    story.down("CLOSE_CONSUMER", 0, consumer_id=0)
    story.ack_frame(0)
    story.subscribed(0)
    story.message(0)
    assert _said(ResumesAfterAcked, story) == ([], 1)


def test_subscription_that_was_moved_starts_elsewhere() -> None:
    story = Script()
    story.consumer(FIRST)
    for number in range(4):
        story.message(number)
    story.up("SEEK", 0, consumer_id=0, request_id=9, fields={"message_id": [MessageId(1, 3)]})
    story.down("CLOSE_CONSUMER", 0, consumer_id=0)
    story.subscribed(0)
    story.message(3)
    assert _said(ResumesAfterAcked, story) == ([], 0)


# --- nack.redelivery-count ---------------------------------------------------------------------------------------


def _counted(*counts: int) -> Script:
    """One entry, asked for again before each next time."""
    story = _two("Shared")
    for count in counts:
        story.message(0, redelivery_count=count)
        story.redeliver_frame(0)
    return story


def test_redeliveries_counted_one_by_one_are_accepted() -> None:
    assert _said(RedeliveriesCounted, _counted(0, 1, 2)) == ([], 2)


@pytest.mark.parametrize("counts", [(0, 0), (0, 2), (1,), (0, 1, 1)])
def test_miscounted_redelivery_is_found(counts: tuple[int, ...]) -> None:
    assert _said(RedeliveriesCounted, _counted(*counts))[0] == ["miscounted"]


def _asked_twice(*counts: int) -> list[str]:
    """One entry, asked for twice before it comes again, and not any more."""
    story = _two("Shared")
    story.message(0)
    story.redeliver_frame(0)
    story.redeliver_frame(0)
    for count in counts:
        story.message(0, redelivery_count=count)
    return _said(RedeliveriesCounted, story)[0]


def test_request_that_comes_while_the_message_is_written_is_counted_in_it() -> None:
    """And once more in the one that it brings about."""
    assert _asked_twice(2, 2) == []


def test_count_beyond_what_was_asked_for_is_found() -> None:
    assert _asked_twice(3) == ["miscounted"]


@pytest.mark.parametrize("count", [0, 1])
def test_consumer_that_goes_may_count_or_not(count: int) -> None:
    story = _two("Shared")
    story.message(0)
    story.cut(0)
    story.message(0, conn=1, redelivery_count=count)
    assert _said(RedeliveriesCounted, story) == ([], 0)


def test_consumer_that_goes_with_half_a_batch_may_count_or_not() -> None:
    story = _two("Shared")
    story.message(0, 1, entry=0)
    story.ack_frame(0, ack_sets=((0b10,),))
    story.cut(0)
    story.message(0, 1, entry=0, conn=1, redelivery_count=0, ack_sets=((0b10,),))
    assert _said(RedeliveriesCounted, story)[0] == []


def test_count_starts_again_once_nobody_was_there() -> None:
    story = _counted(0, 1)
    story.cut(0)
    story.cut(1)
    story.consumer(SECOND + 1, conn=2, kind="Shared")
    story.message(0, conn=2, redelivery_count=0)
    assert _said(RedeliveriesCounted, story) == ([], 1)


def test_count_is_anybodys_guess_while_a_consumer_may_still_be_there() -> None:
    story = _counted(0, 1)
    for conn in (0, 1):
        story.closed(conn)
    story.consumer(SECOND + 1, conn=2, kind="Shared")
    story.message(0, conn=2, redelivery_count=2)
    assert _said(RedeliveriesCounted, story, HOLE)[0] == []
    assert _said(RedeliveriesCounted, story)[0] == ["miscounted"]


def test_ack_that_arrives_before_its_consumers_close_settles() -> None:
    story = _two("Shared")
    story.message(0)
    story.up("CLOSE_CONSUMER", consumer_id=0, request_id=98, sides=Sides.SENDER)
    story.ack_frame(0, sides=Sides.RECEIVER)
    story.up("CLOSE_CONSUMER", consumer_id=0, request_id=98, sides=Sides.RECEIVER)
    story.after(400)
    assert _said(SharedGivesToOne, story)[0] == []
