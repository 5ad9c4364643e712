"""Errors that a broker answers: for one send, of its store, for the whole topic."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule, up
from assay_conformance.model.case import Case, Limits
from assay_conformance.model.fault import AnswerError, Corrupt, Fault
from assay_conformance.pulsar.cases.resend.connections import QUICK, cut_at_send, lost_before_cut, lost_receipts


def _refused(sequence_id: int, error: str, times: int) -> Fault:
    trigger = up("SEND", times=times, where={"sequence_id": sequence_id})
    return Fault(trigger=trigger, action=AnswerError(error))


def after_one_taken(sends: int) -> Schedule:
    """Send this many messages after one that has its receipt."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    plan.send(producer, sends)
    return plan


def transient_error(error: str) -> Case:
    plan = after_one_taken(sends=2)
    plan.wait_ops()
    return plan.case(
        f"resend/transient-{error.removesuffix('Error').lower()}-error",
        f"A send is answered {error} twice, and stored the third time",
        ("resend.retries-transient-error",),
        faults=(_refused(1, error, times=2),),
        limits=QUICK,
    )


def checksum_error() -> Case:
    plan = after_one_taken(sends=2)
    plan.wait_ops()
    return plan.case(
        "resend/checksum-error",
        "A bit of a SEND is flipped on its way to the broker, which answers ChecksumError",
        ("resend.checksum-error-resent",),
        faults=(Fault(trigger=up("SEND", k=2), action=Corrupt()),),
        limits=QUICK,
    )


def one_not_allowed() -> Case:
    """Refuse a send as often as it is sent."""
    plan = after_one_taken(sends=3)
    plan.wait_ops()
    return plan.case(
        "resend/one-not-allowed",
        "The broker answers the second of four messages with NotAllowedError, and stores the others",
        ("resend.not-allowed-fails-one",),
        producer={"send_timeout_ms": 1_000},
        faults=(_refused(1, "NotAllowedError", times=0),),
        limits=Limits(operation_ms=6_000, case_ms=20_000),
    )


def not_allowed_and_reconnect_rejected() -> Case:
    """Refuse a send, and then the reconnect: a client that closes the connection over it gets the error only once."""
    plan = after_one_taken(sends=3)
    plan.wait_ops()
    return plan.case(
        "resend/not-allowed-and-reconnect-rejected",
        "The broker answers the second of four messages, and each PRODUCER after that, with NotAllowedError",
        ("resend.not-allowed-fails-one",),
        producer={"send_timeout_ms": 1_000},
        faults=(
            _refused(1, "NotAllowedError", times=0),
            Fault(trigger=up("PRODUCER", k=2, times=0), action=AnswerError("ServiceNotReady"), optional=True),
        ),
        limits=QUICK,
    )


def terminated_mid_stream() -> Case:
    """Terminate the topic; the client may learn it by either of two errors."""
    plan = after_one_taken(sends=3)
    plan.wait_ops()
    refused = Fault(trigger=up("PRODUCER", k=2, times=0), action=AnswerError("TopicTerminatedError"), optional=True)
    return plan.case(
        "resend/terminated-mid-stream",
        "A send is refused because the topic is terminated, and so is every PRODUCER from then on",
        ("resend.terminated-fails-all",),
        producer={"send_timeout_ms": 2_500},
        faults=(
            lost_before_cut(1, k=2),
            Fault(trigger=up("SEND", k=3), action=AnswerError("TopicTerminatedError")),
            refused,
        ),
        limits=QUICK,
    )


def topic_terminated() -> Case:
    plan = after_one_taken(sends=2)
    plan.wait_receipts(3)
    plan.broker("terminate", topic="t")
    plan.wait_ops()
    return plan.case(
        "resend/topic-terminated",
        "A topic is terminated while two sends have no receipt",
        ("resend.terminated-fails-all",),
        producer={"send_timeout_ms": 2_500},
        faults=(lost_receipts(2, k=2),),
        limits=QUICK,
    )


def refused_return(
    words: str, error: str, title: str, *, requirement: str = "resend.reconnect-retries-temporary-error"
) -> Case:
    """Cut the connection while one send waits for its receipt, and refuse the reconnect."""
    plan = after_one_taken(sends=2)
    plan.wait_ops()
    return plan.case(
        f"resend/reconnect-{words}",
        title,
        (requirement,),
        producer={"send_timeout_ms": 8_000},
        faults=(
            lost_before_cut(1, k=2),
            cut_at_send(3),
            Fault(trigger=up("PRODUCER", k=2), action=AnswerError(error)),
        ),
        limits=Limits(operation_ms=10_000, case_ms=25_000),
    )


CASES = (
    refused_return(
        "producer-busy", "ProducerBusy", "A producer reconnects while its broker still has its previous connection"
    ),
    refused_return(
        "service-not-ready", "ServiceNotReady", "A producer reconnects to a broker that is not ready for it"
    ),
    refused_return(
        "quota-exceeded-error",
        "ProducerBlockedQuotaExceededError",
        "A producer reconnects, and waits because a backlog quota is exceeded",
    ),
    refused_return(
        "quota-exceeded-exception",
        "ProducerBlockedQuotaExceededException",
        "A producer reconnects, and is refused because a backlog quota is exceeded",
        requirement="resend.quota-exceeded-fails-pending",
    ),
    transient_error("PersistenceError"),
    transient_error("MetadataError"),
    transient_error("UnknownError"),
    checksum_error(),
    one_not_allowed(),
    not_allowed_and_reconnect_rejected(),
    terminated_mid_stream(),
    topic_terminated(),
)
