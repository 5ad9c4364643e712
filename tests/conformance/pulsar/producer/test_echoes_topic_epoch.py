"""The check of `producer.echoes-topic-epoch`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import NAME, PRODUCER, Script
from assay_conformance.pulsar.checks.producer.echoes_topic_epoch import echoes_topic_epoch


def _returns(**fields: int) -> Check:
    story = Script()
    opening = story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.connected(0)
    asked = story.producer_asks()
    answer = {"producer_name": NAME, "topic_epoch": 3}
    story.down("PRODUCER_SUCCESS", request_id=asked.request_id, fields=answer)
    story.complete(opening, producer_name=NAME)
    story.send(0)
    story.send_frame(0)
    story.cut()
    story.producer_again(1, **fields)
    return trial(echoes_topic_epoch, story.done())


def test_producer_that_says_its_epoch_is_accepted() -> None:
    check = _returns(topic_epoch=3)
    assert (check.findings, check.exercised) == ([], 1)


@pytest.mark.parametrize("said", [{}, {"topic_epoch": 0}], ids=str)
def test_producer_that_says_none_or_another_epoch_is_found(said: dict[str, int]) -> None:
    assert codes_of(_returns(**said)) == ["epoch-not-said"]
