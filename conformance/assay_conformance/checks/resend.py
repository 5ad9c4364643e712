"""What checks of other chapters ask about sends; the checks of this one are in `pulsar.checks.resend`."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.base import Check
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.tracker import Operation
from assay_conformance.pulsar.timeline.sends import IN_FLIGHT_NS, RESENDS, ended_ns

__all__ = ["IN_FLIGHT_NS", "RESENDS", "ended_ns", "operations"]


def operations(check: Check, unit: Unit) -> Iterator[Operation]:
    """The sends inside a unit."""
    if unit.line.handle is not None:
        for number in unit.numbers:
            operation = check.tracker.send_of(unit.line.handle, number)
            if operation is not None:
                yield operation
