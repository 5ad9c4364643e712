"""Access modes, both ways."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.producer.access_modes import access_modes


class _Topic(Script):
    """Producers on one topic, told apart by their connection."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.joins(0, mode)

    def asks(self, conn: int, mode: str) -> Frame:
        self.connected(conn)
        return self.producer_asks(conn, name=f"p{conn}", producer_access_mode=mode)

    def answer(self, asked: Frame, **fields: object) -> Frame:
        named = {"producer_name": asked.fields["producer_name"], **fields}
        return self.down("PRODUCER_SUCCESS", asked.conn, request_id=asked.request_id, fields=named)

    def joins(self, conn: int, mode: str) -> None:
        self.answer(self.asks(conn, mode))

    def closes(self, conn: int) -> None:
        self.up("CLOSE_PRODUCER", conn, producer_id=0, request_id=90)

    def judged(self) -> Check:
        return trial(access_modes, self.at(9_000).done())

    def codes(self) -> list[str]:
        return [finding.code for finding in self.judged().findings]


def test_refusing_a_second_exclusive_producer_is_accepted() -> None:
    story = _Topic("Exclusive")
    asked = story.asks(1, "Exclusive")
    story.down("ERROR", 1, request_id=asked.request_id, fields={"error": "ProducerFenced"})
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 1)


def test_second_exclusive_producer_is_found() -> None:
    story = _Topic("Exclusive")
    story.joins(1, "Exclusive")
    assert story.codes() == ["beside-another"]


def test_shared_producer_beside_an_exclusive_one_is_found() -> None:
    story = _Topic("Exclusive")
    story.joins(1, "Shared")
    assert story.codes() == ["beside-another"]


def test_shared_producers_may_be_many() -> None:
    story = _Topic("Shared")
    story.joins(1, "Shared")
    assert story.codes() == []


def test_exclusive_producer_after_the_first_is_closed_is_accepted() -> None:
    story = _Topic("Exclusive")
    story.closes(0)
    story.joins(1, "Exclusive")
    assert story.codes() == []


def _waiting() -> tuple[_Topic, Frame]:
    story = _Topic("Exclusive")
    asked = story.asks(1, "WaitForExclusive")
    story.answer(asked, producer_ready=False)
    story.closes(0)
    return story, asked


def test_producer_that_waits_and_gets_its_turn_is_accepted() -> None:
    story, asked = _waiting()
    story.answer(asked)
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 1)


def test_producer_left_waiting_is_found() -> None:
    story, _ = _waiting()
    assert story.codes() == ["kept-waiting"]


def test_fenced_producer_that_still_gets_receipts_is_found() -> None:
    story = _Topic("Shared")
    story.joins(1, "ExclusiveWithFencing")
    story.after(500).receipt(3, conn=0)
    assert story.codes() == ["fenced-still-sends"]


def test_fencing_throws_everybody_out() -> None:
    story = _Topic("Exclusive")
    story.joins(1, "ExclusiveWithFencing")
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 1)


def test_one_that_fences_throws_everybody_out_even_if_it_is_refused_for_its_epoch() -> None:
    story = _Topic("Exclusive")
    asked = story.asks(1, "ExclusiveWithFencing")
    story.down("ERROR", 1, request_id=asked.request_id, fields={"error": "ProducerFenced"})
    story.joins(2, "Shared")
    assert story.codes() == []
