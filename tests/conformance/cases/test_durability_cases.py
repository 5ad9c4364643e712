"""Cases of kills: drawn from a seed, and from nothing else."""

from __future__ import annotations

import pytest

from assay_conformance.model.case import Case
from assay_conformance.model.fault import OnFrame
from assay_conformance.model.outside import Kill, Role, Target
from assay_conformance.pulsar.cases.ordering.durability import (
    BROKERS,
    DOWN_MS,
    KILLS,
    KINDS,
    LOADS,
    OPENING,
    Draws,
    Kind,
    Load,
    killed,
)

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.id)
every_load = pytest.mark.parametrize("load", LOADS.values(), ids=lambda load: load.id)


def deaths(case: Case) -> list[Target]:
    return [fault.action.target for fault in case.faults if isinstance(fault.action, Kill)]


@every_kind
@every_load
def test_a_seed_says_all_of_a_case(kind: Kind, load: Load) -> None:
    assert killed(kind, 7, load) == killed(kind, 7, load)
    assert killed(kind, 7, load).faults != killed(kind, 8, load).faults


@every_kind
@every_load
def test_each_kill_comes_at_a_send_of_its_own_turn(kind: Kind, load: Load) -> None:
    faults = killed(kind, 3, load).faults
    triggers = dict.fromkeys(str(fault.trigger) for fault in faults)
    assert len(triggers) == KILLS
    for fault in faults:
        assert isinstance(fault.trigger, OnFrame)
        turn = (int(fault.trigger.where["sequence_id"]) - OPENING) // load.sends
        assert str(fault.trigger) == list(triggers)[turn]
        assert fault.until is not None
        assert DOWN_MS[0] <= (fault.until.after_ms or 0) <= DOWN_MS[1]


def test_the_broker_that_dies_is_the_one_that_has_the_topic() -> None:
    for seed in range(20):
        case = killed(KINDS["broker"], seed, kills=1)
        home = next(step.args["broker"] for step in case.steps if step.verb == "unload")
        assert deaths(case) == [Target(index=home)]
        assert home in range(BROKERS)


def test_everything_is_every_process_once() -> None:
    targets = deaths(killed(KINDS["everything"], 0, kills=1))
    assert len(set(map(str, targets))) == len(targets) == 6
    assert targets[0].role is Role.METADATA_STORE


def test_numbers_are_drawn_from_first_to_last() -> None:
    draws = Draws("seed")
    assert {draws.between(3, 5) for _ in range(100)} == {3, 4, 5}
