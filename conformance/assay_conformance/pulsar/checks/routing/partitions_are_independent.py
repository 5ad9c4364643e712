from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Event, Frame
from assay_conformance.model.topic_names import is_partition
from assay_conformance.pulsar.timeline import (
    Exercised,
    Producer,
    Says,
    Send,
    Timeline,
    Unit,
    at_once,
    breach,
    check,
    ms,
)


class _Beside(NamedTuple):
    """A message to a partition that was ready when it was asked for, while another one stood still, since `still`."""

    send: Send
    unit: Unit
    still: Event


def _beside(timeline: Timeline) -> Iterator[_Beside]:
    """Yield producers that neither batch nor block when their queue is full: that would stop their caller.

    A broker that stops reading stops for all partitions that share a connection.
    """
    setting, lines = timeline.view.producer_setting, dict[int, list[_Line]]()
    for producer in timeline.producers if timeline.view.is_read_at_once() else ():
        handle = producer.handle
        if handle is None or not is_partition(producer.topic) or setting(handle, "batching"):
            continue
        if not setting(handle, "block_if_queue_full"):
            lines.setdefault(handle, []).append(_Line(producer))
    for handle, its in lines.items():
        for send in at_once(timeline, handle):
            unit, seq = timeline.unit_with(send), send.invoke.seq
            ready = None if unit is None else unit.sends[0][0].admitted
            if unit is None or ready is None or ready.seq > seq or unit.numbers[0] != send.invoke.number:
                continue
            still = {line.producer: since for line in its if (since := line.still_since(seq)) is not None}
            if still and unit.line not in still:
                yield _Beside(send, unit, next(iter(still.values())))


class _Line:
    """A producer on one partition. It is asked from event to event, never about an earlier one."""

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self._sent: dict[int, list[tuple[Frame, Unit]]] = {}
        """PRODUCER -> what it sent on that session, the oldest last, until it has its answer."""
        for unit in producer.units:
            for session, frame in unit.sends:
                self._sent.setdefault(session.request.seq, []).append((frame, unit))
        for sent in self._sent.values():
            sent.sort(key=lambda one: -one[0].seq)

    def still_since(self, seq: int) -> Event | None:
        """Return since when it stands still at event `seq`: it was closed, or has a SEND without an answer."""
        sessions = [session for session in self.producer.sessions if session.request.seq < seq]
        closes = [one.sent_away for one in sessions if one.sent_away is not None and one.sent_away.seq < seq]
        if not sessions:
            return None
        last = sessions[-1]
        if closes and (last.admitted is None or last.admitted.seq > seq or closes[-1] is last.sent_away):
            return closes[-1]
        sent = self._sent.get(last.request.seq, [])
        while sent and _is_answered(*sent[-1], seq):
            sent.pop()
        return sent[-1][1].first if sent and sent[-1][0].seq < seq else None


def _is_answered(frame: Frame, unit: Unit, seq: int) -> bool:
    """Return whether it is answered on its own connection, by event `seq`."""
    answers = unit.answers
    return any(answer.conn == frame.conn and frame.seq < answer.seq < seq for answer in answers)


@check("routing.partitions-are-independent", of=_beside)
def partitions_are_independent(timeline: Timeline, beside: _Beside) -> Says:
    """routing.partitions-are-independent: while the producer of one partition is disconnected or gets no receipts,
    messages to other partitions are sent at once."""
    called, unit, still = beside.send.invoke, beside.unit, beside.still
    left = unit.first
    yield Exercised(left)
    if timeline.bounds.is_missing("answer", called.t_ns, left.t_ns, what="a message"):
        yield breach(
            "held-up",
            f"{unit.line}: message {called.number} was sent by the application at {ms(called.t_ns)}; expected it to "
            f"leave at once, since its producer on {unit.line.topic} was connected; it left at {ms(left.t_ns)}; "
            f"another partition was unavailable from {ms(still.t_ns)} on",
            *(still, called, left),
        )
