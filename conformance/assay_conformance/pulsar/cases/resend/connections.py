"""Resend and time-out: receipts that do not come, come late, twice, or for the wrong send.

To have several sends in flight, a Case holds the broker's store until all have arrived. Where a Case cuts the
connection, the receipts of earlier sends are lost, so that what has to be sent again does not depend on the client's
speed.
"""

from __future__ import annotations

from typing import Any

import msgspec

from assay_conformance.cases.build import Schedule, down, up
from assay_conformance.model.case import Case, Limits
from assay_conformance.model.fault import (
    AfterStep,
    Cut,
    Direction,
    Drop,
    Duplicate,
    Fault,
    Hold,
    Reorder,
    Scope,
    Truncate,
    Until,
)

QUICK = Limits(operation_ms=6_000, case_ms=20_000)
"""For Cases in which a faulty client never ends an operation: the time to wait for it."""


def lost_receipts(times: int, k: int = 1) -> Fault:
    """Return a fault that drops so many receipts, from the k-th on, before the producer registers again."""
    return Fault(trigger=down("SEND_RECEIPT", k=k, times=times), scope=Scope(session=0), action=Drop())


def lost_before_cut(times: int, k: int = 1) -> Fault:
    """Return a fault that drops the receipts of the sends before the one that triggers the cut, or before one over
    which the client closes the connection. A broker with a high latency has not sent them by then, so the fault is
    optional.
    """
    return msgspec.structs.replace(lost_receipts(times, k), optional=True)


def cut_at_send(k: int) -> Fault:
    """Return a fault that cuts the connection right after the k-th SEND, which still arrives."""
    return Fault(trigger=up("SEND", k=k), action=Cut())


def pending_sends() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 3)
    plan.wait_ops()
    return plan.case(
        "resend/pending-sends",
        "The connection is lost after the third of three sends, before any receipt",
        ("resend.pending-sends-resent",),
        faults=(lost_before_cut(2), cut_at_send(3)),
        limits=QUICK,
    )


def send_cut_in_the_middle() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 3, size=1_000)
    plan.wait_ops()
    return plan.case(
        "resend/send-cut-in-the-middle",
        "The connection ends after the first 100 bytes of the second of three sends, before any receipt",
        ("resend.pending-sends-resent",),
        faults=(lost_before_cut(1), Fault(trigger=up("SEND", k=2), action=Truncate(100))),
        limits=QUICK,
    )


LEAVES_MS = 700
"""The time in which a client that has to close its connection at once has closed it."""


def _three_in_flight(
    words: str, title: str, requirement: str, fault: Fault, *, stays_ms: int = 0, **fields: Any
) -> Case:
    """Send three messages whose receipts are sent together, and keep the producer open for `stays_ms` after them."""
    plan, producer = Schedule.with_producer()
    with plan.held():
        plan.send(producer, 3)
        plan.wait_sends(3)
    plan.wait_ops()
    if stays_ms:
        plan.wait_ms(stays_ms)
    return plan.case(words, title, (requirement,), faults=(fault,), limits=QUICK, **fields)


def cut_between_receipts() -> Case:
    return _three_in_flight(
        "resend/cut-between-receipts",
        "Three sends are in flight, and the connection is lost after the second receipt",
        "resend.pending-sends-resent",
        Fault(trigger=down("SEND_RECEIPT", k=2), action=Cut()),
    )


def queue_order() -> Case:
    """Send one message with a receipt, three without, and two before the producer has reconnected."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    plan.send(producer, 3)
    plan.wait_frame("PRODUCER", Direction.TO_BROKER, 2)
    plan.send(producer, 2)
    plan.wait_ops(plan.agent("stats", {"handle": producer}))  # the sends before it have been handed to the client
    back = plan.last
    plan.wait_ops()
    return plan.case(
        "resend/queue-order",
        "Pending sends are sent again in order, before new ones, and without the one that has its receipt",
        ("resend.keeps-queue-order",),
        faults=(
            lost_before_cut(2, k=2),
            cut_at_send(4),
            # A broker with a high latency has not answered by then, and need not be held.
            Fault(trigger=down("PRODUCER_SUCCESS", k=2), action=Hold(), until=Until(step=back), optional=True),
        ),
        limits=QUICK,
    )


LATER_MS = 20
"""The time in which anything stamped in milliseconds has changed."""


def _back_behind(step: int) -> Fault:
    """Return a fault that holds the producer's second PRODUCER_SUCCESS until a step has ended."""
    return Fault(trigger=down("PRODUCER_SUCCESS", k=2), action=Hold(), until=Until(step=step))


def same_message() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 2, key="k", properties={"a": "b"})
    plan.wait_fired(2)
    plan.wait_ms(LATER_MS)
    later = plan.last
    plan.wait_ops()
    return plan.case(
        "resend/same-message",
        "Two messages with key and properties are sent again as the same bytes",
        ("resend.identical-bytes",),
        faults=(lost_before_cut(1), cut_at_send(2), _back_behind(later)),
    )


def same_batch() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer)
    plan.wait_ops(plan.flush(producer))
    plan.send(producer, 3)
    plan.flush(producer)
    plan.wait_fired(1)
    plan.send(producer, 2)
    plan.wait_ops(plan.agent("stats", {"handle": producer}))  # the sends before it have been handed to the client
    plan.wait_ms(LATER_MS)
    later = plan.last
    plan.wait_ops()
    return plan.case(
        "resend/same-batch",
        "A batch of three is sent again as the same batch, while the next one fills",
        ("resend.identical-bytes",),
        capabilities=("batching",),
        producer={"batching": True, "batching_max_publish_delay_ms": 200},
        faults=(cut_at_send(2), _back_behind(later)),
    )


def sends_wait_for_producer_success() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 2)
    plan.wait_fired(2)
    plan.send(producer, 2)
    plan.wait_ms(150)  # no frame may be sent now
    quiet = plan.last
    plan.wait_ops()
    return plan.case(
        "resend/sends-wait-for-producer-success",
        "PRODUCER_SUCCESS is delayed after a reconnect, and no SEND is sent before it",
        ("resend.waits-for-producer-success",),
        faults=(
            lost_before_cut(1),
            cut_at_send(2),
            _back_behind(quiet),
        ),
    )


def receipt_twice() -> Case:
    """Repeat the first receipt while the second send still waits for its own."""
    plan, producer = Schedule.with_producer()
    with plan.held():
        plan.send(producer, 2)
        plan.wait_sends(2)
    plan.wait_fired(0)
    plan.wait_ms(150)  # nothing may happen now
    quiet = plan.last
    plan.wait_ops()
    return plan.case(
        "resend/receipt-twice",
        "A receipt that comes twice completes nothing but its own send",
        ("resend.ignores-stale-receipt",),
        faults=(
            Fault(trigger=down("SEND_RECEIPT", k=1), action=Duplicate()),
            Fault(trigger=down("SEND_RECEIPT", k=2), action=Hold(), until=Until(step=quiet)),
        ),
    )


def receipt_after_timeout() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    timed_out = plan.last
    plan.wait_ms(250)  # a client that closes its connection over the receipt does so now; over the time-out, later
    plan.wait_ops(plan.send(producer))
    return plan.case(
        "resend/receipt-after-timeout",
        "The receipt of a send that has timed out changes nothing, and the next send succeeds",
        ("resend.ignores-stale-receipt",),
        producer={"send_timeout_ms": 400},
        faults=(Fault(trigger=down("SEND_RECEIPT", k=1), action=Hold(), until=Until(step=timed_out)),),
    )


def receipt_ahead() -> Case:
    return _three_in_flight(
        "resend/receipt-ahead",
        "The first of three receipts is lost, and the second one comes",
        "resend.receipt-ahead-closes-connection",
        Fault(trigger=down("SEND_RECEIPT", k=1), action=Drop()),
        producer={"send_timeout_ms": 2_500},
    )


def receipts_swapped() -> Case:
    return _three_in_flight(
        "resend/receipts-swapped",
        "Of three receipts the second comes first",
        "resend.receipt-ahead-closes-connection",
        Fault(trigger=down("SEND_RECEIPT", k=1), action=Reorder()),
        stays_ms=LEAVES_MS,
        producer={"send_timeout_ms": 2_500},
    )


def send_times_out() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 2)
    plan.wait_ops()
    return plan.case(
        "resend/send-times-out",
        "No receipt comes, and the sends fail at their send time-out",
        ("resend.send-timeout",),
        producer={"send_timeout_ms": 500},
        faults=(Fault(trigger=down("SEND_RECEIPT", times=0), action=Drop()),),
        limits=Limits(operation_ms=6_000, case_ms=20_000, least_wall_ms=500),
    )


def sends_after_a_timeout() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ms(200)
    plan.wait_ops(plan.send(producer))
    plan.wait_ops(plan.send(producer))
    return plan.case(
        "resend/sends-after-a-timeout",
        "A send times out without a receipt, and another one is made",
        ("resend.sends-after-timeout",),
        producer={"send_timeout_ms": 500},
        faults=(Fault(trigger=down("SEND_RECEIPT", k=1), action=Drop()),),
        limits=Limits(operation_ms=6_000, case_ms=20_000, least_wall_ms=700),
    )


def send_times_out_behind_a_reconnect() -> Case:
    """Send when the connection was lost and made again; this send has no receipt."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    cut = plan.last
    plan.wait_ops(plan.send(producer))
    plan.wait_ops(plan.send(producer))
    return plan.case(
        "resend/send-times-out-behind-a-reconnect",
        "The connection is lost and made again, and the second of two sends after that gets no receipt",
        ("resend.send-timeout",),
        producer={"send_timeout_ms": 500},
        faults=(
            Fault(trigger=AfterStep(cut), action=Cut()),
            Fault(trigger=down("SEND_RECEIPT", where={"sequence_id": 2}, times=0), action=Drop()),
        ),
        limits=Limits(operation_ms=6_000, case_ms=20_000, least_wall_ms=700),
    )


def send_times_out_across_a_reconnect() -> Case:
    """Reconnect during a send's time-out, which starts at the call and must not start again."""
    plan, producer = Schedule.with_producer()
    plan.send(producer)
    plan.wait_ms(700)  # most of the send time-out
    cut = plan.last
    plan.wait_ops()
    return plan.case(
        "resend/send-times-out-across-a-reconnect",
        "No receipt comes, the producer reconnects late, and the send still fails at its send time-out",
        ("resend.send-timeout",),
        producer={"send_timeout_ms": 1_000},
        faults=(
            Fault(trigger=down("SEND_RECEIPT", times=0), action=Drop()),
            Fault(trigger=AfterStep(cut), action=Cut()),
        ),
        limits=Limits(operation_ms=6_000, case_ms=20_000, least_wall_ms=1_000),
    )


def idle_before_a_batch() -> Case:
    """Send in a batch after the producer was idle for longer than a send may take."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    plan.wait_ms(600)
    plan.wait_ops(plan.send(producer))
    return plan.case(
        "resend/idle-before-a-batch",
        "A batched message after an idle time, with a delayed receipt, has the whole of its send time-out",
        ("resend.send-timeout",),
        capabilities=("batching",),
        producer={"batching": True, "batching_max_publish_delay_ms": 100, "send_timeout_ms": 500},
        faults=(Fault(trigger=down("SEND_RECEIPT", k=2, times=0), action=Drop()),),
        limits=Limits(operation_ms=6_000, case_ms=20_000, least_wall_ms=1_300),
    )
