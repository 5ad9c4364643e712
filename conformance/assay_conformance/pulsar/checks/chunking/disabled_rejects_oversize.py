"""chunking.disabled-rejects-oversize"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Completion, ErrorClass, Frame, Invoke, Overdue
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._sent_chunks import chunk_of
from assay_conformance.pulsar.checks.chunking._size_limits import announced_limit, ended_unmeasured
from assay_conformance.pulsar.timeline.sends import DEFAULT_SEND_TIMEOUT_MS

PADDING_BYTES = 10 * 1024
"""Any frame may exceed the limit by so much; a broker closes the connection for a larger one."""


class DisabledRejectsOversize(Check):
    """Without chunking a message beyond the limit fails at once with an error of its own, and nothing of it is sent.

    Judged without compression, for messages sent after the limit was announced, and without a custom router, which may
    fail them first. A message that may wait in a batch for longer than its time-out may end before it is measured, and
    so may one that waits for room when its producer is closed. One that waits for room and never ends is judged by
    another requirement.
    """

    requirement = RequirementId("chunking.disabled-rejects-oversize")
    needs = (Trait.OVERSIZE,)

    def start(self) -> None:
        self._limit: int | None = None
        self._oversize: dict[int, Invoke] = {}

    @on(Frame, "CONNECTED")
    def connected(self, event: Frame) -> None:
        if event.to_receiver:
            limit = announced_limit(event, self.view.case.topology.max_message_bytes)
            if self._limit is not None and limit > self._limit:
                # Pending messages may be measured by either.
                self._oversize.clear()
            self._limit = limit if self._limit is None else max(self._limit, limit)

    @on(Invoke, "send")
    def send_called(self, event: Invoke) -> None:
        handle = event.handle or 0
        if self._limit is None or (event.size or 0) <= self._limit or self.view.producer_setting(handle, "chunking"):
            return
        routed = self.view.producer_setting(handle, "router") is not None
        if self.view.producer_setting(handle, "compression") in (None, "NONE") and not routed:
            self._oversize[event.op] = event

    @on(Overdue)
    def overdue(self, event: Overdue) -> None:
        self._oversize.pop(event.op, None)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        if self._limit is not None and from_client(event) and event.size > self._limit + PADDING_BYTES:
            self.breach(
                "sent-oversize",
                f"{chunk_of(event)} at {ms(event.t_ns)} is a frame of {event.size} bytes; expected an error instead, "
                f"since the broker's limit is {self._limit}, and it closes the connection for a frame larger by "
                f"{PADDING_BYTES}",
                event,
            )

    @on(Completion, "send")
    def ended(self, event: Completion) -> None:
        invoke = self._oversize.get(event.op)
        if invoke is None or ended_unmeasured(self, event):
            return
        if event.error is ErrorClass.TIMEOUT and self._outwaits(event.handle or 0):
            return
        if event.error is ErrorClass.TOO_LARGE:
            self.exercise(event)
        else:
            self.breach(
                "not-refused",
                f"producer {event.handle}: message {invoke.number} of {invoke.size} bytes was sent at "
                f"{ms(invoke.t_ns)}, and the limit is {self._limit} bytes; expected an error of class too_large; it "
                f"ended at {ms(event.t_ns)} as {event.error or event.outcome}",
                invoke,
                event,
            )

    def _outwaits(self, handle: int) -> bool:
        """Whether a batch may stay open for longer than the send time-out."""
        timeout_ms = int(self.view.producer_setting(handle, "send_timeout_ms") or DEFAULT_SEND_TIMEOUT_MS)
        delay_ms = int(self.view.producer_setting(handle, "batching_max_publish_delay_ms") or 0)
        return self.view.producer_setting(handle, "batching") is True and delay_ms >= timeout_ms
