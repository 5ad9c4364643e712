"""What a script looks for is there where the client deviates, and not where it does what it should."""

from __future__ import annotations

import sys
import threading
import time
import zlib
from dataclasses import dataclass, field
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from assay_reports.export.pieces import RUNTIME, needed

FULL, REFUSED, LATE = "Result.ProducerQueueIsFull", "Result.NotAllowedError", "Result.Timeout"
RESULTS = SimpleNamespace(ProducerQueueIsFull=FULL, NotAllowedError=REFUSED, Timeout=LATE)
OF_A_CALL = {"is_ok", "is_open_at", "took_s"}
"""What of the runtime asks nobody."""
LIMIT = {"command": "CONNECTED", "dir": "b2c", "fields": {"max_message_size": 1000}}


@dataclass(eq=False)
class Call:
    """As `calls.Call` has it: begun and over at these seconds, over at none: not yet."""

    what: str = "send_async"
    called: float = 0.0
    over: float | None = 0.0
    error: str = ""
    size: int = 10
    payload: bytes = b""
    details: dict[str, Any] = field(default_factory=dict)
    result: Any = None

    handle: Any = None

    @property
    def ended(self) -> threading.Event:
        return threading.Event()

    @property
    def data(self) -> bytes:
        return self.payload or bytes(self.size)


@dataclass(eq=False)
class Handle:
    """As `calls.Handle` has it."""

    sends: tuple[Call, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    messages: list[Any] = field(default_factory=list)


def handle(*sends: Call, **told: Any) -> Handle:
    return Handle(sends, **told)


def told(function: str, *events: dict[str, Any], calls: Any = (), handles: Any = ()) -> str:
    """What that symptom says; events are frames towards the broker unless they say otherwise, in this order."""
    seen = [{"kind": "frame", "dir": "c2b", "conn": 0, "seq": seq, "meta": {}, **one} for seq, one in enumerate(events)]

    def frames(command: str, direction: str = "c2b") -> list[Any]:
        return [one for one in seen if one.get("command") == command and one["dir"] == direction]

    known: dict[str, Any] = {
        "frames": frames,
        "ask": lambda _what: seen,
        "until": lambda _holds, _s: None,
        "finish": lambda: None,
        "CALLS": list(calls),
        "HANDLES": list(handles),
        "pulsar": SimpleNamespace(Result=RESULTS),
        "pairwise": pairwise,
        "sys": sys,
        "time": time,
        "zlib": zlib,
        "Any": Any,
    }
    copied = [piece.source for piece in needed([function]) if piece.folder != RUNTIME or set(piece.names) <= OF_A_CALL]
    exec("\n".join(["from __future__ import annotations", *copied]), known)
    return str(known[function]())


@pytest.mark.parametrize(("open", "shows"), [(1, True), (2, False)])
def test_send_is_refused_with_room_where_fewer_are_under_way_than_may_be(open: int, shows: bool) -> None:
    sends = [Call(called=0.0, over=9.0)] * open + [Call(called=1.0, error=FULL)]
    there = [handle(*sends, options={"max_pending_messages": 2})]
    assert bool(told("flow_full_queue_answers__refused_with_room", LIMIT, handles=there)) is shows


@pytest.mark.parametrize(("size", "shows"), [(1000, True), (3001, False)])
def test_message_in_chunks_takes_a_place_for_each(size: int, shows: bool) -> None:
    sends = [Call(called=0.0, over=9.0, size=size), Call(called=1.0, error=FULL)]
    there = [handle(*sends, options={"max_pending_messages": 4})]
    assert bool(told("chunking_permits_return__refused_with_room", LIMIT, handles=there)) is shows


@pytest.mark.parametrize(("conn", "shows"), [(0, True), (1, False)])
def test_who_registers_with_the_old_cluster_alone_never_came(conn: int, shows: bool) -> None:
    opened: list[dict[str, Any]] = [{"kind": "opened", "conn": 0}, {"kind": "opened", "conn": 1, "broker": 1}]
    moved = {"dir": "b2c", "command": "TOPIC_MIGRATED", "fields": {"resource_type": "Producer", "resource_id": 3}}
    first, again = ({"command": "PRODUCER", "producer_id": 3, "conn": at} for at in (0, conn))
    assert bool(told("topics_follows_migration__never_came", *opened, first, moved, again)) is shows


@pytest.mark.parametrize(("chunk", "receipt", "shows"), [(1, False, True), (1, True, False), (0, False, False)])
def test_chunk_is_skipped_where_those_before_it_have_no_receipt(chunk: int, receipt: bool, shows: bool) -> None:
    receipts = [{"dir": "b2c", "command": "SEND_RECEIPT", "sequence_id": 0}] * receipt
    first, again = ({"command": "SEND", "conn": at, "meta": {"uuid": "u", "chunk_id": at * chunk}} for at in (0, 1))
    assert bool(told("chunking_survives_reconnect__chunk_skipped", first, *receipts, again)) is shows


@pytest.mark.parametrize(("answers", "shows"), [(("SEND_ERROR", "SEND_RECEIPT"), True), (("SEND_RECEIPT",) * 2, False)])
@pytest.mark.parametrize("again", [False, True])
def test_chunk_that_was_refused_has_no_receipt_unless_it_is_sent_again(
    again: bool, answers: tuple[str, ...], shows: bool
) -> None:
    first, second, third = ({"command": "SEND", "meta": {"uuid": "u", "chunk_id": chunk}} for chunk in (0, 1, 1))
    altered = [{**first, "sides": side} for side in ("sender", "receiver")]
    came = [{"dir": "b2c", "command": command} for command in answers]
    sent: list[dict[str, Any]] = [*altered, second, *came, *([first] * again), {**third, "conn": 1}]
    assert bool(told("chunking_survives_reconnect__chunk_skipped", *sent)) is (shows and not again)


@pytest.mark.parametrize(("over", "shows"), [(3.0, True), (None, True), (0.5, False)])
def test_flush_is_early_where_a_send_before_it_ends_after_it(over: float | None, shows: bool) -> None:
    calls = [Call(called=0.0, over=over), Call("flush", called=0.1, over=1.0), Call(called=0.2, over=None)]
    assert bool(told("producer_flush_waits__flushed_early", calls=calls)) is shows


@pytest.mark.parametrize("early", [True, False])
def test_permits_are_early_before_the_answer_to_their_subscribe(early: bool) -> None:
    flow = {"command": "FLOW", "consumer_id": 0, "permits": 1}
    answer = {"command": "SUCCESS", "dir": "b2c", "request_id": 7}
    subscribe = {"command": "SUBSCRIBE", "consumer_id": 0, "request_id": 7}
    order = [subscribe, flow, answer] if early else [subscribe, answer, flow]
    assert bool(told("flow_first_permits_fill_the_queue__before_success", *order)) is early


@pytest.mark.parametrize(("came", "shows"), [((b"a",), True), ((b"a", b"a"), False)])
def test_large_message_that_was_refused_comes_again(came: tuple[bytes, ...], shows: bool) -> None:
    messages = [
        SimpleNamespace(data=lambda data=data: data, redelivery_count=lambda at=at: at) for at, data in enumerate(came)
    ]
    refusals = [Call("negative_acknowledge", handle=handle(messages=messages), result=list(range(len(came))))]
    assert bool(told("letters_large_is_buried__never_again", calls=refusals)) is shows


@pytest.mark.parametrize(("redelivered", "asked", "shows"), [(1, 1, True), (0, 1, False), (1, 2, False)])
def test_large_message_redelivered_as_often_as_it_may_be_is_not_asked_for(
    redelivered: int, asked: int, shows: bool
) -> None:
    came: dict[str, Any] = {"command": "MESSAGE", "dir": "b2c", "ids": [[1, 1]], "meta": {"chunk_id": 1}}
    came["redelivery_count"] = redelivered
    again = {"command": "REDELIVER_UNACKNOWLEDGED_MESSAGES", "ids": [[1, asked]]}
    assert bool(told("letters_large_is_buried__asked_again", came, again)) is shows


@pytest.mark.parametrize(("sought", "first"), [(150, 1), ([1, 1], 2)], ids=["a time", "a message"])
@pytest.mark.parametrize("entry", [1, 2])
def test_seek_starts_at_the_first_entry_of_its_time_or_behind_its_message(sought: Any, first: int, entry: int) -> None:
    times = enumerate((100, 200, 300))
    stored = [{"kind": "stored", "id": [1, at, -1, -1, 0], "meta": {"publish_time_ms": ms}} for at, ms in times]
    id = SimpleNamespace(ledger_id=lambda: 1, entry_id=lambda: entry)
    consumer = Handle(messages=[SimpleNamespace(message_id=lambda: id)])
    seeks = [Call("seek", handle=consumer, result=(0, sought))]
    assert bool(told("seek_starts_at_target__wrong_start", *stored, calls=seeks)) is (entry != first)


@pytest.mark.parametrize(("sent", "error", "shows"), [(b"a", "", False), (b"b", "", True), (b"b", LATE, False)])
def test_message_is_lost_where_its_send_ended_well_alone(sent: bytes, error: str, shows: bool) -> None:
    stored = {"kind": "stored", "members": [{"digest": zlib.crc32(b"a")}]}
    there = [handle(Call(error=error, payload=sent))]
    assert bool(told("delivery_ok_is_stored__not_stored", stored, handles=there)) is shows


@pytest.mark.parametrize(("partition", "shows"), [(2, False), (3, True)])
def test_key_goes_where_java_would_send_it(partition: int, shows: bool) -> None:
    answer = {"command": "PARTITIONED_METADATA_RESPONSE", "dir": "b2c", "fields": {"partitions": 5}}
    sent = Call(details={"key": "a"}, result=SimpleNamespace(partition=lambda: partition))
    assert bool(told("routing_default_hash__other_default", answer, calls=[sent])) is shows


@pytest.mark.parametrize(("error", "shows"), [(REFUSED, False), (LATE, True), ("", True)])
def test_send_that_was_refused_fails_of_it(error: str, shows: bool) -> None:
    answer = {"command": "SEND_ERROR", "dir": "b2c", "sequence_id": 0, "fields": {"error": "NotAllowedError"}}
    calls = [Call(details={"number": 0}, error=error), Call(details={"number": 1})]
    assert bool(told("resend_not_allowed_fails_one__not_failed", answer, calls=calls)) is shows


@pytest.mark.parametrize("back", [True, False])
def test_producer_that_was_closed_comes_back(back: bool) -> None:
    closed = {"command": "CLOSE_PRODUCER", "dir": "b2c"}
    again = [{"command": "PRODUCER"}] * back
    assert bool(told("resend_comes_back_after_close_producer__not_back", {"command": "PRODUCER"}, closed, *again)) is (
        not back
    )


@pytest.mark.parametrize("command", ["PRODUCER", "SUBSCRIBE"])
@pytest.mark.parametrize(
    ("error", "again", "shows"),
    [("TopicNotFound", 1, True), ("TopicNotFound", 0, False), ("ServiceNotReady", 1, False)],
)
def test_who_is_told_that_its_topic_is_gone_registers_again(command: str, error: str, again: int, shows: bool) -> None:
    register = {"command": command}
    refused: dict[str, Any] = {"command": "ERROR", "dir": "b2c", "fields": {"error": error}}
    order = [register, register, refused, *([register] * again)]
    assert bool(told("topics_deleted_is_final__kept_trying", *order)) is shows


@pytest.mark.parametrize("again", [True, False])
def test_message_whose_letter_could_not_be_sent_is_asked_for(again: bool) -> None:
    refused = {"command": "ERROR", "dir": "b2c"}
    asked = {"command": "REDELIVER_UNACKNOWLEDGED_MESSAGES"}
    order = [asked, refused, *([asked] * again)]
    assert bool(told("letters_buried_then_acked__not_redelivered", *order)) is not again


@pytest.mark.parametrize(("digest", "shows"), [(1, False), (2, True)])
def test_letter_is_a_copy_of_what_was_stored(digest: int, shows: bool) -> None:
    stored = {"kind": "stored", "members": [{"size": 3, "digest": 1}]}
    letter = {"command": "SEND", "meta": {"letter": {"a": "b"}}, "members": [{"size": 3, "digest": digest}]}
    assert bool(told("letters_dead_letter_is_whole__payload_changed", stored, letter)) is shows


@pytest.mark.parametrize(("answered", "shows"), [(3, True), (8, False)])
def test_seek_ends_with_the_answer_to_the_subscribe_behind_it(answered: int, shows: bool) -> None:
    order: list[dict[str, Any]] = [
        {"command": "SUBSCRIBE", "request_id": 3},
        {"command": "SEEK"},
        {"command": "CLOSE_CONSUMER", "dir": "b2c"},
        {"command": "SUBSCRIBE", "request_id": 8},
        {"command": "SUCCESS", "dir": "b2c", "request_id": answered},
    ]
    timed = [{**one, "t_ns": at * 1_000_000} for at, one in enumerate(order)]
    seek = Call("seek", called=0.0, over=0.004)
    assert bool(told("seek_ends_when_connected__ended_while_away", *timed, calls=[seek])) is shows


def test_process_that_is_lost_is_told_of_from_outside() -> None:
    assert told("robustness_operations_end__agent_lost") == ""
