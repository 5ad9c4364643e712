"""Mixed lives of an honest client, with faults of every kind: no check finds anything in them."""

from __future__ import annotations

from collections import Counter
from functools import cache

import msgspec
from fuzz.lives import trial

from assay_conformance.machines import areas, plan
from assay_conformance.model.case import Case
from assay_conformance.model.event import Fired
from assay_conformance.model.verdict import Verdict
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import FACTS, Tried
from assay_fixtures.runner.judging import judge

LIVES, SEED = 500, 5
SHOWN_ALL = 60
LEAST_DONE = 5
LEAST_LIVES = 300
"""Fewer may come of a seed: a life that was drawn before is not drawn again."""

LEAST_EXERCISED = 0.6
"""Share of all checks: the others want a world of their own, which other areas have, and directed Cases under harm
(`bench.no_false_alarm`)."""


@cache
def _drawn() -> tuple[Case, ...]:
    return tuple(plan.draw(areas.lives(), LIVES, SEED))


@cache
def _tried() -> tuple[Tried, ...]:
    return tuple(trial(number).in_virtual_time(case) for number, case in enumerate(_drawn()))


def test_an_honest_client_is_never_blamed() -> None:
    told = {tried.case.id: [f.sentence for j in tried.judgements for f in j.findings] for tried in _tried()}
    assert {case: sentences for case, sentences in told.items() if sentences} == {}


def test_every_verdict_is_a_pass() -> None:
    assert {j.verdict for tried in _tried() for j in tried.judgements} == {Verdict.PASS}


def test_there_are_enough_of_them() -> None:
    assert len(_drawn()) >= LEAST_LIVES


def test_every_kind_of_harm_is_done() -> None:
    done = Counter(event.action for tried in _tried() for event in tried.events if isinstance(event, Fired))
    named = {msgspec.to_builtins(fault.action)["do"] for case in _drawn() for fault in case.faults}
    assert named - set(done) == set()
    assert min(done.values()) >= LEAST_DONE


def test_most_checks_had_something_to_judge() -> None:
    exercised = {j.requirement for tried in _tried() for j in tried.judgements if j.exercised}
    assert len(exercised) >= LEAST_EXERCISED * len(load_packs().checks)


def test_what_checks_are_not_shown_would_say_nothing_to_them() -> None:
    """A check that names what it needs, or that is not concerned, would be silent all the same."""
    pack, everything = load_packs(), {"needs": (), "concerned": lambda _check: True}
    shown_all = {requirement: type(check.__name__, (check,), everything) for requirement, check in pack.checks.items()}
    for tried in _tried()[:SHOWN_ALL]:
        assert judge(tried.events, tried.case, FACTS, pack.catalogue, shown_all) == tried.judgements


def test_the_same_seed_gives_the_same_lives() -> None:
    again = plan.draw(areas.lives(), LIVES, SEED)
    assert msgspec.json.encode(again) == msgspec.json.encode(_drawn())
