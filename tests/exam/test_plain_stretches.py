"""A long history is judged without its plain stretches, and to the same verdicts."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from fuzz.plain import DAYS, HARMS, LEAST, QUEUE, Day, calm_day, differences, harmed, said
from tests.profiles import NIGHTLY, scaled

from assay_conformance.cases.build import Schedule
from assay_conformance.checks.occasions import occasions
from assay_conformance.checks.part import judge_part
from assay_conformance.checks.plain import shortened
from assay_conformance.checks.plain.passed import Passed
from assay_conformance.history.rereading import Held
from assay_conformance.model.case import Case, Config, Topic, Topology
from assay_conformance.model.event import Closed, Frame
from assay_conformance.model.policy import Policies
from assay_conformance.pulsar.mutants import mutants
from assay_fixtures.packs import own_pack
from assay_fixtures.reference.probe import FACTS, ReferenceTrial

LATENCIES_MS = (0, 3)
ONE_TURN = 6 * QUEUE
"""Events of one, at least."""


def _left(day: Day) -> float:
    """The share of a history that is left of it."""
    shorter = shortened(Held(day.events), day.case, FACTS, long=0, least=LEAST)
    return 1.0 if shorter is None else len(shorter) / len(day.events)


@pytest.mark.parametrize("latency_ms", LATENCIES_MS)
@pytest.mark.parametrize("day", DAYS)
def test_less_than_half_of_a_day_is_left(day: Callable[[int], Day], latency_ms: int) -> None:
    assert _left(day(latency_ms)) < 0.5


@pytest.mark.parametrize("latency_ms", LATENCIES_MS)
@pytest.mark.parametrize("day", DAYS)
def test_nothing_is_said_against_a_day_either_way(day: Callable[[int], Day], latency_ms: int) -> None:
    assert said(day(latency_ms), shorter=True) == said(day(latency_ms), shorter=False) == {}


def test_what_is_exercised_by_a_whole_day_is_by_what_is_left() -> None:
    day = calm_day()
    checks = list(own_pack().checks.values())
    whole, shorter = (
        judge_part(day.events, day.case, FACTS, checks, long=long, least=LEAST)[0] for long in (len(day.events) + 1, 0)
    )
    assert {one for one, it in whole.items() if it.exercised} == {one for one, it in shorter.items() if it.exercised}


@pytest.mark.parametrize("day", DAYS)
def test_what_occurs_in_a_whole_day_occurs_in_what_is_left(day: Callable[[int], Day]) -> None:
    """By that checks are picked that see the whole of it."""
    events, case = day(0).events, day(0).case
    shorter = shortened(Held(events), case, FACTS, long=0, least=LEAST)
    assert shorter is not None
    assert occasions(events, case, FACTS) == occasions(shorter, case, FACTS) - {Passed}


def test_what_surrounds_a_lost_connection_is_left_but_for_acks_of_what_is_not() -> None:
    day = calm_day()
    shorter = shortened(Held(day.events), day.case, FACTS, long=0, least=LEAST)
    assert shorter is not None
    left = {event.seq for event in shorter}
    for lost in (event for event in day.events if isinstance(event, Closed)):
        around = day.events[lost.seq - ONE_TURN : lost.seq + ONE_TURN]
        assert {event.command for event in around if event.seq not in left if isinstance(event, Frame)} <= {"ACK"}
        assert [event for event in around if event.seq not in left if not isinstance(event, Frame)] == []


def test_something_stands_where_each_stretch_was() -> None:
    day = calm_day()
    shorter = shortened(Held(day.events), day.case, FACTS, long=0, least=LEAST)
    assert shorter is not None
    assert [set(event.heard_ns) for event in shorter if isinstance(event, Passed)] == [{0}, {1}, {2}]


@pytest.mark.parametrize("seed", range(scaled(1)))
@pytest.mark.parametrize("harm", HARMS)
def test_harm_is_found_as_in_the_whole(harm: str, seed: int) -> None:
    turn = seed + list(HARMS).index(harm)
    day = DAYS[turn % 2](LATENCIES_MS[turn // 2 % 2])
    assert differences(harmed(day, HARMS[harm], seed)) == []


def test_most_of_these_harms_are_found_and_in_many_a_part_is_left_out() -> None:
    """Else they would show nothing."""
    days = [harmed(calm_day(), harm, seed) for harm in HARMS.values() for seed in range(2)]
    assert sum(bool(said(day, shorter=True)) for day in days) > len(days) // 3
    assert sum(_left(day) < 1 for day in days) > len(days) // 4


@pytest.mark.parametrize("mutant", list(mutants())[:: 1 if NIGHTLY else 30])
def test_a_mutant_is_judged_as_in_the_whole(mutant: str) -> None:
    case = calm_day().case
    events = ReferenceTrial(mutants=frozenset({mutant})).in_virtual_time(case).events
    assert differences(Day(case, tuple(events))) == []


# --- where nothing is left out ---


def _turns(case_config: Config, *, consumers: int = 1) -> Day:
    """A calm day of producers that are opened so, with so many consumers."""
    plan = Schedule()
    client = plan.client()
    taking, producer = [plan.consumer(client, subscription=f"s{n}") for n in range(consumers)], plan.producer(client)
    for _ in range(12):
        plan.send(producer, 20)
        plan.wait_ops(*(plan.receive(consumer, 40, timeout_ms=200) for consumer in taking))
        plan.wait_ops(*(plan.ack(consumer) for consumer in taking))
    case = plan.case("test/turns", "Turns", (), producer=case_config, consumer={"receiver_queue_size": 20})
    return Day(case, tuple(ReferenceTrial().in_virtual_time(case).events))


def test_a_day_without_faults_is_mostly_left_out() -> None:
    assert _left(_turns({})) < 0.5


def test_batches_are_not_plain() -> None:
    assert _left(_turns({"batching": True})) == 1


def test_two_subscriptions_of_a_topic_are_not_plain() -> None:
    assert _left(_turns({}, consumers=2)) == 1


@pytest.mark.parametrize(
    "topology",
    [
        Topology(topics=(Topic(name="t", deduplication=True),)),
        Topology(namespace=Policies(message_ttl_s=1)),
    ],
    ids=["policy of the topic", "policy of the namespace"],
)
def test_under_a_policy_nothing_is_plain(topology: Topology) -> None:
    day = calm_day()
    assert _left(Day(msgspec.structs.replace(day.case, topology=topology), day.events)) == 1


def test_where_a_broker_is_told_something_nothing_is_plain() -> None:
    plan = Schedule()
    plan.broker("unload", topic="t")
    day = calm_day()
    told: Case = msgspec.structs.replace(day.case, steps=(*day.case.steps, *plan.case("x/y", "Z", ()).steps))
    assert _left(Day(told, day.events)) == 1


def test_a_short_history_is_judged_whole() -> None:
    day = calm_day()
    assert shortened(Held(day.events), day.case, FACTS) is None
