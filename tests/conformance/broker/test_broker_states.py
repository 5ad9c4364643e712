"""Every command in every state of a connection, of a producer, of a topic: the answer, and the state that follows.

What is expected was written down from the protocol documentation, PIP-68 and recorded traffic of Pulsar 4.0.8, not read
from the broker's own tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.conformance.broker.bench import Bench, C, T
from tests.conformance.broker.filling import filled, first, put

from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.policy import AutoCreation, Policies
from assay_conformance.wire import CommandType
from assay_conformance.wire.pulsar_pb2 import ProducerAccessMode, ServerError

# --- connections ------------------------------------------------------------------------------------------------------

ENDS = "the connection ends"
SILENT = ""

CONNECTED: dict[str, str] = {
    "CONNECT": ENDS,
    "SUBSCRIBE": "SUCCESS",
    "PRODUCER": "PRODUCER_SUCCESS",
    "SEND": ENDS,
    "ACK": SILENT,
    "FLOW": SILENT,
    "UNSUBSCRIBE": "ERROR",
    "CLOSE_PRODUCER": "SUCCESS",
    "CLOSE_CONSUMER": "SUCCESS",
    "PING": "PONG",
    "PONG": SILENT,
    "REDELIVER_UNACKNOWLEDGED_MESSAGES": SILENT,
    "PARTITIONED_METADATA": "PARTITIONED_METADATA_RESPONSE",
    "LOOKUP": "LOOKUP_RESPONSE",
    "CONSUMER_STATS": ENDS,
    "SEEK": "ERROR",
    "GET_LAST_MESSAGE_ID": "ERROR",
    # What is filled in is no namespace.
    "GET_TOPICS_OF_NAMESPACE": ENDS,
    "GET_SCHEMA": "GET_SCHEMA_RESPONSE",
    "GET_OR_CREATE_SCHEMA": "GET_OR_CREATE_SCHEMA_RESPONSE",
    "AUTH_RESPONSE": ENDS,
    "WATCH_TOPIC_LIST": ENDS,
    "WATCH_TOPIC_LIST_CLOSE": "SUCCESS",
    "NEW_TXN": "ERROR",
    "ADD_PARTITION_TO_TXN": "ERROR",
    "ADD_SUBSCRIPTION_TO_TXN": "ERROR",
    "END_TXN": "ERROR",
    "TC_CLIENT_CONNECT_REQUEST": "ERROR",
}
"""What a client may say, with nothing but its required fields, on a connection without producers and consumers."""

BROKERS_OWN = [
    "CONNECTED",
    "SEND_RECEIPT",
    "SEND_ERROR",
    "MESSAGE",
    "SUCCESS",
    "ERROR",
    "PRODUCER_SUCCESS",
    "PARTITIONED_METADATA_RESPONSE",
    "LOOKUP_RESPONSE",
    "CONSUMER_STATS_RESPONSE",
    "REACHED_END_OF_TOPIC",
    "GET_LAST_MESSAGE_ID_RESPONSE",
    "ACTIVE_CONSUMER_CHANGE",
    "GET_TOPICS_OF_NAMESPACE_RESPONSE",
    "GET_SCHEMA_RESPONSE",
    "AUTH_CHALLENGE",
    "ACK_RESPONSE",
    "GET_OR_CREATE_SCHEMA_RESPONSE",
    "WATCH_TOPIC_LIST_SUCCESS",
    "WATCH_TOPIC_UPDATE",
    "TOPIC_MIGRATED",
]
"""What only a broker says: from a client it ends the connection."""

NOT_SERVED = [
    "NEW_TXN_RESPONSE",
    "ADD_PARTITION_TO_TXN_RESPONSE",
    "ADD_SUBSCRIPTION_TO_TXN_RESPONSE",
    "END_TXN_RESPONSE",
    "END_TXN_ON_PARTITION",
    "END_TXN_ON_PARTITION_RESPONSE",
    "END_TXN_ON_SUBSCRIPTION",
    "END_TXN_ON_SUBSCRIPTION_RESPONSE",
    "TC_CLIENT_CONNECT_RESPONSE",
    "SCALABLE_TOPIC_LOOKUP",
    "SCALABLE_TOPIC_UPDATE",
    "SCALABLE_TOPIC_CLOSE",
    "SCALABLE_TOPIC_SUBSCRIBE",
    "SCALABLE_TOPIC_SUBSCRIBE_RESPONSE",
    "SCALABLE_TOPIC_ASSIGNMENT_UPDATE",
    "WATCH_SCALABLE_TOPICS",
    "WATCH_SCALABLE_TOPICS_UPDATE",
    "WATCH_SCALABLE_TOPICS_CLOSE",
    "WATCH_TC_ASSIGNMENTS",
    "WATCH_TC_ASSIGNMENTS_UPDATE",
    "WATCH_TC_ASSIGNMENTS_CLOSE",
]
"""Transactions between brokers, and scalable topics: this broker knows no message of them, and ends the connection."""

EXPECTED = {**CONNECTED, **dict.fromkeys((*BROKERS_OWN, *NOT_SERVED), ENDS)}


def _say(bench: Bench, kind: CommandType) -> str:
    """What came back for a command: the kinds of frames, or the end."""
    bench.take()
    put(bench, filled(kind, first, everything=False))
    answers = bench.kinds()
    return ENDS if bench.closed and not answers else " ".join(answers)


def test_every_command_is_in_the_table() -> None:
    assert set(EXPECTED) == {kind.name for kind in CommandType}


NEW = {C.CONNECT: "CONNECTED", C.PING: "PONG", C.PONG: ""}


@pytest.mark.parametrize("kind", CommandType)
def test_new_connection(kind: CommandType) -> None:
    bench = Bench()
    bench.cluster.opened(0, 0, 0)
    assert _say(bench, kind) == NEW.get(kind, ENDS)
    assert _say(bench, C.PING) == ("PONG" if kind in NEW else ENDS)


@pytest.mark.parametrize("kind", CommandType)
def test_connected_connection(kind: CommandType) -> None:
    bench = Bench()
    bench.connect()
    assert _say(bench, kind) == EXPECTED[kind.name]
    assert _say(bench, C.PING) == (ENDS if EXPECTED[kind.name] is ENDS else "PONG")


@pytest.mark.parametrize("kind", CommandType)
def test_connection_that_ended(kind: CommandType) -> None:
    bench = Bench()
    bench.connect()
    bench.cluster.undecodable(0, 0)
    bench.take()
    put(bench, filled(kind, first, everything=False))
    assert (bench.take(), bench.closed) == ([], [0])


# --- producers --------------------------------------------------------------------------------------------------------

FREE, WAITING, OPEN, DISMISSED = "free", "waiting", "open", "dismissed"
"""Of a producer id on a connection: nobody has it; it is asked for and not granted yet; granted; taken by the broker,
which the client may not know yet."""


def _nothing(_bench: Bench) -> None:
    """Nobody has asked for the id."""


def _asked(bench: Bench, **fields: Any) -> None:
    bench.request(C.PRODUCER, topic=T, producer_id=1, producer_name="p", **fields)


def _asked_for_a_name_that_is_taken(bench: Bench) -> None:
    bench.produce(9)
    _asked(bench)


def _queued(bench: Bench) -> None:
    bench.produce(9, name="other")
    _asked(bench, producer_access_mode=ProducerAccessMode.WaitForExclusive)


def _closing(bench: Bench) -> None:
    _asked(bench)
    bench.step("hold_store", topic="t")
    bench.publish(0)
    bench.request(C.CLOSE_PRODUCER, producer_id=1)


def _closed(bench: Bench) -> None:
    _asked(bench)
    bench.request(C.CLOSE_PRODUCER, producer_id=1)


def _unloaded(bench: Bench) -> None:
    _asked(bench)
    bench.step("unload", topic="t")


def _fenced(bench: Bench) -> None:
    _asked(bench)
    bench.produce(9, name="other", producer_access_mode=ProducerAccessMode.ExclusiveWithFencing)
    bench.request(C.CLOSE_PRODUCER, 9, producer_id=1)


def _refused(bench: Bench) -> None:
    bench.produce(9, name="other")
    _asked(bench, producer_access_mode=ProducerAccessMode.Exclusive)


Setup = Callable[[Bench], None]

PRODUCERS: list[tuple[Setup, str, str, str]] = [
    (_nothing, "PRODUCER", "PRODUCER_SUCCESS", OPEN),
    (_nothing, "SEND", ENDS, FREE),
    (_nothing, "CLOSE_PRODUCER", "SUCCESS", FREE),
    (_asked_for_a_name_that_is_taken, "PRODUCER", "ERROR", WAITING),
    (_asked_for_a_name_that_is_taken, "SEND", ENDS, FREE),
    (_asked_for_a_name_that_is_taken, "CLOSE_PRODUCER", "SUCCESS", FREE),
    (_queued, "PRODUCER", "ERROR", WAITING),
    (_queued, "SEND", ENDS, FREE),
    (_queued, "CLOSE_PRODUCER", "SUCCESS", FREE),
    (_asked, "PRODUCER", "PRODUCER_SUCCESS", OPEN),
    (_asked, "SEND", "SEND_RECEIPT", OPEN),
    (_asked, "CLOSE_PRODUCER", "SUCCESS", FREE),
    (_closing, "PRODUCER", "PRODUCER_SUCCESS", OPEN),
    (_closing, "SEND", ENDS, FREE),
    (_closing, "CLOSE_PRODUCER", "SUCCESS", FREE),
    (_closed, "PRODUCER", "PRODUCER_SUCCESS", OPEN),
    (_closed, "SEND", ENDS, FREE),
    (_closed, "CLOSE_PRODUCER", "SUCCESS", FREE),
    (_unloaded, "PRODUCER", "PRODUCER_SUCCESS", OPEN),
    (_unloaded, "SEND", SILENT, DISMISSED),
    (_unloaded, "CLOSE_PRODUCER", "SUCCESS", DISMISSED),
    (_fenced, "PRODUCER", "PRODUCER_SUCCESS", OPEN),
    (_fenced, "SEND", ENDS, FREE),
    (_fenced, "CLOSE_PRODUCER", "SUCCESS", FREE),
    (_refused, "PRODUCER", "PRODUCER_SUCCESS", OPEN),
    (_refused, "SEND", ENDS, FREE),
    (_refused, "CLOSE_PRODUCER", "SUCCESS", FREE),
]


def _tell(bench: Bench, command: str) -> str:
    """A command for producer id 1, under a name of its own, and what came back."""
    bench.take()
    if command == "SEND":
        bench.publish(5)
    elif command == "PRODUCER":
        bench.request(C.PRODUCER, topic=T, producer_id=1, producer_name="again")
    else:
        bench.request(C.CLOSE_PRODUCER, producer_id=1)
    answers = bench.kinds()
    return ENDS if 0 in bench.closed else " ".join(answers)


def _in_state(setup: Setup) -> Bench:
    bench = Bench()
    bench.connect(9)
    bench.connect(0)
    setup(bench)
    return bench


def _state_of(setup: Setup, command: str) -> str:
    """The state after a command, by what another PRODUCER, and instead of it a SEND, would be answered."""
    asking, sending = _in_state(setup), _in_state(setup)
    for bench in (asking, sending):
        _tell(bench, command)
    if 0 in asking.closed:
        return FREE
    asking.take()
    asking.request(C.PRODUCER, topic=T, producer_id=1, producer_name="probe")
    answers = [frame for frame in asking.take() if frame.type in (C.ERROR, C.PRODUCER_SUCCESS)]
    if answers and answers[0].type == C.ERROR and answers[0].body.error == ServerError.ServiceNotReady:
        return WAITING
    if answers and answers[0].type == C.PRODUCER_SUCCESS and answers[0].body.producer_name != "probe":
        return OPEN
    sending.publish(6)
    return FREE if 0 in sending.closed else DISMISSED


@pytest.mark.parametrize(("setup", "command", "answer", "follows"), PRODUCERS)
def test_producer(setup: Setup, command: str, answer: str, follows: str) -> None:
    assert (_tell(_in_state(setup), command), _state_of(setup, command)) == (answer, follows)


def test_every_pair_of_a_producer_is_in_the_table() -> None:
    setups = {setup for setup, *_ in PRODUCERS}
    assert len(PRODUCERS) == len({(setup, command) for setup, command, *_ in PRODUCERS}) == 3 * len(setups)


# --- who has a topic --------------------------------------------------------------------------------------------------

SHARED, EXCLUSIVE, WAITS, FENCES = (
    ProducerAccessMode.Shared,
    ProducerAccessMode.Exclusive,
    ProducerAccessMode.WaitForExclusive,
    ProducerAccessMode.ExclusiveWithFencing,
)
BUSY, FENCED = "ProducerBusy", "ProducerFenced"
READY, NOT_YET = "ready", "not yet"

ACCESS: list[tuple[tuple[ProducerAccessMode, ...], ProducerAccessMode, str, str]] = [
    ((), SHARED, READY, "new"),
    ((), EXCLUSIVE, READY, "new alone"),
    ((), WAITS, READY, "new alone"),
    ((), FENCES, READY, "new alone"),
    ((SHARED,), SHARED, READY, "p0 new"),
    ((SHARED,), EXCLUSIVE, FENCED, "p0"),
    ((SHARED,), WAITS, NOT_YET, "p0, new waits"),
    ((SHARED,), FENCES, READY, "new alone"),
    ((EXCLUSIVE,), SHARED, BUSY, "p0 alone"),
    ((EXCLUSIVE,), EXCLUSIVE, FENCED, "p0 alone"),
    ((EXCLUSIVE,), WAITS, NOT_YET, "p0 alone, new waits"),
    ((EXCLUSIVE,), FENCES, READY, "new alone"),
    ((SHARED, WAITS), SHARED, BUSY, "p0, p1 waits"),
    ((SHARED, WAITS), EXCLUSIVE, FENCED, "p0, p1 waits"),
    ((SHARED, WAITS), WAITS, NOT_YET, "p0, p1 new waits"),
    ((SHARED, WAITS), FENCES, READY, "new alone"),
    ((EXCLUSIVE, WAITS), SHARED, BUSY, "p0 alone, p1 waits"),
    ((EXCLUSIVE, WAITS), EXCLUSIVE, FENCED, "p0 alone, p1 waits"),
    ((EXCLUSIVE, WAITS), WAITS, NOT_YET, "p0 alone, p1 new waits"),
    ((EXCLUSIVE, WAITS), FENCES, READY, "new alone"),
]


def _who_has(bench: Bench) -> str:
    topic = bench.cluster.topics.find(T)
    assert topic is not None
    admission = topic.admission
    there = " ".join(admission.producers) + (" alone" if admission.access.holder is not None else "")
    waiting = " ".join(producer.name for producer in admission.access.waiting)
    return there + (f", {waiting} waits" if waiting else "")


@pytest.mark.parametrize(("there", "mode", "answer", "follows"), ACCESS)
def test_access(there: tuple[ProducerAccessMode, ...], mode: ProducerAccessMode, answer: str, follows: str) -> None:
    bench = Bench()
    for conn, known in enumerate(there):
        bench.connect(conn)
        bench.produce(conn, name=f"p{conn}", producer_access_mode=known)
    bench.connect(9)
    got = bench.produce(9, name="new", producer_access_mode=mode)
    answered = {True: READY, False: NOT_YET}
    said = ServerError.Name(got.body.error) if got.type == C.ERROR else answered[got.body.producer_ready]
    assert (said, _who_has(bench)) == (answer, follows)


def test_every_pair_of_access_is_in_the_table() -> None:
    assert len(ACCESS) == len({(there, mode) for there, mode, *_ in ACCESS}) == 4 * len({there for there, *_ in ACCESS})


# --- topics -----------------------------------------------------------------------------------------------------------


def _fresh() -> Bench:
    return Bench(topology=Topology(brokers=2))


def _not_to_be_made() -> Bench:
    closed = Policies(auto_creation=AutoCreation(enabled=False))
    return Bench(topology=Topology(topics=(Topic(name="other"),), brokers=2, namespace=closed))


def _partitioned() -> Bench:
    return Bench(topology=Topology(topics=(Topic(name="t", partitions=2),), brokers=2))


def _after(verb: str, **args: Any) -> Callable[[], Bench]:
    def made() -> Bench:
        bench = _fresh()
        bench.step(verb, topic="t", **args)
        return bench

    return made


TOPICS: dict[str, Callable[[], Bench]] = {
    "there": _fresh,
    "not to be made": _not_to_be_made,
    "partitioned": _partitioned,
    "deleted": _after("delete"),
    "terminated": _after("terminate"),
    "moved": _after("move", broker=1),
    "migrated": _after("migrate", broker=1),
}

ASKED: dict[str, dict[str, Any]] = {
    "PARTITIONED_METADATA": {"metadata_auto_creation_enabled": False},
    "LOOKUP": {},
    "PRODUCER": {"producer_id": 1, "producer_name": "p"},
    "SUBSCRIBE": {"consumer_id": 1, "subscription": "s", "subType": 1},
    "GET_SCHEMA": {},
    "GET_OR_CREATE_SCHEMA": {"schema": {"name": "s", "schema_data": b"", "type": 1}},
}

HERE, NOWHERE = True, False
"""Whether the topic is listed afterwards."""

TOPIC: dict[tuple[str, str], tuple[str, bool]] = {
    ("there", "PARTITIONED_METADATA"): ("0 partitions", HERE),
    ("there", "LOOKUP"): ("connect to 0", HERE),
    ("there", "PRODUCER"): ("PRODUCER_SUCCESS", HERE),
    ("there", "SUBSCRIBE"): ("SUCCESS", HERE),
    ("there", "GET_SCHEMA"): ("TopicNotFound", HERE),
    ("there", "GET_OR_CREATE_SCHEMA"): ("GET_OR_CREATE_SCHEMA_RESPONSE", HERE),
    ("not to be made", "PARTITIONED_METADATA"): ("TopicNotFound", NOWHERE),
    ("not to be made", "LOOKUP"): ("connect to 0", NOWHERE),
    ("not to be made", "PRODUCER"): ("TopicNotFound", NOWHERE),
    ("not to be made", "SUBSCRIBE"): ("TopicNotFound", NOWHERE),
    ("not to be made", "GET_SCHEMA"): ("TopicNotFound", NOWHERE),
    ("not to be made", "GET_OR_CREATE_SCHEMA"): ("TopicNotFound", NOWHERE),
    ("partitioned", "PARTITIONED_METADATA"): ("2 partitions", HERE),
    ("partitioned", "LOOKUP"): ("connect to 0", HERE),
    ("partitioned", "PRODUCER"): ("PRODUCER_SUCCESS", HERE),
    ("partitioned", "SUBSCRIBE"): ("SUCCESS", HERE),
    ("partitioned", "GET_SCHEMA"): ("TopicNotFound", HERE),
    ("partitioned", "GET_OR_CREATE_SCHEMA"): ("TopicNotFound", HERE),
    ("deleted", "PARTITIONED_METADATA"): ("TopicNotFound", NOWHERE),
    ("deleted", "LOOKUP"): ("connect to 0", NOWHERE),
    ("deleted", "PRODUCER"): ("PRODUCER_SUCCESS", HERE),
    ("deleted", "SUBSCRIBE"): ("SUCCESS", HERE),
    ("deleted", "GET_SCHEMA"): ("TopicNotFound", NOWHERE),
    ("deleted", "GET_OR_CREATE_SCHEMA"): ("TopicNotFound", NOWHERE),
    ("terminated", "PARTITIONED_METADATA"): ("0 partitions", HERE),
    ("terminated", "LOOKUP"): ("connect to 0", HERE),
    ("terminated", "PRODUCER"): ("TopicTerminatedError", HERE),
    ("terminated", "SUBSCRIBE"): ("SUCCESS", HERE),
    ("terminated", "GET_SCHEMA"): ("TopicNotFound", HERE),
    ("terminated", "GET_OR_CREATE_SCHEMA"): ("GET_OR_CREATE_SCHEMA_RESPONSE", HERE),
    ("moved", "PARTITIONED_METADATA"): ("0 partitions", HERE),
    ("moved", "LOOKUP"): ("ask 1", HERE),
    ("moved", "PRODUCER"): ("ServiceNotReady", HERE),
    ("moved", "SUBSCRIBE"): ("ServiceNotReady", HERE),
    ("moved", "GET_SCHEMA"): ("TopicNotFound", HERE),
    ("moved", "GET_OR_CREATE_SCHEMA"): ("ServiceNotReady", HERE),
    ("migrated", "PARTITIONED_METADATA"): ("0 partitions", HERE),
    ("migrated", "LOOKUP"): ("connect to 0", HERE),
    ("migrated", "PRODUCER"): ("TOPIC_MIGRATED CLOSE_PRODUCER", HERE),
    ("migrated", "SUBSCRIBE"): ("TOPIC_MIGRATED CLOSE_CONSUMER", HERE),
    ("migrated", "GET_SCHEMA"): ("TopicNotFound", HERE),
    ("migrated", "GET_OR_CREATE_SCHEMA"): ("ServiceNotReady", HERE),
}
"""At broker 0, of two."""


def _asked_of(bench: Bench, command: str) -> str:
    bench.connect()
    bench.request(CommandType[command], topic=T, **ASKED[command])
    frames = bench.take()
    body = frames[0].body
    for name in ("error", "error_code"):
        if name in body.DESCRIPTOR.fields_by_name and body.HasField(name):
            return ServerError.Name(getattr(body, name))
    if command == "PARTITIONED_METADATA":
        return f"{body.partitions} partitions"
    if command == "LOOKUP":
        broker = body.brokerServiceUrl.removeprefix("pulsar://broker-").partition(":")[0]
        return f"{'ask' if body.response == 0 else 'connect to'} {broker}"
    return " ".join(CommandType(frame.type).name for frame in frames)


@pytest.mark.parametrize(("state", "command"), TOPIC, ids=" ".join)
def test_topic(state: str, command: str) -> None:
    bench = TOPICS[state]()
    answer = _asked_of(bench, command)
    listed = any(name.startswith(T) for name in bench.cluster.topics.of_namespace("public/default"))
    assert (answer, listed) == TOPIC[state, command]


def test_every_pair_of_a_topic_is_in_the_table() -> None:
    assert set(TOPIC) == {(state, command) for state in TOPICS for command in ASKED}
