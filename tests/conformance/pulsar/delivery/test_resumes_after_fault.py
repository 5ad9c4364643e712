"""The check of `delivery.resumes-after-fault`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar.delivery._histories import judged

from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.case import ClientConfig, Rate, Topic, Topology
from assay_conformance.model.event import Fate, Sides
from assay_conformance.pulsar.checks.delivery.resumes_after_fault import resumes_after_fault


def silence_behind_an_outage(s: Script) -> None:
    s.invoke("receive", CONSUMER, args={"count": 1})
    s.cut()
    s.opened(1)
    s.send(0)
    s.stored(0)
    s.after(100).ok(0)
    s.at(3_000)


def news_behind_an_outage(s: Script) -> None:
    silence_behind_an_outage(s)
    s.at(300).received(0)
    s.at(3_000)


def test_delivery_behind_an_outage_is_accepted() -> None:
    assert judged(resumes_after_fault, news_behind_an_outage) == ([], 1)


def test_silence_behind_an_outage_is_found() -> None:
    assert judged(resumes_after_fault, silence_behind_an_outage)[0] == ["stalled"]


def test_nothing_flows_to_a_consumer_whose_permits_a_fault_took() -> None:
    def story(s: Script) -> None:
        silence_behind_an_outage(s)
        s.up("FLOW", consumer_id=0, permits=1, sides=Sides.SENDER, fate=Fate.DROPPED)

    assert judged(resumes_after_fault, story)[0] == []


@pytest.mark.parametrize("kind", ["failover", "exclusive"])
@pytest.mark.parametrize("fate", [Fate.DROPPED, Fate.PASSED])
def test_the_permits_and_the_type_of_another_subscription_excuse_no_stall(kind: str, fate: Fate) -> None:
    def story(s: Script) -> None:
        s.consumer(9, conn=5, consumer_id=1, topic="u", subscription="other", subscription_type=kind)
        s.up("FLOW", 5, consumer_id=1, permits=1, sides=Sides.SENDER, fate=fate)
        silence_behind_an_outage(s)

    case = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t"), Topic(name="u"))))
    assert judged(resumes_after_fault, story, case=case)[0] == ["stalled"]


def test_a_failover_consumer_that_comes_back_is_made_active_a_second_later() -> None:
    case = msgspec.structs.replace(ANY_CASE, config=ClientConfig(consumer={"subscription_type": "failover"}))
    assert judged(resumes_after_fault, silence_behind_an_outage, case=case)[0] == []


@pytest.mark.parametrize(("poll_ms", "codes"), [(1_000, []), (0, ["stalled"])])
def test_a_client_that_looks_for_messages_once_a_period_is_later(poll_ms: int, codes: list[str]) -> None:
    facts = msgspec.structs.replace(ANY_CLIENT, fixed={"receive_poll_ms": poll_ms})
    assert judged(resumes_after_fault, silence_behind_an_outage, facts=facts)[0] == codes


def test_an_application_that_asks_for_nothing_is_not_stalled() -> None:
    def story(s: Script) -> None:
        s.cut()
        s.opened(1)
        s.send(0)
        s.stored(0)
        s.ok(0)
        s.at(3_000)

    assert judged(resumes_after_fault, story)[0] == []


@pytest.mark.parametrize(("back_ms", "codes"), [(6_200, set[str]()), (7_500, {"stalled"})])
def test_a_client_that_was_away_for_long_may_stay_away_as_long_again(back_ms: int, codes: set[str]) -> None:
    def story(s: Script) -> None:
        s.invoke("receive", CONSUMER, args={"count": 1})
        s.cut()
        s.at(2_900).opened(1)
        s.cut(1)
        s.at(3_000).opened(2)
        for number, told_ms in enumerate((3_100, 6_100)):
            s.at(told_ms).send(number)
            s.stored(number)
            s.ok(number)
        s.at(back_ms).received(0)
        s.received(1)
        s.at(9_000)

    assert set(judged(resumes_after_fault, story)[0]) == codes


def test_a_subscription_that_a_rate_may_hold_back_is_not_stalled() -> None:
    limited = Topic(name="t", dispatch_rate=Rate(messages=10))
    case = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(limited,)))
    assert judged(resumes_after_fault, silence_behind_an_outage)[0] == ["stalled"]
    assert judged(resumes_after_fault, silence_behind_an_outage, case=case)[0] == []


def test_an_application_that_keeps_what_another_one_asks_for_stalls_nobody() -> None:
    def story(s: Script) -> None:
        s.consumer(9, conn=5, consumer_id=1)
        silence_behind_an_outage(s)

    assert judged(resumes_after_fault, story)[0] == []
