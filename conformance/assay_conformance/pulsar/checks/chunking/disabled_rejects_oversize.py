from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.consumption import from_client
from assay_conformance.model.event import Completion, ErrorClass, Frame, Invoke
from assay_conformance.pulsar.checks.chunking._sent_chunks import chunk_of
from assay_conformance.pulsar.checks.chunking._size_limits import HighestLimit, ended_unmeasured
from assay_conformance.pulsar.timeline import (
    DEFAULT_SEND_TIMEOUT_MS,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    each,
    ms,
)

PADDING_BYTES = 10 * 1024
"""Any frame may exceed the limit by so much; a broker closes the connection for a larger one."""


@check("chunking.disabled-rejects-oversize")
def disabled_rejects_oversize(timeline: Timeline) -> Says:
    """chunking.disabled-rejects-oversize: without chunking a message beyond the limit fails at once with an error of
    its own, and nothing of it is sent.

    Judged without compression, for messages sent after the limit was announced, and without a custom router, which may
    fail them first. A message that may wait in a batch for longer than its time-out may end before it is measured, and
    so may one that waits for room when its producer is closed. One that waits for room and never ends is judged by
    another requirement.
    """
    limit = HighestLimit(timeline)
    yield from each(timeline.events.frames("SEND"), _judge_no_larger, limit)
    yield from each(_oversize(timeline, limit), _judge_refused, timeline, limit)


def _judge_no_larger(limit: HighestLimit, send: Frame) -> Says:
    allowed = limit.before(send)
    if 0 < allowed < send.size - PADDING_BYTES and from_client(send):
        yield breach(
            "sent-oversize",
            f"{chunk_of(send)} at {ms(send.t_ns)} is a frame of {send.size} bytes; expected an error instead, since "
            f"the broker's limit is {allowed}, and it closes the connection for a frame larger by {PADDING_BYTES}",
            send,
        )


def _oversize(timeline: Timeline, limit: HighestLimit) -> Iterator[tuple[Invoke, Completion]]:
    """Yield how sends beyond the limit ended, where that was the same all the while.

    Pending ones may be measured by either otherwise.
    """
    setting = timeline.view.producer_setting
    for end in timeline.ends("send"):
        call, handle = timeline.call(end), end.handle or 0
        if not 0 < limit.before(call) < (call.size or 0) or limit.before(call) != limit.before(end):
            continue
        splits = setting(handle, "chunking") or setting(handle, "router") is not None
        # The producer of its partition may be refused first.
        splits = splits or timeline.opens_lazily(handle)
        if not splits and setting(handle, "compression") in (None, "NONE") and not timeline.was_overdue(end):
            yield call, end


def _judge_refused(timeline: Timeline, limit: HighestLimit, oversize: tuple[Invoke, Completion]) -> Says:
    call, end = oversize
    if ended_unmeasured(timeline, end) or (end.error is ErrorClass.TIMEOUT and _outwaits(timeline, end.handle or 0)):
        return
    if end.error is ErrorClass.TOO_LARGE:
        yield Exercised(end)
        return
    yield breach(
        "not-refused",
        f"producer {end.handle}: message {call.number} of {call.size} bytes was sent at {ms(call.t_ns)}, and the limit "
        f"is {limit.before(end)} bytes; expected an error of class too_large; it ended at {ms(end.t_ns)} as "
        f"{end.error or end.outcome}",
        *(call, end),
    )


def _outwaits(timeline: Timeline, handle: int) -> bool:
    """Return whether a batch may stay open for longer than the send time-out."""
    setting = timeline.view.producer_setting
    timeout_ms = int(setting(handle, "send_timeout_ms") or DEFAULT_SEND_TIMEOUT_MS)
    delay_ms = int(setting(handle, "batching_max_publish_delay_ms") or 0)
    return setting(handle, "batching") is True and delay_ms >= timeout_ms
