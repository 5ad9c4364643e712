"""Which plain stretches of a history are left out, and the history without them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple

from assay_conformance.checks.plain.loosely import Loosely
from assay_conformance.checks.plain.naming import Names, Ranges, entries_of
from assay_conformance.checks.plain.passed import Passed
from assay_conformance.checks.plain.standing import Standing
from assay_conformance.checks.plain.strictly import Strictly
from assay_conformance.checks.tolerance import MS
from assay_conformance.history.rereading import History
from assay_conformance.model.case import Case, Topic, Topology, Who
from assay_conformance.model.event import Completion, Event, Frame
from assay_conformance.model.facts import ClientFacts

LONG: Final = 20_000
"""Events from which on a history is worth the look: a shorter one is judged as soon."""

LEAST: Final = 200
"""Events between two moments that are looked at."""

SILENCE_MS: Final = 1_000
"""How long a connection may be silent in a plain stretch, at most: well below any keep-alive interval."""

Waiting = frozenset[tuple[str, tuple[int, int]]]
"""Topics and positions of entries whose ACK waits for its group."""


class Moment(NamedTuple):
    """In front of the event at this place nothing is under way but the ACKs of `waiting`. `beside`: how much went by
    beside the messages; `heard_ns`: when the client of each connection was last written to; `permits`: where the
    consumers stand; `calm`: no ACK has left just before; `counts`: how far everything that is numbered has come.
    """

    place: int
    t_ns: int
    beside: int
    heard_ns: Mapping[int, int]
    permits: tuple[object, ...]
    calm: bool
    waiting: Waiting
    counts: Mapping[tuple[object, ...], Any]


@dataclass(frozen=True, slots=True)
class Span:
    """What lies between two moments, but for the ACKs that waited at the first, and those that waited at the second
    wherever they left before the plain stretch was over."""

    first: Moment
    last: Moment
    over: Moment

    def __len__(self) -> int:
        return self.last.place - self.first.place

    @property
    def heard_ns(self) -> Mapping[int, int]:
        """Of the connections that carried something of it to their clients."""
        before, after = self.first.heard_ns, self.last.heard_ns
        return {conn: heard_ns for conn, heard_ns in after.items() if before.get(conn) != heard_ns}


def shortened(
    history: History, case: Case, facts: ClientFacts, long: int = LONG, least: int = LEAST
) -> Sequence[Event] | None:
    """The history, in log order, without plain stretches; None where so little would be left out that it is not worth
    it, or something is not in log order. Holds what is left, and what went by beside the messages."""
    if len(history) < long or not _may_be_plain(case):
        return None
    names = Names(case)
    stretches, beside = plain_stretches(history, case, facts, names, least)
    spans = [span for moments in stretches if (span := _longest(moments)) is not None]
    spans = [span for span in spans if _is_whole(beside, span, names)]
    if 2 * sum(map(len, spans)) < len(history):
        return None
    left = tuple(_without(history, beside, spans, names))
    while named := _named(left, spans, names):
        spans = [span for place, span in enumerate(spans) if place not in named]
        left = tuple(_without(history, beside, spans, names))
    # Whoever goes through events by their kinds goes past what is none.
    return left if spans else None  # type: ignore[return-value]


def _may_be_plain(case: Case) -> bool:
    """No policy and no limit bears on what goes by, and no step changes any, or moves a topic."""
    topology = case.topology
    apart = topology.settings == Topology().settings and topology.namespace == Topology().namespace
    left_alone = all(step.who is not Who.BROKER for step in case.steps)
    return apart and left_alone and all(topic == Topic(name=topic.name) for topic in topology.topics)


def plain_stretches(
    events: Iterable[Event], case: Case, facts: ClientFacts, names: Names, least: int
) -> tuple[list[list[Moment]], Sequence[Event]]:
    """Of each the moments at which nothing is under way; and what went by beside the messages, of all."""
    # Of what is near a limit it is for checks to say on which side of it.
    standing = Standing(largest=case.topology.max_message_bytes // 2)
    keep_alive_ms = facts.in_force(case.config, "client", "keep_alive_ms")
    silence_ms = min(SILENCE_MS, int(keep_alive_ms) // 2) if keep_alive_ms else SILENCE_MS
    strictly, loosely = Strictly(standing, silence_ms * MS), Loosely(standing, case, facts)
    found: list[list[Moment]] = []
    kinds, plain, last = strictly.kinds, False, 0
    for place, event in enumerate(events):
        if plain:
            expected = kinds.get(type(event))
            if expected is not None and expected(event):
                if not standing.under_way and place - last >= least and strictly.is_still:
                    last = place
                    found[-1].append(_moment(place + 1, event.t_ns, strictly))
                continue
            loosely.take_over()
            plain = False
        loosely.see(event)
        names.learn(event, standing)
        if loosely.is_unfit:
            return [], ()
        if type(event) in _ENDINGS and loosely.is_still and strictly.begin():
            plain, last = True, place
            found.append([_moment(place + 1, event.t_ns, strictly)])
    return found, strictly.beside


_ENDINGS: Final = frozenset({Completion, Frame})
"""What may be the last of what is under way."""


def _moment(place: int, now_ns: int, strictly: Strictly) -> Moment:
    standing = strictly.standing
    return Moment(
        place=place,
        t_ns=now_ns,
        beside=len(strictly.beside),
        heard_ns=dict(standing.heard_ns),
        permits=standing.permits,
        calm=strictly.is_calm(now_ns),
        waiting=standing.waiting,
        counts=dict(standing.counts()),
    )


def _longest(moments: Sequence[Moment]) -> Span | None:
    """Between two moments with the same permits, neither of them the first or the last: what comes behind something
    else that happened, and before it, is what that is judged by. How soon ACKs follow each other is: no ACK that is
    left out is near what comes behind."""
    first: dict[object, Moment] = {}
    end = max((place for place, moment in enumerate(moments) if moment.calm), default=0)
    spans = (Span(first.setdefault(moment.permits, moment), moment, moments[end]) for moment in moments[1:end])
    return max((span for span in spans if len(span)), key=len, default=None)


def _is_whole(beside: Sequence[Event], span: Span, names: Names) -> bool:
    """Nothing leaves together with what waited at its end, and all of that leaves before the stretch is over."""
    left: set[tuple[str, tuple[int, int]]] = set()
    for event in filter(_is_ack, beside[span.last.beside : span.over.beside]):
        entries = set(entries_of(event, names))
        if entries & span.last.waiting:
            left |= entries
    return left == span.last.waiting


def _named(left: Sequence[Event | Passed], spans: Sequence[Span], names: Names) -> set[int]:
    """Numbers of the spans of which something is named in what is left."""
    ranges = Ranges(spans)
    found = {ranges.span_of(name) for event in left for name in names.named(event)}
    return {place for place in found if place is not None}


def _without(
    history: History, beside: Sequence[Event], spans: Sequence[Span], names: Names
) -> Iterator[Event | Passed]:
    walk, place = history.walk(), 0
    for span in spans:
        yield from walk.take(span.first.place - place)
        walk.pass_over(len(span))
        for event in beside[span.first.beside : span.last.beside]:
            if not _is_ack(event) or not span.first.waiting.isdisjoint(entries_of(event, names)):
                yield event
        behind = next(walk.take(1))
        yield Passed(behind.seq, span.last.t_ns, span.heard_ns)
        for event in chain((behind,), walk.take(span.over.place - span.last.place - 1)):
            if not (_is_ack(event) and not span.last.waiting.isdisjoint(entries_of(event, names))):
                yield event
        place = span.over.place
    yield from walk.take()


def _is_ack(event: Event) -> bool:
    return type(event) is Frame and event.command == "ACK"
