"""The check of `robustness.edge-case-payloads-round-trip`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar.robustness._roundtrip import carried, judged, sent

from assay_conformance.checks.trial import ANY_CLIENT
from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Member

EMPTY = {"members": (Member(size=0, digest=0),)}


def test_empty_message_arrives() -> None:
    story = sent()
    carried(story, **EMPTY)
    story.received(0, size=0, digest=0, identity=None)
    assert judged(story) == ([], 1)


def test_empty_message_that_is_withheld_is_found() -> None:
    story = sent()
    carried(story, **EMPTY)
    story.after(600)
    receive = story.invoke("receive", CONSUMER, args={"count": 1})
    story.complete(receive, count=0)
    assert judged(story)[0] == ["not-delivered"]


@pytest.mark.parametrize(("poll_ms", "codes"), [(100, ["not-delivered"]), (1_000, [])])
def test_empty_message_may_wait_until_its_client_looks_for_it(poll_ms: int, codes: list[str]) -> None:
    story = sent()
    carried(story, **EMPTY)
    story.after(1_200)
    receive = story.invoke("receive", CONSUMER, args={"count": 1})
    story.complete(receive, count=0)
    facts = msgspec.structs.replace(ANY_CLIENT, fixed={"receive_poll_ms": poll_ms})
    assert judged(story, facts=facts)[0] == codes


def test_message_of_other_content_is_found() -> None:
    story = sent()
    carried(story, **EMPTY)
    story.received(0, size=1, digest=5, identity=None)
    assert judged(story)[0] == ["changed"]
