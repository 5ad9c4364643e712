"""Who is sent what, in which order, and how often."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.conformance.broker.bench import Bench, C

from assay_conformance.model.case import Topic, Topology
from assay_conformance.wire import NO_ID, CommandType, command, encode
from assay_conformance.wire.pulsar_pb2 import ServerError


def _with_entries(count: int) -> Bench:
    """Connection 9 has published `count` messages; connection 0 is there."""
    bench = Bench()
    bench.connect(9)
    bench.produce(9)
    bench.publish(*range(count), conn=9)
    bench.take(9)
    bench.connect(0)
    return bench


def test_nothing_is_sent_without_permits() -> None:
    bench = _with_entries(3)
    bench.subscribe()
    assert bench.delivered() == []


def test_as_much_is_sent_as_permitted_in_order() -> None:
    bench = _with_entries(5)
    bench.subscribe()
    bench.flow(2)
    assert bench.delivered() == [0, 1]
    bench.flow(10)
    assert bench.delivered() == [2, 3, 4]


def test_new_entries_go_to_waiting_permits() -> None:
    bench = _with_entries(0)
    bench.subscribe()
    bench.flow(10)
    bench.publish(0, 1, conn=9)
    assert bench.delivered() == [0, 1]


def test_message_carries_the_stored_bytes() -> None:
    bench = _with_entries(1)
    bench.subscribe()
    bench.flow(1)
    payload = bench.take()[-1].payload
    assert payload is not None
    assert payload.block == bench.stored_entries[0][2].block


def test_zero_permits_close_the_connection() -> None:
    bench = _with_entries(0)
    bench.subscribe()
    bench.flow(0)
    assert bench.closed == [0]


def test_permits_for_an_unknown_consumer_are_ignored() -> None:
    bench = _with_entries(1)
    bench.flow(5, consumer_id=9)
    assert (bench.closed, bench.take()) == ([], [])


def _with_batches() -> Bench:
    """Three batches of four messages are there."""
    bench = _with_entries(0)
    for first in (0, 4, 8):
        bench.publish_batch(first, 4, conn=9)
    return bench


@pytest.mark.parametrize("kind", ["Exclusive", "Key_Shared"])
def test_as_many_entries_are_sent_as_there_are_permits(kind: str) -> None:
    bench = _with_batches()
    bench.subscribe(kind)
    bench.flow(2)
    assert bench.delivered() == [0, 4]


def test_shared_consumer_gets_what_its_permits_are_on_average() -> None:
    bench = _with_batches()
    bench.subscribe("Shared")
    bench.flow(5)
    assert bench.delivered() == [0, 4]


@pytest.mark.parametrize("kind", ["Exclusive", "Shared"])
def test_batch_overdraws_permits_and_is_repaid(kind: str) -> None:
    bench = _with_batches()
    bench.subscribe(kind)
    bench.flow(1)
    assert bench.delivered() == [0]
    bench.flow(3)
    assert bench.delivered() == []
    bench.flow(1)
    assert bench.delivered() == [4]


def test_active_consumer_is_sent_all_that_one_read_brings_and_repays_it() -> None:
    bench = _with_entries(0)
    for first in range(0, 28, 4):
        bench.publish_batch(first, 4, conn=9)
    bench.subscribe()
    bench.flow(5)
    assert bench.delivered() == [0, 4, 8, 12, 16]
    bench.flow(15)
    assert bench.delivered() == []
    bench.flow(1)
    assert bench.delivered() == [20]


def test_latest_subscription_starts_behind_what_is_there() -> None:
    bench = _with_entries(3)
    bench.subscribe(initialPosition="Latest")
    bench.flow(10)
    bench.publish(3, conn=9)
    assert bench.delivered() == [3]


def test_undecodable_metadata_is_acknowledged_and_skipped() -> None:
    bench = _with_entries(0)
    bench.put(encode(command(C.SEND, producer_id=1, sequence_id=0), metadata=b"\xff", data=b"x"), 9)
    bench.publish(1, conn=9)
    bench.subscribe()
    bench.flow(10)
    assert (bench.delivered(), bench.cursor().backlog) == ([1], 1)


# --- Exclusive -------------------------------------------------------------------------------------------------------


def test_second_exclusive_consumer_is_refused_after_the_pong() -> None:
    bench = _with_entries(0)
    bench.subscribe()
    bench.connect(1)
    bench.request(C.SUBSCRIBE, 1, topic="t", subscription="s", subType=0, consumer_id=1)
    assert (bench.kinds(0), bench.kinds(1)) == (["PING"], [])
    bench.tell(C.PONG)
    assert [frame.body.error for frame in bench.take(1)] == [ServerError.ConsumerBusy]


@pytest.mark.parametrize(
    "leaves", [lambda bench: bench.request(C.CLOSE_CONSUMER, 1, consumer_id=1), lambda bench: bench.leave(1)]
)
def test_who_leaves_before_the_pong_is_not_refused_after_it(leaves: Callable[[Bench], object]) -> None:
    bench = _with_entries(0)
    bench.subscribe()
    bench.connect(1)
    bench.request(C.SUBSCRIBE, 1, topic="t", subscription="s", subType=0, consumer_id=1)
    leaves(bench)
    bench.take(1)
    bench.tell(C.PONG)
    assert (bench.kinds(1), bench.closed) == ([], [])


def test_half_open_exclusive_consumer_is_replaced() -> None:
    bench = _with_entries(2)
    bench.subscribe()
    bench.flow(10)
    bench.connect(1)
    bench.request(C.SUBSCRIBE, 1, topic="t", subscription="s", subType=0, consumer_id=1)
    bench.wait(5000)
    bench.flow(10, conn=1)
    assert (bench.closed, bench.delivered(1)) == ([0], [0, 1])


def test_half_open_reader_is_replaced_by_one_that_reads_on() -> None:
    bench = _with_entries(1)
    bench.subscribe(durable=False)
    bench.connect(1)
    bench.request(C.SUBSCRIBE, 1, topic="t", subscription="s", subType=0, consumer_id=1, durable=False)
    bench.wait(5000)
    bench.flow(10, conn=1)
    bench.publish(1, conn=9)
    assert bench.delivered(1) == [1]


def test_other_type_is_refused_while_consumers_are_there() -> None:
    bench = _with_entries(0)
    bench.subscribe()
    assert bench.subscribe("Shared", consumer_id=2).body.error == ServerError.ConsumerBusy


def test_type_may_change_when_nobody_is_there() -> None:
    bench = _with_entries(1)
    bench.subscribe()
    bench.request(C.CLOSE_CONSUMER, consumer_id=1)
    assert bench.subscribe("Shared", consumer_id=2).type == C.SUCCESS


def test_exclusive_redelivers_everything_unacked_in_order() -> None:
    bench = _with_entries(4)
    bench.subscribe()
    bench.flow(20)
    bench.ack(bench.ids[1])
    bench.take()
    bench.redeliver(bench.ids[2])
    messages = bench.take()
    assert [frame.body.message_id.entryId for frame in messages] == [0, 2, 3]
    assert {frame.body.redelivery_count for frame in messages} == {0}


def test_consumer_epoch_is_stamped_on_messages() -> None:
    bench = _with_entries(1)
    bench.subscribe()
    bench.flow(20)
    bench.redeliver(consumer_epoch=3)
    bench.redeliver()
    assert [frame.body.consumer_epoch for frame in bench.take()] == [0, 3, 3]


def test_older_consumer_epoch_is_ignored() -> None:
    bench = _with_entries(1)
    bench.subscribe(consumer_epoch=5)
    bench.flow(20)
    bench.take()
    bench.redeliver(consumer_epoch=4)
    assert bench.take() == []


# --- Failover --------------------------------------------------------------------------------------------------------


def _changes(bench: Bench, conn: int) -> list[bool]:
    frames = [frame for frame in bench.take(conn) if frame.type == C.ACTIVE_CONSUMER_CHANGE]
    return [frame.body.is_active for frame in frames]


def test_failover_starts_a_second_after_the_choice() -> None:
    bench = _with_entries(2)
    bench.subscribe("Failover")
    bench.flow(10)
    bench.wait(999)
    assert bench.take() == []
    bench.wait(1)
    assert bench.kinds() == ["ACTIVE_CONSUMER_CHANGE", "MESSAGE", "MESSAGE"]


def test_failover_consumer_next_to_the_topic_on_the_ring_takes_over() -> None:
    bench = _with_entries(2)
    bench.subscribe("Failover", consumer_name="a")
    bench.flow(10)
    bench.wait(1000)
    bench.take()
    bench.connect(1)
    bench.subscribe("Failover", 1, consumer_name="b")
    bench.flow(10, conn=1)
    bench.wait(1000)
    assert (_changes(bench, 0), bench.delivered(1)) == ([False], [0, 1])


def test_passive_failover_consumer_is_told_at_once() -> None:
    bench = _with_entries(0)
    bench.subscribe("Failover", consumer_name="b")
    bench.connect(1)
    bench.request(C.SUBSCRIBE, 1, topic="t", subscription="s", subType=2, consumer_id=1, consumer_name="a")
    assert bench.kinds(1) == ["ACTIVE_CONSUMER_CHANGE", "SUCCESS"]


def test_failover_hands_the_unacked_to_the_next_consumer() -> None:
    bench = _with_entries(3)
    bench.subscribe("Failover", consumer_name="b")
    bench.flow(10)
    bench.connect(1)
    bench.subscribe("Failover", 1, consumer_name="a")
    bench.flow(10, conn=1)
    bench.wait(1000)
    bench.ack(bench.ids[0])
    bench.leave(0)
    bench.wait(999)
    assert bench.delivered(1) == []
    bench.wait(1)
    assert bench.delivered(1) == [1, 2]


def test_passive_failover_consumer_gets_its_messages_in_the_epoch_it_asked_for() -> None:
    bench = _with_entries(1)
    bench.connect(1)
    bench.subscribe("Failover", 1, consumer_name="b")
    bench.subscribe("Failover", consumer_name="a")
    bench.flow(10)
    bench.redeliver(consumer_epoch=2)
    bench.leave(1)
    bench.wait(1000)
    assert [frame.body.consumer_epoch for frame in bench.take() if frame.type == C.MESSAGE] == [2]


def test_failover_that_was_left_does_not_disturb_its_successor() -> None:
    bench = _with_entries(2)
    bench.subscribe("Failover")
    bench.request(C.CLOSE_CONSUMER, consumer_id=1)
    bench.subscribe("Shared", consumer_id=2)
    bench.flow(10, consumer_id=2)
    bench.take()
    bench.wait(2000)
    bench.publish(2, conn=9)
    assert bench.delivered() == [2]


def test_partitions_have_different_active_consumers() -> None:
    bench = Bench(topology=Topology(topics=(Topic(name="t", partitions=2),)))
    for conn in range(2):
        bench.connect(conn)
        for index in range(2):
            topic = f"t-partition-{index}"
            bench.subscribe("Failover", conn, consumer_id=index, topic=topic, consumer_name=f"c{conn}")
    bench.wait(1000)
    told = [[frame.body for frame in bench.take(conn) if frame.type == C.ACTIVE_CONSUMER_CHANGE] for conn in range(2)]
    assert [{body.consumer_id for body in bodies if body.is_active} for bodies in told] == [{0}, {1}]


def test_priority_comes_before_the_name() -> None:
    bench = _with_entries(1)
    bench.subscribe("Failover", consumer_name="a", priority_level=1)
    bench.flow(10)
    bench.connect(1)
    bench.subscribe("Failover", 1, consumer_name="z", priority_level=0)
    bench.flow(10, conn=1)
    bench.wait(1000)
    assert (bench.delivered(0), bench.delivered(1)) == ([], [0])


def test_old_client_is_not_told_who_is_active() -> None:
    bench = _with_entries(0)
    bench.connect(1, version=11)
    bench.subscribe("Failover", 1)
    bench.wait(1000)
    assert bench.kinds(1) == []


# --- Shared ----------------------------------------------------------------------------------------------------------


def _two_shared(bench: Bench) -> None:
    bench.subscribe("Shared", 0)
    bench.connect(1)
    bench.subscribe("Shared", 1)


def test_shared_entries_go_to_exactly_one_consumer() -> None:
    bench = _with_entries(0)
    _two_shared(bench)
    bench.flow(100, conn=0)
    bench.flow(100, conn=1)
    bench.publish(*range(10), conn=9)
    first, second = bench.delivered(0), bench.delivered(1)
    assert sorted(first + second) == list(range(10))
    assert len(first) == len(second)


def test_shared_turn_is_at_most_twenty_entries() -> None:
    bench = _with_entries(50)
    _two_shared(bench)
    bench.step("set_policy", topic="t", dispatch_rate={"messages": 1})
    bench.flow(100, conn=0)
    bench.flow(100, conn=1)
    bench.take(0)
    bench.take(1)
    bench.step("set_policy", topic="t", dispatch_rate={"messages": 0})
    assert {len(bench.delivered(0)), len(bench.delivered(1))} == {20, 29}


def test_shared_consumer_without_permits_has_no_turn() -> None:
    bench = _with_entries(6)
    _two_shared(bench)
    bench.flow(2, conn=0)
    assert (bench.delivered(0), bench.delivered(1)) == ([0, 1], [])
    bench.flow(10, conn=1)
    assert bench.delivered(1) == [2, 3, 4, 5]


def test_chunks_use_up_the_turn_of_their_consumer() -> None:
    bench = _with_entries(0)
    bench.subscribe("Shared")
    bench.flow(4)
    for chunk in range(3):
        bench.publish_chunk(0, chunk, 3, conn=9)
    bench.publish(1, conn=9)
    for conn in (1, 2):
        bench.connect(conn)
        bench.subscribe("Shared", conn)
        bench.flow(3, conn=conn)
    bench.redeliver(*bench.ids)
    assert {len(bench.delivered(1)), len(bench.delivered(2))} == {3, 1}


def test_shared_hands_the_unacked_of_a_lost_consumer_to_the_others() -> None:
    bench = _with_entries(4)
    _two_shared(bench)
    bench.flow(4, conn=0)
    bench.ack(bench.ids[1])
    bench.flow(10, conn=1)
    bench.leave(0)
    messages = [frame.body for frame in bench.take(1)]
    assert [body.message_id.entryId for body in messages] == [0, 2, 3]
    # Nobody asked for them again: the count is that of requests.
    assert {body.redelivery_count for body in messages} == {0}


def test_shared_redelivers_the_named_entries_with_a_count() -> None:
    bench = _with_entries(3)
    bench.subscribe("Shared")
    bench.flow(20)
    bench.take()
    bench.redeliver(bench.ids[1])
    bench.redeliver()
    found = [(frame.body.message_id.entryId, frame.body.redelivery_count) for frame in bench.take()]
    assert found == [(1, 1), (0, 1), (1, 2), (2, 1)]


def test_redelivery_of_what_is_not_pending_is_ignored() -> None:
    bench = _with_entries(2)
    bench.subscribe("Shared")
    bench.flow(20)
    bench.ack(bench.ids[0])
    bench.take()
    bench.redeliver(bench.ids[0])
    bench.tell(C.REDELIVER_UNACKNOWLEDGED_MESSAGES, consumer_id=1, message_ids=[{"ledgerId": 1, "entryId": 99}])
    assert bench.take() == []


def test_ack_stops_a_redelivery_that_waits_for_permits() -> None:
    bench = _with_entries(2)
    bench.subscribe("Shared")
    bench.flow(2)
    bench.take()
    bench.redeliver()
    bench.ack(bench.ids[0])
    bench.flow(10)
    assert bench.delivered() == [1]


def test_redelivery_counts_end_with_the_last_consumer() -> None:
    bench = _with_entries(1)
    bench.subscribe("Shared")
    bench.flow(10)
    bench.redeliver()
    bench.leave(0)
    bench.connect(1)
    bench.subscribe("Shared", 1)
    bench.flow(10, conn=1)
    assert [frame.body.redelivery_count for frame in bench.take(1)] == [0]


# --- seek, readers, ends ---------------------------------------------------------------------------------------------


def test_seek_closes_the_consumer_and_starts_at_the_entry() -> None:
    bench = _with_entries(4)
    bench.subscribe()
    bench.flow(10)
    bench.ack(*bench.ids)
    bench.take()
    bench.request(C.SEEK, consumer_id=1, message_id={"ledgerId": bench.ids[2].ledger, "entryId": 2})
    assert bench.kinds() == ["CLOSE_CONSUMER", "SUCCESS"]
    bench.subscribe()
    bench.flow(10)
    assert bench.delivered() == [2, 3]


@pytest.mark.parametrize(
    ("position", "expected"), [((NO_ID, NO_ID), [0, 1, 2]), ((2**63 - 1, 2**63 - 1), [])], ids=["earliest", "latest"]
)
def test_seek_to_an_end_of_the_topic(position: tuple[int, int], expected: list[int]) -> None:
    bench = _with_entries(3)
    bench.subscribe()
    bench.request(C.SEEK, consumer_id=1, message_id={"ledgerId": position[0], "entryId": position[1]})
    bench.subscribe()
    bench.flow(10)
    assert bench.delivered() == expected


def test_seek_by_time_starts_at_the_first_entry_that_is_not_older() -> None:
    bench = _with_entries(0)
    for number in range(3):
        bench.wait(100)
        bench.publish(number, conn=9)
    bench.subscribe()
    bench.request(C.SEEK, consumer_id=1, message_publish_time=150)
    bench.subscribe()
    bench.flow(10)
    assert bench.delivered() == [1, 2]


def test_seek_inside_a_batch_leaves_the_earlier_members_out() -> None:
    bench = _with_entries(0)
    bench.publish_batch(0, 4, conn=9)
    bench.subscribe()
    bench.request(C.SEEK, consumer_id=1, message_id={"ledgerId": 1, "entryId": 0, "ack_set": [0b1100]})
    bench.subscribe()
    bench.flow(10)
    assert list(bench.take()[-1].body.ack_set) == [0b1100]


@pytest.mark.parametrize("compacted", [False, True])
def test_reader_that_starts_in_front_of_the_first_entry_of_a_ledger_gets_it(compacted: bool) -> None:
    """As a Java reader does when it comes back and was handed nothing: entry 0 less one."""
    bench = _with_entries(3)
    before = {"ledgerId": bench.ids[0].ledger, "entryId": NO_ID}
    bench.subscribe(durable=False, start_message_id=before, read_compacted=compacted)
    bench.flow(10)
    assert bench.delivered() == [0, 1, 2]


def test_reader_starts_at_its_own_position_and_leaves_nothing() -> None:
    bench = _with_entries(3)
    bench.subscribe(durable=False, start_message_id={"ledgerId": bench.ids[1].ledger, "entryId": 1})
    bench.flow(10)
    assert bench.delivered() == [1, 2]
    bench.request(C.CLOSE_CONSUMER, consumer_id=1)
    bench.subscribe(durable=False, start_message_id={"ledgerId": NO_ID, "entryId": NO_ID})
    bench.flow(10)
    assert bench.delivered() == [0, 1, 2]


def test_reader_may_not_take_the_name_of_a_subscription() -> None:
    bench = _with_entries(0)
    bench.subscribe()
    assert bench.subscribe(consumer_id=2, durable=False).body.error == ServerError.NotAllowedError


def test_last_message_id_of_an_empty_topic_is_nothing() -> None:
    bench = _with_entries(0)
    bench.subscribe()
    answer = bench.ask(C.GET_LAST_MESSAGE_ID, consumer_id=1).body
    assert (answer.last_message_id.ledgerId, answer.consumer_mark_delete_position.entryId) == (NO_ID, NO_ID)


def test_last_message_id_counts_the_members_of_a_batch() -> None:
    bench = _with_entries(1)
    bench.publish_batch(1, 4, conn=9)
    bench.subscribe()
    bench.ack(bench.ids[0])
    answer = bench.ask(C.GET_LAST_MESSAGE_ID, consumer_id=1).body
    assert (answer.last_message_id.entryId, answer.last_message_id.batch_index) == (1, 3)
    assert answer.consumer_mark_delete_position.entryId == 0


@pytest.mark.parametrize("compacted", [True, False])
def test_only_a_cursor_of_what_is_compacted_holds_to_an_id_of_another_topic(compacted: bool) -> None:
    bench = _with_entries(1)
    ledger = bench.ids[0].ledger
    begin = {"ledgerId": ledger - 1, "entryId": 7}
    bench.subscribe("Failover", durable=False, start_message_id=begin, read_compacted=compacted)
    told = bench.ask(C.GET_LAST_MESSAGE_ID, consumer_id=1).body.consumer_mark_delete_position
    assert (told.ledgerId, told.entryId) == ((ledger - 1, 6) if compacted else (ledger, NO_ID))


def test_stats_tell_the_backlog_in_entries() -> None:
    bench = _with_entries(3)
    bench.subscribe("Shared")
    bench.flow(2)
    answer = bench.ask(C.CONSUMER_STATS, consumer_id=1).body
    assert (answer.msgBacklog, answer.unackedMessages, answer.type) == (3, 2, "Shared")


@pytest.mark.parametrize("kind", [C.SEEK, C.GET_LAST_MESSAGE_ID, C.UNSUBSCRIBE])
def test_request_about_an_unknown_consumer_is_refused(kind: CommandType) -> None:
    assert _with_entries(0).ask(kind, consumer_id=9).body.error == ServerError.MetadataError


def test_unsubscribe_forgets_the_subscription() -> None:
    bench = _with_entries(2)
    bench.subscribe()
    bench.ack(*bench.ids)
    assert bench.ask(C.UNSUBSCRIBE, consumer_id=1).type == C.SUCCESS
    bench.subscribe()
    bench.flow(10)
    assert bench.delivered() == [0, 1]


def test_unsubscribe_beside_another_consumer_is_refused() -> None:
    bench = _with_entries(0)
    _two_shared(bench)
    assert bench.ask(C.UNSUBSCRIBE, consumer_id=1).body.error == ServerError.MetadataError


def test_closing_a_consumer_twice_succeeds_twice() -> None:
    bench = _with_entries(0)
    bench.subscribe()
    assert [bench.ask(C.CLOSE_CONSUMER, consumer_id=1).type for _ in range(2)] == [C.SUCCESS, C.SUCCESS]


def test_end_of_a_terminated_topic_is_told_once_all_is_acked() -> None:
    bench = _with_entries(2)
    bench.subscribe()
    bench.flow(10)
    bench.step("terminate", topic="t")
    bench.take()
    bench.ack(bench.ids[0])
    assert bench.kinds() == []
    bench.ack(bench.ids[1])
    assert bench.kinds() == ["REACHED_END_OF_TOPIC"]


def test_orphaned_chunk_waits_in_a_shared_subscription() -> None:
    bench = _with_entries(0)
    bench.subscribe("Shared")
    bench.flow(10)
    bench.publish_chunk(0, 1, 2, conn=9)
    assert bench.take() == []


def test_old_client_gets_no_checksum() -> None:
    bench = _with_entries(1)
    bench.connect(1, version=10)
    bench.subscribe("Shared", 1)
    bench.flow(1, conn=1)
    payload = bench.take(1)[-1].payload
    assert payload is not None
    assert (payload.checksum, bytes(payload.data)) == (None, b"0")


def test_member_beyond_the_batch_keeps_an_entry_unacknowledged() -> None:
    bench = _with_entries(1)
    bench.subscribe("Shared")
    bench.flow(1)
    position = {"ledgerId": bench.ids[0].ledger, "entryId": bench.ids[0].entry, "ack_set": [2]}
    bench.ack(message_id=[position])
    assert bench.cursor().mark_delete is None


def test_orphaned_chunk_stops_what_comes_behind_it() -> None:
    bench = _with_entries(0)
    bench.subscribe("Shared")
    bench.flow(10)
    bench.publish_chunk(0, 1, 2, conn=9)
    bench.publish(1, conn=9)
    assert bench.take() == []


def test_cumulative_ack_inside_a_batch_never_goes_back() -> None:
    bench = _with_entries(0)
    bench.publish_batch(0, 4, conn=9)
    bench.subscribe()
    position = {"ledgerId": bench.ids[0].ledger, "entryId": bench.ids[0].entry}
    for unacked in (0b1100, 0b1110, 0b0011):
        bench.ack(ack_type=1, message_id=[{**position, "ack_set": [unacked]}])
    bench.redeliver()
    bench.flow(1)
    assert list(bench.take()[-1].body.ack_set) == [0b1100]
