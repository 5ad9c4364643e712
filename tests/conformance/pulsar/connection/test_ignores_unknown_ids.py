"""The check of `connection.ignores-unknown-ids`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pulsar._trials import judged

from assay_conformance.history.script import Script
from assay_conformance.model.event import Fate, Sides
from assay_conformance.pulsar.checks.connection.ignores_unknown_ids import ignores_unknown_ids


def _news(**named: int) -> Script:
    story = Script()
    story.producer()
    story.down("SEND_RECEIPT", sides=Sides.RECEIVER, fate=Fate.INJECTED, **named)
    return story


def test_client_goes_on_behind_news_of_nobody() -> None:
    story = _news(producer_id=7)
    story.send_frame(0)
    assert judged(ignores_unknown_ids, story) == ([], 1)


def test_client_that_leaves_over_news_of_nobody_is_found() -> None:
    story = _news(producer_id=7)
    story.closed()
    assert judged(ignores_unknown_ids, story)[0] == ["connection-closed"]


def test_connection_that_is_left_over_one_of_two_strange_frames_tells_nothing_of_the_other() -> None:
    story = _news(producer_id=7)
    story.down("999", sides=Sides.RECEIVER, fate=Fate.INJECTED)
    story.closed()
    assert judged(ignores_unknown_ids, story)[0] == []


@pytest.mark.parametrize("spoilt", [{"fate": Fate.ALTERED}, {"meta": None}])
def test_connection_that_may_be_left_over_a_spoilt_message_tells_nothing_of_news(spoilt: dict[str, Any]) -> None:
    story = _news(producer_id=7)
    story.message(0, **spoilt)
    story.closed()
    assert judged(ignores_unknown_ids, story)[0] == []


def test_news_of_somebody_are_another_matter() -> None:
    story = _news(producer_id=0)
    story.closed()
    assert judged(ignores_unknown_ids, story) == ([], 0)


def test_connection_may_be_left_over_an_error_that_refuses_its_handshake() -> None:
    story = Script()
    story.opened()
    story.up("CONNECT")
    story.down("ERROR", sides=Sides.RECEIVER, fate=Fate.INJECTED, request_id=2**64 - 1)
    story.closed()
    assert judged(ignores_unknown_ids, story) == ([], 0)
