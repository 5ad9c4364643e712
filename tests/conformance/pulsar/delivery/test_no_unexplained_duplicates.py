"""The check of `delivery.no-unexplained-duplicates`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.delivery._histories import Story, exchange, judged, two_messages

from assay_conformance.history.script import CONSUMER, Script, digest_of
from assay_conformance.model.event import Member
from assay_conformance.pulsar.checks.delivery.no_unexplained_duplicates import no_unexplained_duplicates


def one_comes_twice(s: Script) -> None:
    exchange(s, 0)
    s.after(100).received(0)


def one_comes_twice_behind_a_cut(s: Script) -> None:
    exchange(s, 0)
    s.cut()
    s.opened(1)
    s.received(0)


@pytest.mark.parametrize(("story", "exercised"), [(two_messages, 2), (one_comes_twice_behind_a_cut, 1)])
def test_deliveries_once_or_again_behind_a_cut_are_accepted(story: Story, exercised: int) -> None:
    assert judged(no_unexplained_duplicates, story) == ([], exercised)


def test_second_delivery_without_a_reason_is_found() -> None:
    assert judged(no_unexplained_duplicates, one_comes_twice)[0] == ["unasked"]


@pytest.mark.parametrize(("refused", "codes"), [(True, []), (False, ["unasked"])])
def test_a_refused_message_without_an_identity_brings_others_back(refused: bool, codes: list[str]) -> None:
    def story(s: Script) -> None:
        exchange(s, 0)
        s.send(1, size=10)
        small = Member(size=10, digest=digest_of(1), sequence_id=1)
        s.stored(1, members=(small,))
        s.ok(1)
        got = s.received(1, size=10, identity=None)
        if refused:
            s.complete(s.invoke("nack", CONSUMER, args={"messages": [got.delivery]}))
        s.after(100).received(0)

    assert judged(no_unexplained_duplicates, story)[0] == codes
