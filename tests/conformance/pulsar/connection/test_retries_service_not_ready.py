"""The check of `connection.retries-service-not-ready`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar.connection._opening import Opening, not_ready

from assay_conformance.checks.trial import ANY_CLIENT, trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.connection.reconnects_while_opening import reconnects_while_opening
from assay_conformance.pulsar.checks.connection.retries_service_not_ready import retries_service_not_ready


def test_refusal_of_another_that_comes_back_is_no_failure() -> None:
    story = Script()
    story.producer()
    asked = story.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s"})
    again = story.producer_asks()
    story.down("ERROR", request_id=again.request_id, fields={"error": "ServiceNotReady"})
    story.complete(asked)
    check = trial(retries_service_not_ready, story.done())
    assert (check.findings, check.exercised) == ([], 0)


def test_broker_that_was_not_ready_before_the_connection_was_lost_was_not_what_ended_the_opening() -> None:
    story = not_ready()
    story.asks(8)
    story.cut()
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.TRANSPORT)
    assert story.judged(retries_service_not_ready) == ([], 1)
    assert story.judged(reconnects_while_opening)[0] == ["gave-up"]


class _WithLetters(Opening):
    """Its retry letter topic is subscribed to as well."""

    def asks_both(self) -> None:
        self.asks()
        fields = {"topic": f"{self.full('t')}-s-RETRY", "subscription": "s"}
        self.up("SUBSCRIBE", consumer_id=1, request_id=8, fields=fields)

    def judged_with(self, *, letters: bool) -> list[str]:
        facts = msgspec.structs.replace(ANY_CLIENT, fixed={"retry_letters": letters})
        return [finding.code for finding in trial(retries_service_not_ready, self.done(), facts=facts).findings]


@pytest.mark.parametrize(("letters", "codes"), [(True, []), (False, ["gave-up"])])
def test_opening_that_is_refused_its_retry_letter_topic_need_not_wait_for_the_other(
    letters: bool, codes: list[str]
) -> None:
    story = _WithLetters()
    story.connected()
    story.asks_both()
    story.is_not_ready()
    story.is_refused(8, "TopicTerminatedError")
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.TERMINATED)
    assert story.judged_with(letters=letters) == codes


@pytest.mark.parametrize(("stood_still_ms", "codes"), [(2_000, []), (20, ["waited-in-vain"])])
def test_attempt_that_a_bench_which_stood_still_read_too_late_is_not_missed(
    stood_still_ms: int, codes: list[str]
) -> None:
    story = not_ready()
    story.load(100)
    story.after(2_500)
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    story.load(2_500, loop_lag_ms=stood_still_ms)
    facts = msgspec.structs.replace(ANY_CLIENT, fixed={"operation_timeout_ms": 2_000})
    check = trial(retries_service_not_ready, story.done(), facts=facts)
    assert ([one.code for one in check.findings], bool(check.undecided_because)) == (codes, not codes)
