"""Answers to SENDs that do not just confirm the oldest unanswered one.

A client keeps what it has sent in a queue, oldest first. A receipt for the oldest one is the expected case, which
`Unit.receipts` has; here are all other receipts, and every SEND_ERROR.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from assay_conformance.checks.base import View
from assay_conformance.judging.certainty import UnknownError
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline.producers import ProducerSession, Unit


class Fit(Enum):
    """Which unanswered unit of its producer, on its connection, an answer is for."""

    OLDEST = "the oldest"
    LATER = "one after the oldest, or of a greater id than any that waits in front of it"
    NONE = "none: it comes a second time, or the send has ended without it"


class Answer(NamedTuple):
    """A SEND_RECEIPT or SEND_ERROR as it was written to the client. `unit`: what it names, None where nothing of that
    sequence id was sent; `oldest`: the oldest unanswered unit at that moment."""

    frame: Frame
    session: ProducerSession
    unit: Unit | None
    oldest: Unit | None
    place: Fit
    """Its fit, if the client assigns the sequence ids."""
    chosen_ids: bool
    waited: bool
    """The unit that it names had no answer yet on this connection."""

    @property
    def fit(self) -> Fit:
        """Which unit it is for; unknown if the application chooses sequence ids, which need not increase."""
        if self.chosen_ids:
            raise UnknownError("the application chose the sequence ids, which do not show which SEND is older")
        return self.place

    @property
    def handle(self) -> int | None:
        """The handle of the producer whose unit it names; None if that is not known."""
        return None if self.unit is None else self.unit.line.handle

    @property
    def is_for_a_closed_producer(self) -> bool:
        """It came after the broker's CLOSE_PRODUCER, for a producer that is no longer there."""
        return self.session.sent_away is not None and self.session.sent_away.seq < self.frame.seq

    @property
    def is_ahead(self) -> bool:
        """A receipt with a greater id than the oldest unit's, whose own receipt must have been lost."""
        return (
            self.place is Fit.LATER
            and self.frame.command == "SEND_RECEIPT"
            and self.oldest is not None
            and (self.frame.sequence_id or 0) >= self.oldest.sequence_id
        )


def answers(view: View) -> list[Answer]:
    """Return all answers of the attempt, in order."""
    return [
        Answer(
            frame=odd.frame,
            session=odd.session,
            unit=odd.unit,
            oldest=odd.head,
            place=_place(view, odd.frame, odd.unit, odd.head, odd.waited),
            chosen_ids=odd.unit is not None and odd.unit.line.handle in view.tracker.foresight.explicit,
            waited=odd.waited,
        )
        for odd in view.tracker.lines.odd_answers
    ]


def _place(view: View, frame: Frame, unit: Unit | None, oldest: Unit | None, waited: bool) -> Fit:
    if waited and unit is oldest:
        return Fit.OLDEST
    is_older = oldest is None or (frame.sequence_id or 0) < oldest.sequence_id
    is_over = not waited or unit is None or _had_ended(view, unit, frame.seq)
    return Fit.NONE if is_older and is_over else Fit.LATER


def _had_ended(view: View, unit: Unit, seq: int) -> bool:
    """Return whether a send inside had ended before event `seq`."""
    sends = (view.tracker.send_of(unit.line.handle or 0, number) for number in unit.numbers)
    return any(send is not None and send.completion is not None and send.completion.seq < seq for send in sends)
