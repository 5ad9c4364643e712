"""Which sends may hold a place in the queue of their producer, by calls of one each 10 ms."""

from __future__ import annotations

from assay_conformance.judging.tolerance import MS
from assay_conformance.model.event import Completion, ErrorClass, Invoke, Outcome
from assay_conformance.pulsar.timeline.producers import Send
from assay_conformance.pulsar.timeline.queued import QueuedSends

APART_MS = 10


def _call(number: int) -> Invoke:
    return Invoke(
        seq=2 * number, t_ns=number * APART_MS * MS, op=number, verb="send", args={}, number=number, size=1 + number
    )


def _send(number: int, ended_ms: int | None, error: ErrorClass | None = None) -> Send:
    if ended_ms is None:
        return Send(_call(number))
    outcome = Outcome.OK if error is None else Outcome.FAIL
    end = Completion(seq=2 * number + 1, t_ns=ended_ms * MS, op=number, verb="send", outcome=outcome, error=error)
    return Send(_call(number), end)


def _held(sends: list[Send], at: int) -> list[int]:
    queued, call = QueuedSends(sends), _call(at)
    held = list(queued.held(call, call.seq))
    assert queued.count_held(call, call.seq) == (len(held), sum(send.invoke.size or 0 for send in held))
    return [send.invoke.op for send in held]


def test_a_send_holds_its_place_until_it_has_surely_ended() -> None:
    sends = [_send(0, 50), _send(1, 101), _send(2, None)]
    assert _held(sends, 20) == [1, 2]


def test_sends_asked_for_later_hold_none() -> None:
    assert _held([_send(0, None), _send(1, None), _send(2, None)], 1) == [0]


def test_refused_sends_hold_none() -> None:
    assert _held([_send(0, None), _send(1, 11, ErrorClass.QUEUE_FULL), _send(2, 21, ErrorClass.TIMEOUT)], 3) == [0, 2]


def test_one_that_never_ends_hides_no_end_behind_it() -> None:
    assert _held([_send(0, None), _send(1, 30), _send(2, 290)], 30) == [0, 2]
