"""The limits of a producer's batches, as far as checks bound it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from assay_conformance.checks.base import View
from assay_conformance.pulsar.timeline import MS, TOLERANCES, Timeline, Unit
from assay_conformance.tuning import Closing

CROSSING_NS = TOLERANCES["crossing"].slack_ns
PART_OF_PERIOD = 5
"""A period is known again by what is at most this part of it off."""


@dataclass(frozen=True, slots=True)
class Limits:
    """0 where a limit is off."""

    messages: int
    bytes: int
    delay_ms: int

    def reached_by(self, unit: Unit, after: Unit | None = None, *, headers: bool = False) -> Closing | None:
        """Return the limit that the batch had reached, or would have exceeded with the next message (of unit `after`).

        What comes to its bytes exactly has still room (Java, C++ and Go clients alike). Bytes are those of the
        payloads, as Java and C++ clients count. With `headers` the Go client's count is considered, too: what stands in
        front of each message inside is part of it.
        """
        if 0 < self.messages <= len(unit.numbers):
            return Closing.COUNT
        inside = sum(member.size for member in unit.first.members)
        if headers and unit.first.meta is not None:
            inside = max(inside, unit.first.meta.uncompressed_size)
        following = sum(member.size for member in after.first.members[:1]) if after is not None else 0
        return Closing.BYTES if self.bytes > 0 and (inside >= self.bytes or inside + following > self.bytes) else None


def limits_of(view: View, handle: int) -> Limits | None:
    """Return the limits; None for a producer that does not batch, or whose delay is not known."""
    setting = view.producer_setting
    delay_ms = setting(handle, "batching_max_publish_delay_ms")
    if setting(handle, "batching") is not True or delay_ms is None:
        return None
    messages, size = setting(handle, "batching_max_messages"), setting(handle, "batching_max_bytes")
    return Limits(max(int(messages or 0), 0), max(int(size or 0), 0), int(delay_ms))


def in_one_frame(view: View, limits: Limits) -> Limits:
    """Return these limits, and that of the broker: what exceeds it may leave in smaller batches."""
    most = view.case.topology.max_message_bytes
    return replace(limits, bytes=min(limits.bytes or most, most))


def units_read_at_once(view: View, handle: int) -> Iterator[Unit]:
    """Yield the units of a producer whose moment of leaving is known."""
    for line in view.tracker.lines.of_handle(handle):
        if view.is_read_at_once():
            yield from line.units


def asked_ns(view: View, unit: Unit) -> int | None:
    """Return when the client was given the unit's first message, by its agent's own stamp, or None.

    An agent that waits for something else of that producer keeps a send back, so nothing else shows it.
    """
    known = unit.line.handle is not None and unit.numbers
    send = view.tracker.send_of(unit.line.handle or 0, unit.numbers[0]) if known else None
    return None if send is None else send.called_ns


def left_by_period(unit: Unit, delay_ms: int) -> bool:
    """Return whether whole delays had passed since the batch in front left, or since the producer was admitted.

    A client may look at its open batch once a delay (Go client, producer_partition.go: batchFlushTicker); then its
    first message has waited for less.
    """
    units, period_ns = unit.line.units, delay_ms * MS
    ready = units[0].sends[0][0].ready
    began = [units[unit.index - 1].first.t_ns] if unit.index else []
    began += [ready.t_ns] if ready is not None else []
    return any(_is_whole(unit.first.t_ns - since_ns, period_ns) for since_ns in began)


def _is_whole(passed_ns: int, period_ns: int) -> bool:
    periods = round(passed_ns / period_ns) if period_ns else 0
    return periods > 0 and abs(passed_ns - periods * period_ns) <= min(CROSSING_NS, period_ns // PART_OF_PERIOD)


def admitted_by(unit: Unit, t_ns: int) -> bool:
    """Return whether the session on which the unit first left was open by then, and so until it left."""
    ready = unit.sends[0][0].ready
    return ready is not None and ready.t_ns <= t_ns


def is_clear(timeline: Timeline, handle: int) -> bool:
    """Return whether all messages and SENDs of a producer are known, in the client's own order."""
    lines = timeline.view.tracker.lines
    return handle not in lines.burst | lines.torn_sends | lines.forged_sends | lines.foresight.explicit
