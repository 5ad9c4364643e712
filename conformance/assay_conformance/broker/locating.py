"""Requests about where and what topics are."""

from __future__ import annotations

from assay_conformance.broker import replies
from assay_conformance.broker.rules import RefusalError
from assay_conformance.broker.session import Session
from assay_conformance.wire import CommandType, Frame
from assay_conformance.wire.pulsar_pb2 import (
    CommandLookupTopic,
    CommandLookupTopicResponse,
    CommandPartitionedTopicMetadata,
    CommandPartitionedTopicMetadataResponse,
    ServerError,
)
from assay_conformance.wire.service_urls import service_url_fields


def partitioned_metadata(session: Session, body: CommandPartitionedTopicMetadata, _frame: Frame) -> None:
    """Serve PARTITIONED_METADATA: how many partitions."""
    kind = CommandType.PARTITIONED_METADATA_RESPONSE
    try:
        name = session.topics.resolve(body.topic)
        partitions = session.topics.partitions(name, create=body.metadata_auto_creation_enabled)
    except RefusalError as refusal:
        answer = replies.reply(
            kind,
            request_id=body.request_id,
            response=CommandPartitionedTopicMetadataResponse.Failed,
            error=refusal.error,
            message=refusal.message,
        )
    else:
        answer = replies.reply(
            kind,
            request_id=body.request_id,
            response=CommandPartitionedTopicMetadataResponse.Success,
            partitions=partitions,
        )
    session.send(answer)


def look_up(session: Session, body: CommandLookupTopic, _frame: Frame) -> None:
    """Serve LOOKUP: the broker to connect to, or to ask again."""
    kind = CommandType.LOOKUP_RESPONSE
    types = CommandLookupTopicResponse
    try:
        name = session.topics.resolve(body.topic)
        if body.advertised_listener_name:
            # A broker that was given no listeners has none. Clients know this refusal by its text (C++).
            raise RefusalError(
                ServerError.ServiceNotReady, f"the broker do not have {body.advertised_listener_name} listener"
            )
    except RefusalError as refusal:
        session.send(
            replies.reply(
                kind,
                request_id=body.request_id,
                response=types.Failed,
                error=refusal.error,
                message=refusal.message,
            )
        )
        return
    to = session.topics.look_up(name, session.broker)
    session.send(
        replies.reply(
            kind,
            request_id=body.request_id,
            response=types.Redirect if to.redirect else types.Connect,
            **service_url_fields(kind, to.url),
            authoritative=True,
            proxy_through_service_url=to.proxied,
        )
    )
