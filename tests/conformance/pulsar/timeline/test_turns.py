"""Sends that come to the client when they are asked for."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar.timeline.asked import asked

from assay_conformance.checks.trial import ANY_CLIENT
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.facts import Lack
from assay_conformance.pulsar.timeline import Timeline, at_once


def _numbers(timeline: Timeline) -> list[int | None]:
    return [send.invoke.number for send in at_once(timeline, PRODUCER)]


@pytest.mark.parametrize(
    ("mode", "lacks", "numbers"),
    [("async", (), [0, 1, 2]), ("sync", (), [0, 2]), ("async", (Lack.OVERLAPPING_SENDS,), [0, 2])],
)
def test_send_waits_for_the_one_ahead_where_that_one_blocks(
    mode: str, lacks: tuple[Lack, ...], numbers: list[int]
) -> None:
    story = Script()
    story.producer()
    first, second = story.send(0, mode=mode), story.send(1, mode=mode)
    story.complete(first)
    story.complete(second)
    story.send(2)
    facts = msgspec.structs.replace(ANY_CLIENT, lacks=frozenset(lacks))
    assert asked(story, _numbers, facts=facts) == numbers
