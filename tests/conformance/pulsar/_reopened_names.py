"""Producers that are closed and opened again under their name, and payloads too small to say whose they are."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import NAME, PRODUCER, Script, digest_of, unit_of
from assay_conformance.model.case import Case
from assay_conformance.model.event import Member

AGAIN = 7
"""The handle of the producer that is opened under the name of the first."""


class Story(Script):
    """Messages of ten bytes: what crosses and is stored of them has no identity."""

    def small(self, number: int, handle: int = PRODUCER) -> dict[str, Any]:
        member = Member(size=10, digest=digest_of(number, handle), sequence_id=number)
        return {"members": (member,), "unit": unit_of([number], handle)}

    def sent(self, *numbers: int, handle: int = PRODUCER, conn: int = 0, producer_id: int = 0) -> None:
        for number in numbers:
            if (handle, number) not in self._sends:
                self.send(number, handle, size=10)
            self.send_frame(number, handle=handle, conn=conn, producer_id=producer_id, **self.small(number, handle))

    def kept(self, *numbers: int, handle: int = PRODUCER, conn: int = 0, producer_id: int = 0) -> None:
        """Stored, receipted and reported as sent."""
        for number in numbers:
            self.stored(number, handle=handle, **self.small(number, handle))
            self.receipt(number, conn=conn, producer_id=producer_id)
            self.ok(number, handle)

    def close(self, handle: int = PRODUCER) -> None:
        self.complete(self.invoke("close", handle, args={"handle": handle}))

    def unnamed(self) -> None:
        """A broker makes its name up."""
        opening = self.invoke("open_producer", PRODUCER, args={"topic": "t"})
        self.connected()
        asked = self.producer_asks(producer_name="")
        self.down("PRODUCER_SUCCESS", request_id=asked.request_id, fields={"producer_name": NAME})
        self.complete(opening, producer_name=NAME)

    def reopened(self, conn: int = 0, **config: Any) -> None:
        self.producer(AGAIN, conn=conn, producer_id=1, **config)

    def judged(self, check: type[Check], case: Case = ANY_CASE) -> list[str]:
        self.read_back()
        return [finding.code for finding in trial(check, self.done(), case).findings]


def closed_and_opened_again() -> Story:
    """Two small messages each, under one name, numbered from 0 both times."""
    story = Story()
    story.producer()
    story.sent(0, 1)
    story.kept(0, 1)
    story.close()
    story.reopened()
    return story
