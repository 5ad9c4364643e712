"""dedup.forgets-inactive-producers"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Closed, Event, Fate, Frame, Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID, Name, deduplicated
from assay_conformance.pulsar.checks.dedup._names import checked_later, highest_id
from assay_conformance.pulsar.timeline import MS, Exercised, Says, Timeline, breach, check, ms

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
        return _last_id(self.answer)


class _Walk:
    """Through what was stored, and the producers that came and went."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._used: dict[Name, Stored] = {}
        self._left: dict[Name, Event] = {}
        """Of those, since when they have no producer."""
        self._requests: dict[tuple[int, int | None], Frame] = {}
        self._registered: dict[tuple[int, int], Name] = {}
        self._producers_of: Counter[Name] = Counter()

    def returns(self) -> Iterator[_Return]:
        """A broker that loads a topic counts from then on: names from before the load are not judged."""
        events, topics = self._timeline.events, deduplicated(self._timeline.view)
        frames = events.frames("PRODUCER", "PRODUCER_SUCCESS", "CLOSE_PRODUCER") if topics else ()
        others = (*events.of(Stored), *events.of(Closed)) if frames else ()
        for moment in sorted([*frames, *others], key=lambda one: one.seq):
            if isinstance(moment, Closed):
                for place in [place for place in self._registered if place[0] == moment.conn]:
                    self._leaves(place, moment)
            elif isinstance(moment, Stored):
                if base_topic(moment.topic) in topics and not checked_later(moment.meta):
                    name = (moment.topic, moment.meta.producer_name)
                    self._used[name] = moment
                    self._left.pop(name, None)
            elif isinstance(moment, Frame):
                yield from self._frame(moment)

    def _frame(self, frame: Frame) -> Iterator[_Return]:
        asked = (frame.conn, frame.request_id)
        if frame.command == "PRODUCER":
            if frame.to_receiver and frame.fate is not Fate.DUPLICATED:
                self._requests[asked] = frame
        elif frame.command == "CLOSE_PRODUCER":
            if frame.at_broker:
                self._leaves((frame.conn, frame.producer_id or 0), frame)
        elif (request := self._requests.pop(asked, None)) is not None:
            place = (request.conn, request.producer_id or 0)
            if frame.from_sender and frame.fate is not Fate.INJECTED and place not in self._registered:
                yield from self._admitted(place, self._timeline.local_topic(request), frame)

    def _admitted(self, place: tuple[int, int], topic: str, answer: Frame) -> Iterator[_Return]:
        name = (topic, str(answer.fields.get("producer_name")))
        stored, left = self._used.get(name), self._left.get(name)
        loads = self._timeline.loads
        if stored is not None and not self._producers_of[name] and loads(topic, stored) == loads(topic, answer):
            if left is not None:
                yield _Return(name, stored, left, answer)
            if _last_id(answer) < highest_id(stored):
                # Forgotten, rightly or not: later answers do not name it either.
                del self._used[name]
        self._registered[place] = name
        self._producers_of[name] += 1

    def _leaves(self, place: tuple[int, int], event: Event) -> None:
        name = self._registered.pop(place, None)
        if name is not None:
            self._producers_of[name] -= 1
            if name in self._used:
                self._left[name] = event


def _last_id(answer: Frame) -> int:
    return int(answer.fields.get("last_sequence_id", NO_SEQUENCE_ID))


@check("dedup.forgets-inactive-producers", of=lambda timeline: list(_Walk(timeline).returns()))
def forgets_inactive_producers(timeline: Timeline, back: _Return) -> Says:
    """dedup.forgets-inactive-producers: producer names that had no producer for so long that a broker forgets them.

    Judged by the last sequence id that a registration gets, for a name that had no producer and sent nothing for about
    the inactivity time-out.
    """
    limit_ns = timeline.view.case.topology.settings.dedup_idle_minutes * 60_000 * MS
    (topic, name), stored, left, answer = back
    unused_ns, highest = answer.t_ns - left.t_ns, highest_id(stored)
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
