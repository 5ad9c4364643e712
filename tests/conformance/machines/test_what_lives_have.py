"""What everybody may have to live through is drawn, and of a client that is no consumer nothing else is asked."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import pytest

from assay_conformance.machines import areas, drawing, plan
from assay_conformance.machines.areas import Area
from assay_conformance.machines.broker_faults import STRANGE
from assay_conformance.machines.interpreter import case_of
from assay_conformance.machines.operations import CONSUMER, HAVE_CONSUMERS, PRODUCER, Act, Operation
from assay_conformance.machines.parameters import Parameters
from assay_conformance.model.case import Case, Step
from assay_conformance.model.fault import Cut, Delay, Direction, Drop, Duplicate, OnFrame

COUNT, SEED = 300, 11
ONE_IN = 20


@cache
def _drawn(area: Area) -> list[Case]:
    return plan.draw(areas.lives(area), COUNT, SEED)


def _several(verb: str) -> Callable[[Sequence[Step]], bool]:
    return lambda steps: sum(step.verb == verb for step in steps) > 1


def _any_of(*verbs: str) -> Callable[[Sequence[Step]], bool]:
    return lambda steps: any(step.verb in verbs for step in steps)


def _client_again(steps: Sequence[Step]) -> bool:
    """One is opened after a close."""
    verbs = [step.verb for step in steps]
    return "close" in verbs and "open_client" in verbs[verbs.index("close") :]


HAPPENS: Mapping[str, Callable[[Sequence[Step]], bool]] = {
    "several producers": _several("open_producer"),
    "several consumers": _several("open_consumer"),
    "topic moves": _any_of("move", "migrate"),
    "broker restarts": _any_of("restart"),
    "client restarts": _client_again,
    "slow store": _any_of("hold_store"),
}


@pytest.mark.parametrize("what", HAPPENS)
def test_a_fair_part_of_mixed_lives_has_each_thing_that_happens(what: str) -> None:
    assert sum(HAPPENS[what](case.steps) for case in _drawn(Area.MIXED)) * ONE_IN >= COUNT


def test_the_tick_of_a_time_out_is_set_beside_one_only_and_is_none_that_a_client_refuses() -> None:
    drawn = [case.config.consumer for case in _drawn(Area.CONSUMING)]
    assert min(int(config.get("ack_timeout_tick_ms", 1_000)) for config in drawn) >= 100
    assert {"ack_timeout_tick_ms" in config for config in drawn if not config["ack_timeout_ms"]} == {False}


@pytest.mark.parametrize("area", [Area.MIXED, Area.ACK, Area.NACK])
@pytest.mark.parametrize("command", ["ACK", "ACK_RESPONSE"])
@pytest.mark.parametrize("action", [Drop, Delay, Duplicate])
def test_acknowledgments_and_their_answers_are_lost_late_and_doubled(area: Area, command: str, action: type) -> None:
    triggers = [fault.trigger for case in _drawn(area) for fault in case.faults if isinstance(fault.action, action)]
    assert any(isinstance(trigger, OnFrame) and trigger.command == command for trigger in triggers)


@pytest.mark.parametrize("direction", Direction)
def test_a_connection_may_be_half_open_either_way(direction: Direction) -> None:
    harms = drawing.values(STRANGE, COUNT, random.Random(SEED), plan.PlainProvider)
    assert harms is not None
    assert direction in {harm.action.direction for harm in harms if isinstance(harm.action, Cut)}


# --- a client that is no consumer -------------------------------------------------------------------------------------

OF_PRODUCERS_ALONE = [area for area in Area if not areas.lacking(area, {PRODUCER})]


def test_what_asks_nothing_of_a_consumer_is_drawn_without_one() -> None:
    assert {Area.RESEND, Area.ORDERING, Area.DEDUP, Area.PRODUCER, Area.MIXED} <= set(OF_PRODUCERS_ALONE)


@pytest.mark.parametrize("area", OF_PRODUCERS_ALONE)
def test_a_client_that_is_no_consumer_is_asked_for_none(area: Area) -> None:
    drawn = plan.draw(areas.lives(area, {PRODUCER}), COUNT, SEED)
    assert {case.capabilities for case in drawn} == {(PRODUCER,)}
    assert not any("consumer" in (step.verb, *step.args) for case in drawn for step in case.steps)


@pytest.mark.parametrize("do", [Operation.OPEN_ODD, *sorted(HAVE_CONSUMERS)])
def test_whatever_a_consumer_would_do_is_skipped(do: Operation) -> None:
    case = case_of((Act(do),), (), Parameters(), "test", {PRODUCER})
    assert not any(step.verb == "open_consumer" for step in case.steps)


def test_areas_about_consumers_say_that_one_is_missing() -> None:
    assert CONSUMER in areas.lacking(Area.ACK, {PRODUCER})
