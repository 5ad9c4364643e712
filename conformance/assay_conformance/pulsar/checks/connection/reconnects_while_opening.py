"""connection.reconnects-while-opening"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.tolerance import TOLERANCES, Timing
from assay_conformance.model.event import Closed, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.connection._openings import Opening, Openings


class ReconnectsWhileOpening(Openings):
    """A lost connection is a setback. Whatever the setback was, no attempt is made after the operation time-out."""

    requirement = RequirementId("connection.reconnects-while-opening")
    setbacks = Closed

    def _was_overcome(self, opening: Opening) -> bool:
        return bool(opening.overcome)

    def _in_time(self, handle: int, event: Frame) -> None:
        """The operation time-out of an open call begins no later than with its first registration."""
        opening = self._openings.get(handle)
        first = None if opening is None else opening.first.setdefault(str(event.fields.get("topic", "")), event)
        if opening is None or first is None or not (opening.setback or opening.overcome) or opening.waits:
            return
        until_ns = first.t_ns + self._limit_ns(handle)
        timing = self.tracker.load.timing(first.t_ns, until_ns, event.t_ns, TOLERANCES["reconnect"])
        if timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to judge whether opening went on for too long")
        elif timing is Timing.LATE:
            self.breach(
                "went-on",
                f"{opening.invoke.verb} of handle {handle} registered first at {ms(first.t_ns)} and was set back; "
                f"expected no attempt after {ms(until_ns)}, its operation time-out; it registered again at "
                f"{ms(event.t_ns)}",
                first,
                event,
            )
