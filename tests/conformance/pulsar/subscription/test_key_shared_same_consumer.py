"""The check of `subscription.key-shared-same-consumer`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._shared_subscription import HOLE, SECOND, said, two

from assay_conformance.history.script import Script
from assay_conformance.model.event import Meta
from assay_conformance.pulsar.checks.subscription.key_shared_same_consumer import key_shared_same_consumer


def _keyed(story: Script, number: int, key: str | None, conn: int, ordering: bytes | None = None) -> None:
    meta = Meta(producer_name="p", sequence_id=number, key=key, ordering_key=ordering)
    story.message(number, conn=conn, meta=meta)


def _keys(*sent: tuple[str | None, int]) -> Script:
    story = two("Key_Shared")
    for number, (key, conn) in enumerate(sent):
        _keyed(story, number, key, conn)
    return story


def test_keys_that_stay_are_accepted() -> None:
    assert said(key_shared_same_consumer, _keys(("a", 0), ("b", 1), ("a", 0), ("b", 1))) == ([], 2)


def test_key_at_two_consumers_is_found() -> None:
    assert said(key_shared_same_consumer, _keys(("a", 0), ("a", 1)))[0] == ["key-at-two-consumers"]


def test_entries_without_a_key_may_go_to_anyone() -> None:
    assert said(key_shared_same_consumer, _keys((None, 0), (None, 1))) == ([], 0)


def test_ordering_key_goes_before_the_key() -> None:
    story = two("Key_Shared")
    _keyed(story, 0, "a", 0, b"one")
    _keyed(story, 1, "b", 1, b"one")
    assert said(key_shared_same_consumer, story)[0] == ["key-at-two-consumers"]


def test_key_may_move_when_somebody_comes() -> None:
    story = _keys(("a", 0))
    story.consumer(SECOND + 1, conn=2, kind="Key_Shared")
    _keyed(story, 1, "a", 2)
    assert said(key_shared_same_consumer, story) == ([], 0)


def test_key_may_move_when_somebody_goes() -> None:
    story = _keys(("a", 0))
    story.cut(0)
    _keyed(story, 1, "a", 1)
    assert said(key_shared_same_consumer, story) == ([], 0)


@pytest.mark.parametrize(("closes", "codes"), [(True, []), (False, ["key-at-two-consumers"])])
def test_key_may_move_behind_what_crosses_the_close_of_its_consumer(closes: bool, codes: list[str]) -> None:
    story = two("Key_Shared")
    if closes:
        story.up("CLOSE_CONSUMER", consumer_id=0, request_id=90)
    _keyed(story, 1, "a", 0)
    _keyed(story, 1, "a", 1)
    assert said(key_shared_same_consumer, story)[0] == codes


def test_key_of_a_consumer_only_its_client_knows_gone_is_not_judged() -> None:
    story = two("Key_Shared")
    story.consumer(SECOND + 1, conn=2, kind="Key_Shared")
    story.closed(0)
    _keyed(story, 0, "a", 0)
    _keyed(story, 1, "a", 1)
    assert said(key_shared_same_consumer, story, HOLE) == ([], 0)
