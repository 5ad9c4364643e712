"""Chunks of messages that are not assembled further: of the oldest of too many, of one that restarted, around a gap.

(For those that expired see `expires_incomplete.py`.)
"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.model.event import Event, Frame, Meta
from assay_conformance.pulsar.checks.chunking._acked_chunks import AckedCheck
from assay_conformance.pulsar.checks.chunking._chunked import Arrival


@dataclass(slots=True)
class GivenUp:
    """Chunks of a message that is not assembled further, and the chunk that was the reason."""

    session: ConsumerSession
    consumer: OpenedConsumer
    entries: tuple[Entry, ...]
    because: Frame
    to_ack: bool
    done: bool = False


class GivingUp(AckedCheck):
    """Chunks that were given up must be acknowledged in time, or must not be, as the rule of each kind says."""

    acked_code = "acked"
    left_code = "not-acked"

    def start(self) -> None:
        super().start()
        self.given_up: list[GivenUp] = []

    def give_up(self, arrival: Arrival, entries: tuple[Entry, ...], *, to_ack: bool) -> None:
        self.given_up.append(GivenUp(arrival.session, arrival.consumer, entries, arrival.frame, to_ack))

    def why(self, given_up: GivenUp) -> str:
        """Return the reason, as a clause."""
        raise NotImplementedError

    def may_expire(self, consumer: OpenedConsumer, meta: Meta | None, event: Frame) -> bool:
        """Whether the message was incomplete for so long that it is dropped and its chunks are acknowledged."""
        expiry_ms = self.expiry_ns(consumer) // MS
        began = self.tracker.began
        now_ms = event.t_ns // MS + (began.unix_ms if began is not None else 0)
        return bool(expiry_ms) and meta is not None and meta.publish_time_ms + expiry_ms <= now_ms

    def asked(self, call: Call) -> None:
        """What the application acknowledges itself is not judged, whatever happened to its chunks."""
        super().asked(call)
        if call.invoke.verb == "ack":
            for given_up in self.given_up:
                named = call.cumulative or not self.chunks_of(call).isdisjoint(given_up.entries)
                if given_up.consumer is call.consumer and named:
                    given_up.done = True

    def entry_acked(self, session: ConsumerSession, entry: Entry, event: Frame) -> None:
        for given_up in self.given_up:
            wrong = not given_up.to_ack and not given_up.done and entry in given_up.entries
            wrong = wrong and not self.may_be_acked(given_up.consumer, entry)
            wrong = wrong and not self.may_expire(given_up.consumer, given_up.because.meta, event)
            if given_up.session is session and wrong and event.seq > given_up.because.seq:
                given_up.done = True
                self.breach(
                    self.acked_code,
                    f"consumer {given_up.consumer.handle} acknowledged chunk {entry} at {ms(event.t_ns)}; "
                    f"{self.why(given_up)}, and its message was not received; expected it to stay unacknowledged for "
                    "redelivery",
                    given_up.because,
                    event,
                )

    def over(self, session: ConsumerSession, event: Event) -> None:
        mine = [given_up for given_up in self.given_up if given_up.session is session]
        self.given_up = [given_up for given_up in self.given_up if given_up.session is not session]
        for given_up in mine:
            if not given_up.to_ack:
                if not given_up.done:
                    self.exercise(given_up.because)
                continue
            flush_ns = self.flush_ns(given_up.consumer)
            if all(self.acked(session).has(entry) for entry in given_up.entries):
                self.exercise(given_up.because)
            elif flush_ns is not None and not given_up.done:
                self._left(given_up, session, given_up.because.t_ns + flush_ns, event)

    def _left(self, given_up: GivenUp, session: ConsumerSession, due_ns: int, event: Event) -> None:
        unacked = self.first_unacked(session, due_ns, event, *given_up.entries)
        if unacked is not None:
            self.suspect(
                "ack-flush",
                given_up.because.t_ns,
                self.until_ns(due_ns, event),
                self.left_code,
                f"consumer {given_up.consumer.handle}: {self.why(given_up)}; expected chunk {unacked} to be "
                f"acknowledged, so that it leaves the backlog; it was not by {ms(event.t_ns)}",
                given_up.because,
                event,
            )
