"""Cases for what an ACK acknowledges at the broker: the commands of any client, altered to what some clients write."""

from __future__ import annotations

from assay_conformance.cases.build import STARVED_MS, Schedule, up
from assay_conformance.cases.stored import batch, plain, plains
from assay_conformance.model.case import Case, Config
from assay_conformance.model.fault import AfterStep, Cut, Direction, Fault, FieldValue, Rewrite
from assay_conformance.pulsar.cases.ack.batches import BY_INDEX
from assay_conformance.pulsar.cases.ack.grouping import FLUSHED_MS, GROUPED

SHARED: Config = {**GROUPED, "subscription_type": "shared"}


def _acked(plan: Schedule, consumer: int, *groups: list[int]) -> int:
    """Send one ACK for each group, and wait for the broker to process it.

    Returns the step after which the connection is cut.
    """
    for count, numbers in enumerate(groups, start=1):
        plan.ack(consumer, numbers=numbers)
        plan.wait_frame("ACK", Direction.TO_BROKER, count)
        plan.wait_ms(FLUSHED_MS)
    return plan.last


def _again(plan: Schedule, consumer: int, messages: int, entries: int) -> None:
    """Wait for the entry that completes the redelivery of what is unacknowledged, and receive the messages."""
    plan.wait_frame("MESSAGE", Direction.TO_CLIENT, entries)
    plan.receive(consumer, messages, STARVED_MS)
    plan.wait_ops()


def _rewritten(k: int, **fields: FieldValue) -> Fault:
    return Fault(trigger=up("ACK", k=k), action=Rewrite({name.replace("__", "."): fields[name] for name in fields}))


def batch_acked_by_one_index() -> Case:
    plan, consumer = Schedule.with_consumer_of([batch(range(4)), plain(4)], receives=5)
    lost = _acked(plan, consumer, [0, 1, 2, 3])
    _again(plan, consumer, 1, 3)
    return plan.case(
        "ack/batch-acked-by-one-index",
        "A batch of four is acknowledged as a whole by an ACK that names its second message; the connection is lost",
        ("ack.applies-to-named-messages",),
        consumer={**GROUPED, "batch_index_ack": False},
        faults=(_rewritten(1, message_id__batch_index=1), Fault(trigger=AfterStep(lost), action=Cut())),
    )


def ack_sets_combine() -> Case:
    """Acknowledge two messages of a batch in turn. Some clients name all acknowledged messages each time; naming only
    the new ones has the same effect.
    """
    plan, consumer = Schedule.with_consumer_of([batch(range(4))], receives=4)
    lost = _acked(plan, consumer, [0], [1])
    _again(plan, consumer, 2, 2)
    return plan.case(
        "ack/ack-sets-combine",
        "Two ACKs of a batch of four each acknowledge one message and name no other; the connection is lost",
        ("ack.applies-to-named-messages",),
        consumer=BY_INDEX,
        capabilities=("batch_index_ack",),
        faults=(_rewritten(2, message_id__ack_set=0b1101), Fault(trigger=AfterStep(lost), action=Cut())),
    )


def ack_sets_complete_batch() -> Case:
    plan, consumer = Schedule.with_consumer_of([batch(range(4)), plain(4)], receives=5)
    lost = _acked(plan, consumer, [0, 1], [2, 3])
    _again(plan, consumer, 1, 3)
    return plan.case(
        "ack/ack-sets-complete-batch",
        "Two ACKs of a batch of four acknowledge one half each; the connection is lost",
        ("ack.applies-to-named-messages",),
        consumer=BY_INDEX,
        capabilities=("batch_index_ack",),
        faults=(_rewritten(2, message_id__ack_set=0b0011), Fault(trigger=AfterStep(lost), action=Cut())),
    )


def cumulative_command_on_shared() -> Case:
    plan, consumer = Schedule.with_consumer_of(plains(range(4)), receives=4)
    lost = _acked(plan, consumer, [2])
    _again(plan, consumer, 3, 8)
    return plan.case(
        "ack/cumulative-command-on-shared",
        "A cumulative ACK of the third of four messages is sent on a shared subscription; the connection is lost",
        ("ack.applies-to-named-messages",),
        consumer=SHARED,
        faults=(_rewritten(1, ack_type="Cumulative"), Fault(trigger=AfterStep(lost), action=Cut())),
    )


def cumulative_with_two_message_ids() -> Case:
    plan, consumer = Schedule.with_consumer_of(plains(range(4)), receives=4)
    lost = _acked(plan, consumer, [1, 2])
    _again(plan, consumer, 4, 8)
    return plan.case(
        "ack/cumulative-with-two-message-ids",
        "A cumulative ACK names the second and the third of four messages; the connection is lost",
        ("ack.applies-to-named-messages",),
        assumes=("several_ids_ack",),
        consumer={**GROUPED, "subscription_type": "exclusive"},
        faults=(_rewritten(1, ack_type="Cumulative"), Fault(trigger=AfterStep(lost), action=Cut())),
    )
