"""Producers as their broker sees them: each PRODUCER that it got, what it answered, and what ended it there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from assay_conformance.checks.tracker import Tracker
from assay_conformance.history.events import Events, Stretch, between, first_of
from assay_conformance.model.event import FORGED_OR_DOUBLED, Closed, Event, Frame

SHARED: Final = "Shared"


@dataclass(slots=True, eq=False)
class ServedProducer:
    """What a PRODUCER asked for. `answers`: PRODUCER_SUCCESS and ERROR as the broker wrote them; `closes`: each
    CLOSE_PRODUCER for its place after it, of either side; `replaced`: the next PRODUCER in its place."""

    request: Frame
    topic: str
    answers: Sequence[Frame]
    closes: Stretch[Frame]
    replaced: Frame | None
    lost: Closed | None

    @property
    def place(self) -> tuple[int, int]:
        """Connection and producer id."""
        return self.request.conn, self.request.producer_id or 0

    @property
    def mode(self) -> str:
        """Its access mode."""
        return str(self.request.fields.get("producer_access_mode", SHARED))

    @property
    def successes(self) -> list[Frame]:
        """Each PRODUCER_SUCCESS: one that waits for its topic gets two, and its name with the first."""
        return [answer for answer in self.answers if answer.command == "PRODUCER_SUCCESS"]

    @property
    def waits(self) -> Frame | None:
        """The first answer that lets it wait for its topic (producer_ready = false)."""
        return next((one for one in self.successes if one.fields.get("producer_ready") is False), None)

    @property
    def admitted(self) -> Frame | None:
        """The first answer that admits it."""
        return next((one for one in self.successes if one.fields.get("producer_ready") is not False), None)

    @property
    def refusal(self) -> Frame | None:
        """The ERROR that refuses it."""
        return next((one for one in self.answers if one.command == "ERROR"), None)

    @property
    def name(self) -> str:
        """The name that the broker gave it, or else the one that it asked for."""
        answer = next(iter(self.successes), self.request)
        return str(answer.fields.get("producer_name", ""))

    def first_end(self, *others: Event | None) -> Event | None:
        """Return what came first: it was closed, its connection ended, or one of `others`."""
        ends = [end for end in (next(iter(self.closes), None), self.lost, *others) if end is not None]
        return first_of(*ends)


def served_producers(tracker: Tracker, events: Events) -> list[ServedProducer]:
    """Return all producers, in the order in which brokers got their PRODUCERs."""
    answers, closes = dict[object, list[Frame]](), dict[object, list[Frame]]()
    for frame in events.frames("PRODUCER_SUCCESS", "ERROR"):
        if frame.from_sender and frame.fate not in FORGED_OR_DOUBLED:
            answers.setdefault((frame.conn, frame.request_id), []).append(frame)
    for frame in events.frames("CLOSE_PRODUCER"):
        if frame.at_broker:
            closes.setdefault((frame.conn, frame.producer_id), []).append(frame)
    found: list[ServedProducer] = []
    later, next_request = dict[object, Frame](), dict[object, Frame]()
    for request in reversed(events.frames("PRODUCER")):
        if not request.to_receiver or request.fate in FORGED_OR_DOUBLED or request.producer_id is None:
            continue
        place, asked = (request.conn, request.producer_id), (request.conn, request.request_id)
        until = next_request.get(asked)
        replies = [one for one in answers.get(asked, ()) if one.seq > request.seq]
        served = ServedProducer(
            request=request,
            topic=tracker.local_topic(str(request.fields.get("topic", ""))),
            answers=[one for one in replies if until is None or one.seq < until.seq],
            closes=between(closes.get(place, []), request, None),
            replaced=later.get(place),
            lost=tracker.closed.get(request.conn),
        )
        later[place] = next_request[asked] = request
        found.append(served)
    return found[::-1]
