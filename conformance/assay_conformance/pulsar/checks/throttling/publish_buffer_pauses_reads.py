from __future__ import annotations

from collections import defaultdict

from assay_conformance.checks.base import View
from assay_conformance.model.event import Closed, Frame, Opened, Sides
from assay_conformance.pulsar.checks.throttling._read_ahead import SEEN_AHEAD_BYTES, holds_store
from assay_conformance.pulsar.timeline import Exercised, Publish, Publishes, Says, Timeline, breach, check, ms


def _limits_bytes(view: View) -> bool:
    topology = view.case.topology
    return holds_store(view) and topology.brokers == 1 and topology.settings.max_pending_mb > 0


class _Buffer:
    """Unanswered SENDs of all connections. `not_judged`: connections on which a fault delays SENDs, or that opened
    while the buffer was, or may have been, full."""

    def __init__(self, publishes: Publishes, most_bytes: int) -> None:
        self._publishes = publishes
        self.most_bytes = most_bytes
        self.bytes = 0
        self.unanswered: dict[int, dict[Publish, Frame]] = defaultdict(dict)
        self.not_judged: set[int] = set()

    def see(self, event: Opened | Closed | Frame) -> bool:
        """Return whether a SEND came in."""
        if isinstance(event, Opened):
            if self.not_judged or self.bytes > self.most_bytes:
                self.not_judged.add(event.conn)
        elif isinstance(event, Closed):
            # What it left unwritten may count or not.
            self.bytes -= sum(frame.size for frame in self.unanswered.pop(event.conn, {}).values())
        elif (publish := self._publishes.of(event)) is None or publish.is_ignored:
            return False
        elif event is publish.send:
            return self._comes_in(publish)
        else:
            answered = self.unanswered[event.conn].pop(publish, None)
            self.bytes -= 0 if answered is None else answered.size
        return False

    def _comes_in(self, publish: Publish) -> bool:
        send = publish.send
        if send.sides is Sides.RECEIVER:
            self.not_judged.add(send.conn)
        if send.conn in self.not_judged:
            return False
        self.unanswered[send.conn][publish] = send
        self.bytes += send.size
        return True

    @property
    def connections(self) -> int:
        """How many have a SEND without an answer."""
        return sum(map(bool, self.unanswered.values()))

    def first(self) -> Frame:
        """Return a SEND without an answer."""
        return next(frame for frames in self.unanswered.values() for frame in frames.values())

    def is_overfull(self) -> bool:
        """Return whether it holds more than its limit, and what may have been read ahead."""
        waiting = [frames for frames in self.unanswered.values() if frames]
        largest = max(frame.size for frames in waiting for frame in frames.values())
        return self.bytes > self.most_bytes + len(self.unanswered) * (SEEN_AHEAD_BYTES + largest)


@check("throttling.publish-buffer-pauses-reads", where=_limits_bytes)
def publish_buffer_pauses_reads(timeline: Timeline) -> Says:
    """throttling.publish-buffer-pauses-reads: where a step holds the store, the unanswered SENDs on all connections of
    a broker together have no more bytes than its limit, plus what may have been read ahead on each.

    Judged where one broker owns all topics. Connections that open while the buffer is full are left out.
    """
    buffer = _Buffer(timeline.publishes, timeline.topology.settings.max_pending_mb << 20)
    is_reported = False
    events: list[Opened | Closed | Frame] = [*timeline.events.of(Opened), *timeline.events.of(Closed)]
    events += timeline.events.frames("SEND", "SEND_RECEIPT", "SEND_ERROR")
    for event in sorted(events, key=lambda event: event.seq):
        if not buffer.see(event) or not isinstance(event, Frame) or buffer.bytes <= buffer.most_bytes:
            continue
        yield Exercised(event)
        if not is_reported and buffer.is_overfull():
            is_reported = True
            yield breach(
                "reads-on",
                f"the broker read SEND {event.sequence_id} from connection {event.conn} at {ms(event.t_ns)}, which "
                f"made {buffer.bytes} unanswered bytes on {buffer.connections} connections; expected it to stop "
                f"reading from all at {buffer.most_bytes}",
                *(buffer.first(), event),
            )
