"""Commands of producers."""

from __future__ import annotations

from assay_conformance.broker import replies
from assay_conformance.broker.describing import producer_schema
from assay_conformance.broker.names import parse
from assay_conformance.broker.producer import Producer
from assay_conformance.broker.publishing import last_sequence_id
from assay_conformance.broker.rules import RefusalError, ViolationError
from assay_conformance.broker.session import Session
from assay_conformance.wire import CommandType, Frame
from assay_conformance.wire.pulsar_pb2 import CommandCloseProducer, CommandProducer, CommandSend, ServerError


def create_producer(session: Session, body: CommandProducer, _frame: Frame) -> None:
    """Serve PRODUCER. An id that exists on this connection is answered as before, whatever is asked for."""
    name = parse(body.topic)
    existing = session.producers.get(body.producer_id)
    if existing is not None:
        existing.repeat(body.request_id)
        return
    if body.producer_id in session.joining_producers:
        raise RefusalError(ServerError.ServiceNotReady, "Producer is already present on the connection")
    topic = session.topics.open(name, session.broker)
    if topic.policies.encryption_required and not body.encrypted:
        raise RefusalError(ServerError.MetadataError, f"Encryption is required in {name.full}")
    schema_version = producer_schema(session, topic, body)
    first = body.initial_subscription_name
    if first and topic.persistent and first not in topic.subscriptions:
        topic.subscribe(first, 0, durable=True)
    given = body.producer_name or session.topics.new_producer_name(session.broker)
    producer = Producer(session, topic, body, given, schema_version)
    session.joining_producers[body.producer_id] = producer
    topic.admission.admit(producer)


def send(session: Session, body: CommandSend, frame: Frame) -> None:
    """Serve SEND.

    For a producer that is not on this connection it ends the connection, unless the broker has just closed that
    producer.
    """
    producer = session.producer(body.producer_id)
    if producer is None:
        if body.producer_id in session.evicted:
            return
        raise ViolationError
    payload = frame.payload
    assert payload is not None
    if payload.checksum_ok():
        producer.topic.publishing.publish(producer, body, payload)
    else:
        last = last_sequence_id(body)
        session.send(
            replies.send_error(body.producer_id, last, ServerError.ChecksumError, "Checksum failed on the broker")
        )


def close_producer(session: Session, body: CommandCloseProducer, _frame: Frame) -> None:
    """Serve CLOSE_PRODUCER.

    A producer that does not exist is closed already, and one that still waits to be created never will be.
    """
    waiting = session.joining_producers.pop(body.producer_id, None)
    if waiting is not None:
        waiting.leave()
    producer = session.producers.pop(body.producer_id, None)
    if producer is None:
        session.send(replies.reply(CommandType.SUCCESS, request_id=body.request_id))
    else:
        producer.close(body.request_id)
