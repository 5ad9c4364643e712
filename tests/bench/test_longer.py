"""A recorded day that is made longer is a day like any other."""

from __future__ import annotations

import sys
from functools import cache

import pytest
from bench.checkers import busy_day
from bench.longer import longer

from assay_conformance.checks.part import judge_part
from assay_conformance.model.event import Event, ReadBack, Received
from assay_fixtures.packs import own_pack
from assay_fixtures.reference.probe import FACTS, ReferenceTrial

DAY = busy_day(2_500, cut_every=1_500)
TIMES = 2


@cache
def _day() -> tuple[Event, ...]:
    return tuple(ReferenceTrial().in_virtual_time(DAY).events)


@cache
def _longer() -> tuple[Event, ...]:
    return tuple(longer(_day(), DAY, FACTS, TIMES))


def test_nothing_is_said_against_it_where_all_of_it_is_judged() -> None:
    told, _ = judge_part(_longer(), DAY, FACTS, list(own_pack().checks.values()), long=sys.maxsize)
    assert {name: said.findings for name, said in told.items() if said.findings or said.undecided_because} == {}


def test_every_message_is_received() -> None:
    entries = [event.message_id.entry for event in _longer() if isinstance(event, Received)]
    (stored,) = (event.entries for event in _longer() if isinstance(event, ReadBack))
    assert {*entries} == {*range(len(stored))}
    assert len(stored) > 2_500


def test_a_day_in_which_nothing_comes_round_is_refused() -> None:
    with pytest.raises(ValueError, match="use more messages"):
        list(longer(_day()[:200], DAY, FACTS, TIMES))
