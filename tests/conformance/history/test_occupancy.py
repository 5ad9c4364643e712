"""Which connections a client ends when they carry nothing, on histories of a few lines."""

from __future__ import annotations

import pytest

from assay_conformance.history.occupancy import left_unused
from assay_conformance.history.script import Script
from assay_conformance.model.event import ClosedBy


class _Client(Script):
    def asks(self, *, answered: bool = True) -> None:
        self.connected()
        self.up("LOOKUP", request_id=7, fields={"topic": self.full("t")})
        if answered:
            self.down("LOOKUP_RESPONSE", request_id=7, fields={"response": "Connect"})

    def unused(self) -> list[int]:
        return [closed.conn for closed in left_unused(self.done())]


def test_connection_of_an_answered_look_up_carries_nothing() -> None:
    story = _Client()
    story.asks()
    story.closed()
    assert story.unused() == [0]


def test_connection_of_a_look_up_without_an_answer_is_waited_for() -> None:
    story = _Client()
    story.asks(answered=False)
    story.closed()
    assert story.unused() == []


def test_connection_that_was_of_no_use_is_not_left_for_that() -> None:
    story = _Client()
    story.connected()
    story.closed()
    assert story.unused() == []


def test_connection_that_a_fault_ends_is_not_left() -> None:
    story = _Client()
    story.asks()
    story.closed(by=ClosedBy.FAULT)
    assert story.unused() == []


@pytest.mark.parametrize(("closed_there", "unused"), [(True, [0]), (False, [])])
def test_connection_carries_a_producer_until_either_side_closes_it(closed_there: bool, unused: list[int]) -> None:
    story = _Client()
    story.producer()
    if closed_there:
        story.down("CLOSE_PRODUCER", producer_id=0)
    story.closed()
    assert story.unused() == unused


def test_connection_carries_a_consumer_beside_a_producer_that_is_gone() -> None:
    story = _Client()
    story.producer()
    story.consumer()
    story.down("CLOSE_PRODUCER", producer_id=0)
    story.closed()
    assert story.unused() == []


def test_producer_that_was_refused_is_not_carried() -> None:
    story = _Client()
    story.connected()
    asked = story.producer_asks()
    story.down("ERROR", request_id=asked.request_id, fields={"error": "ProducerBusy"})
    story.closed()
    assert story.unused() == [0]
