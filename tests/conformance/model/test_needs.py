"""What a Case needs of its broker and of the bench is read off the Case."""

from __future__ import annotations

from typing import Any

import pytest

from assay_conformance.cases.build import Schedule
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.fault import AfterStep, Cut, Fault
from assay_conformance.model.needs import (
    PROXIED,
    SEVERAL_BROKERS,
    STORE_BESIDE,
    TRANSIENT_RATE,
    behind_proxy,
    means,
    needs,
)
from assay_conformance.model.outside import Disconnect, FillDisk, Kill, Latency, Means, Role, Target
from assay_conformance.model.policy import BrokerSettings, Rate


def case(*verbs: str, **fields: Any) -> Case:
    plan = Schedule()
    for verb in verbs:
        plan.broker(verb, topic="t")
    return plan.case("x/y", "t", ("x.y",), **fields)


@pytest.mark.parametrize(
    ("asked", "needed"),
    [
        (case(), set()),
        (case("unload", "unload"), {"step:unload"}),
        (case(topology=Topology(brokers=2)), {SEVERAL_BROKERS}),
        (case(topology=Topology(keep_alive_ms=500)), {"announces:keep_alive_ms"}),
        (case(topology=Topology(settings=BrokerSettings(expiry_check_ms=5))), {"setting:expiry_check_ms"}),
        (case(needs=("acme/slow-disk",)), {"acme/slow-disk"}),
        (
            case(faults=(Fault(trigger=AfterStep(0), action=Kill(target=Target(role=Role.BOOKIE))),)),
            {"process:bookie"},
        ),
        (
            case(faults=(Fault(trigger=AfterStep(0), action=Disconnect()),)),
            {"process:broker", "network:broker"},
        ),
        (
            case(faults=(Fault(trigger=AfterStep(0), action=FillDisk(target=Target(role=Role.BOOKIE))),)),
            {"process:bookie", "disk:bookie"},
        ),
    ],
)
def test_needs(asked: Case, needed: set[str]) -> None:
    assert needs(asked) == needed


@pytest.mark.parametrize(
    ("asked", "behind"),
    [
        (case(topology=Topology(settings=BrokerSettings(proxied=True))), True),
        (case(faults=(Fault(trigger=AfterStep(0), action=Kill(target=Target(role=Role.PROXY))),)), True),
        (case(faults=(Fault(trigger=AfterStep(0), action=Kill()),)), False),
    ],
)
def test_clients_are_behind_a_proxy_where_a_case_says_so_or_harms_it(asked: Case, behind: bool) -> None:
    assert behind_proxy(asked) is behind


def test_being_behind_a_proxy_is_a_setting_as_brokers_are_asked_for_it() -> None:
    assert needs(case(topology=Topology(settings=BrokerSettings(proxied=True)))) == {PROXIED}


def test_the_means_of_a_case_are_those_of_its_faults() -> None:
    faults = tuple(Fault(trigger=AfterStep(0), action=action) for action in (Cut(), Latency(latency_ms=1), Kill()))
    assert means(case(faults=faults)) == {Means.FRAMES, Means.TOXIPROXY, Means.PROCESSES}


@pytest.mark.parametrize(
    ("mode", "first", "needed"), [("exclusive", 0, True), ("exclusive", 1, False), ("shared", 0, False)]
)
def test_nobody_stores_beside_a_producer_that_has_its_topic_for_itself(mode: str, first: int, needed: bool) -> None:
    plan = Schedule()
    if first:
        plan.broker("store_entries", topic="t", entries=())
    plan.producer(plan.client(), access_mode=mode)
    if not first:
        plan.broker("store_entries", topic="t", entries=())
    assert (STORE_BESIDE in needs(plan.case("x/y", "t", ("x.y",)))) is needed


@pytest.mark.parametrize(
    ("topic", "needed"),
    [
        (Topic(name="t", persistent=False, dispatch_rate=Rate(messages=3)), True),
        (Topic(name="t", persistent=False, subscription_rate=Rate(messages=3)), True),
        (Topic(name="t", persistent=False, publish_rate=Rate(messages=3)), False),
        (Topic(name="t", dispatch_rate=Rate(messages=3)), False),
    ],
)
def test_not_every_broker_holds_what_it_does_not_keep_to_a_rate(topic: Topic, needed: bool) -> None:
    assert (TRANSIENT_RATE in needs(case(topology=Topology(topics=(topic,))))) is needed
