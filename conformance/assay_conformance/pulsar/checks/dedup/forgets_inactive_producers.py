from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Event, Frame, Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID, Name, deduplicated, last_sequence_id
from assay_conformance.pulsar.timeline import MS, Exercised, Says, ServedProducer, Timeline, breach, check, ms

SWEPT_NS = 2_000 * MS
"""How late a busy broker may be with its periodic clean-up."""


class _Return(NamedTuple):
    """A name comes back that had no producer since `left`; `stored` was the last under it."""

    name: Name
    stored: Stored
    left: Event
    answer: Frame

    @property
    def last_id(self) -> int:
        """What the broker names."""
        return last_sequence_id(self.answer)


def _returns(timeline: Timeline) -> Iterator[_Return]:
    """Yield the returns of names.

    A broker that loads a topic counts from then on: names from before the load are not judged.
    """
    topics, loads = deduplicated(timeline.view), timeline.loads
    used, left, there = dict[Name, Stored](), dict[Name, Event](), Counter[Name]()
    for moment, one in _moments(timeline) if topics else ():
        if isinstance(moment, Stored):
            if base_topic(moment.topic) in topics and not moment.meta.is_early_chunk:
                name = (moment.topic, moment.meta.producer_name)
                used[name] = moment
                left.pop(name, None)
        elif one is not None and moment is not one.successes[0]:
            name = (one.topic, one.name)
            there[name] -= 1
            left.update({name: moment} if name in used else {})
        elif one is not None and isinstance(moment, Frame):
            name = (one.topic, one.name)
            stored, gone = used.get(name), left.get(name)
            if stored is not None and not there[name] and loads(one.topic, stored) == loads(one.topic, moment):
                if gone is not None:
                    yield _Return(name, stored, gone, moment)
                if last_sequence_id(moment) < stored.meta.highest_id:
                    # Forgotten, rightly or not: later answers do not name it either.
                    del used[name]
            there[name] += 1


def _moments(timeline: Timeline) -> list[tuple[Event, ServedProducer | None]]:
    """Return what was stored, and the producers that came and went, in order."""
    found: list[tuple[Event, ServedProducer | None]] = [(stored, None) for stored in timeline.events.of(Stored)]
    for one in timeline.served_producers:
        for success in one.successes[:1]:
            closed = next((close for close in one.closes if close.seq > success.seq), None)
            ends = [end for end in (closed, one.lost) if end is not None and end.seq > success.seq]
            gone = min(ends, key=lambda end: end.seq, default=None)
            found += [(success, one), *([(gone, one)] if gone is not None else [])]
    return sorted(found, key=lambda one: one[0].seq)


@check("dedup.forgets-inactive-producers", of=_returns)
def forgets_inactive_producers(timeline: Timeline, back: _Return) -> Says:
    """dedup.forgets-inactive-producers: producer names that had no producer for so long that a broker forgets them.

    Judged by the last sequence id that a registration gets, for a name that had no producer and sent nothing for about
    the inactivity time-out.
    """
    limit_ns = timeline.topology.settings.dedup_idle_minutes * 60_000 * MS
    (topic, name), stored, left, answer = back
    unused_ns, highest = answer.t_ns - left.t_ns, stored.meta.highest_id
    if answer.t_ns - stored.t_ns < limit_ns:
        return
    came = f"PRODUCER_SUCCESS at {ms(answer.t_ns)} for producer name {name} of topic {topic}, which had no producer "
    came += f"since {ms(left.t_ns)}: expected"
    if unused_ns > limit_ns + limit_ns // 3 + SWEPT_NS:
        yield Exercised(answer)
        if back.last_id != NO_SEQUENCE_ID:
            text = f"no last sequence id (-1), since the name was inactive too long; got {back.last_id}"
            yield breach("remembered", f"{came} {text}", stored, left, answer)
    elif unused_ns < limit_ns - SWEPT_NS:
        yield Exercised(answer)
        if back.last_id < highest:
            text = f"its last sequence id {highest}, since the name is not inactive for long enough; got {back.last_id}"
            yield breach("forgotten-in-use", f"{came} {text}", stored, left, answer)
