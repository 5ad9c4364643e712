from __future__ import annotations

from assay_conformance.history.events import in_order
from assay_conformance.model.event import Outcome, Received, Stored
from assay_conformance.pulsar.checks.chunking._sendings import Renamed, Resumed, Sending, renamed, resumed, sendings
from assay_conformance.pulsar.checks.chunking._sent_chunks import Message, chunk_of, message_in
from assay_conformance.pulsar.checks.dedup._deduplication import may_repeat_ids
from assay_conformance.pulsar.timeline import (
    REDELIVER,
    ConsumerSession,
    Entry,
    Exercised,
    IncomingMessage,
    Says,
    Send,
    Timeline,
    breach,
    check,
    each,
    ms,
)
from assay_conformance.pulsar.timeline.arrivals import Arrivals, whole_not_delivered
from assay_conformance.pulsar.timeline.assembly import Assembly, ChunkFate
from assay_conformance.pulsar.timeline.incoming import content


@check("chunking.survives-reconnect")
def survives_reconnect(timeline: Timeline) -> Says:
    """chunking.survives-reconnect: after a connection is lost between two chunks, sending goes on at the first chunk
    without a receipt, with the same uuid, and the consumer receives the message once and intact.

    Whether a receipt written to a lost connection was read is unknown, so a chunk counts as missed only if no receipt
    was written for it. Where the broker closed the producer and it registers again on the same connection, an earlier
    receipt may come until chunks are sent again. Storing and delivery are judged for messages that were reported as
    sent, unless a fault dropped one of the producer's SENDs, so that no chunks can be stored in order. Where a fault
    altered one they are judged if the message came through. Not judged where sequence ids may repeat, so that
    deduplication may drop a last chunk, nor where several messages have one uuid, so that it is unknown to which a
    chunk belongs.
    """
    sent = timeline.once(sendings)
    if not sent:
        return
    fate = _Fate(timeline)
    yield from each(resumed(timeline), _skips_none, timeline)
    yield from each(renamed(timeline), _keeps_its_uuid)
    yield from each(timeline.once(Arrivals).incoming, _judge_received, timeline, fate)
    yield from each(sent, _comes_through, timeline, fate)


def _skips_none(timeline: Timeline, resumed: Resumed) -> Says:
    (sending, chunk, missed), number = resumed, resumed.chunk.meta.chunk_id if resumed.chunk.meta else 0
    timeline.check_sessions(sending.producer)
    timeline.check_forged_answers(chunk, sending.producer.handle)
    yield breach(
        "chunk-skipped",
        f"{chunk_of(chunk)} goes on with chunk {number} of {sending.uuid} at {ms(chunk.t_ns)}; expected chunk "
        f"{missed}, which had no receipt when its connection was lost",
        *(sending.first, chunk),
    )


def _keeps_its_uuid(renamed: Renamed) -> Says:
    before, sending, (handle, number) = renamed
    yield breach(
        "uuid-changed",
        f"message {number} of producer {handle} was begun as {before.uuid} at {ms(before.first.t_ns)}; expected the "
        f"same uuid after its connection was lost; it was sent as {sending.uuid}, so its chunks cannot be joined",
        *(before.first, sending.first),
    )


class _Fate:
    """What became of messages at the broker and at consumers."""

    def __init__(self, timeline: Timeline) -> None:
        self.whole: set[Message] = set()
        """Stored with all their chunks, in order."""
        self.received: dict[Message, list[tuple[Received, ConsumerSession | None]]] = {}
        """Each with the latest session of its consumer there."""
        self.message_of: dict[Entry, Message] = {}
        self.arrived: dict[tuple[int, Message], list[int]] = {}
        """Consumer and message -> the number of the SUBSCRIBE of each session on which it came whole."""
        for chunk in timeline.once(Arrivals).all:
            message = message_in(chunk.frame)
            if chunk.fate is ChunkFate.COMPLETE and message is not None:
                self.message_of[chunk.entry] = message
                self.arrived.setdefault((chunk.consumer.handle, message), []).append(chunk.key[0])
        self._store(timeline)
        for got in in_order(timeline.all_received):
            entry, consumer = timeline.entry_of(got), timeline.consumer(got.handle)
            named = None if got.identity is None else (got.identity.handle, got.identity.number)
            message = named if entry is None else self.message_of.get(entry, named)
            if message is not None:
                latest = None if consumer is None or entry is None else consumer.last_on(entry.topic, got)
                self.received.setdefault(message, []).append((got, latest))

    def _store(self, timeline: Timeline) -> None:
        assemblies: dict[str, Assembly] = {}
        for stored in timeline.events.of(Stored):
            if stored.meta.chunk_id is not None and stored.meta.uuid is not None:
                assembly = assemblies.setdefault(stored.topic, Assembly())
                fate = assembly.add(stored.meta, Entry(stored.topic, stored.id.ledger, stored.id.entry))
                message = message_in(stored)
                if fate is ChunkFate.COMPLETE and message is not None:
                    self.whole.add(message)


def _judge_received(timeline: Timeline, fate: _Fate, incoming: IncomingMessage) -> Says:
    message = fate.message_of.get(incoming.entry)
    for sending in timeline.once(sendings) if incoming.missed else ():
        if sending.interrupted and sending.message == message:
            past = f", after its sending, begun at {ms(sending.first.t_ns)}, was interrupted"
            yield from whole_not_delivered(timeline, incoming, past, sending.first)
            return


def _comes_through(timeline: Timeline, fate: _Fate, sending: Sending) -> Says:
    send = None if sending.message is None else timeline.send(*sending.message)
    if send is None or sending.message is None or send.outcome is not Outcome.OK:
        return
    handle = send.invoke.handle or 0
    if not sending.interrupted or len(set(sending.messages)) > 1 or may_repeat_ids(timeline.view, handle):
        return
    timeline.check_pairing(handle)
    received = fate.received.get(sending.message, [])
    if sending.message not in fate.whole or [got.payload for got, _ in received] != [send.invoke.payload]:
        # Unless it came through, what a fault altered says nothing.
        timeline.check_untampered(handle)
    yield from _end_to_end(timeline, fate, sending, send)


def _end_to_end(timeline: Timeline, fate: _Fate, sending: Sending, send: Send) -> Says:
    if sending.message is None:
        return
    (handle, number), end = sending.message, send.completion
    if sending.message not in fate.whole:
        yield breach(
            "stored-incomplete",
            f"the connection was lost between chunks of message {number} of producer {handle}, whose send succeeded at "
            f"{ms(end.t_ns) if end is not None else 'some time'}; expected the broker to hold all chunks of "
            f"{sending.uuid} in order; it does not",
            *(sending.first, sending.lasts[-1], end),
        )
        return
    received = fate.received.get(sending.message, [])
    damaged = next((got for got, _ in received if got.payload != send.invoke.payload), None)
    if damaged is not None:
        yield breach(
            "damaged",
            f"message {number} of producer {handle}, interrupted between chunks, came to consumer {damaged.handle} as "
            f"{content(damaged)}; expected {content(send.invoke)}",
            *(send.invoke, damaged),
        )
        return
    twice = _twice(timeline, fate, sending.message)
    if twice is not None:
        earlier, again = twice
        yield breach(
            "delivered-twice",
            f"message {number} of producer {handle}, interrupted between chunks, came to consumer {again.handle} at "
            f"{ms(earlier.t_ns)} and again at {ms(again.t_ns)}; expected it once",
            *(earlier, again),
        )
    elif received:
        yield Exercised(received[0][0])


def _twice(timeline: Timeline, fate: _Fate, message: Message) -> tuple[Received, Received] | None:
    """Return the first and the last time that it was received, where that is more often than it came whole.

    What came whole over any connection so far counts: it may be received after the next one is open. Not judged after a
    request for redelivery. It comes whole once, unless its last chunk was stored again: deduplication is judged by
    another requirement.
    """
    seen: dict[int, list[Received]] = {}
    for got, session in fate.received.get(message, ()):
        if session is None or timeline.consumer_sessions.frames(session, REDELIVER):
            continue
        earlier = seen.setdefault(got.handle, [])
        earlier.append(got)
        whole = sum(came <= session.request.seq for came in fate.arrived.get((got.handle, message), ()))
        if len(earlier) > max(whole, 1):
            return earlier[0], got
    return None
