"""The check of `dedup.survives-unload`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar.dedup._broker import CASE, ONE_NAME, RESTARTED, judged, restarted, two_names

from assay_conformance.history.script import DUPLICATE, Script
from assay_conformance.model.event import Fired, Stepped
from assay_conformance.model.fault import AtTime, Fault
from assay_conformance.model.outside import Kill
from assay_conformance.pulsar.checks.dedup.survives_unload import survives_unload


def test_name_that_is_known_after_a_restart_is_accepted() -> None:
    story = restarted(last=0)
    story.send_frame(0, conn=1)
    story.receipt(0, conn=1, id=DUPLICATE)
    assert judged(survives_unload, story, RESTARTED) == ([], 2)


def test_name_that_is_forgotten_after_a_restart_is_found() -> None:
    assert judged(survives_unload, restarted(last=-1), RESTARTED)[0] == ["forgotten"]


@pytest.mark.parametrize(("closed", "codes"), [(False, []), (True, ["forgotten"])])
def test_producer_that_is_there_already_is_told_no_id(closed: bool, codes: list[str]) -> None:
    story = restarted(last=0)
    if closed:
        story.up("CLOSE_PRODUCER", 1, producer_id=0, request_id=90)
    story.producer_ready(1, last_sequence_id=-1)
    assert judged(survives_unload, story, RESTARTED)[0] == codes


def test_duplicate_that_is_stored_after_a_restart_is_found() -> None:
    story = restarted(last=0)
    story.send_frame(0, conn=1)
    story.stored(0)
    story.receipt(0, conn=1)
    assert judged(survives_unload, story, RESTARTED)[0] == ["wrong-answer", "duplicate-stored"]


def test_broker_that_was_killed_has_loaded_its_topics_anew() -> None:
    story = Script()
    story.producer()
    story.send_frame(0)
    story.receipt(0)
    story.add(Fired, fault=0, action="kill")
    story.producer_again(1, last_sequence_id=-1)
    case = msgspec.structs.replace(CASE, faults=(Fault(trigger=AtTime(0), action=Kill()),))
    assert judged(survives_unload, story, case)[0] == ["forgotten"]


def test_name_may_be_forgotten_when_it_was_idle_for_long() -> None:
    story = Script()
    story.producer()
    story.send_frame(0)
    story.stored(0)
    story.cut()
    story.at(361 * 60_000).add(Stepped, step=0)
    story.producer_again(1, last_sequence_id=-1)
    assert judged(survives_unload, story, RESTARTED) == ([], 0)


def test_name_that_is_not_written_down_need_not_survive_a_load() -> None:
    assert judged(survives_unload, two_names(-1, 0), ONE_NAME) == ([], 0)
