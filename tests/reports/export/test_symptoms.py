"""What a script looks for is there where the client deviates, and not where it does what it should."""

from __future__ import annotations

import json
import sys
import threading
import time
import zlib
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from assay_fixtures.agents.manifest import find
from assay_fixtures.reference.probe import ReferenceTrial
from assay_reports.export.pieces import RUNTIME, needed, pieces
from assay_reports.export.script import function_name
from assay_reports.replay import read_replay

REPLAYS = sorted((find("pulsar-python").folder / "replays").glob("*.json"))

FULL, REFUSED, LATE = "Result.ProducerQueueIsFull", "Result.NotAllowedError", "Result.Timeout"
TERMINATED = "Result.TopicTerminated"
RESULTS = SimpleNamespace(ProducerQueueIsFull=FULL, NotAllowedError=REFUSED, Timeout=LATE, TopicTerminated=TERMINATED)
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
    return _said(function, seen, list(calls), list(handles))


def _said(function: str, seen: list[Any], calls: list[Any], handles: list[Any]) -> str:
    def frames(command: str, direction: str = "c2b") -> list[Any]:
        return [one for one in seen if one.get("command") == command and one["dir"] == direction]

    known: dict[str, Any] = {
        "frames": frames,
        "ask": lambda _what: seen,
        "until": lambda _holds, _s: None,
        "finish": lambda: None,
        "CALLS": calls,
        "HANDLES": handles,
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
    assert bool(told("flow_full_queue_blocks_or_fails__refused_with_room", LIMIT, handles=there)) is shows


@pytest.mark.parametrize(("size", "shows"), [(1000, True), (3001, False)])
def test_message_in_chunks_takes_a_place_for_each(size: int, shows: bool) -> None:
    sends = [Call(called=0.0, over=9.0, size=size), Call(called=1.0, error=FULL)]
    there = [handle(*sends, options={"max_pending_messages": 4})]
    assert bool(told("chunking_releases_queue_and_memory__refused_with_room", LIMIT, handles=there)) is shows


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
    assert bool(told("flow_initial_permits_equal_queue_size__before_success", *order)) is early


@pytest.mark.parametrize(("came", "shows"), [((b"a",), True), ((b"a", b"a"), False)])
def test_large_message_that_was_refused_comes_again(came: tuple[bytes, ...], shows: bool) -> None:
    messages = [
        SimpleNamespace(data=lambda data=data: data, redelivery_count=lambda at=at: at) for at, data in enumerate(came)
    ]
    refusals = [Call("negative_acknowledge", handle=handle(messages=messages), result=list(range(len(came))))]
    assert bool(told("dead_letter_large_message_chunked__never_again", calls=refusals)) is shows


@pytest.mark.parametrize(("redelivered", "asked", "shows"), [(1, 1, True), (0, 1, False), (1, 2, False)])
def test_large_message_redelivered_as_often_as_it_may_be_is_not_asked_for(
    redelivered: int, asked: int, shows: bool
) -> None:
    came: dict[str, Any] = {"command": "MESSAGE", "dir": "b2c", "ids": [[1, 1]], "meta": {"chunk_id": 1}}
    came["redelivery_count"] = redelivered
    again = {"command": "REDELIVER_UNACKNOWLEDGED_MESSAGES", "ids": [[1, asked]]}
    assert bool(told("dead_letter_large_message_chunked__asked_again", came, again)) is shows


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
    assert bool(told("delivery_successful_send_is_stored__not_stored", stored, handles=there)) is shows


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


@pytest.mark.parametrize(("error", "shows"), [("Result.ProducerFenced", True), (TERMINATED, False), ("", False)])
def test_send_on_a_terminated_topic_says_so(error: str, shows: bool) -> None:
    answer = {"command": "SEND_ERROR", "dir": "b2c", "fields": {"error": "TopicTerminatedError"}}
    assert bool(told("resend_terminated_fails_all__wrong_error", answer, calls=[Call(error=error)])) is shows


@pytest.mark.parametrize("back", [True, False])
def test_producer_that_was_closed_comes_back(back: bool) -> None:
    closed = {"command": "CLOSE_PRODUCER", "dir": "b2c"}
    again = [{"command": "PRODUCER"}] * back
    assert bool(told("resend_reconnects_after_close_producer__not_back", {"command": "PRODUCER"}, closed, *again)) is (
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
    assert bool(told("topics_topic_not_found_is_final__kept_trying", *order)) is shows


@pytest.mark.parametrize("again", [True, False])
def test_message_whose_letter_could_not_be_sent_is_asked_for(again: bool) -> None:
    refused = {"command": "ERROR", "dir": "b2c"}
    asked = {"command": "REDELIVER_UNACKNOWLEDGED_MESSAGES"}
    order = [asked, refused, *([asked] * again)]
    assert bool(told("dead_letter_original_acked_after_receipt__not_redelivered", *order)) is not again


@pytest.mark.parametrize(("digest", "shows"), [(1, False), (2, True)])
def test_letter_is_a_copy_of_what_was_stored(digest: int, shows: bool) -> None:
    stored = {"kind": "stored", "members": [{"size": 3, "digest": 1}]}
    letter = {"command": "SEND", "meta": {"letter": {"a": "b"}}, "members": [{"size": 3, "digest": digest}]}
    assert bool(told("dead_letter_copy_is_complete__payload_changed", stored, letter)) is shows


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
    assert bool(told("seek_completes_after_resubscribe__ended_while_away", *timed, calls=[seek])) is shows


def test_process_that_is_lost_is_told_of_from_outside() -> None:
    assert told("robustness_calls_do_not_hang__agent_lost") == ""


def send(sequence_id: int, *inside: int, **more: Any) -> dict[str, Any]:
    """A SEND with messages of these sequence ids, else with one."""
    ids = inside or (sequence_id,)
    return {
        "command": "SEND",
        "sequence_id": sequence_id,
        "unit": sequence_id,
        "members": [{"sequence_id": id, "digest": id} for id in ids],
        **more,
    }


def chunk(number: int, entry: int) -> dict[str, Any]:
    return {"command": "MESSAGE", "dir": "b2c", "ids": [[1, entry, -1, -1, 0]], "meta": {"chunk_id": number}}


def ack(*entries: int) -> dict[str, Any]:
    return {"command": "ACK", "ids": [[1, entry, -1, -1, 0] for entry in entries]}


CLOSED: dict[str, Any] = {"kind": "closed", "by": "client"}


@pytest.mark.parametrize(("next", "shows"), [(3, True), (2, False)])
def test_id_is_skipped_where_it_is_not_the_next(next: int, shows: bool) -> None:
    order = [send(0, 0, 1), {**send(0, 0, 1), "conn": 1}, send(next)]
    assert bool(told("ordering_sequence_ids_increase_by_one__id_skipped", *order)) is shows


@pytest.mark.parametrize(("ids", "shows"), [((1, 2, 3), True), ((1, 2), False), ((3, 4), False)])
def test_batch_of_old_ids_has_no_new_one(ids: tuple[int, ...], shows: bool) -> None:
    order = [send(0, 0, 1, 2), send(ids[0], *ids, unit=9)]
    assert bool(told("dedup_old_and_new_ids_in_separate_batches__mixed", *order)) is shows


@pytest.mark.parametrize(("highest", "id", "shows"), [(1, 1, True), (1, 2, False), (4, 2, True)])
def test_entry_by_key_goes_by_an_id_above_those_told(highest: int, id: int, shows: bool) -> None:
    first = send(0, 0, 1, highest_sequence_id=highest)
    assert bool(told("batching_key_based_order__id_told_before", first, send(id, unit=9))) is shows


@pytest.mark.parametrize(("keys", "shows"), [(("a", "a"), True), (("a", "b"), False)])
def test_messages_of_a_key_leave_as_they_were_sent(keys: tuple[str, str], shows: bool) -> None:
    order = [send(id, meta={"key": key}) for id, key in zip((1, 0), keys, strict=True)]
    assert bool(told("batching_key_based_order__key_out_of_order", *order)) is shows


@pytest.mark.parametrize(("entry", "shows"), [(1, True), (0, False)])
def test_message_is_told_to_be_where_it_is_stored(entry: int, shows: bool) -> None:
    stored = {"kind": "stored", "id": [1, 0, -1, -1, 0], "members": [{"digest": zlib.crc32(b"a")}]}
    sent = Call(payload=b"a", result=SimpleNamespace(ledger_id=lambda: 1, entry_id=lambda: entry))
    assert bool(told("batching_succeeds_or_fails_as_one__wrong_entry", stored, handles=[handle(sent)])) is shows


@pytest.mark.parametrize(
    ("receipts", "leaves", "shows"), [((1,), False, True), ((1,), True, False), ((0, 1), False, False)]
)
def test_receipt_ahead_is_answered_by_leaving(receipts: tuple[int, ...], leaves: bool, shows: bool) -> None:
    came = [{"command": "SEND_RECEIPT", "dir": "b2c", "sequence_id": id} for id in receipts]
    order = [send(0), send(1), *came, *([CLOSED] * leaves)]
    assert bool(told("resend_receipt_ahead_closes_connection__stayed", *order)) is shows


@pytest.mark.parametrize(("over", "shows"), [(None, True), (1.0, False)])
def test_send_before_a_close_ends_with_it(over: float | None, shows: bool) -> None:
    calls = [Call(called=0.0, over=over), Call("close", called=0.5, over=0.6), Call(called=0.7, over=None)]
    assert bool(told("resend_closed_stays_closed__left_pending", calls=calls)) is shows


@pytest.mark.parametrize(("partitions", "shows"), [((3,) * 20, True), ((3,) * 19 + (1,), False)])
def test_producers_do_not_all_begin_at_one_partition(partitions: tuple[int, ...], shows: bool) -> None:
    first = [Call(result=SimpleNamespace(partition=lambda at=at: at)) for at in partitions]
    keyed = Call(details={"key": "a"}, result=SimpleNamespace(partition=lambda: 0))
    there = [handle(keyed, first[0]), *map(handle, first[1:]), handle()]
    assert bool(told("routing_round_robin_random_start__all_at_one", handles=there)) is shows


@pytest.mark.parametrize("again", [True, False])
def test_client_that_left_because_of_a_bad_frame_comes_back(again: bool) -> None:
    order: list[dict[str, Any]] = [{"kind": "opened"}, CLOSED, *([{"kind": "opened", "conn": 1}] * again)]
    assert bool(told("robustness_malformed_frame_closes_connection__not_back", *order)) is not again


@pytest.mark.parametrize("again", [True, False])
def test_producer_that_is_told_to_wait_is_registered_again(again: bool) -> None:
    refused: dict[str, Any] = {"command": "ERROR", "dir": "b2c", "fields": {"error": "ServiceNotReady"}}
    order: list[dict[str, Any]] = [{"command": "PRODUCER"}, refused, *([{"command": "PRODUCER"}] * again)]
    assert bool(told("resend_reconnect_retries_temporary_error__stayed_away", *order)) is not again


@pytest.mark.parametrize(("conn", "shows"), [(0, False), (1, True)])
def test_ping_is_answered_on_its_connection(conn: int, shows: bool) -> None:
    order: list[dict[str, Any]] = [{"command": "PING", "dir": "b2c"}, {"command": "PONG", "conn": conn}]
    assert bool(told("connection_answers_ping__no_pong", *order)) is shows


@pytest.mark.parametrize(("acked", "shows"), [((0, 1), False), ((0,), True)])
def test_chunks_of_the_beginning_that_was_given_up_are_acknowledged(acked: tuple[int, ...], shows: bool) -> None:
    order = [chunk(0, 0), chunk(1, 1), chunk(0, 2), ack(*acked)]
    assert bool(told("chunking_restarts_at_first_chunk__old_not_acked", *order)) is shows


@pytest.mark.parametrize(("entry", "shows"), [(7, False), (8, True)])
def test_message_with_spoilt_metadata_is_acknowledged(entry: int, shows: bool) -> None:
    spoilt = {"command": "MESSAGE", "dir": "b2c", "ids": [[1, 7, -1, -1, 0]]}
    assert bool(told("robustness_corrupt_metadata_discarded__not_reported", spoilt, ack(entry))) is shows


@pytest.mark.parametrize(("got", "shows"), [(1, True), (2, False)])
def test_messages_whose_chunks_came_by_turns_are_received(got: int, shows: bool) -> None:
    calls = [Call("receive", details={"count": 2}, result=got)]
    assert bool(told("chunking_assembles_by_uuid__not_delivered", calls=calls)) is shows


@pytest.mark.parametrize(("asked", "shows"), [(1, True), (2, False)])
def test_refused_message_is_asked_for_by_all_of_its_chunks(asked: int, shows: bool) -> None:
    again = {"command": "REDELIVER_UNACKNOWLEDGED_MESSAGES", "ids": [[1, at] for at in range(asked)]}
    order = [chunk(0, 0), chunk(1, 1), again, chunk(0, 0), chunk(1, 1)]
    assert bool(told("nack_requests_all_chunks__chunk_left_out", *order)) is shows


def message(entry: int, data: bytes = b"") -> Any:
    """As a consumer received it."""
    return SimpleNamespace(
        message_id=lambda: SimpleNamespace(ledger_id=lambda: 1, entry_id=lambda: entry), data=lambda: data
    )


@pytest.mark.parametrize(("taken", "shows"), [(0, True), (1, False)])
def test_garbled_message_is_not_delivered(taken: int, shows: bool) -> None:
    came = {"command": "MESSAGE", "dir": "b2c"}
    order: list[dict[str, Any]] = [
        {**came, "ids": [[1, 0, -1, -1, 0]], "meta": {"unpacked_bytes": 64}},
        {**came, "ids": [[1, 1, -1, -1, 0]]},
    ]
    there = [handle(messages=[message(taken)])]
    assert bool(told("compression_decompression_error_reported__garbled_delivered", *order, handles=there)) is shows


@pytest.mark.parametrize(("sent", "error", "shows"), [(b"a", "", False), (b"b", "", True), (b"b", LATE, False)])
def test_message_whose_send_ended_well_comes(sent: bytes, error: str, shows: bool) -> None:
    there = [handle(Call(error=error, payload=sent)), handle(messages=[message(0, b"a")])]
    assert bool(told("delivery_successful_send_is_delivered__lost", handles=there)) is shows


@pytest.mark.parametrize(("over", "flushed", "shows"), [(1.0, True, True), (0.2, True, False), (1.0, False, False)])
def test_flush_does_not_wait_for_the_publish_delay(over: float, flushed: bool, shows: bool) -> None:
    producer = handle(options={"batching_max_publish_delay_ms": 1000})
    calls = [Call(over=over, handle=producer), *([Call("flush", handle=producer)] * flushed)]
    assert bool(told("batching_flush_closes_batch__stayed_open", calls=calls)) is shows


OF_CALLS_AND_WAITS = {"CALLS", "HANDLES", "until", "finish"}
"""Symptoms that use none of these are told of by a history alone."""


def _by_history(path: Path) -> list[str]:
    replay = read_replay(path.read_bytes(), str(path))
    functions = [function_name(breach) for breach in replay.breaches if function_name(breach) in pieces()]
    uses = {function: {name for piece in needed([function]) for name in piece.names} for function in functions}
    return [function for function in functions if not uses[function] & OF_CALLS_AND_WAITS]


@pytest.mark.parametrize("path", [path for path in REPLAYS if _by_history(path)], ids=lambda path: path.stem)
def test_honest_client_shows_none_in_the_schedule_of_a_failure(path: Path) -> None:
    tried = ReferenceTrial().in_virtual_time(read_replay(path.read_bytes(), str(path)).case).events
    events = json.loads(msgspec.json.encode(tried))
    # A script looks before anything is closed in the end.
    ending = [one["seq"] for one in events if one["kind"] == "invoke" and one["verb"] == "close" and "step" not in one]
    seen = [one for one in events if one["seq"] < min(ending)]
    assert [told for function in _by_history(path) if (told := _said(function, seen, [], []))] == []
