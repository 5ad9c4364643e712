"""The check of `delayed.sets-deliver-at-time`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.event import Meta
from assay_conformance.pulsar.checks.delayed.sets_deliver_at_time import sets_deliver_at_time


def _delayed(said_ms: int | None, **asked: int) -> Check:
    story = Script()
    story.producer()
    story.at(100).send(0, **asked)
    story.send_frame(0, meta=Meta(producer_name="p", sequence_id=0, deliver_at_ms=said_ms))
    return trial(sets_deliver_at_time, story.done())


@pytest.mark.parametrize(
    ("said_ms", "asked"), [(600, {"deliver_after_ms": 500}), (7_000, {"deliver_at_ms": 7_000})], ids=str
)
def test_message_that_says_when_it_is_due_is_accepted(said_ms: int, asked: dict[str, int]) -> None:
    check = _delayed(said_ms, **asked)
    assert (check.findings, check.exercised) == ([], 1)


@pytest.mark.parametrize(
    ("said_ms", "asked", "code"),
    [
        (None, {"deliver_after_ms": 500}, "no-time"),
        (500, {"deliver_after_ms": 500}, "other-time"),
        (7, {"deliver_at_ms": 7_000}, "other-time"),
        (7_100, {"deliver_at_ms": 7_000}, "other-time"),
    ],
    ids=str,
)
def test_message_that_says_another_time_is_found(said_ms: int | None, asked: dict[str, int], code: str) -> None:
    assert codes_of(_delayed(said_ms, **asked)) == [code]
