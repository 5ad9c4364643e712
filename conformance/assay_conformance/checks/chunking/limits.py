"""Chunking, what it rests on: names of chunked messages, the broker's limit, and what a client does without chunks."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.chunking.sending import chunk_of, properties_bytes
from assay_conformance.checks.consumption import from_client
from assay_conformance.checks.occasions import Setting, Trait
from assay_conformance.model.event import Completion, ErrorClass, Frame, Invoke, Outcome, Overdue
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.timeline.sends import DEFAULT_SEND_TIMEOUT_MS

CHUNK_FIELDS_BYTES = 128
"""What a chunk's frame holds besides payload and metadata: sizes, magic, checksum, its command, and its chunk fields
but for the uuid."""

PADDING_BYTES = 10 * 1024
"""By so much may any frame exceed the limit; a broker closes the connection over a larger one."""

_OTHERWISE_ENDED = (ErrorClass.CLOSED, ErrorClass.FENCED, ErrorClass.QUEUE_FULL, ErrorClass.TERMINATED)
"""What ends a send for reasons of its queue or its producer, before anybody looks at how large it is."""


class UuidNamesMessage(Check):
    """The uuid of a chunk is made of its producer's name and its sequence id, which no two messages share."""

    requirement = RequirementId("chunking.uuid-identifies-message")
    needs = (Trait.CHUNK,)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        meta = event.meta
        if meta is None or meta.chunk_id is None or not from_client(event):
            return
        expected = f"{meta.producer_name}-{meta.sequence_id}"
        if meta.uuid == expected:
            self.exercise(event)
        else:
            self.breach(
                "other-uuid",
                f"{chunk_of(event)} at {ms(event.t_ns)} is a chunk of {meta.uuid!r}, expected {expected!r}",
                event,
            )


class ChunksFitLimit(Check):
    """Payload and metadata of a chunk together stay within the limit, its chunk fields aside.

    A unit waits through reconnects as it was cut, so the greatest limit told so far counts. Metadata that leave no room
    at all are told by the properties alone.
    """

    requirement = RequirementId("chunking.chunks-fit-max-message-size")
    needs = (frozenset({Trait.CHUNK, Setting("producer", "chunking")}),)

    def start(self) -> None:
        self._limit = 0

    @on(Frame, "CONNECTED")
    def connected(self, event: Frame) -> None:
        if event.to_receiver:
            self._limit = max(self._limit, told_limit(event, self.view.case.topology.max_message_bytes))

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        meta = event.meta
        if meta is None or meta.chunk_id is None or not from_client(event):
            return
        most = self._limit + CHUNK_FIELDS_BYTES + len((meta.uuid or "").encode())
        if event.size <= most:
            self.exercise(event)
        else:
            self.breach(
                "too-large",
                f"{chunk_of(event)} at {ms(event.t_ns)} is a frame of {event.size} bytes; payload and metadata may "
                f"take {self._limit}, so {most} at most were expected",
                event,
            )

    @on(Completion, "send")
    def ended(self, event: Completion) -> None:
        invoke = self.tracker.operations[event.op].invoke
        properties = properties_bytes(invoke)
        chunking = self.view.producer_setting(event.handle or 0, "chunking") is True
        if not chunking or not 0 < self._limit < properties or _ended_unmeasured(self, event):
            return
        if event.error is ErrorClass.TOO_LARGE:
            self.exercise(event)
        elif self.view.producer_setting(event.handle or 0, "router") is None:
            # A router may send it nowhere, which shows first.
            self.breach(
                "no-room-left",
                f"producer {event.handle}: message {invoke.number} with {properties} bytes of properties ended at "
                f"{ms(event.t_ns)} as {event.error or event.outcome}; the limit is {self._limit} bytes, and an error "
                "of class too_large was expected",
                invoke,
                event,
            )


class ChunksKeepSetting(Check):
    """So many bytes go into so many chunks of the size that is set, or into more. What leaves whole is measured where
    nothing is compressed."""

    requirement = RequirementId("chunking.chunk-max-message-size")
    needs = (Setting("producer", "chunk_max_message_bytes"),)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        meta, unit = event.meta, self.tracker.lines.unit
        if meta is None or unit is None or unit.line.handle is None or not from_client(event):
            return
        handle = unit.line.handle
        most = int(self.view.producer_setting(handle, "chunk_max_message_bytes") or 0)
        batching, chunking = (self.view.producer_setting(handle, key) is True for key in ("batching", "chunking"))
        if not most or not chunking or batching:
            return  # Of both at once: chunking.excludes-batching.
        chunks, total = meta.chunks, meta.chunk_total_bytes
        if meta.chunk_id is None:
            chunks, total = 1, sum(member.size for member in event.members)
            if total <= most or meta.compression != "NONE" or meta.batch is not None:
                return
        if not chunks or total is None:
            return  # chunking.chunks-carry-their-fields
        if chunks * most >= total:
            self.exercise(event)
            return
        self.breach(
            "larger",
            f"{chunk_of(event)} at {ms(event.t_ns)}: {total} bytes leave in {chunks} of {most} bytes at most; "
            f"{-(-total // most)} or more were expected",
            self.tracker.lines.openings.get(handle, event),
            event,
        )


class ExcludesBatching(Check):
    """A producer that is to batch and to chunk is refused, or chunks all the same, and never puts a batch in chunks."""

    requirement = RequirementId("chunking.excludes-batching")
    needs = (Setting("producer", "chunking"),)

    def start(self) -> None:
        self._openings: dict[int, Invoke] = {}

    @on(Completion, "open_producer")
    def opened(self, event: Completion) -> None:
        handle = event.handle or 0
        both = [self.view.producer_setting(handle, key) is True for key in ("batching", "chunking")]
        if not all(both) or event.outcome is Outcome.UNSUPPORTED:
            return
        if event.outcome is Outcome.FAIL:
            self.exercise(event)
        elif event.outcome is Outcome.OK:
            self._openings[handle] = self.tracker.lines.openings[handle]

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        meta, unit = event.meta, self.tracker.lines.unit
        if meta is None or meta.chunk_id is None or unit is None or not from_client(event):
            return
        if meta.batch is not None:
            self.breach("batch-in-chunks", f"{chunk_of(event)} at {ms(event.t_ns)} is a chunk of a batch", event)
        elif unit.line.handle in self._openings:
            self.exercise(event)

    @on(Completion, "send")
    def send_ended(self, event: Completion) -> None:
        opening = self._openings.get(event.handle or 0)
        if opening is None or event.error is not ErrorClass.TOO_LARGE:
            return
        self.breach(
            "chunking-dropped",
            f"producer {event.handle} was opened at {ms(opening.t_ns)} with batching and chunking on, and refused a "
            f"message as too large at {ms(event.t_ns)}; expected an error when it was opened, or chunks",
            opening,
            event,
        )


class RefusesOversize(Check):
    """Without chunking a message beyond the limit fails at once with an error of its own, and no byte of it leaves.

    Judged where nothing is compressed, for messages asked for when the limit had been told; and where no router of the
    application may have failed them first. One that may wait in a batch for longer than its time-out is not measured
    before it ends; nor is one that waits for room when its producer is closed. That one never ends, having waited for
    room, is a requirement of its own.
    """

    requirement = RequirementId("chunking.disabled-rejects-oversize")
    needs = (Trait.OVERSIZE,)

    def start(self) -> None:
        self._limit: int | None = None
        self._oversize: dict[int, Invoke] = {}

    @on(Frame, "CONNECTED")
    def connected(self, event: Frame) -> None:
        if event.to_receiver:
            told = told_limit(event, self.view.case.topology.max_message_bytes)
            if self._limit is not None and told > self._limit:
                # What is on its way may be measured by either.
                self._oversize.clear()
            self._limit = told if self._limit is None else max(self._limit, told)

    @on(Invoke, "send")
    def asked(self, event: Invoke) -> None:
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
                f"{chunk_of(event)} at {ms(event.t_ns)} is a frame of {event.size} bytes; the broker's limit is "
                f"{self._limit}, and it closes the connection over one larger by {PADDING_BYTES}",
                event,
            )

    @on(Completion, "send")
    def ended(self, event: Completion) -> None:
        invoke = self._oversize.get(event.op)
        if invoke is None or _ended_unmeasured(self, event):
            return
        if event.error is ErrorClass.TIMEOUT and self._outwaits(event.handle or 0):
            return
        if event.error is ErrorClass.TOO_LARGE:
            self.exercise(event)
        else:
            self.breach(
                "not-refused",
                f"producer {event.handle}: message {invoke.number} of {invoke.size} bytes, asked for at "
                f"{ms(invoke.t_ns)}, ended at {ms(event.t_ns)} as {event.error or event.outcome}; the limit is "
                f"{self._limit} bytes, and an error of class too_large was expected",
                invoke,
                event,
            )

    def _outwaits(self, handle: int) -> bool:
        """Whether a batch may stay open for longer than its messages may take."""
        timeout_ms = int(self.view.producer_setting(handle, "send_timeout_ms") or DEFAULT_SEND_TIMEOUT_MS)
        delay_ms = int(self.view.producer_setting(handle, "batching_max_publish_delay_ms") or 0)
        return self.view.producer_setting(handle, "batching") is True and delay_ms >= timeout_ms


def _ended_unmeasured(check: Check, event: Completion) -> bool:
    """Whether this send ended for a reason of its queue or its producer: one that waits for room when its producer is
    closed is interrupted, which has no class of its own."""
    is_interrupted = event.error is ErrorClass.OTHER and event.handle in check.tracker.lines.closings
    return is_interrupted or event.error in _OTHERWISE_ENDED


def told_limit(event: Frame, otherwise: int) -> int:
    """CONNECTED.max_message_size, where the broker tells it."""
    return int(event.fields.get("max_message_size", otherwise))
