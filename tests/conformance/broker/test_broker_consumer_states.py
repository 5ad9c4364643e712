"""Every command in every state of a consumer, every kind of consumer at every kind of subscription, and what becomes of
the cursor: the answer, and the state that follows.

What is expected was written down from the protocol documentation, PIP-34, PIP-379 and recorded traffic of Pulsar 4.0.8,
not read from the broker's own tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.conformance.broker.bench import Bench, C, T

from assay_conformance.wire.pulsar_pb2 import KeySharedMode, ServerError

ENDS, SILENT = "the connection ends", ""
FREE, JOINING, OPEN = "free", "joining", "open"
"""Of a consumer id on a connection: nobody has it; it is asked for and not granted yet; granted."""

# --- a consumer -------------------------------------------------------------------------------------------------------

Setup = Callable[[Bench], None]


def _ask(bench: Bench, kind: str = "Exclusive", **fields: Any) -> None:
    given: dict[str, Any] = {"topic": T, "subscription": "s", "subType": kind, "consumer_id": 1}
    given["initialPosition"] = "Earliest"
    bench.request(C.SUBSCRIBE, **given | fields)


def never_asked(_bench: Bench) -> None:
    """Nobody has asked for the id."""


def asked_where_another_is(bench: Bench) -> None:
    bench.connect(8)
    bench.subscribe(conn=8)
    _ask(bench)


def open_without_permits(bench: Bench) -> None:
    _ask(bench)


def open_with_two_out(bench: Bench) -> None:
    _ask(bench)
    bench.flow(2)


def shared_with_two_out(bench: Bench) -> None:
    _ask(bench, "Shared")
    bench.flow(2)


def reading(bench: Bench) -> None:
    _ask(bench, durable=False)
    bench.flow(2)


def closed(bench: Bench) -> None:
    open_with_two_out(bench)
    bench.request(C.CLOSE_CONSUMER, consumer_id=1)


def unloaded(bench: Bench) -> None:
    open_with_two_out(bench)
    bench.step("unload", topic="t")


def moved_by_a_seek(bench: Bench) -> None:
    open_with_two_out(bench)
    bench.request(C.SEEK, consumer_id=1, message_publish_time=0)


def unsubscribed(bench: Bench) -> None:
    open_with_two_out(bench)
    bench.request(C.UNSUBSCRIBE, consumer_id=1)


def refused(bench: Bench) -> None:
    asked_where_another_is(bench)
    bench.tell(C.PONG, 8)


SAY: dict[str, Callable[[Bench], None]] = {
    "SUBSCRIBE": lambda bench: _ask(bench, subscription="another"),
    "FLOW": lambda bench: bench.flow(1),
    "FLOW of nothing": lambda bench: bench.flow(0),
    "ACK": lambda bench: bench.ack(bench.ids[0]),
    "ACK that asks": lambda bench: bench.ack(bench.ids[0], request_id=99),
    "REDELIVER": lambda bench: bench.redeliver(),
    "SEEK": lambda bench: bench.request(C.SEEK, consumer_id=1, message_publish_time=0),
    "SEEK to nowhere": lambda bench: bench.request(C.SEEK, consumer_id=1),
    "UNSUBSCRIBE": lambda bench: bench.request(C.UNSUBSCRIBE, consumer_id=1),
    "GET_LAST_MESSAGE_ID": lambda bench: bench.request(C.GET_LAST_MESSAGE_ID, consumer_id=1),
    "CONSUMER_STATS": lambda bench: bench.request(C.CONSUMER_STATS, consumer_id=1),
    "CLOSE_CONSUMER": lambda bench: bench.request(C.CLOSE_CONSUMER, consumer_id=1),
}

Row = tuple[str, str]

ABSENT: dict[str, Row] = {
    "SUBSCRIBE": ("SUCCESS", OPEN),
    "FLOW": (SILENT, FREE),
    "FLOW of nothing": (SILENT, FREE),
    "ACK": (SILENT, FREE),
    "ACK that asks": (SILENT, FREE),
    "REDELIVER": (SILENT, FREE),
    "SEEK": ("ERROR", FREE),
    "SEEK to nowhere": ("ERROR", FREE),
    "UNSUBSCRIBE": ("ERROR", FREE),
    "GET_LAST_MESSAGE_ID": ("ERROR", FREE),
    "CONSUMER_STATS": (ENDS, FREE),
    "CLOSE_CONSUMER": ("SUCCESS", FREE),
}

PRESENT: dict[str, Row] = {
    "SUBSCRIBE": ("SUCCESS", OPEN),
    "FLOW": ("MESSAGE", OPEN),
    "FLOW of nothing": (ENDS, FREE),
    "ACK": (SILENT, OPEN),
    "ACK that asks": ("ACK_RESPONSE", OPEN),
    "REDELIVER": (SILENT, OPEN),
    "SEEK": ("CLOSE_CONSUMER SUCCESS", FREE),
    "SEEK to nowhere": ("ERROR", OPEN),
    "UNSUBSCRIBE": ("SUCCESS", FREE),
    "GET_LAST_MESSAGE_ID": ("GET_LAST_MESSAGE_ID_RESPONSE", OPEN),
    "CONSUMER_STATS": ("CONSUMER_STATS_RESPONSE", OPEN),
    "CLOSE_CONSUMER": ("SUCCESS", FREE),
}

ASKED: dict[str, Row] = {
    "SUBSCRIBE": ("ERROR", JOINING),
    "FLOW": (SILENT, JOINING),
    "FLOW of nothing": (SILENT, JOINING),
    "ACK": (SILENT, JOINING),
    "ACK that asks": (SILENT, JOINING),
    "REDELIVER": (SILENT, JOINING),
    "SEEK": ("ERROR", JOINING),
    "SEEK to nowhere": ("ERROR", JOINING),
    "UNSUBSCRIBE": ("ERROR", JOINING),
    "GET_LAST_MESSAGE_ID": ("ERROR", JOINING),
    "CONSUMER_STATS": ("CONSUMER_STATS_RESPONSE", JOINING),
    "CLOSE_CONSUMER": ("SUCCESS", FREE),
}

CONSUMERS: dict[Setup, dict[str, Row]] = {
    never_asked: ABSENT,
    asked_where_another_is: ASKED,
    open_without_permits: PRESENT,
    open_with_two_out: PRESENT,
    shared_with_two_out: PRESENT,
    reading: PRESENT,
    closed: ABSENT,
    unloaded: ABSENT,
    moved_by_a_seek: ABSENT,
    unsubscribed: ABSENT,
    refused: ABSENT,
}

PAIRS = [(setup, command, *row) for setup, rows in CONSUMERS.items() for command, row in rows.items()]


def _in_state(setup: Setup) -> Bench:
    """Four entries are there, published by connection 9."""
    bench = Bench()
    bench.connect(9)
    bench.produce(9)
    bench.publish(*range(4), conn=9)
    bench.connect(0)
    setup(bench)
    bench.take()
    return bench


def _state(bench: Bench) -> str:
    """By what GET_LAST_MESSAGE_ID and another SUBSCRIBE are answered."""
    if 0 in bench.closed:
        return FREE
    if bench.ask(C.GET_LAST_MESSAGE_ID, consumer_id=1).type != C.ERROR:
        return OPEN
    _ask(bench, subscription="probe")
    answer = bench.take()[-1]
    return JOINING if answer.type == C.ERROR and answer.body.error == ServerError.ServiceNotReady else FREE


@pytest.mark.parametrize(("setup", "command", "answer", "follows"), PAIRS)
def test_consumer(setup: Setup, command: str, answer: str, follows: str) -> None:
    bench = _in_state(setup)
    SAY[command](bench)
    came = bench.kinds()
    assert (ENDS if 0 in bench.closed else " ".join(came), _state(bench)) == (answer, follows)


def test_every_pair_of_a_consumer_is_in_the_table() -> None:
    assert {command for _, command, *_ in PAIRS} == set(SAY)
    assert len(PAIRS) == len(SAY) * len(CONSUMERS)


def test_consumer_closed_before_it_joined_does_not_join_later() -> None:
    bench = _in_state(asked_where_another_is)
    bench.request(C.CLOSE_CONSUMER, consumer_id=1)
    bench.wait(5_000)
    bench.connect(7)
    assert (bench.kinds()[1:], bench.subscribe(conn=7).type) == ([], C.SUCCESS)


# --- who may join -----------------------------------------------------------------------------------------------------

STICKY = {"keySharedMode": KeySharedMode.STICKY, "hashRanges": [{"start": 0, "end": 9}]}
OTHERS = {"keySharedMode": KeySharedMode.STICKY, "hashRanges": [{"start": 10, "end": 19}]}
SPLIT = {"keySharedMode": KeySharedMode.AUTO_SPLIT}
LOOSE = {"keySharedMode": KeySharedMode.AUTO_SPLIT, "allowOutOfOrderDelivery": True}

WANTS: dict[str, dict[str, Any]] = {
    "Exclusive": {"kind": "Exclusive"},
    "Shared": {"kind": "Shared"},
    "Failover": {"kind": "Failover"},
    "Key_Shared": {"kind": "Key_Shared", "keySharedMeta": SPLIT},
    "Key_Shared out of order": {"kind": "Key_Shared", "keySharedMeta": LOOSE},
    "Key_Shared by ranges": {"kind": "Key_Shared", "keySharedMeta": STICKY},
    "Key_Shared by other ranges": {"kind": "Key_Shared", "keySharedMeta": OTHERS},
    "reader": {"kind": "Exclusive", "durable": False},
}
IN, BUSY, TAKEN, FORBIDDEN = "in", "ConsumerBusy", "ConsumerAssignError", "NotAllowedError"

JOINS: dict[str, dict[str, str]] = {
    "Exclusive": dict.fromkeys(WANTS, BUSY) | {"reader": FORBIDDEN},
    "Shared": dict.fromkeys(WANTS, BUSY) | {"Shared": IN, "reader": FORBIDDEN},
    "Failover": dict.fromkeys(WANTS, BUSY) | {"Failover": IN, "reader": FORBIDDEN},
    "Key_Shared": dict.fromkeys(WANTS, BUSY) | {"Key_Shared": IN, "reader": FORBIDDEN},
    "Key_Shared out of order": dict.fromkeys(WANTS, BUSY) | {"Key_Shared out of order": IN, "reader": FORBIDDEN},
    "Key_Shared by ranges": dict.fromkeys(WANTS, BUSY)
    | {"Key_Shared by ranges": TAKEN, "Key_Shared by other ranges": IN, "reader": FORBIDDEN},
    "reader": dict.fromkeys(WANTS, FORBIDDEN) | {"reader": BUSY},
}
"""Who is there -> who comes -> the answer."""


def _join(bench: Bench, conn: int, wants: str) -> str:
    bench.connect(conn)
    bench.take(conn)
    fields = dict(WANTS[wants])
    given = {"topic": T, "subscription": "s", "subType": fields.pop("kind"), "consumer_id": 1, **fields}
    bench.request(C.SUBSCRIBE, conn, **given)
    bench.tell(C.PONG, 1)
    answer = next(frame for frame in bench.take(conn) if frame.type in (C.SUCCESS, C.ERROR))
    return IN if answer.type == C.SUCCESS else ServerError.Name(answer.body.error)


@pytest.mark.parametrize(
    ("there", "comes", "answer"),
    [(there, comes, answer) for there, row in JOINS.items() for comes, answer in row.items()],
)
def test_who_may_join(there: str, comes: str, answer: str) -> None:
    bench = Bench()
    assert _join(bench, 1, there) == IN
    assert _join(bench, 2, comes) == answer


@pytest.mark.parametrize("before", [wants for wants in WANTS if wants != "reader"])
@pytest.mark.parametrize("after", [wants for wants in WANTS if wants != "reader"])
def test_any_kind_may_follow_once_nobody_is_there(before: str, after: str) -> None:
    bench = Bench()
    _join(bench, 1, before)
    bench.leave(1)
    assert _join(bench, 2, after) == IN


# --- where a subscription stands --------------------------------------------------------------------------------------

INDIVIDUAL, CUMULATIVE = 0, 1


def _acks(kind: int, *numbers: int, **id_fields: Any) -> Callable[[Bench], None]:
    def tell(bench: Bench) -> None:
        positions = [{"ledgerId": bench.ids[n].ledger, "entryId": bench.ids[n].entry, **id_fields} for n in numbers]
        bench.tell(C.ACK, consumer_id=1, ack_type=kind, message_id=positions)

    return tell


def _seeks_to_second(bench: Bench) -> None:
    id = bench.ids[1]
    bench.request(C.SEEK, consumer_id=1, message_id={"ledgerId": id.ledger, "entryId": id.entry})


MOVES: dict[str, tuple[Callable[[Bench], None], tuple[int, list[int]], tuple[int, list[int]]]] = {
    "ack of the first": (_acks(INDIVIDUAL, 0), (1, []), (1, [])),
    "ack after a hole": (_acks(INDIVIDUAL, 2), (0, [2]), (0, [2])),
    "ack of two": (_acks(INDIVIDUAL, 0, 2), (1, [2]), (1, [2])),
    "ack of members": (_acks(INDIVIDUAL, 0, ack_set=[1]), (0, []), (0, [])),
    "ack up to": (_acks(CUMULATIVE, 2), (3, []), (0, [])),
    "ack up to two ids": (_acks(CUMULATIVE, 1, 2), (0, []), (0, [])),
    "ack up to a member": (_acks(CUMULATIVE, 2, ack_set=[1]), (2, []), (0, [])),
    "redelivery": (lambda bench: bench.redeliver(), (0, []), (0, [])),
    "seek": (_seeks_to_second, (1, []), (1, [])),
    "close": (lambda bench: bench.request(C.CLOSE_CONSUMER, consumer_id=1), (0, []), (0, [])),
    "end of the connection": (lambda bench: bench.leave(), (0, []), (0, [])),
    "unload": (lambda bench: bench.step("unload", topic="t"), (0, []), (0, [])),
    "restart": (lambda bench: bench.step("restart"), (0, []), (0, [])),
    "terminate": (lambda bench: bench.step("terminate", topic="t"), (0, []), (0, [])),
}
"""What happens -> how many entries are acknowledged from the first on, and which beyond, where one consumer is active
(Exclusive, Failover), and where several are (Shared, Key_Shared)."""


@pytest.mark.parametrize("what", MOVES)
@pytest.mark.parametrize("kind", ["Exclusive", "Failover", "Shared", "Key_Shared"])
def test_where_a_subscription_stands(kind: str, what: str) -> None:
    happens, ordered, shared = MOVES[what]
    bench = Bench()
    bench.connect(9)
    bench.produce(9)
    bench.publish(*range(4), conn=9)
    bench.connect(0)
    bench.subscribe(kind)
    bench.flow(10)
    bench.wait(1_000)
    happens(bench)
    state = bench.cursor()
    mark = 0 if state.mark_delete is None else bench.ids.index(state.mark_delete) + 1
    expected = ordered if kind in ("Exclusive", "Failover") else shared
    assert (mark, [bench.ids.index(id) for id in state.acked]) == expected
