from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from assay_conformance.checks.tracker import Call
from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.timeline import TOLERANCES, Consumer, Entry, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.arrivals import Arrivals
from assay_conformance.pulsar.timeline.moments import RedeliverWritten, SessionOver, SettleCalled, taken


@dataclass(slots=True)
class _Nacked:
    """A nacked message, its chunks, which of them were requested since, and by what its last one was."""

    call: Call
    chunks: tuple[Entry, ...]
    named: set[Entry] = field(default_factory=set)
    request: Frame | None = None

    @property
    def missing(self) -> list[Entry]:
        """Chunks that were not requested."""
        return [chunk for chunk in self.chunks if chunk not in self.named]


def _asked_for(timeline: Timeline) -> Iterator[tuple[_Nacked, Frame, Event]]:
    """Yield nacked messages that were requested by their last chunk.

    With each goes this request, and when all chunks were or could be no more.
    """
    for consumer in timeline.nacking:
        for nacked, event in _nacks(timeline, consumer):
            if nacked.request is not None:
                yield nacked, nacked.request, event


def _nacks(timeline: Timeline, consumer: Consumer) -> Iterator[tuple[_Nacked, Event]]:
    arrivals, waiting = timeline.once(Arrivals), dict[Entry, _Nacked]()
    for moment in timeline.moments(consumer):
        if isinstance(moment, SettleCalled) and not moment.is_nack:
            waiting.pop(moment.entry, None)
            waiting = {} if moment.call.cumulative else waiting
        elif isinstance(moment, SettleCalled):
            session = moment.session
            chunks = () if session is None else arrivals.joined(session, moment.entry, moment.event)
            if len(chunks) > 1:
                waiting.setdefault(moment.entry, _Nacked(moment.call, chunks))
        elif isinstance(moment, RedeliverWritten) and moment.named:
            for entry, nacked in [one for one in waiting.items() if one[0].topic == moment.session.topic]:
                nacked.named |= moment.named
                if entry in moment.named:
                    nacked.request = nacked.request or moment.event
                if nacked.request is not None and not nacked.missing:
                    yield waiting.pop(entry), moment.event
        elif isinstance(moment, SessionOver | RedeliverWritten):
            ended = taken(waiting, moment)
            yield from ((nacked, moment.event) for _, nacked in ended if isinstance(moment, SessionOver))


@check("nack.requests-all-chunks", of=_asked_for)
def requests_all_chunks(timeline: Timeline, asked_for: tuple[_Nacked, Frame, Event]) -> Says:
    """nack.requests-all-chunks: redelivery of a nacked chunked message is requested by the ids of all its chunks. They
    may be spread over several commands, before that of the last chunk or soon after it."""
    nacked, request, event = asked_for
    if not nacked.missing:
        yield Exercised(event)
    elif timeline.bounds.is_past("answer", request.t_ns, event.t_ns):
        until_ns = request.t_ns + TOLERANCES["answer"].slack_ns
        timeline.bounds.check_fair("answer", request.t_ns, until_ns, what="whether all chunks were requested")
        yield breach(
            "chunk-left-out",
            f"consumer {nacked.call.consumer.handle} had a message in {len(nacked.chunks)} chunks nacked and "
            f"requested its redelivery at {ms(request.t_ns)}; expected the ids of all chunks; it names "
            f"{nacked.call.entry} and not {', '.join(map(str, nacked.missing))}, so that the message cannot be "
            "assembled",
            *(nacked.call.invoke, request),
        )
