"""Batches beyond the broker's limit: their messages fail, and nobody else's."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import ErrorClass, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._sent_chunks import properties_bytes
from assay_conformance.pulsar.checks.chunking._size_limits import announced_limit

HEADER_BYTES = 128
"""More than a batch adds to a message of its own accord, and an entry to a batch, keys and properties aside."""


class OversizeBatchFailsAlone(Check):
    """Messages between two flushes may have been one batch. Where together they fit a frame, none of them fails as too
    large. A client that makes batches no larger than the limit fails nobody.

    Judged where nothing is compressed, and no message is too large by itself. A flush that is asked for while another
    is under way may join it, and ends no batch.
    """

    requirement = RequirementId("batching.oversize-batch-fails-alone")
    needs = (Setting("producer", "batching"),)

    def start(self) -> None:
        self._limit: int | None = None
        self._groups: dict[int, list[list[Operation]]] = {}
        self._flushes: dict[int, list[Operation]] = {}
        """Producer -> the flushes that have not ended."""

    @on(Frame, "CONNECTED")
    def connected(self, event: Frame) -> None:
        if event.to_receiver:
            told = announced_limit(event, self.view.case.topology.max_message_bytes)
            self._limit = told if self._limit is None else min(self._limit, told)

    @on(Invoke, "flush")
    def flush(self, event: Invoke) -> None:
        handle = event.handle or 0
        under_way = [flush for flush in self._flushes.get(handle, ()) if flush.completion is None]
        self._flushes[handle] = [*under_way, self.tracker.operations[event.op]]
        if not under_way:
            self._groups.setdefault(handle, [[]]).append([])

    @on(Invoke, "send")
    def asked(self, event: Invoke) -> None:
        self._groups.setdefault(event.handle or 0, [[]])[-1].append(self.tracker.operations[event.op])

    def finish(self) -> None:
        for handle, groups in self._groups.items():
            setting = self.view.producer_setting
            plain = setting(handle, "compression") in (None, "NONE")
            if self._limit is not None and plain and setting(handle, "batching") is True:
                for group in groups:
                    self._judge(handle, group, self._limit)

    def _judge(self, handle: int, group: list[Operation], limit: int) -> None:
        sizes = [(send.invoke.size or 0) + properties_bytes(send.invoke) + HEADER_BYTES for send in group]
        if not sizes or max(sizes) > limit:
            return
        fits = sum(sizes) + HEADER_BYTES <= limit
        for send in group:
            end = send.completion
            if end is None:
                continue
            if end.error is ErrorClass.TOO_LARGE and fits:
                self.breach(
                    "failed-with-others",
                    f"producer {handle}: message {send.invoke.number} failed as too large at {ms(end.t_ns)}; with all "
                    f"that may have been in its batch it is {sum(sizes)} bytes at most, the broker takes {limit}",
                    send.invoke,
                    end,
                )
            elif not fits and (end.outcome is Outcome.OK or end.error is ErrorClass.TOO_LARGE):
                self.exercise(end)
