"""Names and sizes of chunks, both ways, and what happens without them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.chunking.limits import (
    ChunksFitLimit,
    ChunksKeepSetting,
    ExcludesBatching,
    RefusesOversize,
    UuidNamesMessage,
)
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import NAME, PRODUCER, Script
from assay_conformance.model.case import Topology
from assay_conformance.model.event import ErrorClass, Invoke, Member, Meta, Outcome, Overdue

LIMIT = 1_000
CASE = msgspec.structs.replace(ANY_CASE, topology=Topology(max_message_bytes=LIMIT))


def _codes(check: Check) -> list[str]:
    return [finding.code for finding in check.findings]


def _chunk(check: type[Check], size: int = 900, uuid: str = f"{NAME}-0", **config: Any) -> Check:
    """One chunk of message 0, of this size and name."""
    story = Script()
    story.producer(**config)
    story.send(0, size=2_500)
    meta = Meta(producer_name=NAME, sequence_id=0, uuid=uuid, chunk_id=0, chunks=3, chunk_total_bytes=2_500)
    story.send_frame(0, size=size, meta=meta, members=(), fields={"is_chunk": True})
    return trial(check, story.done(), CASE)


def test_uuid_of_name_and_sequence_id_is_accepted() -> None:
    check = _chunk(UuidNamesMessage)
    assert (check.findings, check.exercised) == ([], 1)


def test_any_other_uuid_is_found() -> None:
    assert _codes(_chunk(UuidNamesMessage, uuid="0a1b2c")) == ["other-uuid"]


def test_chunk_within_the_limit_is_accepted() -> None:
    check = _chunk(ChunksFitLimit, size=LIMIT + 100)
    assert (check.findings, check.exercised) == ([], 1)


def test_chunk_that_forgot_its_metadata_is_found() -> None:
    assert _codes(_chunk(ChunksFitLimit, size=LIMIT + 400)) == ["too-large"]


def _no_room(error: ErrorClass, **config: Any) -> Check:
    story = Script()
    story.producer(chunking=True, **config)
    story.send(0, properties={"long": "x" * LIMIT})
    story.fail(0, error)
    return trial(ChunksFitLimit, story.done(), CASE)


def test_metadata_that_leave_no_room_are_refused() -> None:
    check = _no_room(ErrorClass.TOO_LARGE)
    assert (check.findings, check.exercised) == ([], 1)


def test_metadata_that_leave_no_room_must_not_be_tried() -> None:
    assert _codes(_no_room(ErrorClass.TIMEOUT)) == ["no-room-left"]


@pytest.mark.parametrize("error", [ErrorClass.QUEUE_FULL, ErrorClass.CLOSED])
def test_metadata_that_leave_no_room_may_be_refused_for_another_reason_first(error: ErrorClass) -> None:
    assert _codes(_no_room(error)) == []


def test_metadata_that_leave_no_room_show_nothing_as_their_producer_is_closed() -> None:
    story = Script()
    story.producer(chunking=True)
    story.send(0, properties={"long": "x" * LIMIT})
    story.invoke("close", PRODUCER)
    story.fail(0, ErrorClass.OTHER)
    assert _codes(trial(ChunksFitLimit, story.done(), CASE)) == []


def test_metadata_that_leave_no_room_go_nowhere_if_the_router_says_so() -> None:
    assert _codes(_no_room(ErrorClass.OTHER, router="out_of_range")) == []


# --- setting-makes-chunks-smaller -------------------------------------------------------------------------------------


def _kept(total: int, chunks: int | None, **config: Any) -> Check:
    """A message of so many bytes in so many chunks, or whole, of a producer whose chunks may have 500."""
    story = Script()
    story.producer(**{"chunking": True, "chunk_max_message_bytes": 500, **config})
    story.send(0, size=total)
    meta = Meta(producer_name=NAME, sequence_id=0)
    if chunks is None:
        story.send_frame(0, meta=meta, members=(Member(size=total, digest=0),))
    else:
        parts = {"uuid": "u", "chunk_id": 0, "chunks": chunks, "chunk_total_bytes": total}
        story.send_frame(0, meta=msgspec.structs.replace(meta, **parts), members=(), fields={"is_chunk": True})
    return trial(ChunksKeepSetting, story.done(), CASE)


@pytest.mark.parametrize(("total", "chunks"), [(501, 2), (1_000, 2), (1_500, 4)])
def test_chunks_of_the_size_that_is_set_are_accepted(total: int, chunks: int) -> None:
    check = _kept(total, chunks)
    assert (check.findings, check.exercised) == ([], 1)


@pytest.mark.parametrize(("total", "chunks"), [(1_001, 2), (900, 1), (900, None)])
def test_fewer_chunks_than_the_size_that_is_set_allows_are_found(total: int, chunks: int | None) -> None:
    assert _codes(_kept(total, chunks)) == ["larger"]


@pytest.mark.parametrize("config", [{"chunking": False}, {"chunk_max_message_bytes": 0}], ids=["whole", "unset"])
def test_of_whom_nothing_is_set_nothing_is_asked(config: dict[str, Any]) -> None:
    check = _kept(900, None, **config)
    assert (check.findings, check.exercised) == ([], 0)


# --- excludes-batching ------------------------------------------------------------------------------------------------


def test_refusing_both_is_accepted() -> None:
    story = Script()
    both = {"topic": "t", "config": {"batching": True, "chunking": True}}
    opening = story.invoke("open_producer", PRODUCER, args=both)
    story.complete(opening, Outcome.FAIL, error=ErrorClass.INVALID_CONFIG)
    check = trial(ExcludesBatching, story.done(), CASE)
    assert (check.findings, check.exercised) == ([], 1)


def test_chunking_dropped_in_silence_is_found() -> None:
    story = Script()
    story.producer(batching=True, chunking=True)
    story.send(0, size=2_500)
    story.fail(0, ErrorClass.TOO_LARGE)
    assert _codes(trial(ExcludesBatching, story.done(), CASE)) == ["chunking-dropped"]


def test_chunking_that_wins_is_accepted() -> None:
    check = _chunk(ExcludesBatching, batching=True, chunking=True)
    assert (check.findings, check.exercised) == ([], 1)


# --- refuses-oversize -------------------------------------------------------------------------------------------------


def _oversize(**config: Any) -> Script:
    story = Script()
    story.producer(**config)
    story.send(0, size=2_500)
    return story


def test_oversize_message_refused_at_once_is_accepted() -> None:
    story = _oversize()
    story.fail(0, ErrorClass.TOO_LARGE)
    check = trial(RefusesOversize, story.done(), CASE)
    assert (check.findings, check.exercised) == ([], 1)


@pytest.mark.parametrize("error", [ErrorClass.TERMINATED, ErrorClass.FENCED])
def test_oversize_message_that_ends_with_its_producer_shows_nothing(error: ErrorClass) -> None:
    story = _oversize()
    story.unknown(0, error)
    assert _codes(trial(RefusesOversize, story.done(), CASE)) == []


@pytest.mark.parametrize("error", [ErrorClass.TIMEOUT, ErrorClass.TRANSPORT])
def test_oversize_message_that_fails_otherwise_is_found(error: ErrorClass) -> None:
    story = _oversize()
    story.unknown(0, error)
    assert _codes(trial(RefusesOversize, story.done(), CASE)) == ["not-refused"]


def test_oversize_message_that_ends_as_its_producer_is_closed_shows_nothing() -> None:
    story = _oversize()
    story.invoke("close", PRODUCER)
    story.unknown(0, ErrorClass.OTHER)
    check = trial(RefusesOversize, story.done(), CASE)
    assert (_codes(check), check.exercised) == ([], 0)


def test_oversize_message_that_is_told_as_sent_while_its_producer_is_closed_is_found() -> None:
    story = _oversize()
    story.invoke("close", PRODUCER)
    story.ok(0)
    assert _codes(trial(RefusesOversize, story.done(), CASE)) == ["not-refused"]


def test_oversize_message_that_fails_before_its_producer_is_closed_is_found() -> None:
    story = _oversize()
    story.unknown(0, ErrorClass.OTHER)
    story.invoke("close", PRODUCER)
    assert _codes(trial(RefusesOversize, story.done(), CASE)) == ["not-refused"]


def test_oversize_message_that_waits_for_room_for_ever_is_not_judged() -> None:
    story = _oversize()
    call = next(event for event in story.events if isinstance(event, Invoke) and event.verb == "send")
    story.add(Overdue, op=call.op, verb="send", handle=call.handle, deadline_ms=20_000)
    story.unknown(0, ErrorClass.OTHER)
    assert _codes(trial(RefusesOversize, story.done(), CASE)) == []


def test_message_that_a_greater_limit_has_room_for_since_is_not_judged() -> None:
    story = Script()
    story.producer()
    story.down("CONNECTED", fields={"max_message_size": 1_000})
    story.send(0, size=2_500)
    story.connected(1)
    story.down("CONNECTED", 1, fields={"max_message_size": 10_000})
    story.ok(0)
    assert _codes(trial(RefusesOversize, story.done(), ANY_CASE)) == []


def test_oversize_message_that_leaves_is_found() -> None:
    story = _oversize()
    story.send_frame(0, size=20_000)
    assert _codes(trial(RefusesOversize, story.done(), CASE)) == ["sent-oversize"]


def test_message_that_a_router_may_fail_first_is_not_judged() -> None:
    story = _oversize(router="out_of_range")
    story.fail(0, ErrorClass.INVALID_CONFIG)
    check = trial(RefusesOversize, story.done(), CASE)
    assert (_codes(check), check.exercised) == ([], 0)


def test_message_that_may_be_compressed_is_not_judged() -> None:
    story = _oversize(compression="ZLIB")
    story.ok(0)
    check = trial(RefusesOversize, story.done(), CASE)
    assert (_codes(check), check.exercised) == ([], 0)


def test_oversize_message_may_wait_for_its_batch_until_it_times_out() -> None:
    story = _oversize(batching=True, batching_max_publish_delay_ms=700, send_timeout_ms=500)
    story.unknown(0, ErrorClass.TIMEOUT)
    assert _codes(trial(RefusesOversize, story.done(), CASE)) == []
