"""How what has unsubscribed is closed."""

from __future__ import annotations

import pytest

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.subscription.closes_after_unsubscribe import closes_after_unsubscribe

CLIENT = 1
CLOSED = {"error": ErrorClass.CLOSED}


class _Unsubscribed(Script):
    """A consumer that has unsubscribed, with this outcome."""

    def __init__(self, outcome: Outcome = Outcome.OK) -> None:
        super().__init__()
        opening = self.invoke("open_consumer", CONSUMER, args={"client": CLIENT, "topics": ["t"], "subscription": "s"})
        self.connected()
        self.subscribed()
        self.complete(opening)
        self.complete(self.invoke("unsubscribe", CONSUMER, args={"consumer": CONSUMER}), outcome)

    def closes(self, outcome: Outcome = Outcome.OK, handle: int = CONSUMER) -> None:
        self.complete(
            self.invoke("close", handle, args={"handle": handle}), outcome, **({} if outcome is Outcome.OK else CLOSED)
        )

    def judged(self) -> tuple[list[str], int]:
        check = trial(closes_after_unsubscribe, self.done())
        return [finding.code for finding in check.findings], check.exercised


def test_close_that_succeeds_is_accepted() -> None:
    story = _Unsubscribed()
    story.closes()
    assert story.judged() == ([], 1)


def test_close_that_fails_is_found() -> None:
    story = _Unsubscribed()
    story.closes(Outcome.FAIL)
    assert story.judged()[0] == ["close-failed"]


def test_second_close_may_fail() -> None:
    story = _Unsubscribed()
    story.closes()
    story.closes(Outcome.FAIL)
    assert story.judged() == ([], 1)


def test_close_may_fail_when_its_client_is_closed() -> None:
    story = _Unsubscribed()
    story.closes(handle=CLIENT)
    story.closes(Outcome.FAIL)
    assert story.judged() == ([], 1)


def test_close_behind_an_unsubscribe_that_failed_is_no_matter_of_this() -> None:
    story = _Unsubscribed(Outcome.FAIL)
    story.closes(Outcome.FAIL)
    assert story.judged() == ([], 0)


@pytest.mark.parametrize(("command", "codes"), [("CLOSE_PRODUCER", []), ("CLOSE_CONSUMER", ["close-failed"])])
def test_close_of_the_client_may_fail_for_another_that_the_broker_refuses_to_close(
    command: str, codes: list[str]
) -> None:
    story = _Unsubscribed()
    story.producer()
    close = story.invoke("close", CLIENT, args={"handle": CLIENT})
    id = {"producer_id": 0} if command == "CLOSE_PRODUCER" else {"consumer_id": 0}
    story.up(command, request_id=77, **id)
    story.down("ERROR", request_id=77, fields={"error": "TopicNotFound"})
    story.complete(close, Outcome.FAIL, **CLOSED)
    assert story.judged()[0] == codes
