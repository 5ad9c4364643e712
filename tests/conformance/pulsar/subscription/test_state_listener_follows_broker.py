"""Whether a state listener is called as the broker says."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged

from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Note
from assay_conformance.model.hooks import STATE
from assay_conformance.pulsar.checks.subscription.state_listener_follows_broker import state_listener_follows_broker

LONG_MS = 2_000


class _Listens(Script):
    def __init__(self) -> None:
        super().__init__()
        args = {"topics": ["t"], "subscription": "s", "state_listener": True}
        opening = self.invoke("open_consumer", CONSUMER, args=args)
        self.connected()
        self.subscribed(kind="Failover")
        self.complete(opening)

    def becomes(self, active: bool) -> None:
        self.down("ACTIVE_CONSUMER_CHANGE", consumer_id=0, fields={"is_active": active})

    def called(self, active: bool, partition: int = -1) -> None:
        self.add(Note, text=STATE, handle=CONSUMER, values={"active": int(active), "partition": partition})

    def judged(self) -> tuple[list[str], int]:
        self.after(LONG_MS)
        return judged(state_listener_follows_broker, self)


def test_each_change_that_is_reported_is_accepted() -> None:
    story = _Listens()
    for active in (True, False):
        story.becomes(active)
        story.called(active)
    assert story.judged() == ([], 2)


def test_repetition_may_be_left_out() -> None:
    story = _Listens()
    story.becomes(True)
    story.called(True)
    story.becomes(True)
    assert story.judged() == ([], 1)


def test_change_that_is_not_reported_is_found() -> None:
    story = _Listens()
    story.becomes(True)
    assert story.judged()[0] == ["not-reported"]


def test_change_behind_the_close_may_be_left_out() -> None:
    story = _Listens()
    story.invoke("close", CONSUMER)
    story.becomes(True)
    assert story.judged() == ([], 0)


def test_call_that_says_otherwise_is_found() -> None:
    story = _Listens()
    story.becomes(True)
    story.called(False)
    assert story.judged()[0] == ["reported-otherwise"]


def test_call_for_another_partition_is_found() -> None:
    story = _Listens()
    story.becomes(True)
    story.called(True, partition=1)
    assert story.judged()[0] == ["not-reported", "reported-otherwise"]


def test_partition_of_which_a_change_has_no_known_owner_is_not_judged() -> None:
    story = _Listens()
    story.down("ACTIVE_CONSUMER_CHANGE", consumer_id=7, fields={"is_active": True})
    story.called(True)
    assert story.judged() == ([], 0)
