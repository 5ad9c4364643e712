"""nack.requests-all-chunks"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from assay_conformance.checks.joined import Joined
from assay_conformance.checks.tracker import Call
from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.timeline import TOLERANCES, Consumer, Entry, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.courses import Asked, Over, Redelivery, Sent, taken


@dataclass(slots=True)
class _Refused:
    """A refused message, its chunks, which of them were asked for since, and by what its last one was."""

    call: Call
    chunks: list[Entry]
    named: set[Entry] = field(default_factory=set)
    request: Frame | None = None

    @property
    def missing(self) -> list[Entry]:
        """Chunks that were not asked for."""
        return [chunk for chunk in self.chunks if chunk not in self.named]


def _asked_for(timeline: Timeline) -> Iterator[tuple[_Refused, Frame, Event]]:
    """Refused messages that were asked for by their last chunk, this request, and when all chunks were or could be no
    more."""
    for consumer in timeline.refusing:
        for refused, event in _refusals(timeline, consumer):
            if refused.request is not None:
                yield refused, refused.request, event


def _refusals(timeline: Timeline, consumer: Consumer) -> Iterator[tuple[_Refused, Event]]:
    joined, waiting = Joined(), dict[Entry, _Refused]()
    for moment in timeline.course(consumer):
        if isinstance(moment, Sent) and moment.event.to_receiver:
            joined.came(moment.session, moment.event)
        elif isinstance(moment, Asked) and not moment.is_nack:
            waiting.pop(moment.entry, None)
            waiting = {} if moment.call.cumulative else waiting
        elif isinstance(moment, Asked):
            for chunks in joined.by_last(moment.session, {moment.entry}) if moment.session is not None else ():
                if len(chunks) > 1:
                    waiting.setdefault(moment.entry, _Refused(moment.call, [*chunks]))
        elif isinstance(moment, Redelivery) and moment.named:
            for entry, refused in [one for one in waiting.items() if one[0].topic == moment.session.topic]:
                refused.named |= moment.named
                if entry in moment.named:
                    refused.request = refused.request or moment.event
                if refused.request is not None and not refused.missing:
                    yield waiting.pop(entry), moment.event
        elif isinstance(moment, Over | Redelivery):
            ended = taken(waiting, moment)
            yield from ((refused, moment.event) for _, refused in ended if isinstance(moment, Over))


@check("nack.requests-all-chunks", of=_asked_for)
def requests_all_chunks(timeline: Timeline, asked_for: tuple[_Refused, Frame, Event]) -> Says:
    """nack.requests-all-chunks: what is refused and asked for by its last chunk is asked for by the others, too. The
    ids may be spread over several commands, before that of the last chunk or soon behind it."""
    refused, request, event = asked_for
    if not refused.missing:
        yield Exercised(event)
    elif timeline.bounds.is_past("answer", request.t_ns, event.t_ns):
        until_ns = request.t_ns + TOLERANCES["answer"].slack_ns
        timeline.bounds.check_fair("answer", request.t_ns, until_ns, what="whether all chunks were asked for")
        yield breach(
            "chunk-left-out",
            f"consumer {refused.call.consumer.handle} refused a message in {len(refused.chunks)} chunks, and asked for "
            f"it at {ms(request.t_ns)} by {refused.call.entry} and not by {', '.join(map(str, refused.missing))}: what "
            "comes of it cannot be joined",
            refused.call.invoke,
            request,
        )
