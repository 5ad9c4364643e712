"""Acknowledgment checks, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest

from assay_conformance.checks.ack import FlushedInTime, FlushedOnClose, GreatestOnly, WholeBatchOnly
from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script, entry_id
from assay_conformance.model.event import ClosedBy, Completion, Invoke, MessageId, Outcome
from assay_conformance.model.facts import ClientFacts

CLIENT = ClientFacts(
    agent="test",
    client="test-client",
    client_version="1",
    capabilities=frozenset({"batch_index_ack"}),
    fixed={"ack_group_ms": 100, "ack_group_max": 1000, "batch_index_ack": False},
)


class Story(Script):
    """A consumer that got messages 0 to `count - 1`, unbatched or as one batch of entry 0."""

    def __init__(self, count: int = 3, batch: bool = False) -> None:
        super().__init__()
        self.consumer()
        self.flow(1000)
        if batch:
            self.message(*range(count))
        for number in range(count):
            if batch:
                self.received(number, message_id=entry_id(0, number, count))
            else:
                self.message(number)
                self.received(number)

    def ack(
        self, *deliveries: int, cumulative: bool = False, outcome: Outcome = Outcome.OK
    ) -> tuple[Invoke, Completion]:
        args = {"consumer": CONSUMER, "messages": list(deliveries)}
        invoke = self.invoke("ack", CONSUMER, args={**args, "cumulative": True} if cumulative else args)
        return invoke, self.complete(invoke, outcome)

    def close_consumer(self) -> Invoke:
        return self.invoke("close", CONSUMER, args={"handle": CONSUMER})

    def close_frame(self) -> None:
        self.up("CLOSE_CONSUMER", consumer_id=0, request_id=99)

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        """Finding codes, and how often the precondition occurred."""
        said = trial(check, self.done(), facts=CLIENT)
        return [finding.code for finding in said.findings], said.exercised


# --- ack.flushed-in-time ---


def test_ack_within_interval_is_in_time() -> None:
    story = Story()
    story.ack(1, 2)
    story.after(90)
    story.ack_frame(0, 1)
    assert story.judged(FlushedInTime) == ([], 2)


def test_ack_after_interval_is_late() -> None:
    story = Story()
    story.ack(1)
    story.after(301)
    story.ack_frame(0)
    assert story.judged(FlushedInTime)[0] == ["flushed-late"]


def test_late_ack_on_a_busy_machine_is_undecided() -> None:
    story = Story()
    story.ack(1)
    story.after(301)
    story.ack_frame(0)
    story.load(300, loop_lag_ms=40)
    said = trial(FlushedInTime, story.done(), facts=CLIENT)
    assert (said.findings, bool(said.undecided_because)) == ([], True)


def test_ack_that_never_leaves_is_found_at_close() -> None:
    story = Story()
    story.ack(1)
    story.after(301)
    story.close_consumer()
    assert story.judged(FlushedInTime)[0] == ["never-flushed"]


def test_close_within_interval_owes_no_flush_in_time() -> None:
    story = Story()
    story.ack(1)
    story.close_consumer()
    story.ack_frame(0)
    story.close_frame()
    assert story.judged(FlushedInTime)[0] == []


def test_ack_for_lost_connection_is_not_judged() -> None:
    story = Story()
    story.ack(1)
    story.cut()
    story.after(400)
    assert story.judged(FlushedInTime) == ([], 0)


def test_failed_ack_is_not_owed() -> None:
    story = Story()
    story.ack(1, outcome=Outcome.FAIL)
    story.after(400)
    story.close_consumer()
    assert story.judged(FlushedInTime) == ([], 0)


def test_cumulative_ack_covers_pending_ones() -> None:
    story = Story()
    story.ack(1)
    story.ack(2, cumulative=True)
    story.ack_frame(1, ack_type="Cumulative")
    story.after(400)
    story.close_consumer()
    assert story.judged(FlushedInTime)[0] == []


def test_acks_sent_one_by_one_are_not_grouped() -> None:
    story = Story()
    for delivery in (1, 2, 3):
        story.ack(delivery)
        story.ack_frame(delivery - 1)
        story.after(10)
    assert story.judged(FlushedInTime)[0] == ["not-grouped"]


def test_full_groups_leave_at_once_one_command_an_id() -> None:
    story = Story(count=6)
    for delivery in (1, 3, 5):
        for each in (delivery, delivery + 1):
            story.ack(each)
        for each in (delivery, delivery + 1):
            story.ack_frame(each - 1)
        story.after(10)
    pairs = msgspec.structs.replace(CLIENT, fixed={**CLIENT.fixed, "ack_group_max": 2})
    assert trial(FlushedInTime, story.done(), facts=pairs).findings == []


def test_one_command_an_id_in_one_flush_is_grouped() -> None:
    story = Story()
    story.ack(1, 2, 3)
    story.after(50)
    for entry in range(3):
        story.ack_frame(entry)
    assert story.judged(FlushedInTime) == ([], 3)


def test_ack_of_batch_member_is_another_requirements_matter() -> None:
    story = Story(batch=True)
    story.ack(1)
    story.after(400)
    story.close_consumer()
    assert story.judged(FlushedInTime) == ([], 0)


# --- ack.cumulative-keeps-greatest ---


def test_greatest_cumulative_ack_alone_is_sent() -> None:
    story = Story(10)
    story.ack(6, 10, 8, cumulative=True)
    story.after(50)
    story.ack_frame(9, ack_type="Cumulative")
    assert story.judged(GreatestOnly) == ([], 1)


def test_flush_between_cumulative_acks_is_allowed() -> None:
    story = Story(10)
    story.ack(6, cumulative=True)
    story.ack_frame(5, ack_type="Cumulative")
    story.ack(10, cumulative=True)
    story.ack(8, cumulative=True)
    story.after(90)
    story.ack_frame(9, ack_type="Cumulative")
    assert story.judged(GreatestOnly) == ([], 1)


def test_smaller_cumulative_ack_behind_greater_is_found() -> None:
    story = Story(10)
    story.ack(6, 10, 8, cumulative=True)
    story.after(50)
    story.ack_frame(7, ack_type="Cumulative")
    assert story.judged(GreatestOnly)[0] == ["smaller-sent"]


def test_two_cumulative_acks_in_one_flush_are_found() -> None:
    story = Story(10)
    story.ack(6, 10, cumulative=True)
    story.ack_frame(5, ack_type="Cumulative")
    story.ack_frame(9, ack_type="Cumulative")
    assert story.judged(GreatestOnly)[0] == ["not-merged"]


def test_greatest_cumulative_ack_never_sent_is_found() -> None:
    story = Story(10)
    story.ack(6, 10, cumulative=True)
    story.ack_frame(5, ack_type="Cumulative")
    story.after(300)
    story.close_consumer()
    story.close_frame()
    assert story.judged(GreatestOnly)[0] == ["greatest-never-sent"]


def test_cumulative_ack_inside_a_batch_is_not_judged() -> None:
    story = Story(4, batch=True)
    story.ack(3, 2, cumulative=True)
    story.ack_frame(MessageId(1, -1), ack_type="Cumulative")
    assert story.judged(GreatestOnly) == ([], 0)


# --- ack.flushed-on-close ---


def test_close_sends_pending_acks_first() -> None:
    story = Story()
    story.ack(1, 2)
    story.close_consumer()
    story.ack_frame(0, 1)
    story.close_frame()
    assert story.judged(FlushedOnClose) == ([], 1)


def test_close_that_forgets_acks_is_found() -> None:
    story = Story()
    story.ack(1)
    story.close_consumer()
    story.close_frame()
    assert story.judged(FlushedOnClose)[0] == ["forgotten-on-close"]


def test_ack_behind_close_consumer_is_too_late() -> None:
    story = Story()
    story.ack(1)
    story.close_consumer()
    story.close_frame()
    story.ack_frame(0)
    assert story.judged(FlushedOnClose)[0] == ["forgotten-on-close"]


def test_ack_asked_for_after_close_is_not_owed() -> None:
    story = Story()
    story.close_consumer()
    story.ack(1)
    story.close_frame()
    assert story.judged(FlushedOnClose) == ([], 0)


def test_acks_over_lost_connection_are_not_owed_at_close() -> None:
    story = Story()
    story.ack(1)
    story.cut(by=ClosedBy.FAULT)
    story.connected(1)
    story.subscribed(1)
    story.close_consumer()
    story.up("CLOSE_CONSUMER", 1, consumer_id=0, request_id=99)
    assert story.judged(FlushedOnClose) == ([], 0)


def test_cumulative_ack_forgotten_on_close_is_one_finding() -> None:
    story = Story()
    story.ack(1)
    story.ack(3, cumulative=True)
    story.close_consumer()
    story.close_frame()
    assert story.judged(FlushedOnClose)[0] == ["forgotten-on-close"]


# --- ack.whole-batch-only ---


def test_batch_acked_when_last_message_is() -> None:
    story = Story(batch=True)
    story.ack(1, 2)
    story.after(150)
    story.ack(3)
    story.ack_frame(0)
    assert story.judged(WholeBatchOnly) == ([], 1)


def test_batch_acked_at_once_shows_nothing() -> None:
    story = Story(batch=True)
    story.ack(1, 2, 3)
    story.ack_frame(0)
    assert story.judged(WholeBatchOnly) == ([], 0)


@pytest.mark.parametrize("id", [entry_id(0), entry_id(0, 0, 3)])
def test_ack_of_half_settled_batch_is_found(id: MessageId) -> None:
    story = Story(batch=True)
    story.ack(1, 2)
    story.ack_frame(id)
    assert story.judged(WholeBatchOnly)[0] == ["acked-early"]


def test_ack_set_with_index_acks_off_is_found() -> None:
    story = Story(batch=True)
    story.ack(1)
    story.ack_frame(0, ack_sets=((0b110,),))
    assert story.judged(WholeBatchOnly)[0] == ["ack-set-sent"]


def test_report_of_damage_is_no_early_ack() -> None:
    story = Story(batch=True)
    story.ack_frame(0, fields={"validation_error": "ChecksumMismatch"})
    assert story.judged(WholeBatchOnly) == ([], 0)


def test_batch_that_is_never_acked_is_found() -> None:
    story = Story(batch=True)
    story.ack(1, 2, 3)
    story.after(300)
    story.close_consumer()
    story.close_frame()
    assert story.judged(WholeBatchOnly)[0] == ["never-acked"]


def test_batch_that_came_twice_may_be_settled_in_neither_copy() -> None:
    story = Story(batch=True)
    story.message(0, 1, 2)
    for number in range(3):
        story.received(number, message_id=entry_id(0, number, 3))
    story.ack(1, 2, 6)
    story.after(300)
    story.close_consumer()
    story.close_frame()
    assert story.judged(WholeBatchOnly) == ([], 0)


def test_half_settled_batch_owes_nothing_at_close() -> None:
    story = Story(batch=True)
    story.ack(1, 2)
    story.after(300)
    story.close_consumer()
    story.close_frame()
    assert story.judged(WholeBatchOnly) == ([], 0)


def test_cumulative_ack_of_later_entry_settles_a_batch() -> None:
    story = Story(batch=True)
    story.message(7, entry=1)
    story.received(7, entry=1)
    story.ack(4, cumulative=True)
    story.ack_frame(0)
    assert story.judged(WholeBatchOnly)[0] == []


def test_two_consumers_of_one_subscription_are_not_told_apart() -> None:
    story = Script()
    for handle in (CONSUMER, CONSUMER + 1):
        story.invoke("open_consumer", handle, args={"topics": ["t"]})
    story.connected()
    story.subscribed(consumer_id=0)
    story.subscribed(consumer_id=1)
    story.message(0)
    story.received(0)
    story.complete(story.invoke("ack", CONSUMER, args={"messages": [1]}))
    story.after(400)
    story.ack_frame(0)
    said = trial(FlushedInTime, story.done(), facts=CLIENT)
    assert (said.findings, said.exercised) == ([], 0)
