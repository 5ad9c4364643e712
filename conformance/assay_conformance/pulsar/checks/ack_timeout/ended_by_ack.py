"""What ends the time-out, and what a request must name."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import EntryKey, entry_on, late, to_client
from assay_conformance.checks.joined import Joined
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.checks.written import Request, RequestCheck
from assay_conformance.model.event import Event, Frame, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.ack_timeout._timeouts import Span, TimeoutCheck, span_of


@dataclass(slots=True)
class _Settled:
    """An entry settled in whole. `call` is the last that did; `since` when the application got it."""

    call: Call
    since: Received


class EndedByAck(TimeoutCheck, RequestCheck):
    """What was acknowledged in time is not asked for, and what is asked for is asked for whole.

    The precondition: an acknowledged message whose time-out would have been over while its session lasts, or a chunked
    message that is asked for. A refused message may be asked for at any time.
    """

    requirement = RequirementId("ack-timeout.ended-by-ack")

    def start(self) -> None:
        super().start()
        self._since: dict[EntryKey, Received] = {}
        self._indexes: dict[EntryKey, set[int]] = {}
        self._taken: dict[EntryKey, set[int]] = {}
        """Indexes that were handed over since the entry came last."""
        self._mixed: set[EntryKey] = set()
        """Batches that came again before all of them had been handed over: which copy the others are of, nobody can
        tell."""
        self._settled: dict[EntryKey, _Settled] = {}
        self._refused: set[EntryKey] = set()
        self._unsure: set[int] = set()
        """Consumers of which it is not known what the application holds."""
        self._joined = Joined()

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        super().message(event)
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not to_client(event):
            return
        entry = entry_on(session, event.ids[0])
        key = (session.consumer.handle, entry)
        self._settled.pop(key, None)
        self._indexes.pop(key, None)
        if 0 < len(self._taken.pop(key, ())) < event.messages:
            self._mixed.add(key)
        self._joined.came(session, event)

    def handed(self, consumer: OpenedConsumer, entry: Entry, event: Received, frame: Frame | None, span: Span) -> None:
        del span
        key = (consumer.handle, entry)
        self._settled.pop(key, None)
        self._taken.setdefault(key, set()).add(max(event.message_id.batch_index, 0))
        if frame is None:
            self._unsure.add(consumer.handle)
            self._mixed.add(key)
            self._since.pop(key, None)
        else:
            self._since[key] = event

    def asked(self, call: Call) -> None:
        key = (call.consumer.handle, call.entry)
        if call.invoke.verb == "nack":
            self._refused.add(key)

    def called(self, call: Call) -> None:
        key = (call.consumer.handle, call.entry)
        if call.invoke.verb != "ack" or self.session_of(call) is None:
            return
        frame = self.frames.get(key)
        size = 1 if frame is None else frame.messages
        older = frame is not None and (call.message.seq < frame.seq or key in self._mixed)
        if size > 1 and older and not call.cumulative:
            return  # Of an older delivery of the batch: a client may count those of each delivery for themselves.
        index = max(call.message.message_id.batch_index, 0)
        done = self._indexes.setdefault(key, set())
        done.update(range(index + 1) if call.cumulative else (index,))
        if len(done) >= size:
            self._settle(key, call)
        if call.cumulative:
            for other in [other for other in self._since if other[0] == key[0] and other[1].topic == key[1].topic]:
                if other[1] < key[1]:
                    self._settle(other, call)

    def _settle(self, key: EntryKey, call: Call) -> None:
        since = self._since.get(key)
        span = span_of(self.view, call.consumer)
        if since is None or since.seq > call.invoke.seq:
            return  # Handed over since: another copy, with a clock of its own.
        del self._since[key]
        if span is not None and call.called_ns < since.t_ns + span.least_ns // 2:
            self._settled[key] = _Settled(call, since)

    def redeliver(self, request: Request) -> None:
        consumer, session, event = request
        if span_of(self.view, consumer) is None:
            return
        if not event.ids:
            self._everything(session, consumer, event)
            return
        named = [entry_on(session, id) for id in event.ids]
        for entry, id in zip(named, event.ids, strict=True):
            key = (consumer.handle, entry)
            settled = self._settled.pop(key, None)
            if key in self._refused:
                continue
            if settled is not None and late("crossing", settled.call.called_ns, event.t_ns):
                self._asked_after_ack(settled, entry, event)
            elif id.batch_index >= 0:
                self.breach(
                    "batch-index-sent",
                    f"consumer {consumer.handle} asked for message {id.batch_index} of batch {entry} again at "
                    f"{ms(event.t_ns)}, expected the whole entry, without a batch index",
                    event,
                )
        self._whole_messages(session, consumer, set(named), event)
        for entry in named:
            self._since.pop((consumer.handle, entry), None)

    def _everything(self, session: ConsumerSession, consumer: OpenedConsumer, event: Frame) -> None:
        """A request without ids is due when the application holds something."""
        mine = [key for key in self._settled if key[0] == consumer.handle and key[1].topic == session.topic]
        held = any(key[0] == consumer.handle for key in self._since) or consumer.handle in self._unsure
        refused = any(handle == consumer.handle for handle, _ in self._refused)
        settled = [self._settled.pop(key) for key in mine]
        if not settled or held or refused:
            return
        last = max(settled, key=lambda each: each.call.called_ns)
        if late("crossing", last.call.called_ns, event.t_ns):
            self._asked_after_ack(last, last.call.entry, event)

    def _asked_after_ack(self, settled: _Settled, entry: Entry, event: Frame) -> None:
        call = settled.call
        self.breach(
            "asked-after-ack",
            f"consumer {call.consumer.handle} was told at {ms(call.called_ns)} to acknowledge {call.entry} and asked "
            f"for {entry} again at {ms(event.t_ns)}, expected its time-out to end with the acknowledgment",
            call.invoke,
            event,
        )

    def _whole_messages(
        self, session: ConsumerSession, consumer: OpenedConsumer, named: set[Entry], event: Frame
    ) -> None:
        """A request that names the last chunk of a message the application has names its others, too."""
        for chunks in self._joined.by_last(session, named):
            if (consumer.handle, chunks[-1]) in self._since and not set(chunks) <= named:
                missing = [str(chunk) for chunk in chunks if chunk not in named]
                self.breach(
                    "chunk-left-out",
                    f"consumer {consumer.handle} asked at {ms(event.t_ns)} for a message in {len(chunks)} chunks by "
                    f"{chunks[-1]} and not by {', '.join(missing)}: what comes of it cannot be joined",
                    event,
                )
            elif (consumer.handle, chunks[-1]) in self._since:
                self.exercise(event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        consumer = session.consumer
        span = None if consumer is None else span_of(self.view, consumer)
        for key in [key for key in self._settled if consumer is not None and key[0] == consumer.handle]:
            settled = self._settled.pop(key)
            due_ns = None if span is None or key in self._refused else settled.since.t_ns + span.most_ns
            if key[1].topic == session.topic and due_ns is not None and late("ack-timeout", due_ns, event.t_ns):
                self.exercise(event)
        for key in [key for key in self._since if consumer is not None and key[0] == consumer.handle]:
            if key[1].topic == session.topic:
                del self._since[key]
        super().over(session, event)
