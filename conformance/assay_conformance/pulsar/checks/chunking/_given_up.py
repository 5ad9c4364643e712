"""Chunks of messages that are not assembled further: of the oldest of too many, of one that restarted, around a gap.

(For those that expired see `expires_incomplete.py`.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay_conformance.checks.consumption import moves_to_dead_letter
from assay_conformance.model.event import Event
from assay_conformance.pulsar.timeline import MS, AckCall, Consumer, Entry, Exercised, Says, Timeline, breach, ms
from assay_conformance.pulsar.timeline.arrivals import Arrivals, Chunk
from assay_conformance.pulsar.timeline.assembly import ChunkFate


@dataclass(slots=True)
class GivenUp:
    """Chunks of a message that is not assembled further, and the chunk that was the reason; `to_ack`: they are to be
    acknowledged, or else must not be. `why`: the reason, as a clause; `until`: what ends the judgement."""

    because: Chunk
    entries: tuple[Entry, ...]
    to_ack: bool
    why: str
    code: str
    until: Event | None = None


class Chunks:
    """What is known of acknowledgments of chunks."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._joined: dict[Entry, list[Chunk]] = {}
        for chunk in timeline.once(Arrivals).all:
            if chunk.fate in (ChunkFate.COMPLETE, ChunkFate.UNSURE):
                self._joined.setdefault(chunk.entry, []).append(chunk)
        self._asked: dict[int, list[AckCall]] = {}
        for call in timeline.ack_calls if timeline.once(Arrivals).all else ():
            self._asked.setdefault(call.handle, []).append(call)

    def asked(self, consumer: Consumer, *entries: Entry, by: Event, since: int = -1) -> Iterator[AckCall]:
        """Yield acks of a message with one of these chunks, or cumulative ones, from event `since` on."""
        for ack in self._asked.get(consumer.handle, ()):
            call = ack.call
            if since < call.invoke.seq < by.seq:
                joined = (chunk for chunk in self._joined.get(ack.entry, ()) if chunk.frame.seq < call.invoke.seq)
                named = {ack.entry}.union(*((*chunk.before, chunk.entry) for chunk in joined))
                if call.cumulative or not named.isdisjoint(entries):
                    yield ack

    def may_be_acked(self, consumer: Consumer, entry: Entry, by: Event) -> bool:
        """Return whether its message may be acknowledged, by the application or to dead-letter it.

        The application may have received an earlier delivery of a message that is incomplete again.
        """
        asked = self.asked(consumer, entry, by=by)
        reaches = (not ack.call.cumulative or ack.call.covers(entry) for ack in asked)
        return any(reaches) or moves_to_dead_letter(self._timeline.view, consumer)

    def may_have_expired(self, chunk: Chunk, at: Event) -> bool:
        """Return whether a message was incomplete for so long that it is dropped and its chunks are acknowledged."""
        expiry_ms = self._timeline.setting(chunk.consumer, "expire_incomplete_chunked_ms") or 0
        began = self._timeline.view.tracker.began
        now_ms = at.t_ns // MS + (began.unix_ms if began is not None else 0)
        return bool(expiry_ms) and chunk.meta.publish_time_ms + expiry_ms <= now_ms


def judge_given_up(timeline: Timeline, given_up: GivenUp) -> Says:
    """Judge chunks that were given up.

    What the application acknowledges itself is not judged, whatever happened to its chunks.
    """
    because, chunks = given_up.because, timeline.once(Chunks)
    over = timeline.consumer_sessions.end_after(because.session, because.frame)
    if over is None:
        return
    asked = chunks.asked(because.consumer, *given_up.entries, by=over, since=because.frame.seq)
    stops = [ack.call.invoke.seq for ack in asked] + ([given_up.until.seq] if given_up.until is not None else [])
    stop = min([over.seq, *stops])
    yield from (_acked if given_up.to_ack else _left)(timeline, given_up, over, stop)


def _left(timeline: Timeline, given_up: GivenUp, over: Event, stop: int) -> Says:
    because, chunks = given_up.because, timeline.once(Chunks)
    consumer, acks = because.consumer, timeline.written_acks(because.session, reports=True)
    named = [(ack, entry) for entry in given_up.entries for ack in acks.of_entry(entry)]
    for ack, entry in sorted(named, key=lambda one: one[0].seq):
        excused = chunks.may_be_acked(consumer, entry, ack) or chunks.may_have_expired(because, ack)
        if because.frame.seq < ack.seq < stop and not excused:
            yield breach(
                given_up.code,
                f"consumer {consumer.handle} acknowledged chunk {entry} at {ms(ack.t_ns)}; {given_up.why}, and its "
                "message was not received; expected it to stay unacknowledged for redelivery",
                *(because.frame, ack),
            )
            return
    if stop == over.seq:
        yield Exercised(because.frame)


def _acked(timeline: Timeline, given_up: GivenUp, over: Event, stop: int) -> Says:
    because, consumer = given_up.because, given_up.because.consumer
    acks = timeline.written_acks(because.session, reports=True)
    unacked = next((entry for entry in given_up.entries if not acks.is_settled(entry, over)), None)
    if unacked is None:
        yield Exercised(because.frame)
    elif stop >= over.seq and timeline.is_ack_missing(consumer, because.frame.t_ns, over):
        yield breach(
            given_up.code,
            f"consumer {consumer.handle}: {given_up.why}; expected chunk {unacked} to be acknowledged, so that it "
            f"leaves the backlog; it was not by {ms(over.t_ns)}",
            *(because.frame, over),
        )
