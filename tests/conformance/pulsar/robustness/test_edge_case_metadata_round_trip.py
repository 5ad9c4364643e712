"""The check of `robustness.edge-case-metadata-round-trip`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pulsar.robustness._roundtrip import carried, judged, sent

from assay_conformance.model.event import Member
from assay_conformance.pulsar.checks.robustness.edge_case_metadata_round_trip import edge_case_metadata_round_trip

ASKED: list[dict[str, Any]] = [{"properties": {"a": "", "b": "x" * 70_000}}, {"event_time_ms": 7}, {"event_time_ms": 0}]


@pytest.mark.parametrize("args", ASKED)
def test_properties_and_event_times_arrive(args: dict[str, Any]) -> None:
    story = sent(**args)
    carried(story)
    story.received(0, **args)
    assert judged(story, edge_case_metadata_round_trip) == ([], 1)


def test_event_time_of_zero_may_look_like_none() -> None:
    story = sent(event_time_ms=0)
    carried(story)
    story.received(0)
    assert judged(story, edge_case_metadata_round_trip)[0] == []


@pytest.mark.parametrize("came", [{"properties": {}}, {"properties": {"a": "b"}}])
def test_other_properties_are_found(came: dict[str, Any]) -> None:
    story = sent(properties={"a": "c"})
    carried(story)
    story.received(0, **came)
    assert judged(story, edge_case_metadata_round_trip)[0] == ["changed"]


def test_other_key_is_found() -> None:
    story = sent()
    carried(story, members=(Member(size=1, digest=1, key="k"),))
    story.received(0, size=1, digest=1, key="other")
    assert judged(story, edge_case_metadata_round_trip)[0] == ["changed"]
    assert judged(story)[0] == []
