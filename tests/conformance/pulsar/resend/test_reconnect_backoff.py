"""resend.reconnect-backoff, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar.resend.returning import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.resend.reconnect_backoff import reconnect_backoff


class _Refused(Script):
    """A producer loses its connection and is refused so often, waiting so long each time; of the first wait the machine
    kept the client from running for `held_up_ms`."""

    def __init__(self, *waits_ms: float, held_up_ms: int = 0, **config: object) -> None:
        super().__init__()
        self.producer(**config)  # type: ignore[arg-type]
        self.cut()
        self.connected(1)
        for place, wait_ms in enumerate(waits_ms):
            self._refuse()
            self.after(wait_ms)
            if place == 0 and held_up_ms:
                self._kept_waiting(int(wait_ms), held_up_ms)
        self.producer_ready(1)

    def _kept_waiting(self, wait_ms: int, held_up_ms: int) -> None:
        """In two windows, so that no wait is a long one."""
        for _ in range(2):
            self.load(wait_ms // 2, agent_wait_ms=held_up_ms // 2)

    def _refuse(self) -> None:
        asked = self.producer_asks(1)
        self.down("ERROR", 1, request_id=asked.request_id, fields={"error": "ServiceNotReady"})

    def judged(self) -> Check:
        return trial(reconnect_backoff, self.done())


def test_waits_that_grow_are_accepted() -> None:
    check = _Refused(100, 200, 400).judged()
    assert (check.findings, check.exercised) == ([], 1)


def test_partition_that_is_added_may_be_opened_with_each_update() -> None:
    story = Script()
    story.producer(topic="t-partition-0")
    for _ in range(4):
        asked = story.producer_asks(producer_id=1, topic="t-partition-1")
        story.down("ERROR", request_id=asked.request_id, fields={"error": "AuthorizationError"})
        story.after(300)
    assert trial(reconnect_backoff, story.done()).findings == []


def test_producer_that_could_not_be_opened_may_be_opened_by_each_send() -> None:
    story = Script()
    story.connected()
    opening = story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    for wait_ms in (100, 20, 20, 20):
        asked = story.producer_asks()
        story.down("ERROR", request_id=asked.request_id, fields={"error": "AuthorizationError"})
        story.after(wait_ms)
        if wait_ms == 100:
            story.complete(opening, Outcome.FAIL, error=ErrorClass.AUTH)
    assert trial(reconnect_backoff, story.done()).findings == []


def test_waits_that_stay_the_same_are_found() -> None:
    assert codes_of(_Refused(100, 120, 110).judged()) == ["does-not-grow"]


def test_first_wait_that_the_machine_may_have_made_longer_shows_nothing() -> None:
    check = _Refused(246, 240, 415, held_up_ms=140).judged()
    assert (codes_of(check), check.exercised) == ([], 0)
    assert check.undecided_because is not None


def test_waits_that_stay_the_same_are_found_although_the_machine_was_a_little_late() -> None:
    assert codes_of(_Refused(246, 240, 250, held_up_ms=20).judged()) == ["does-not-grow"]


def test_wait_that_the_send_time_out_cuts_short_is_accepted() -> None:
    check = _Refused(200, 400, 200, send_timeout_ms=1_000).judged()
    assert (codes_of(check), check.exercised) == ([], 0)


def test_wait_for_another_connection_is_no_wait_between_attempts() -> None:
    story = Script()
    story.producer()
    story.cut()
    for conn, wait_ms in enumerate((1_000, 800, 1_600), 1):
        story.connected(conn)
        asked = story.producer_asks(conn)
        story.down("ERROR", conn, request_id=asked.request_id, fields={"error": "ServiceNotReady"})
        story.cut(conn)
        story.after(wait_ms)
    story.producer_again(4)
    assert codes_of(trial(reconnect_backoff, story.done())) == []


def test_few_refusals_show_nothing() -> None:
    check = _Refused(100, 100).judged()
    assert (codes_of(check), check.exercised) == ([], 0)


def test_first_wait_of_the_next_outage_is_short_again() -> None:
    story = _Refused(100, 200, 400)
    story.after(200).cut(1)
    story.after(100).producer_again(2)
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 2)


@pytest.mark.parametrize(
    ("sends", "stays_ms", "codes"), [(False, 200, ["does-not-reset"]), (True, 0, ["does-not-reset"]), (False, 0, [])]
)
def test_wait_that_stays_long_after_a_success_that_was_heard_is_found(
    sends: bool, stays_ms: int, codes: list[str]
) -> None:
    """The client sends, or its connection stands for a while: else it may never have read that it was admitted."""
    story = _Refused(100, 200, 400)
    if sends:
        story.send_frame(0, conn=1)
    story.after(stays_ms).cut(1)
    story.after(1_600).producer_again(2)
    assert codes_of(story.judged()) == codes


def _refused_for(*waits_ms: float) -> Check:
    """Refused at first and after each of these waits, in a Case that was made for the requirement."""
    story = Script()
    story.producer()
    story.cut()
    story.connected(1)
    for wait_ms in (*waits_ms, 0):
        asked = story.producer_asks(1)
        story.down("ERROR", 1, request_id=asked.request_id, fields={"error": "ServiceNotReady"})
        story.after(wait_ms)
    case = msgspec.structs.replace(ANY_CASE, requirements=(reconnect_backoff.requirement,))
    return trial(reconnect_backoff, story.after(1_000).done(), case)


def test_long_waits_from_the_first_on_leave_too_few_attempts_and_are_found() -> None:
    assert codes_of(_refused_for(5_000, 5_000)) == ["tries-too-seldom"]


def test_few_attempts_in_a_short_outage_are_accepted() -> None:
    assert codes_of(_refused_for(100, 200)) == []
