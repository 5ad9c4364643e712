"""flow.memory-limit"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.occasions import Setting
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.flow._in_flight import InFlight


class MemoryLimit(InFlight):
    """Bytes of messages without a receipt, of all producers of a client together; one message may cross the limit."""

    requirement = RequirementId("flow.memory-limit")
    needs = (Setting("client", "memory_limit_bytes"),)

    def more(self, handle: int, event: Frame) -> None:
        client = self.view.client_of(handle)
        if client is None or self.tracker.lines.forged_receipts:
            return
        limit = int(self.view.client_setting(handle, "memory_limit_bytes") or 0)
        if not limit:
            return
        its = [h for h, opened in self.tracker.lines.openings.items() if opened.args.get("client") == client.handle]
        total = sum(self.bytes[other] for other in its)
        if total < limit:
            return
        sizes = [send.invoke.size or 0 for other in its for send in self.in_flight(other)]
        if total - max(sizes) > limit:
            self.breach(
                "too-many-bytes",
                f"{total} bytes of {len(sizes)} messages of client {client.handle} were without a receipt at "
                f"{ms(event.t_ns)}; memory_limit_bytes is {limit}, and one message of at most {max(sizes)} bytes may "
                "cross it",
                client,
                event,
            )
        else:
            self.exercise(event)
