"""The check of `subscription.topic-list-watcher`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pulsar.subscription._patterns import FULL, Following

from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Sides
from assay_conformance.pulsar.checks.subscription.topic_list_watcher import topic_list_watcher


def _told(after_ms: int) -> Following:
    story = Following("news-a")
    story.up("WATCH_TOPIC_LIST", request_id=50)
    story.down("WATCH_TOPIC_UPDATE", fields={"new_topics": [FULL["news-b"], FULL["sports"]]})
    story.finds(after_ms)
    return story


def test_topic_that_is_told_of_is_subscribed_to_at_once() -> None:
    assert _told(after_ms=50).judged(topic_list_watcher) == ([], 1)


def test_topic_that_is_told_of_and_found_later_is_found() -> None:
    assert _told(after_ms=900).judged(topic_list_watcher)[0] == ["not-followed"]


@pytest.mark.parametrize(("fault", "codes"), [({"sides": Sides.RECEIVER}, []), ({}, ["not-followed"])])
def test_topic_whose_look_up_a_fault_held_back_may_come_late(fault: dict[str, Any], codes: list[str]) -> None:
    story = Following("news-a")
    story.up("WATCH_TOPIC_LIST", request_id=50)
    story.down("WATCH_TOPIC_UPDATE", fields={"new_topics": [FULL["news-b"]]})
    story.up("LOOKUP", request_id=51)
    story.after(900)
    story.down("LOOKUP_RESPONSE", request_id=51, **fault)
    story.finds(after_ms=10)
    assert story.judged(topic_list_watcher)[0] == codes


def test_client_that_has_nobody_watch_is_found() -> None:
    story = Following("news-a")
    story.stored(2, topic="news-b")
    story.finds(after_ms=900)
    assert story.judged(topic_list_watcher)[0] == ["not-followed"]


@pytest.mark.parametrize(("ends", "codes"), [("close", []), ("loss", []), (None, ["watcher-left"])])
def test_watcher_ends_with_its_consumer(ends: str | None, codes: list[str]) -> None:
    story = Following("news-a")
    story.up("WATCH_TOPIC_LIST", request_id=50, fields={"watcher_id": 7})
    story.down("WATCH_TOPIC_LIST_SUCCESS", request_id=50, fields={"watcher_id": 7})
    story.complete(story.invoke("close", CONSUMER))
    if ends == "close":
        story.up("WATCH_TOPIC_LIST_CLOSE", request_id=51, fields={"watcher_id": 7})
    if ends == "loss":
        story.cut()
    story.after(3_000)
    assert story.judged(topic_list_watcher)[0] == codes
