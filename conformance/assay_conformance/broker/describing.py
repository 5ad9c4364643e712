"""Commands about schemas, and the schemas that PRODUCER and SUBSCRIBE bring along."""

from __future__ import annotations

from assay_conformance.broker import replies
from assay_conformance.broker.names import parse
from assay_conformance.broker.rules import RefusalError, ViolationError
from assay_conformance.broker.schemas import is_valid
from assay_conformance.broker.session import Session
from assay_conformance.broker.topic import Topic
from assay_conformance.model.policy import Policies, SchemaCompatibility
from assay_conformance.model.topic_names import base_topic
from assay_conformance.wire import CommandType, Frame
from assay_conformance.wire.pulsar_pb2 import (
    CommandGetOrCreateSchema,
    CommandGetSchema,
    CommandProducer,
    CommandSubscribe,
    Schema,
    ServerError,
)

NO_VERSION = b""


def producer_schema(session: Session, topic: Topic, body: CommandProducer) -> bytes:
    """Return the version of a new producer's schema, empty for one without. Raises RefusalError."""
    return _add(session, topic, body.schema) if body.HasField("schema") else _no_schema(session, topic)


def _further_schema(session: Session, topic: Topic, schema: Schema) -> bytes:
    """Return the version of a further schema; one of no type counts as none (ServerCnx.handleGetOrCreateSchema)."""
    if schema.type == Schema.NoSchema:
        return _no_schema(session, topic)
    return _add(session, topic, schema)


def _no_schema(session: Session, topic: Topic) -> bytes:
    """Return the version of no schema. Raises RefusalError where messages must have one."""
    if topic.policies.schema_required and session.topics.schemas.latest(base_topic(topic.name.full)) is not None:
        text = "Producers cannot connect or send message without a schema to topics with a schema"
        raise RefusalError(ServerError.IncompatibleSchema, text)
    return NO_VERSION


def check_consumer_schema(session: Session, topic: Topic, body: CommandSubscribe) -> None:
    """Check a new consumer's schema: the first of an unused topic, else able to read what is there. What would
    be the first and is no schema is passed over (ServerCnx.ignoreUnrecoverableBKException).

    Raises RefusalError.
    """
    if not body.HasField("schema") or body.schema.type == Schema.AutoConsume:
        return
    schemas, full = session.topics.schemas, base_topic(topic.name.full)
    if schemas.latest(full) is None and not _is_used(topic):
        if is_valid(body.schema):
            _add(session, topic, body.schema)
    else:
        schemas.check_reader(full, body.schema, _rule(topic.policies))


def _is_used(topic: Topic) -> bool:
    consumers = (consumer for subscription in topic.subscriptions.values() for consumer in subscription.consumers)
    return bool(topic.producers or topic.store.is_used) or not all(consumer.auto_consumes for consumer in consumers)


def _add(session: Session, topic: Topic, schema: Schema) -> bytes:
    may_add = topic.policies.schema_auto_update is not False
    full = base_topic(topic.name.full)
    return session.topics.schemas.add(full, schema, _rule(topic.policies), may_add=may_add).bytes


def _rule(policies: Policies) -> SchemaCompatibility:
    return policies.schema_compatibility or SchemaCompatibility.FULL


def get_schema(session: Session, body: CommandGetSchema, _frame: Frame) -> None:
    """Serve GET_SCHEMA: the latest, or the version that is named; whatever its name was, it has its topic's."""
    kind = CommandType.GET_SCHEMA_RESPONSE
    try:
        names_version = body.HasField("schema_version")
        if names_version and not body.schema_version:
            raise RefusalError(ServerError.IncompatibleSchema, "Empty schema version")
        full = base_topic(session.topics.resolve(body.topic).full)
        if names_version:
            found = session.topics.schemas.find(full, body.schema_version)
        else:
            found = session.topics.schemas.latest(full)
        if found is None:
            raise RefusalError(ServerError.TopicNotFound, "Topic not found or no-schema")
    except RefusalError as refusal:
        answer = replies.reply(
            kind, request_id=body.request_id, error_code=refusal.error, error_message=refusal.message
        )
    else:
        named = Schema()
        named.CopyFrom(found.schema)
        named.name = full.partition("://")[2]
        answer = replies.reply(kind, request_id=body.request_id, schema=named, schema_version=found.bytes)
    session.send(answer)


def get_or_create_schema(session: Session, body: CommandGetOrCreateSchema, _frame: Frame) -> None:
    """Serve GET_OR_CREATE_SCHEMA: the version of a producer's further schema."""
    kind = CommandType.GET_OR_CREATE_SCHEMA_RESPONSE
    try:
        name = parse(body.topic)
    except RefusalError:
        # A real broker trips over it.
        raise ViolationError from None
    try:
        if not session.topics.exists(name.full):
            raise RefusalError(ServerError.TopicNotFound, f"Topic not found {body.topic}")
        version = _further_schema(session, session.topics.open(name, session.broker), body.schema)
    except RefusalError as refusal:
        answer = replies.reply(
            kind, request_id=body.request_id, error_code=refusal.error, error_message=refusal.message
        )
    else:
        answer = replies.reply(kind, request_id=body.request_id, schema_version=version)
    session.send(answer)
