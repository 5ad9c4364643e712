"""resend.closed-stays-closed, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.resend.returning import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import NAME, PRODUCER, Script
from assay_conformance.model.event import ErrorClass, Invoke, Outcome
from assay_conformance.pulsar.checks.resend.closed_stays_closed import closed_stays_closed


class _Away(Script):
    """Message 0 has no receipt, the connection is gone, and the producer is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.producer()
        self.send(0)
        self.send_frame(0)
        self.cut()

    def close(self) -> Invoke:
        return self.invoke("close", PRODUCER)

    def judged(self) -> Check:
        return trial(closed_stays_closed, self.at(5_000).done())


def test_producer_closed_while_away_that_stays_away_is_accepted() -> None:
    story = _Away()
    close = story.close()
    story.unknown(0)
    story.complete(close)
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 1)


def test_producer_that_registers_after_its_close_is_found() -> None:
    story = _Away()
    story.complete(story.close())
    story.unknown(0)
    story.after(300).producer_again(1)
    assert codes_of(story.judged()) == ["came-back"]


@pytest.mark.parametrize(("error", "found"), [(ErrorClass.OTHER, ["came-back"]), (ErrorClass.TIMEOUT, [])])
def test_producer_that_its_client_refused_to_close_and_that_registers_is_found(
    error: ErrorClass, found: list[str]
) -> None:
    story = _Away()
    story.complete(story.close(), outcome=Outcome.UNKNOWN, error=error)
    story.unknown(0)
    story.after(300).producer_again(1)
    assert codes_of(story.judged()) == found


def test_another_producer_of_that_name_is_not_the_closed_one() -> None:
    story = _Away()
    story.complete(story.close())
    story.unknown(0)
    story.after(300)
    story.producer(7, conn=1)
    assert codes_of(story.judged()) == []


def test_another_of_that_name_may_be_on_its_way_back_when_it_is_closed() -> None:
    story = _Away()
    story.complete(story.close())
    story.unknown(0)
    story.after(300).producer(7, conn=1)
    story.cut(1)
    story.complete(story.invoke("close", 7))
    story.after(5).producer_again(2)
    assert codes_of(story.judged()) == []


def test_send_left_pending_is_found() -> None:
    story = _Away()
    story.complete(story.close())
    assert codes_of(story.judged()) == ["left-pending"]


@pytest.mark.parametrize("called_late", [False, True])
def test_close_that_had_to_wait_until_its_producer_was_back_is_not_one_while_away(called_late: bool) -> None:
    story = _Away()
    close = story.close()
    story.after(100).producer_again(1)
    back = story.after(10).up("CLOSE_PRODUCER", 1, producer_id=0, request_id=99)
    story.complete(close, called_ns=back.t_ns if called_late else close.t_ns)
    assert codes_of(story.judged()) == ([] if called_late else ["left-pending"])


def _admitted_meanwhile(*, told: bool) -> Check:
    story = _Away()
    story.connected(1)
    asked = story.producer_asks(1)
    close = story.close()
    story.unknown(0)
    if told:
        story.up("CLOSE_PRODUCER", 1, producer_id=0, request_id=99)
    story.complete(close)
    story.down("PRODUCER_SUCCESS", 1, request_id=asked.request_id, fields={"producer_name": NAME})
    return story.judged()


def test_broker_told_of_the_close_is_accepted() -> None:
    check = _admitted_meanwhile(told=True)
    assert (check.findings, check.exercised) == ([], 1)


def test_producer_left_at_the_broker_is_found() -> None:
    assert codes_of(_admitted_meanwhile(told=False)) == ["left-behind"]
