"""How calls end: each request of a call is answered with an error, and every call is made without faults."""

from __future__ import annotations

from typing import Final, NamedTuple

from assay_conformance.cases.build import ACKS_FLUSHED_MS, EARLIEST, STARVED_MS, Schedule, up
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.fault import AnswerError, Fault
from assay_conformance.pulsar.cases.robustness.unanswered import REQUESTS as UNANSWERED
from assay_conformance.pulsar.cases.robustness.unanswered import judged_by

_TOPICS: Final = Topology(topics=(Topic(name="t"), Topic(name="beside")))


class _Refused(NamedTuple):
    """A request of `unanswered`, its error, and which of its attempts are answered with it: requests of another
    producer are answered as usual."""

    request: str
    error: str
    k: int = 1


_REFUSED: Final = (
    _Refused("PARTITIONED_METADATA", "AuthorizationError", 2),
    _Refused("LOOKUP", "AuthorizationError", 2),
    _Refused("PRODUCER", "NotAllowedError", 2),
    _Refused("SUBSCRIBE", "NotAllowedError"),
    _Refused("GET_TOPICS_OF_NAMESPACE", "AuthorizationError"),
    _Refused("SEEK", "MetadataError"),
    _Refused("UNSUBSCRIBE", "MetadataError"),
    _Refused("CLOSE_CONSUMER", "MetadataError"),
    _Refused("CLOSE_PRODUCER", "MetadataError"),
    _Refused("GET_LAST_MESSAGE_ID", "MetadataError"),
)


def _refused(refused: _Refused) -> Case:
    """Refuse a request while a producer of the same client sends."""
    request = next(one for one in UNANSWERED if one.what == refused.request)
    plan, client = Schedule.with_client(stored=plains(range(3)))
    beside = plan.producer(client, "beside")
    asked = request.asks(plan, client)
    plan.wait_ops(plan.send(beside, 3))
    plan.wait_ops(asked)
    return plan.case(
        f"robustness/refused-{request.words}",
        f"{request.what} is answered {refused.error}, while another producer of the client sends",
        judged_by(request.what),
        capabilities=tuple(dict.fromkeys(("producer", *request.capabilities))),
        client={"operation_timeout_ms": 2_000},
        consumer=EARLIEST,
        topology=_TOPICS,
        faults=(Fault(trigger=up(refused.request, k=refused.k, times=0), action=AnswerError(refused.error)),),
    )


def _in_order() -> Case:
    """Make each call once, with what it needs, on one topic."""
    plan, client = Schedule.with_client(stored=plains(range(4)))
    producer, consumer = plan.producer(client, "beside"), plan.consumer(client)
    unread = plan.consumer(client, "beside", "unread")
    plan.wait_ops(plan.flush(producer))
    plan.wait_ops(plan.send(producer, 3))
    plan.wait_ops(plan.flush(producer))
    plan.wait_ops(plan.receive(consumer, 4, STARVED_MS))
    plan.wait_ops(plan.receive(consumer, 1, 300))
    for delivery in (1, 2):
        plan.wait_ops(plan.seek(consumer, delivery=delivery))
        plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
        plan.wait_ms(2 * ACKS_FLUSHED_MS)
    plan.wait_ops(plan.ack(consumer, messages=(1, 2)))
    for handle in (unread, consumer, producer, client):
        plan.wait_ops(plan.close(handle))
    return plan.case(
        "robustness/calls-in-order",
        "Each call is made once without faults, also a flush with nothing pending and a receive that gets nothing",
        ("robustness.failure-needs-cause",),
        capabilities=("producer", "consumer", "seek"),
        consumer=EARLIEST,
        topology=_TOPICS,
    )


def _reading_to_the_end() -> Case:
    plan, client = Schedule.with_client(stored=plains(range(3)))
    reader = plan.consumer(client, durable=False)
    for _ in range(3):
        plan.wait_ops(plan.has_message_available(reader))
        plan.wait_ops(plan.receive(reader, 1, STARVED_MS))
    plan.wait_ops(plan.has_message_available(reader))
    for handle in (reader, client):
        plan.wait_ops(plan.close(handle))
    return plan.case(
        "robustness/reading-to-the-end",
        "A reader calls has_message_available before each message and after the last one, and is closed",
        ("robustness.failure-needs-cause",),
        capabilities=("consumer", "reader", "has_message_available"),
        consumer=EARLIEST,
    )


CASES = (*map(_refused, _REFUSED), _in_order(), _reading_to_the_end())
