"""The check of `routing.avoids-full-partition`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.routing._hooks import with_one_message_waiting

from assay_conformance.pulsar.checks.routing.avoids_full_partition import avoids_full_partition


def test_message_refused_beside_room_is_told() -> None:
    story = with_one_message_waiting()
    story.send(5)
    story.fail(5)
    assert story.judged(avoids_full_partition) == ([], 1)


def test_message_that_goes_past_a_full_partition_is_told() -> None:
    story = with_one_message_waiting()
    story.goes(5, 2)
    assert story.judged(avoids_full_partition)[0] == ["steers"]


def test_turn_behind_a_message_with_a_key_is_not_known() -> None:
    story = with_one_message_waiting()
    story.goes(5, 0, key="a")
    story.ok(5)
    story.goes(6, 2)
    assert story.judged(avoids_full_partition)[0] == []
