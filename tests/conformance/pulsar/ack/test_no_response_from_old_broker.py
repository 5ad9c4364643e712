"""The check of `ack.no-response-from-old-broker`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.ack._receipts import Awaiting, OnTwoBrokers

from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.ack.no_response_from_old_broker import no_response_from_old_broker


def test_call_that_does_not_wait_for_an_old_broker() -> None:
    story = Awaiting(version=16)
    invoke = story.asks()
    story.complete(invoke)
    assert story.judged(no_response_from_old_broker) == ([], 1)


def test_call_that_waits_for_an_old_broker_is_found() -> None:
    story = Awaiting(version=16)
    story.asks()
    story.after(2_000)
    assert story.judged(no_response_from_old_broker)[0] == ["waits-for-nothing"]


def test_call_that_is_refused_does_not_wait_for_an_old_broker() -> None:
    story = Awaiting(version=16)
    invoke = story.asks()
    story.complete(invoke, outcome=Outcome.FAIL, error=ErrorClass.INVALID_CONFIG)
    story.after(2_000)
    assert story.judged(no_response_from_old_broker) == ([], 0)


def test_new_broker_is_waited_for() -> None:
    story = Awaiting()
    story.asks()
    story.after(2_000)
    assert story.judged(no_response_from_old_broker) == ([], 0)


@pytest.mark.parametrize(("versions", "codes"), [((16, 21), []), ((16, 16), ["waits-for-nothing"])])
def test_call_waits_for_nothing_only_where_no_broker_of_its_topics_answers(
    versions: tuple[int, int], codes: list[str]
) -> None:
    story = OnTwoBrokers(*versions)
    invoke = story.acks_both()
    story.after(2_000).complete(invoke, Outcome.UNKNOWN, error=ErrorClass.TIMEOUT)
    assert story.judged(no_response_from_old_broker) == codes
