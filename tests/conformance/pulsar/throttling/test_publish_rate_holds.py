"""The check of `throttling.publish-rate-holds`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.throttling._histories import throttled_case

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import DUPLICATE, Script
from assay_conformance.model.case import Case, Rate, Step, Topic, Topology, Who
from assay_conformance.model.policy import BrokerSettings, Policies
from assay_conformance.pulsar.checks.throttling.publish_rate_holds import publish_rate_holds

PUBLISH = throttled_case(publish_rate=Rate(messages=10))


def _published(*stored_ms: int, ok: int | None = None, size: int = 64 * 1024) -> Script:
    story = Script()
    story.producer()
    count = len(stored_ms) if ok is None else ok
    for number in range(count):
        story.send(number)
        story.send_frame(number)
    for number, at_ms in enumerate(stored_ms):
        story.at(at_ms).stored(number, size=size)
    for number in range(count):
        story.receipt(number)
        story.ok(number)
    story.read_back()
    return story


def test_publishing_slowed_to_the_rate_is_accepted() -> None:
    story = _published(*range(100, 110), *(200 + 100 * n for n in range(10)))
    check = trial(publish_rate_holds, story.done(), PUBLISH)
    assert (check.findings, check.exercised) == ([], 10)


def test_publishing_beyond_the_rate_is_found() -> None:
    assert codes_of(trial(publish_rate_holds, _published(*range(100, 160)).done(), PUBLISH)) == ["too-fast"]


OF_BROKER = msgspec.structs.replace(
    ANY_CASE, topology=Topology(topics=(Topic(name="t"),), settings=BrokerSettings(publish_rate=Rate(messages=10)))
)


def test_publishing_slowed_to_the_brokers_rate_is_accepted() -> None:
    story = _published(*range(100, 110), *(200 + 100 * n for n in range(10)))
    check = trial(publish_rate_holds, story.done(), OF_BROKER)
    assert (check.findings, check.exercised) == ([], 10)


def test_publishing_beyond_the_brokers_rate_is_found() -> None:
    check = trial(publish_rate_holds, _published(*range(100, 160)).done(), OF_BROKER)
    assert codes_of(check) == ["too-fast"]
    assert check.findings[0].sentence.startswith("the broker has a publish rate of 10 messages per 1 s")


OF_NAMESPACE = msgspec.structs.replace(
    ANY_CASE, topology=Topology(topics=(Topic(name="t"),), namespace=Policies(publish_rate=Rate(messages=10)))
)
BY_A_STEP = msgspec.structs.replace(
    ANY_CASE, steps=(Step(Who.BROKER, "set_policy", {"topic": "t", "publish_rate": {"messages": 10}}),)
)
OF_PUBLISH_AND_OTHERS = msgspec.structs.replace(
    PUBLISH, topology=msgspec.structs.replace(PUBLISH.topology, topics=(Topic(name="u"), *PUBLISH.topology.topics))
)


@pytest.mark.parametrize(
    ("case", "at_once"),
    [
        (ANY_CASE, True),
        (PUBLISH, False),
        (OF_BROKER, False),
        (OF_NAMESPACE, False),
        (BY_A_STEP, False),
        (OF_PUBLISH_AND_OTHERS, False),
    ],
)
def test_what_is_written_under_a_publish_rate_is_not_read_at_once(case: Case, at_once: bool) -> None:
    assert trial(publish_rate_holds, Script().done(), case).view.is_read_at_once() is at_once


def test_which_broker_has_a_topic_is_not_known_where_there_are_several() -> None:
    two = msgspec.structs.replace(OF_BROKER, topology=msgspec.structs.replace(OF_BROKER.topology, brokers=2))
    assert codes_of(trial(publish_rate_holds, _published(*range(100, 160)).done(), two)) == []


def _every(gap_ms: int, until_ms: int) -> Script:
    """A full bucket at once, and then one after the other."""
    return _published(*range(100, 110), *range(200, until_ms, gap_ms), size=1_000)


def test_publishing_at_the_rate_for_ten_periods_is_accepted() -> None:
    assert codes_of(trial(publish_rate_holds, _every(108, 12_000).done(), PUBLISH)) == []


def test_publishing_slowed_beyond_the_rate_is_starved() -> None:
    assert codes_of(trial(publish_rate_holds, _every(120, 12_000).done(), PUBLISH)) == ["starved"]


def test_nine_periods_tell_nothing_of_publishing_from_below() -> None:
    assert codes_of(trial(publish_rate_holds, _every(200, 10_000).done(), PUBLISH)) == []


def test_who_has_nothing_to_send_is_not_starved() -> None:
    story = Script()
    story.producer()
    for number in range(30):
        story.at(500 * number).send(number)
        story.send_frame(number)
        story.stored(number)
        story.receipt(number)
        story.ok(number)
    story.read_back()
    assert codes_of(trial(publish_rate_holds, story.done(), PUBLISH)) == []


def test_throttled_message_that_is_lost_is_found() -> None:
    assert codes_of(trial(publish_rate_holds, _published(100, 200, ok=3).done(), PUBLISH)) == ["lost"]


def test_message_under_an_id_that_another_had_is_not_lost_by_the_rate() -> None:
    story = Script()
    story.producer()
    for number in range(2):
        story.send(number)
        story.send_frame(number, sequence_id=0)
    story.stored(0)
    story.ok(0)
    story.ok(1)
    story.read_back()
    assert codes_of(trial(publish_rate_holds, story.done(), PUBLISH)) == []


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(("deduplication", "codes"), [(True, []), (False, ["lost"])])
def test_message_that_is_taken_for_a_duplicate_is_not_lost_by_the_rate(
    deduplication: bool, codes: list[str], told: bool
) -> None:
    story = Script()
    story.producer()
    story.send(0)
    story.send_frame(0)
    if not told:
        story.receipt(0, id=DUPLICATE)
    story.ok(0, message_id=DUPLICATE if told else None)
    story.read_back()
    case = throttled_case(publish_rate=Rate(messages=10), deduplication=deduplication)
    assert codes_of(trial(publish_rate_holds, story.done(), case)) == codes


def test_throttled_messages_that_change_order_are_found() -> None:
    story = Script()
    story.producer()
    for number in range(2):
        story.send(number)
    story.stored(1)
    story.stored(0)
    assert codes_of(trial(publish_rate_holds, story.done(), PUBLISH)) == ["reordered"]


def test_throttled_message_answered_with_error_is_found() -> None:
    story = Script()
    story.producer()
    story.send_frame(0)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": "TooManyRequests"})
    assert codes_of(trial(publish_rate_holds, story.done(), PUBLISH)) == ["answered-with-error"]


def test_error_with_a_cause_of_its_own_is_accepted() -> None:
    story = Script()
    story.producer()
    story.send_frame(0)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": "ChecksumError"})
    assert codes_of(trial(publish_rate_holds, story.done(), PUBLISH)) == []
