"""The check of `compression.absurd-size-not-trusted`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import AgentEnded, ClosedBy, Meta
from assay_conformance.pulsar.checks.compression.absurd_size_not_trusted import absurd_size_not_trusted


def _absurd(**fields: Any) -> Script:
    story = Script()
    story.consumer(**fields)
    size = 2**31 - 1
    story.message(0, meta=Meta(producer_name="p", sequence_id=0, compression="LZ4", uncompressed_size=size))
    story.message(1)
    return story


def test_consumer_that_goes_on_behind_an_absurd_size_is_accepted() -> None:
    story = _absurd()
    waiting = story.invoke("receive", CONSUMER, args={"count": 1})
    story.received(1)
    story.at(2_000).complete(waiting, count=1)
    check = trial(absurd_size_not_trusted, story.done())
    assert (check.findings, check.exercised) == ([], 1)


def test_consumer_that_is_stuck_behind_an_absurd_size_is_found() -> None:
    story = _absurd()
    waiting = story.invoke("receive", CONSUMER, args={"count": 1})
    story.at(2_000).complete(waiting, count=0)
    assert codes_of(trial(absurd_size_not_trusted, story.done())) == ["stuck"]


def test_a_damaged_message_behind_an_absurd_size_is_not_owed() -> None:
    story = _absurd()
    story.message(2, intact=False)
    waiting = story.invoke("receive", CONSUMER, args={"count": 2})
    story.received(1)
    story.at(2_000).complete(waiting, count=1)
    assert codes_of(trial(absurd_size_not_trusted, story.done())) == []


def test_connection_that_ends_of_an_absurd_size_is_found() -> None:
    story = _absurd()
    story.closed(by=ClosedBy.CLIENT)
    assert codes_of(trial(absurd_size_not_trusted, story.done())) == ["connection-closed"]


def test_process_that_dies_of_an_absurd_size_is_found() -> None:
    story = _absurd()
    story.add(AgentEnded, reason="killed by signal 6")
    assert codes_of(trial(absurd_size_not_trusted, story.done())) == ["died"]
