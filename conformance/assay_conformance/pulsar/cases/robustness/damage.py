"""Cases for robustness: damaged messages, bytes split in unusual places, and calls that must always end."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, down, up
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Isolation, Limits
from assay_conformance.model.fault import Corrupt, Cut, Fault, Hold, Refuse, Resegment, Rewrite, Until
from assay_conformance.pulsar.cases.batching.keyed import KEYED
from assay_conformance.pulsar.cases.chunking.messages import LIMIT_BYTES, SMALL
from assay_conformance.pulsar.cases.resend.connections import QUICK, lost_before_cut
from assay_conformance.pulsar.cases.resend.errors import after_one_taken


def key_based_oversize_message() -> Case:
    plan, producer = Schedule.with_producer()
    plan.agent("send", {"producer": producer, "messages": [{"key": "a"}, {"key": "b", "size": 2 * LIMIT_BYTES}]})
    plan.flush(producer)
    plan.wait_ops()
    return plan.case(
        "batching/key-based-oversize-message",
        "Two messages in batches by key, one of them twice as large as the broker accepts",
        ("robustness.calls-do-not-hang",),
        capabilities=("key_based_batcher",),
        topology=SMALL,
        producer=KEYED,
        limits=QUICK,
        # A client may keep the limit for its whole process, and the C++ core crashes here.
        isolation=Isolation.OWN_PROCESS,
    )


def checksum_error_of_second_send() -> Case:
    plan = after_one_taken(sends=2)
    plan.wait_ops()
    return plan.case(
        "resend/checksum-error-of-second-send",
        "A SEND is damaged in flight, and is refused while the one before it has no receipt",
        ("robustness.calls-do-not-hang",),
        faults=(lost_before_cut(1, k=2), Fault(trigger=up("SEND", k=3), action=Corrupt())),
        limits=QUICK,
        # The C++ core crashes here.
        isolation=Isolation.OWN_PROCESS,
    )


def checksum_error_after_timeout() -> Case:
    """Send the error for a send that has already ended, before the receipt of the next one."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    plan.send(producer)
    plan.wait_sends(2)
    timed_out = plan.last
    plan.wait_ops()
    return plan.case(
        "resend/checksum-error-after-timeout",
        "A SEND is damaged in flight; its error comes after its time-out, when the next SEND is pending",
        ("robustness.calls-do-not-hang",),
        producer={"send_timeout_ms": 400},
        faults=(
            Fault(trigger=up("SEND", k=1), action=Corrupt()),
            Fault(trigger=down("SEND_ERROR", k=1), action=Hold(), until=Until(step=timed_out)),
        ),
        limits=QUICK,
        isolation=Isolation.OWN_PROCESS,
    )


UNUSED_ID = 4_711
"""A producer id that no client reaches in a Case."""


def checksum_mismatch() -> Case:
    """Damage both messages that fill the queue first: a client that does not return their permits gets no more."""
    plan = Schedule()
    plan.consumer_of(plains(range(5)), receives=3, timeout_ms=STARVED_MS)
    return plan.case(
        "robustness/checksum-mismatch",
        "A bit of each of the first two messages is flipped in flight to a consumer with a queue of two",
        ("robustness.checksum-mismatch-reported",),
        consumer={**EARLIEST, "receiver_queue_size": 2},
        faults=(Fault(trigger=down("MESSAGE", times=2), action=Corrupt()),),
    )


def pieces(words: str, title: str, action: Resegment) -> Case:
    plan, client = Schedule.with_client()
    consumer = plan.consumer(client)
    producer = plan.producer(client)
    plan.send(producer, 20)
    plan.receive(consumer, 20)
    plan.wait_ops()
    return plan.case(
        f"robustness/{words}",
        title,
        ("robustness.any-segmentation",),
        consumer=EARLIEST,
        faults=(Fault(trigger=down("CONNECTED", times=0), action=action),),
        # Twenty messages of 20 KiB are 420 pieces, and a busy machine makes the gaps between them longer.
        limits=Limits(operation_ms=25_000),
    )


def concurrent_flushes() -> Case:
    plan, producer = Schedule.with_producer()
    with plan.held():
        plan.send(producer, 2)
        plan.wait_sends(2)
        plan.flush(producer)
        plan.flush(producer)
    plan.wait_ops()
    return plan.case(
        "robustness/concurrent-flushes",
        "Two flushes wait for the same receipts",
        ("robustness.calls-do-not-hang",),
        capabilities=("producer",),
        limits=Limits(operation_ms=6_000),
    )


def concurrent_receives() -> Case:
    """Let three receives wait, of which one gets a message, and the others end by their time-outs."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    for _ in range(3):
        plan.receive(consumer, 1, timeout_ms=1_000)
    plan.send(producer)
    plan.wait_ops()
    return plan.case(
        "robustness/concurrent-receives",
        "Three receives wait at the same time, and one message comes",
        ("robustness.calls-do-not-hang",),
        consumer=EARLIEST,
        limits=Limits(operation_ms=6_000),
    )


def calls_during_an_outage() -> Case:
    """Call during an outage that does not end; each call has a time-out or must end without one."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.send(producer)
    plan.receive(consumer, 2, timeout_ms=500)
    plan.wait_fired(1)
    plan.send(producer, 2)
    plan.flush(producer)
    plan.wait_ops()
    plan.close(producer)
    plan.close(consumer)
    plan.wait_ops()
    plan.close(client)
    plan.wait_ops()
    return plan.case(
        "robustness/calls-during-an-outage",
        "The connection is lost and no other can be made, while the application goes on making calls",
        ("robustness.calls-do-not-hang",),
        client={"operation_timeout_ms": 1_000},
        producer={"send_timeout_ms": 500},
        consumer=EARLIEST,
        faults=(
            Fault(trigger=down("SEND_RECEIPT"), action=Refuse()),
            Fault(trigger=down("SEND_RECEIPT"), action=Cut()),
        ),
        limits=Limits(operation_ms=5_000),
    )


def send_for_an_unknown_producer() -> Case:
    """Alter a SEND to name an unknown producer; its invented producer name identifies it."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    plan.wait_ops(plan.send(producer))
    stray = Rewrite({"producer_id": UNUSED_ID, "metadata.producer_name": "nobody"})
    return plan.case(
        "robustness/send-for-an-unknown-producer",
        "A SEND names a producer that its connection never opened",
        ("robustness.send-without-producer-not-stored",),
        capabilities=("resend_pending",),
        faults=(Fault(trigger=up("SEND", k=2), action=stray),),
        limits=Limits(operation_ms=6_000),
    )


def send_for_a_closed_producer() -> Case:
    """Let the SEND of a closed producer arrive after its close, however long that takes; the client's second producer
    on the connection goes on.
    """
    plan, client = Schedule.with_client()
    first, second = plan.producer(client), plan.producer(client)
    plan.send(first)
    plan.wait_sends(1)
    plan.wait_ops(plan.close(first))
    plan.wait_healed(0)
    plan.wait_ops(plan.send(second))
    return plan.case(
        "robustness/send-for-a-closed-producer",
        "A SEND arrives at the broker after its producer was closed",
        ("robustness.send-without-producer-not-stored",),
        capabilities=("resend_pending",),
        producer={"send_timeout_ms": 2_000},
        faults=(
            Fault(
                trigger=up("SEND"),
                action=Hold(overtake=True),
                until=Until(frame=down("SUCCESS", answers="CLOSE_PRODUCER")),
            ),
        ),
        limits=Limits(operation_ms=6_000),
    )


CASES = (
    key_based_oversize_message(),
    checksum_error_of_second_send(),
    checksum_error_after_timeout(),
    send_for_an_unknown_producer(),
    send_for_a_closed_producer(),
    concurrent_flushes(),
    concurrent_receives(),
    calls_during_an_outage(),
    checksum_mismatch(),
    pieces("byte-by-byte", "From CONNECTED on, every byte arrives alone", Resegment(piece_bytes=1)),
    pieces(
        "many-frames-at-once",
        "From CONNECTED on, bytes arrive in pieces of 1,000, 5 ms apart, with many frames in each piece and none that "
        "ends with it",
        Resegment(piece_bytes=1_000, gap_ms=5),
    ),
)
