"""Each mutation breaks its rule; the same history on an honest broker keeps it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.conformance.broker.bench import Bench, C, T

from assay_conformance.model.case import Rate, Topic, Topology
from assay_conformance.model.policy import BrokerSettings, Policies, Retention
from assay_conformance.model.requirement import Side
from assay_conformance.pulsar.mutants import mutants
from assay_conformance.wire import CommandType, MessageMetadata, command, encode
from assay_conformance.wire import pulsar_pb2 as pb

FORGOTTEN_MS = 361 * 60_000


def _sends(bench: Bench) -> Bench:
    bench.connect()
    bench.produce()
    bench.publish(*range(6))
    bench.wait(100)
    return bench


def appends_in_order(*mutations: str) -> bool:
    content = _sends(Bench(*mutations)).content
    return content == sorted(content)


def receipts_in_order(*mutations: str) -> bool:
    return _sends(Bench(*mutations)).receipts() == list(range(6))


def receipts_after_slow_store_in_order(*mutations: str) -> bool:
    bench = Bench(*mutations)
    bench.connect()
    bench.produce()
    bench.step("hold_store", topic="t", sequence_id=1)
    bench.publish(*range(4))
    bench.step("release", topic="t")
    return bench.receipts() == list(range(4))


def duplicates_not_stored(*mutations: str) -> bool:
    bench = _sends(Bench(*mutations, deduplication=True))
    bench.publish(3, 4)
    return bench.content.count(3) == 1


def undecided_copies_have_no_receipt(*mutations: str) -> bool:
    bench = Bench(*mutations, deduplication=True)
    bench.connect()
    bench.produce()
    bench.step("hold_store", topic="t")
    bench.publish(0, 0)
    return bench.receipts() == []


def exclusive_producer_is_alone(*mutations: str) -> bool:
    bench = Bench(*mutations)
    bench.connect()
    bench.produce(producer_access_mode=pb.Exclusive)
    return bench.produce(producer_id=2, name="q", producer_access_mode=pb.Exclusive).type == C.ERROR


def waiting_producer_gets_its_turn(*mutations: str) -> bool:
    bench = Bench(*mutations)
    bench.connect()
    bench.produce()
    bench.connect(1)
    told = bench.produce(1, name="q", producer_access_mode=pb.WaitForExclusive)
    bench.leave()
    return not told.body.producer_ready and bench.kinds(1) == [C.PRODUCER_SUCCESS.name]


def last_id_is_told(*mutations: str) -> bool:
    bench = _sends(Bench(*mutations, deduplication=True))
    bench.leave()
    bench.connect(1)
    return bool(bench.produce(1).body.last_sequence_id == 5)


def ids_are_known_after_an_unload(*mutations: str) -> bool:
    bench = _sends(Bench(*mutations, deduplication=True))
    bench.step("unload", topic="t")
    return bool(bench.produce().body.last_sequence_id >= 5)


def snapshot_is_known_after_an_unload(*mutations: str) -> bool:
    settings = BrokerSettings(dedup_snapshot_entries=1)
    bench = Bench(*mutations, topology=Topology(topics=(Topic(name="t", deduplication=True),), settings=settings))
    bench.connect()
    bench.produce()
    bench.publish(5)
    bench.wait(100)
    bench.step("unload", topic="t")
    bench.take()
    return bool(bench.produce().body.last_sequence_id >= 5)


def markers_pass_deduplication(*mutations: str) -> bool:
    bench = Bench(*mutations, deduplication=True)
    bench.connect()
    bench.produce()
    bench.publish(7)
    metadata = MessageMetadata(producer_name="p", sequence_id=5, publish_time=0)
    bench.put(encode(command(C.SEND, producer_id=1, sequence_id=5, marker=True), metadata=metadata, data=b"m"))
    return len(bench.content) == 2


def names_beyond_the_bound_are_not_known_after_an_unload(*mutations: str) -> bool:
    settings = BrokerSettings(dedup_snapshot_entries=2, dedup_max_producers=1)
    bench = Bench(*mutations, topology=Topology(topics=(Topic(name="t", deduplication=True),), settings=settings))
    bench.connect()
    for number, name in enumerate("pq"):
        bench.produce(producer_id=number, name=name)
        bench.publish(5, producer_id=number, name=name)
    bench.step("unload", topic="t")
    bench.take()
    told = [bench.produce(producer_id=number, name=name).body.last_sequence_id for number, name in enumerate("pq")]
    return bool(sum(id >= 5 for id in told) <= 1)


def _later(after_ms: int, *mutations: str, left: bool) -> Bench:
    """A message is stored, and that long nothing more; with its producer there, or without."""
    topology = Topology(topics=(Topic(name="t", deduplication=True),), keep_alive_ms=10 * after_ms)
    bench = Bench(*mutations, topology=topology)
    bench.connect()
    bench.produce()
    bench.publish(5)
    if left:
        bench.leave()
    bench.wait(after_ms)
    return bench


def unused_names_are_forgotten(*mutations: str) -> bool:
    bench = _later(FORGOTTEN_MS, *mutations, left=True)
    bench.connect(1)
    return bool(bench.produce(1).body.last_sequence_id < 5)


def silent_names_are_remembered(*mutations: str) -> bool:
    bench = _later(FORGOTTEN_MS, *mutations, left=False)
    bench.leave()
    bench.connect(1)
    return bool(bench.produce(1).body.last_sequence_id >= 5)


def batch_with_an_old_id_is_dropped(*mutations: str) -> bool:
    bench = _sends(Bench(*mutations, deduplication=True))
    before = len(bench.content)
    bench.publish_batch(0, 8)
    return len(bench.content) == before


def ids_of_a_batch_are_remembered(*mutations: str) -> bool:
    bench = Bench(*mutations, deduplication=True)
    bench.connect()
    bench.produce()
    bench.publish_batch(0, 4)
    bench.wait(100)
    bench.publish(2)
    bench.wait(100)
    return bench.content == [0]


def ids_over_a_gap_are_stored(*mutations: str) -> bool:
    bench = Bench(*mutations, deduplication=True)
    bench.connect()
    bench.produce()
    bench.publish(0)
    bench.publish(7)
    bench.wait(100)
    return sorted(bench.content) == [0, 7]


def failed_write_is_forgotten(*mutations: str) -> bool:
    bench = Bench(*mutations, deduplication=True)
    bench.connect()
    bench.produce()
    bench.step("hold_store", topic="t")
    bench.publish(0)
    bench.wait(100)
    bench.step("fail_store", topic="t")
    bench.produce()
    bench.publish(0)
    bench.wait(100)
    return bench.content == [0]


def deduplicated_chunks_all_stored(*mutations: str) -> bool:
    bench = Bench(*mutations, deduplication=True)
    bench.connect()
    bench.produce()
    for chunk_id in range(2):
        bench.publish_chunk(0, chunk_id, 2)
    bench.wait(100)
    return {payload.metadata.chunk_id for _, _, payload in bench.stored_entries} == {0, 1}


def assigned_names_differ(*mutations: str) -> bool:
    bench = Bench(*mutations)
    bench.connect()
    bench.connect(1)
    names = []
    for conn in (0, 1):
        names.append(bench.produce(conn, name="").body.producer_name)
        bench.ask(C.CLOSE_PRODUCER, conn, producer_id=1)
    return bool(names[0] != names[1])


def name_has_one_holder(*mutations: str) -> bool:
    bench = Bench(*mutations)
    bench.connect()
    bench.produce()
    return bench.produce(producer_id=2).type == C.ERROR


def silent_holder_is_found_dead(*mutations: str) -> bool:
    bench = Bench(*mutations)
    bench.connect()
    bench.produce()
    bench.connect(1)
    bench.request(C.PRODUCER, 1, topic=T, producer_id=1, producer_name="p")
    bench.wait(5_000)
    return bench.kinds(1) == ["PRODUCER_SUCCESS"]


def what_is_receipted_survives_a_crash(*mutations: str) -> bool:
    bench = _sends(Bench(*mutations))
    bench.step("restart")
    return bench.read_back() == bench.ids


def stray_sends_are_not_stored(*mutations: str) -> bool:
    bench = Bench(*mutations)
    bench.connect()
    bench.produce()
    bench.publish(0, producer_id=9)
    bench.wait(100)
    return bench.content == []


def ids_grow_over_loads(*mutations: str) -> bool:
    bench = _sends(Bench(*mutations))
    bench.step("unload", topic="t")
    bench.produce()
    bench.publish(6)
    bench.wait(100)
    return bench.ids == sorted(set(bench.ids))


def receipts_name_what_is_stored(*mutations: str) -> bool:
    bench = _sends(Bench(*mutations))
    receipts = [frame for frame in bench.take() if frame.type == C.SEND_RECEIPT]
    named = {(frame.body.message_id.ledgerId, frame.body.message_id.entryId) for frame in receipts}
    return {id.position for id in bench.ids} <= named


def what_nobody_took_is_gone(*mutations: str) -> bool:
    bench = Bench(*mutations, persistent=False)
    bench.connect()
    bench.produce(topic=f"non-{T}")
    bench.subscribe(topic=f"non-{T}")
    bench.publish(0)
    bench.wait(100)
    bench.take()
    bench.flow(10)
    return bench.delivered() == []


def what_exceeds_a_rate_is_gone(*mutations: str) -> bool:
    bench = Bench(*mutations, persistent=False, dispatch_rate=Rate(messages=1))
    bench.connect()
    bench.produce(topic=f"non-{T}")
    bench.subscribe(topic=f"non-{T}")
    bench.flow(10)
    bench.publish(0, 1)
    bench.take()
    bench.wait(3_000)
    return bench.delivered() == []


def what_is_settled_may_be_acked_again(*mutations: str) -> bool:
    bench = _consumers(_sends(Bench(*mutations)), "Shared", 1)
    first = {"ledgerId": bench.ids[0].ledger, "entryId": bench.ids[0].entry}
    answers = [bench.ask(C.ACK, 1, consumer_id=1, ack_type=0, message_id=[first]) for _ in range(2)]
    return not any(answer.body.HasField("error") for answer in answers)


def _acked_and_loaded(*mutations: str, groups: tuple[tuple[int, ...], ...], verb: str) -> list[int]:
    """Which of six entries come again when these are acknowledged, group by group, and the topic is loaded anew."""
    bench = _consumers(_sends(Bench(*mutations)), "Shared", 1)
    for group in groups:
        bench.ack(*[bench.ids[index] for index in group], conn=1)
    bench.step(verb, **({"topic": "t"} if verb == "unload" else {}))
    again = [frame.body.message_id.entryId for frame in _consumers(bench, "Shared", 2).take(2) if frame.payload]
    return sorted(again)


def holes_are_kept(*mutations: str) -> bool:
    return not {1, 3} & set(_acked_and_loaded(*mutations, groups=((1, 3),), verb="restart"))


def holes_stay_holes(*mutations: str) -> bool:
    return {0, 2} <= set(_acked_and_loaded(*mutations, groups=((1, 3),), verb="restart"))


def unload_writes_cursors(*mutations: str) -> bool:
    return not {0, 1} & set(_acked_and_loaded(*mutations, groups=((0,), (1,)), verb="unload"))


def everything_receipted_is_stored(*mutations: str) -> bool:
    bench = _sends(Bench(*mutations, deduplication=True))
    return set(bench.receipts()) == set(bench.content)


def chunks_all_stored(*mutations: str) -> bool:
    bench = Bench(*mutations)
    bench.connect()
    bench.produce()
    for chunk_id in range(3):
        bench.publish_chunk(0, chunk_id, 3)
    bench.wait(100)
    assert bench.receipts() == [0, 0, 0]
    return {payload.metadata.chunk_id for _, _, payload in bench.stored_entries} == {0, 1, 2}


def acked_never_comes_back(*mutations: str) -> bool:
    bench = _sends(Bench(*mutations))
    bench.subscribe()
    bench.flow(100)
    bench.ack(bench.ids[0])
    bench.take()
    bench.redeliver()
    return bench.ids[0].entry not in [frame.body.message_id.entryId for frame in bench.take()]


def _dispatched(bench: Bench, members: int, seconds: int) -> int:
    bench.connect()
    bench.produce()
    for number in range(20):
        bench.publish_batch(number * members, members)
    bench.subscribe()
    bench.flow(100_000)
    bench.wait(seconds * 1000 - 1)
    return members * bench.kinds().count("MESSAGE")


def dispatch_rate_kept(*mutations: str) -> bool:
    return _dispatched(Bench(*mutations, dispatch_rate=Rate(messages=3)), 1, 2) <= 6


def overshoot_repaid(*mutations: str) -> bool:
    return _dispatched(Bench(*mutations, dispatch_rate=Rate(messages=5)), 4, 3) <= 20


def throttled_sends_have_no_error(*mutations: str) -> bool:
    bench = Bench(*mutations, publish_rate=Rate(messages=3))
    _sends(bench)
    return "SEND_ERROR" not in bench.kinds()


def throttled_sends_are_stored(*mutations: str) -> bool:
    bench = _sends(Bench(*mutations, publish_rate=Rate(messages=3)))
    bench.wait(5000)
    return set(bench.receipts()) == set(bench.content)


def publish_rate_is_reached(*mutations: str) -> bool:
    bench = Bench(*mutations, publish_rate=Rate(messages=10))
    bench.connect()
    bench.produce()
    bench.publish(*range(40))
    bench.wait(2_000)
    return len(bench.content) >= 18


def brokers_publish_rate_pauses(*mutations: str) -> bool:
    bench = Bench(
        *mutations,
        topology=Topology(topics=(Topic(name="t"),), settings=BrokerSettings(publish_rate=Rate(messages=10))),
    )
    bench.connect()
    bench.produce()
    bench.publish(*range(40))
    return len(bench.content) < 20


def _consumers(bench: Bench, kind: str, *conns: int, permits: int = 100) -> Bench:
    """One consumer on each connection, named by it."""
    for conn in conns:
        bench.connect(conn)
        bench.subscribe(kind, conn, consumer_name=f"c{conn}")
        bench.flow(permits, conn=conn)
        bench.wait(1_000)
    return bench


def exclusive_has_one(*mutations: str) -> bool:
    bench = _consumers(Bench(*mutations), "Exclusive", 0)
    bench.connect(1)
    bench.request(C.SUBSCRIBE, 1, topic="t", subscription="s", subType=0, consumer_id=1)
    bench.tell(C.PONG)
    return bench.kinds(1)[-1] == "ERROR"


def next_active_begins_with_what_is_unacked(*mutations: str) -> bool:
    bench = _consumers(_sends(Bench(*mutations)), "Failover", 1, 2)
    bench.leave(1)
    bench.wait(1_000)
    return bench.delivered(2) == bench.content


def leaver_leaves_to_others(*mutations: str) -> bool:
    bench = _consumers(_sends(Bench(*mutations)), "Shared", 1, 2)
    bench.leave(1)
    return bench.delivered(2) == bench.content


def one_key_has_one_consumer(*mutations: str) -> bool:
    bench = _consumers(Bench(*mutations), "Key_Shared", 1, 2, permits=3)
    bench.connect()
    bench.produce()
    for number in range(8):
        bench.publish(number, meta={"partition_key": "k"})
    return not (bench.delivered(1) and bench.delivered(2))


def keys_are_drained(*mutations: str) -> bool:
    bench = _consumers(Bench(*mutations), "Key_Shared", 1)
    bench.connect()
    bench.produce()
    for number in range(40):
        bench.publish(number, meta={"partition_key": f"k{number % 20}"})
    bench.wait(100)
    _consumers(bench, "Key_Shared", 2)
    for number in range(40, 60):
        bench.publish(number, meta={"partition_key": f"k{number % 20}"})
    bench.wait(100)
    return not bench.delivered(2)


def resumes_behind_what_is_acked(*mutations: str) -> bool:
    bench = _consumers(_sends(Bench(*mutations)), "Exclusive", 1)
    bench.ack(*bench.ids[:4], conn=1)
    bench.leave(1)
    return sorted(_consumers(bench, "Exclusive", 2).delivered(2)) == [4, 5]


def _batch_acked(*mutations: str, acks: Sequence[dict[str, object]]) -> bool:
    """A batch of four is out beside other messages, and these ACKs of it come: whether it alone is settled."""
    bench = _consumers(_sends(Bench(*mutations)), "Shared", 1)
    bench.publish_batch(6, 4)
    bench.wait(100)
    out, last = bench.cursor().backlog, bench.ids[-1]
    for ack in acks:
        position = {"ledgerId": last.ledger, "entryId": last.entry, **ack}
        bench.tell(C.ACK, 1, consumer_id=1, ack_type=0, message_id=[position])
    return bench.cursor().backlog == out - 1


def named_message_means_its_entry(*mutations: str) -> bool:
    return _batch_acked(*mutations, acks=[{"batch_index": 1}])


def ack_sets_join(*mutations: str) -> bool:
    return _batch_acked(*mutations, acks=[{"ack_set": [0b0011]}, {"ack_set": [0b1100]}])


def cumulative_on_shared_is_void(*mutations: str) -> bool:
    bench = _consumers(_sends(Bench(*mutations)), "Shared", 1)
    out = bench.cursor().backlog
    bench.ack(bench.ids[3], conn=1, ack_type=1)
    return bench.cursor().backlog == out


def cumulative_of_several_is_void(*mutations: str) -> bool:
    bench = _consumers(_sends(Bench(*mutations)), "Exclusive", 1)
    out = bench.cursor().backlog
    bench.ack(bench.ids[2], bench.ids[3], conn=1, ack_type=1)
    return bench.cursor().backlog == out


def redeliveries_are_counted(*mutations: str) -> bool:
    bench = _consumers(_sends(Bench(*mutations)), "Shared", 1)
    bench.take(1)
    bench.redeliver(bench.ids[0], conn=1)
    return bool(bench.take(1)[-1].body.redelivery_count == 1)


def batch_costs_its_messages(*mutations: str) -> bool:
    bench = Bench(*mutations)
    bench.step("store_entries", topic="t", entries=[{"members": [{}, {}, {}]} for _ in range(3)])
    bench.connect()
    bench.subscribe()
    bench.flow(1)
    bench.flow(1)
    return bench.kinds().count(C.MESSAGE.name) == 1


def bytes_are_limited(*mutations: str) -> bool:
    return _dispatched(Bench(*mutations, dispatch_rate=Rate(bytes=1)), 1, 1) == 1


def byte_rate_is_reached(*mutations: str) -> bool:
    return _dispatched(Bench(*mutations, dispatch_rate=Rate(bytes=200)), 1, 2) >= 10


def either_limit_stops(*mutations: str) -> bool:
    return _dispatched(Bench(*mutations, dispatch_rate=Rate(messages=3, bytes=1_000_000)), 1, 1) == 3


def reads_fit_the_quota(*mutations: str) -> bool:
    return _dispatched(Bench(*mutations, dispatch_rate=Rate(messages=3)), 1, 1) == 3


def redelivered_waits_for_the_rate(*mutations: str) -> bool:
    bench = _consumers(_sends(Bench(*mutations, dispatch_rate=Rate(messages=6))), "Shared", 1)
    assert bench.take(1)
    bench.redeliver(conn=1)
    bench.wait(800)
    bench.redeliver(conn=1)
    return len(bench.delivered(1)) <= 6


def _with_settings(settings: BrokerSettings, **policy: Any) -> Topology:
    return Topology(topics=(Topic(name="t", **policy),), settings=settings)


def every_level_limits(*mutations: str) -> bool:
    bench = Bench(*mutations, dispatch_rate=Rate(messages=12), subscription_rate=Rate(messages=3))
    return _dispatched(bench, 1, 1) == 3


def each_partition_has_the_whole_rate(*mutations: str) -> bool:
    bench = Bench(*mutations, partitions=2, dispatch_rate=Rate(messages=4))
    bench.connect()
    bench.produce(topic="t-partition-0")
    bench.publish(*range(6))
    bench.subscribe(topic="t-partition-0")
    bench.flow(100)
    return bench.kinds().count(C.MESSAGE.name) == 4


def topics_overrule_their_namespace(*mutations: str) -> bool:
    topology = Topology(
        topics=(Topic(name="t", dispatch_rate=Rate(messages=12)),), namespace=Policies(dispatch_rate=Rate(messages=3))
    )
    return _dispatched(Bench(*mutations, topology=topology), 1, 1) == 12


def periods_are_as_long_as_set(*mutations: str) -> bool:
    return _dispatched(Bench(*mutations, dispatch_rate=Rate(messages=3, period_s=3)), 1, 3) == 3


def reads_fit_the_permits(*mutations: str) -> bool:
    bench = Bench(*mutations, topology=_with_settings(BrokerSettings(precise_flow_control=True)))
    bench.step("store_entries", topic="t", entries=[{"members": [{}, {}, {}]} for _ in range(9)])
    bench.connect()
    bench.subscribe()
    bench.flow(1)
    bench.flow(2 + 3)
    return bench.kinds().count(C.MESSAGE.name) == 2


def batches_count_as_one(*mutations: str) -> bool:
    topology = _with_settings(BrokerSettings(rate_counts_entries=True), dispatch_rate=Rate(messages=5))
    return _dispatched(Bench(*mutations, topology=topology), 4, 2) == 40


def caught_up_is_spared(*mutations: str) -> bool:
    topology = _with_settings(BrokerSettings(throttles_caught_up=False), dispatch_rate=Rate(messages=5))
    return _dispatched(Bench(*mutations, topology=topology), 1, 1) > 5


def replay_and_new_share_the_rate(*mutations: str) -> bool:
    bench = _consumers(_sends(Bench(*mutations, dispatch_rate=Rate(messages=3))), "Shared", 1)
    bench.redeliver(conn=1)
    for _ in range(8):
        bench.wait(500)
        bench.redeliver(conn=1)
    return len(bench.delivered(1)) <= 18


def unwritten_sends_stop_the_reading(*mutations: str) -> bool:
    bench = Bench(*mutations, topology=_with_settings(BrokerSettings(max_pending_sends=3)))
    bench.step("hold_store", topic="t")
    return _sends(bench).paused == {0}


def full_buffer_stops_every_reading(*mutations: str) -> bool:
    bench = Bench(*mutations, topology=_with_settings(BrokerSettings(max_pending_mb=1)))
    bench.connect(1)
    bench.connect()
    bench.produce()
    bench.step("hold_store", topic="t")
    _sends_large(bench, 0)
    return bench.paused == {0, 1}


def _sends_large(bench: Bench, *ids: int, conn: int = 0) -> None:
    """SENDs of a bit more than a MB."""
    for id in ids:
        metadata = MessageMetadata(producer_name="p", sequence_id=id, publish_time=0)
        bench.put(encode(command(C.SEND, producer_id=1, sequence_id=id), metadata=metadata, data=bytes(1 << 20)), conn)


def unacked_is_limited(*mutations: str) -> bool:
    return len(_consumers(_sends(Bench(*mutations, max_unacked_per_consumer=4)), "Shared", 1).delivered(1)) == 4


def permits_of_the_blocked_are_kept(*mutations: str) -> bool:
    bench = _consumers(_sends(Bench(*mutations, max_unacked_per_consumer=2)), "Shared", 1, permits=2)
    bench.flow(2, conn=1)
    bench.ack(*bench.ids[:2], conn=1)
    return len(bench.delivered(1)) == 4


def _delayed(bench: Bench, delay_ms: int = 5_000) -> Bench:
    bench.connect()
    bench.produce()
    bench.publish(0, meta={"deliver_at_time": delay_ms})
    return bench


def delayed_waits(*mutations: str) -> bool:
    return _consumers(_delayed(Bench(*mutations)), "Shared", 1).delivered(1) == []


def active_does_not_wait(*mutations: str) -> bool:
    return _consumers(_delayed(Bench(*mutations)), "Exclusive", 1).delivered(1) == [0]


def delayed_outlives_a_restart(*mutations: str) -> bool:
    bench = _consumers(_delayed(Bench(*mutations)), "Shared", 1)
    bench.step("restart")
    bench.wait(6_000)
    return _consumers(bench, "Shared", 2).delivered(2) == [0]


def readers_leave_nothing(*mutations: str) -> bool:
    bench = _sends(Bench(*mutations))
    for conn in (1, 2):
        bench.connect(conn)
        bench.subscribe(conn=conn, durable=False)
        bench.flow(100, conn=conn)
        bench.ack(bench.ids[3], conn=conn, ack_type=1)
        bench.leave(conn)
    return len(bench.delivered(2)) == len(bench.ids)


def unacked_is_not_deleted(*mutations: str) -> bool:
    bench = _consumers(_sends(Bench(*mutations, retention=Retention())), "Exclusive", 1)
    bench.connect(2)
    bench.subscribe(conn=2, subscription="other")
    bench.ack(bench.ids[-1], conn=1, ack_type=1)
    bench.step("unload", topic="t")
    bench.connect(3)
    bench.subscribe(conn=3, subscription="late")
    bench.flow(100, conn=3)
    return len(bench.delivered(3)) == len(bench.ids)


def too_old_is_expired(*mutations: str) -> bool:
    bench = Bench(*mutations, topology=_with_settings(BrokerSettings(expiry_check_ms=500), message_ttl_s=1))
    bench.connect()
    bench.subscribe()
    _sends(bench).wait(5_000)
    return bench.cursor().backlog == 0


Rule = Callable[..., bool]

BROKERS = [name for name, mutant in mutants().items() if mutant.side is Side.BROKER]


def _typed(*mutations: str) -> Bench:
    """A topic with a schema of two versions."""
    bench = Bench(*mutations)
    bench.connect()
    for number, fields in enumerate(("[]", '[{"name": "x", "type": "null", "default": null}]')):
        data = f'{{"type": "record", "name": "R", "fields": {fields}}}'.encode()
        schema = pb.Schema(name="s", type=pb.Schema.Avro, schema_data=data)
        bench.produce(producer_id=number, name=f"p{number}", schema=schema)
    return bench


def other_type_is_refused(*mutations: str) -> bool:
    schema = pb.Schema(name="s", type=pb.Schema.String, schema_data=b"")
    return _typed(*mutations).produce(producer_id=9, name="p9", schema=schema).type is CommandType.ERROR


def each_version_has_its_schema(*mutations: str) -> bool:
    version = (0).to_bytes(8, "big")
    answer = _typed(*mutations).ask(CommandType.GET_SCHEMA, topic=T, schema_version=version)
    return b'"x"' not in answer.body.schema.schema_data


BROKEN: dict[str, Rule] = {
    "admits-other-schema-type": other_type_is_refused,
    "answers-latest-schema": each_version_has_its_schema,
    "reorders-appends": appends_in_order,
    "receipts-out-of-order": receipts_after_slow_store_in_order,
    "dedup-stores-duplicates": duplicates_not_stored,
    "dedup-receipts-pending-duplicate": undecided_copies_have_no_receipt,
    "assigns-same-name": assigned_names_differ,
    "exclusive-admits-second-producer": exclusive_producer_is_alone,
    "forgets-waiting-producer": waiting_producer_gets_its_turn,
    "dedup-reports-next-id": last_id_is_told,
    "dedup-forgets-on-unload": ids_are_known_after_an_unload,
    "dedup-forgets-snapshot": snapshot_is_known_after_an_unload,
    "dedup-never-forgets-inactive": unused_names_are_forgotten,
    "dedup-forgets-active-producer": silent_names_are_remembered,
    "dedup-checks-markers": markers_pass_deduplication,
    "dedup-snapshot-unbounded": names_beyond_the_bound_are_not_known_after_an_unload,
    "dedup-rejects-gaps": ids_over_a_gap_are_stored,
    "dedup-records-lowest": ids_of_a_batch_are_remembered,
    "dedup-compares-highest": batch_with_an_old_id_is_dropped,
    "dedup-checks-early-chunks": deduplicated_chunks_all_stored,
    "dedup-remembers-failed-write": failed_write_is_forgotten,
    "loses-receipted-append": everything_receipted_is_stored,
    "loses-chunk": chunks_all_stored,
    "redelivers-acked": acked_never_comes_back,
    "cursor-not-written-on-close": unload_writes_cursors,
    "cursor-forgets-individual-acks": holes_are_kept,
    "cursor-fills-holes": holes_stay_holes,
    "acks-named-message-only": named_message_means_its_entry,
    "last-ack-set-wins": ack_sets_join,
    "rejects-repeated-ack": what_is_settled_may_be_acked_again,
    "cumulative-applied-on-shared": cumulative_on_shared_is_void,
    "cumulative-accepts-several-ids": cumulative_of_several_is_void,
    "dispatch-ignores-rate": dispatch_rate_kept,
    "dispatch-forgives-overshoot": overshoot_repaid,
    "publish-throttle-answers-error": throttled_sends_have_no_error,
    "publish-throttle-drops": throttled_sends_are_stored,
    "broker-publish-rate-ignored": brokers_publish_rate_pauses,
    "publish-rate-halved": publish_rate_is_reached,
    "dispatch-halves-bytes": byte_rate_is_reached,
    "exclusive-admits-second-consumer": exclusive_has_one,
    "failover-skips-unacked": next_active_begins_with_what_is_unacked,
    "shared-unacked-lost-on-leave": leaver_leaves_to_others,
    "key-shared-ignores-keys": one_key_has_one_consumer,
    "key-shared-skips-draining": keys_are_drained,
    "resubscribe-starts-over": resumes_behind_what_is_acked,
    "redelivery-count-stays-zero": redeliveries_are_counted,
    "dispatch-ignores-bytes": bytes_are_limited,
    "dispatch-limits-are-alternatives": either_limit_stops,
    "reads-beyond-quota": reads_fit_the_quota,
    "redelivery-not-charged": redelivered_waits_for_the_rate,
    "flow-counts-entries": batch_costs_its_messages,
    "admits-duplicate-producer-name": name_has_one_holder,
    "dead-producer-connection-kept": silent_holder_is_found_dead,
    "stores-for-unknown-producer": stray_sends_are_not_stored,
    "entry-ids-restart-after-load": ids_grow_over_loads,
    "receipt-names-next-entry": receipts_name_what_is_stored,
    "crash-loses-last-entry": what_is_receipted_survives_a_crash,
    "non-persistent-waits-for-rate": what_exceeds_a_rate_is_gone,
    "non-persistent-keeps-undelivered": what_nobody_took_is_gone,
    "dispatch-levels-are-alternatives": every_level_limits,
    "partitions-split-rate": each_partition_has_the_whole_rate,
    "namespace-overrules-topic": topics_overrule_their_namespace,
    "rate-period-always-one-second": periods_are_as_long_as_set,
    "precise-flow-control-ignored": reads_fit_the_permits,
    "rate-counts-batched-messages": batches_count_as_one,
    "throttles-without-backlog": caught_up_is_spared,
    "replay-has-own-rate": replay_and_new_share_the_rate,
    "publish-buffer-limit-ignored": full_buffer_stops_every_reading,
    "pending-publish-limit-ignored": unwritten_sends_stop_the_reading,
    "max-unacked-ignored": unacked_is_limited,
    "flow-lost-while-blocked": permits_of_the_blocked_are_kept,
    "delay-ignored": delayed_waits,
    "exclusive-waits-for-delay": active_does_not_wait,
    "delayed-lost-on-unload": delayed_outlives_a_restart,
    "non-durable-cursor-kept": readers_leave_nothing,
    "deletes-unacked": unacked_is_not_deleted,
    "ttl-ignored": too_old_is_expired,
}

# A rate that is not looked at repays nothing, a loss is a loss whatever was lost, a duplicate is one whatever of, and a
# consumer that comes rewinds.
ALSO_BROKEN: dict[str, set[Rule]] = {
    "dedup-stores-duplicates": {batch_with_an_old_id_is_dropped, ids_of_a_batch_are_remembered},
    "loses-chunk": {deduplicated_chunks_all_stored},
    "dispatch-ignores-rate": {
        overshoot_repaid,
        bytes_are_limited,
        either_limit_stops,
        reads_fit_the_quota,
        redelivered_waits_for_the_rate,
        every_level_limits,
        each_partition_has_the_whole_rate,
        topics_overrule_their_namespace,
        periods_are_as_long_as_set,
        batches_count_as_one,
        replay_and_new_share_the_rate,
    },
    "reads-beyond-quota": {
        dispatch_rate_kept,
        overshoot_repaid,
        either_limit_stops,
        bytes_are_limited,
        every_level_limits,
        each_partition_has_the_whole_rate,
        topics_overrule_their_namespace,
        periods_are_as_long_as_set,
        batches_count_as_one,
    },
    "publish-throttle-answers-error": {publish_rate_is_reached},
    "publish-throttle-drops": {publish_rate_is_reached},
    "redelivery-not-charged": {replay_and_new_share_the_rate},
    "flow-counts-entries": {reads_fit_the_permits},
    "redelivers-acked": {resumes_behind_what_is_acked, holes_are_kept, unload_writes_cursors},
    "key-shared-ignores-keys": {keys_are_drained},
    "crash-loses-last-entry": {delayed_outlives_a_restart},
    "resubscribe-starts-over": {holes_are_kept, unload_writes_cursors},
    "loses-receipted-append": {
        chunks_all_stored,
        throttled_sends_are_stored,
        resumes_behind_what_is_acked,
        ids_are_known_after_an_unload,
    },
}


def test_every_mutation_has_its_rule() -> None:
    assert set(BROKEN) == set(BROKERS)


@pytest.mark.parametrize("rule", [*BROKEN.values(), receipts_in_order])
def test_honest_broker_keeps_the_rule(rule: Rule) -> None:
    assert rule()


@pytest.mark.parametrize("mutation", BROKERS)
def test_mutation_breaks_its_rule(mutation: str) -> None:
    assert not BROKEN[mutation](mutation)


@pytest.mark.few(30)
@pytest.mark.parametrize("mutation", BROKERS)
def test_mutation_keeps_every_other_rule(mutation: str) -> None:
    others = [rule for rule in [*BROKEN.values(), receipts_in_order] if rule is not BROKEN[mutation]]
    broken = {rule for rule in others if not rule(mutation)}
    assert broken == ALSO_BROKEN.get(mutation, set())


def test_a_dropped_send_still_gets_its_receipt() -> None:
    bench = Bench("publish-throttle-drops", publish_rate=Rate(messages=3))
    assert _sends(bench).kinds().count(C.SEND_RECEIPT.name) == 6
