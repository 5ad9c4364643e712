"""Retry and dead letters of the reference client, through runner, broker and link, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from assay_conformance.cases.build import Schedule
from assay_conformance.cases.stored import batch, plains
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.case import Case, Config, Topic, Topology
from assay_conformance.model.event import Completion, Outcome, Received
from assay_conformance.model.verdict import Verdict
from assay_fixtures.reference.probe import ReferenceTrial, Tried

TOPICS = Topology(topics=(Topic(name="t"), Topic(name="t-s-DLQ"), Topic(name="t-s-RETRY")))
CONFIG: Config = {"subscription_type": "shared", "nack_delay_ms": 100, "max_redeliver_count": 1}

DELAY_MS, TICK_MS = 1_500, 1_000
"""A broker that is not strict delivers up to a tick early."""


def _refused_until_dead() -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=plains([0]))
    client = plan.client()
    consumer = plan.consumer(client)
    for delivery in (1, 2):
        plan.receive(consumer, 1)
        plan.wait_ops()
        plan.nack(consumer, messages=[delivery])
    mourner = plan.consumer(client, topic="t-s-DLQ")
    plan.receive(mourner, 1)
    plan.receive(consumer, 1, timeout_ms=1_000)
    plan.wait_ops()
    return plan.case("test/refused-until-dead", "A message is refused twice", (), consumer=CONFIG, topology=TOPICS)


def _reconsumed_later() -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=plains([0]))
    consumer = plan.consumer(plan.client(), retry_letters=True)
    plan.receive(consumer, 1)
    plan.wait_ops()
    plan.reconsume_later(consumer, DELAY_MS, messages=[1])
    plan.receive(consumer, 1)
    plan.wait_ops()
    return plan.case("test/reconsumed-later", "A message comes again later", (), consumer=CONFIG, topology=TOPICS)


def _all_reconsumed(config: Config) -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=[batch(range(2)), *plains([2])])
    consumer = plan.consumer(plan.client(), retry_letters=True)
    plan.wait_ops(plan.receive(consumer, 3))
    plan.reconsume_later(consumer, DELAY_MS, messages=range(1, 4))
    plan.wait_ops()
    plan.wait_ms(1_000)
    return plan.case("test/all-reconsumed", "A batch comes again later", (), consumer=config, topology=TOPICS)


@cache
def _tried(make: Callable[[], Case]) -> Tried:
    return ReferenceTrial().in_virtual_time(make())


def _topics(tried: Tried) -> list[str]:
    """Where each delivery came from: the last word of its topic."""
    return [(event.topic or "").rpartition("-")[2] for event in tried.events if isinstance(event, Received)]


def test_message_refused_too_often_is_found_in_the_dead_letter_topic() -> None:
    assert _topics(_tried(_refused_until_dead)) == ["t", "t", "DLQ"]


def test_message_reconsumed_later_comes_again_from_the_retry_letter_topic_after_its_delay() -> None:
    tried = _tried(_reconsumed_later)
    assert _topics(tried) == ["t", "RETRY"]
    first, second = (event.t_ns for event in tried.events if isinstance(event, Received))
    assert second - first >= (DELAY_MS - TICK_MS) * MS
    ends = [
        event.outcome for event in tried.events if isinstance(event, Completion) and event.verb == "reconsume_later"
    ]
    assert ends == [Outcome.OK]


def test_no_check_takes_a_copy_for_anything_else() -> None:
    judgements = [*_tried(_refused_until_dead).judgements, *_tried(_reconsumed_later).judgements]
    assert {j.requirement: j.reason for j in judgements if j.verdict is not Verdict.PASS} == {}


def _with_properties() -> Case:
    plan = Schedule()
    client = plan.client()
    consumer = plan.consumer(client, retry_letters=True)
    plan.send(plan.producer(client), 1, properties={"sent": "with"})
    plan.wait_ops(plan.receive(consumer, 1))
    plan.reconsume_later(consumer, DELAY_MS, messages=[1])
    plan.receive(consumer, 1)
    plan.wait_ops()
    return plan.case("test/properties", "A copy tells where it is from", (), consumer=CONFIG, topology=TOPICS)


def test_letter_has_properties_of_its_own() -> None:
    tried = _tried(_with_properties)
    assert _topics(tried) == ["t", "RETRY"]
    assert {j.requirement: j.reason for j in tried.judgements if j.verdict is not Verdict.PASS} == {}


@pytest.mark.parametrize(
    "config", [{}, {"batch_index_ack": True}, {"ack_timeout_ms": 200, "ack_timeout_tick_ms": 50}], ids=str
)
def test_client_may_settle_what_it_sent_to_the_retry_topic(config: Config) -> None:
    shared: Config = {"subscription_type": "shared", "initial_position": "earliest"}
    tried = ReferenceTrial().in_virtual_time(_all_reconsumed({**shared, **config}))
    assert {j.requirement: j.reason for j in tried.judgements if j.verdict is not Verdict.PASS} == {}
