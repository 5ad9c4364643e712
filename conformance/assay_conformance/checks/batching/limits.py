"""What a producer was told of its batches, as far as checks bound it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from assay_conformance.checks.base import Check, View
from assay_conformance.checks.lines import Unit


@dataclass(frozen=True, slots=True)
class Limits:
    """0 where a limit is off."""

    messages: int
    bytes: int
    delay_ms: int

    def reached_by(self, unit: Unit) -> bool:
        """Whether the batch was full, and had to leave whatever else happened."""
        inside = sum(member.size for member in unit.first.members)
        return 0 < self.messages <= len(unit.numbers) or 0 < self.bytes <= inside


def limits_of(view: View, handle: int) -> Limits | None:
    """None for a producer that does not batch, or whose delay is not known."""
    setting = view.producer_setting
    delay_ms = setting(handle, "batching_max_publish_delay_ms")
    if setting(handle, "batching") is not True or delay_ms is None:
        return None
    messages, size = setting(handle, "batching_max_messages"), setting(handle, "batching_max_bytes")
    return Limits(max(int(messages or 0), 0), max(int(size or 0), 0), int(delay_ms))


def in_one_frame(view: View, limits: Limits) -> Limits:
    """These limits, and that of the broker: what exceeds it may leave in smaller batches."""
    most = view.case.topology.max_message_bytes
    return replace(limits, bytes=min(limits.bytes or most, most))


def units_read_at_once(check: Check, handle: int) -> Iterator[Unit]:
    """Those of a producer whose moment of leaving is known."""
    for line in check.tracker.lines.of_handle(handle):
        if check.view.is_read_at_once(line.topic):
            yield from line.units


def asked_ns(check: Check, unit: Unit) -> int | None:
    """When the client was told of the unit's first message: its agent's own stamp, or None.

    An agent that waits for something else of that producer keeps a send back, so nothing else tells.
    """
    if unit.line.handle is None or not unit.numbers:
        return None
    send = check.tracker.send_of(unit.line.handle, unit.numbers[0])
    return send.completion.called_ns if send is not None and send.completion is not None else None


def admitted_by(unit: Unit, t_ns: int) -> bool:
    """The session the unit first left on was open by then, and so until it left."""
    ready = unit.sends[0][0].ready
    return ready is not None and ready.t_ns <= t_ns
