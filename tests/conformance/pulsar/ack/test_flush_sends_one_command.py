"""The check of `ack.flush-sends-one-command`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.ack.flush_sends_one_command import flush_sends_one_command


class Speaking(Consuming):
    """A consumer on a connection of that version got two messages."""

    def __init__(self, version: int = 21, ack_group_ms: int = 100) -> None:
        self.version = version
        super().__init__(ack_group_ms=ack_group_ms)
        self.gets(0, 1)

    def connected(self, conn: int = 0) -> Frame:
        self.opened(conn)
        self.up("CONNECT", conn, fields={"protocol_version": 21})
        return self.down("CONNECTED", conn, fields={"protocol_version": self.version})


def one_by_one(ack_group_ms: int = 100) -> Speaking:
    story = Speaking(ack_group_ms=ack_group_ms)
    story.ack(1, 2)
    story.after(100)
    story.ack_frame(0)
    story.ack_frame(1)
    return story


def test_two_acknowledgments_leave_together() -> None:
    story = Speaking()
    story.ack(1, 2)
    story.after(100)
    story.ack_frame(0, 1)
    assert story.judged(flush_sends_one_command) == ([], 1)


def test_two_acknowledgments_that_leave_one_by_one_are_found() -> None:
    assert one_by_one().judged(flush_sends_one_command)[0] == ["several-commands"]


def test_without_an_interval_each_leaves_by_itself() -> None:
    assert one_by_one(ack_group_ms=0).judged(flush_sends_one_command)[0] == []


def test_what_leaves_one_by_one_on_a_busy_machine_is_left_open() -> None:
    story = one_by_one()
    story.load(200, loop_lag_ms=100)
    check = trial(flush_sends_one_command, story.done(), facts=story.facts)
    assert (list(check.findings), bool(check.undecided_because)) == ([], True)


def test_what_leaves_one_by_one_is_found_where_the_machine_was_busy_for_much_less_than_they_waited() -> None:
    story = one_by_one()
    story.load(200, loop_lag_ms=20)
    assert story.judged(flush_sends_one_command)[0] == ["several-commands"]


def test_old_broker_takes_them_one_by_one() -> None:
    story = Speaking(version=11)
    story.ack(1, 2)
    story.after(100)
    story.ack_frame(0)
    story.ack_frame(1)
    assert story.judged(flush_sends_one_command) == ([], 0)


def test_acknowledgment_behind_a_flush_leaves_with_the_next() -> None:
    story = Speaking()
    story.ack(1)
    story.after(100)
    story.ack_frame(0)
    story.ack(2)
    story.after(100)
    story.ack_frame(1)
    assert story.judged(flush_sends_one_command) == ([], 0)


def test_call_that_waits_for_its_answer_is_over_with_the_command_that_named_it() -> None:
    """Its message is acknowledged once more, after another command."""
    story = Speaking()
    waits = story.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [1]})
    story.after(100)
    story.ack_frame(0)
    story.complete(waits)
    story.ack(1)
    story.ack_frame(0)
    assert story.judged(flush_sends_one_command) == ([], 0)
