"""The check of `topics.non-persistent-not-stored`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._transient import NOWHERE

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Topic, Topology
from assay_conformance.pulsar.checks.topics.non_persistent_not_stored import non_persistent_not_stored

CASE = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", persistent=False),)))


def judged(story: Script) -> tuple[list[str], int]:
    said = trial(non_persistent_not_stored, story.done(), CASE)
    return [finding.code for finding in said.findings], said.exercised


def _sent(*, before: bool = False, after: bool = False) -> Script:
    """A message is sent before, or after, a consumer comes."""
    story = Script()
    story.producer()
    if before:
        story.send_frame(0)
        story.receipt(0, id=NOWHERE)
    story.consumer(conn=1)
    story.flow(10, conn=1)
    if after:
        story.send_frame(0)
        story.receipt(0, id=NOWHERE)
    return story


def test_message_for_who_is_there_is_accepted() -> None:
    story = _sent(after=True)
    story.message(0, conn=1)
    assert judged(story) == ([], 0)


def test_message_that_is_gone_when_a_consumer_comes_is_accepted() -> None:
    assert judged(_sent(before=True)) == ([], 1)


def test_message_that_was_kept_for_later_is_found() -> None:
    story = _sent(before=True)
    story.message(0, conn=1)
    assert judged(story)[0] == ["kept"]


def test_message_that_comes_again_is_found() -> None:
    story = _sent(after=True)
    story.message(0, conn=1)
    story.message(0, conn=1)
    assert judged(story)[0] == ["delivered-again"]


def test_message_that_was_sent_twice_may_come_twice() -> None:
    story = _sent(before=True, after=True)
    story.send_frame(0)
    story.message(0, conn=1)
    story.message(0, conn=1)
    assert judged(story)[0] == []


@pytest.mark.parametrize("tell", [lambda story: story.stored(0), lambda story: story.read_back(0)])
def test_entry_that_is_stored_is_found(tell: object) -> None:
    story = _sent(after=True)
    tell(story)  # type: ignore[operator]
    assert judged(story)[0] == ["stored"]
