"""Commands of consumers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from assay_conformance.broker import replies
from assay_conformance.broker.consumer import Consumer
from assay_conformance.broker.describing import check_consumer_schema
from assay_conformance.broker.housekeeping import MS_PER_S
from assay_conformance.broker.names import parse
from assay_conformance.broker.rules import RefusalError, ViolationError
from assay_conformance.broker.session import Attached, Session
from assay_conformance.broker.store import Entry
from assay_conformance.broker.subscription import Subscription
from assay_conformance.broker.topic import Topic
from assay_conformance.wire import NO_ID, CommandType, Frame
from assay_conformance.wire.pulsar_pb2 import (
    CommandAck,
    CommandCloseConsumer,
    CommandConsumerStats,
    CommandFlow,
    CommandGetLastMessageId,
    CommandRedeliverUnacknowledgedMessages,
    CommandSeek,
    CommandSubscribe,
    CommandUnsubscribe,
    ServerError,
)

_TYPE_NAMES: dict[int, str] = {
    CommandSubscribe.Exclusive: "Exclusive",
    CommandSubscribe.Shared: "Shared",
    CommandSubscribe.Failover: "Failover",
    CommandSubscribe.Key_Shared: "Key_Shared",
}
"""The subscription types served, and their names in CONSUMER_STATS_RESPONSE."""

_UNMEASURED = ("msgRateOut", "msgThroughputOut", "msgRateRedeliver", "msgRateExpired", "messageAckRate")


def subscribe(session: Session, body: CommandSubscribe, _frame: Frame) -> None:
    """Serve SUBSCRIBE. An id that exists on this connection is answered as it was."""
    name = parse(body.topic)
    if body.consumer_id in session.consumers:
        _succeed(session, body.request_id)
        return
    if body.consumer_id in session.joining_consumers:
        raise RefusalError(ServerError.ServiceNotReady, "Consumer is already present on the connection")
    topic = session.topics.open(name, session.broker, create=body.force_topic_creation)
    makes = body.durable and topic.persistent and body.subscription not in topic.subscriptions
    if makes and topic.policies.auto_subscription is False:
        raise RefusalError(ServerError.SubscriptionNotFound, "Subscription does not exist")
    check_consumer_schema(session, topic, body)
    if body.read_compacted and body.subType not in (CommandSubscribe.Exclusive, CommandSubscribe.Failover):
        text = "readCompacted only allowed on failover or exclusive subscriptions"
        raise RefusalError(ServerError.NotAllowedError, text)
    if body.read_compacted and not topic.persistent:
        raise RefusalError(ServerError.NotAllowedError, "readCompacted only valid on persistent topics")
    consumer = Consumer(session, body, topic.partition)
    session.joining_consumers[body.consumer_id] = consumer

    def settled(refusal: RefusalError | None) -> None:
        del session.joining_consumers[body.consumer_id]
        if refusal is not None:
            session.send(replies.error(body.request_id, refusal.error, refusal.message))
            return
        subscription = topic.subscriptions[body.subscription]
        session.consumers[body.consumer_id] = Attached(consumer, subscription, topic)
        _succeed(session, body.request_id)

    topic.join(consumer, body, _start(session, topic, body), settled)


def _start(session: Session, topic: Topic, body: CommandSubscribe) -> int:
    """Return the index of the entry with which a new subscription begins.

    A reader's start id is inclusive: the client drops what it has already; one that is not stored yet is ignored.
    """
    start = body.start_message_id
    if not body.durable and body.HasField("start_message_id") and not topic.store.is_beyond(start):
        return topic.store.index_at(start)
    if body.start_message_rollback_duration_sec:
        return topic.store.index_of_time(session.host.unix_ms - body.start_message_rollback_duration_sec * MS_PER_S)
    earliest = body.initialPosition == CommandSubscribe.Earliest
    return 0 if earliest else len(topic.store.entries)


def flow(session: Session, body: CommandFlow, _frame: Frame) -> None:
    """Serve FLOW. One without permits ends the connection; permits for a consumer that does not exist are lost."""
    attached = session.consumers.get(body.consumer_id)
    if attached is not None:
        if not body.messagePermits:
            raise ViolationError
        attached.subscription.flow(attached.consumer, body.messagePermits)


def acknowledge(session: Session, body: CommandAck, _frame: Frame) -> None:
    """Serve ACK, answered only where it asks for an answer. One in a transaction is refused: there are none here."""
    attached = session.consumers.get(body.consumer_id)
    if attached is None:
        return
    refused: dict[str, Any] = {}
    if _in_transaction(body, attached.subscription):
        refused = {"error": ServerError.NotAllowedError, "message": "Transactions are not enabled."}
    else:
        attached.subscription.acknowledge(attached.consumer, body)
    if body.HasField("request_id"):
        ids = {"consumer_id": body.consumer_id, "request_id": body.request_id}
        session.send(replies.reply(CommandType.ACK_RESPONSE, **ids, **refused))


def _in_transaction(body: CommandAck, subscription: Subscription) -> bool:
    """Return whether the ACK is in a transaction; False for a cumulative one that would change nothing."""
    idle = body.ack_type == CommandAck.Cumulative and not subscription.takes_cumulative(body)
    return body.HasField("txnid_least_bits") and body.HasField("txnid_most_bits") and not idle


def redeliver(session: Session, body: CommandRedeliverUnacknowledgedMessages, _frame: Frame) -> None:
    """Serve REDELIVER_UNACKNOWLEDGED_MESSAGES."""
    attached = session.consumers.get(body.consumer_id)
    if attached is not None:
        epoch = body.consumer_epoch if body.HasField("consumer_epoch") else None
        attached.subscription.redeliver(attached.consumer, body.message_ids, epoch)


def seek(session: Session, body: CommandSeek, _frame: Frame) -> None:
    """Serve SEEK: every consumer of the subscription is closed, and then the request is answered."""
    attached = _attached(session, body.consumer_id)
    topic = attached.topic
    if body.HasField("message_id"):
        index = topic.store.index_at(body.message_id)
        unacked = replies.ack_bits(body.message_id.ack_set) if body.message_id.ack_set else None
        attached.subscription.seek(index, unacked)
    elif body.HasField("message_publish_time"):
        attached.subscription.seek(topic.store.index_of_time(body.message_publish_time))
    else:
        raise RefusalError(ServerError.MetadataError, "Message id and message publish time were not present")
    _succeed(session, body.request_id)


def last_message_id(session: Session, body: CommandGetLastMessageId, _frame: Frame) -> None:
    """Serve GET_LAST_MESSAGE_ID: the last entry for this consumer, with its last batch index where it is a batch."""
    attached = _attached(session, body.consumer_id)
    if not attached.topic.persistent:
        raise RefusalError(ServerError.UnknownError, "getLastMessageId is not supported on non-persistent topic")
    store = attached.topic.store
    last = {"ledgerId": NO_ID, "entryId": NO_ID, "partition": attached.topic.partition, "batch_index": -1}
    entry = _last(attached)
    if entry is not None:
        metadata = entry.metadata
        batched = metadata is not None and metadata.HasField("num_messages_in_batch")
        index = entry.messages - 1 if batched else -1
        last |= {"ledgerId": entry.ledger, "entryId": entry.entry, "batch_index": index}
    ledger, number = attached.subscription.cursor.mark_delete(store)
    session.send(
        replies.reply(
            CommandType.GET_LAST_MESSAGE_ID_RESPONSE,
            request_id=body.request_id,
            last_message_id=last,
            consumer_mark_delete_position={"ledgerId": ledger, "entryId": number & NO_ID},
        )
    )


def _last(attached: Attached) -> Entry | None:
    """Return the last entry of a topic; where all is compacted, for a compacted reader the last one left."""
    entries, compaction = attached.topic.store.entries, attached.topic.compaction
    if compaction is not None and attached.consumer.reads_compacted and compaction.horizon == len(entries):
        return compaction.last()
    return entries[-1] if len(entries) > attached.topic.store.deleted else None


def stats(session: Session, body: CommandConsumerStats, _frame: Frame) -> None:
    """Serve CONSUMER_STATS with what is counted here.

    Rates are not, and no address is known: 0 and the connection's number. For a consumer that does not exist the
    connection ends: a real broker fails on it (ServerCnx.handleConsumerStats).
    """
    if body.consumer_id in session.joining_consumers:
        session.send(
            replies.reply(
                CommandType.CONSUMER_STATS_RESPONSE,
                request_id=body.request_id,
                error_code=ServerError.ConsumerNotFound,
                error_message=f"Consumer {body.consumer_id} not found",
            )
        )
        return
    attached = session.consumers.get(body.consumer_id)
    if attached is None:
        raise ViolationError
    consumer, subscription = attached.consumer, attached.subscription
    session.send(
        replies.reply(
            CommandType.CONSUMER_STATS_RESPONSE,
            request_id=body.request_id,
            consumerName=consumer.name,
            availablePermits=consumer.permits & NO_ID,
            unackedMessages=consumer.unacked,
            blockedConsumerOnUnackedMsgs=consumer.blocked,
            type=_TYPE_NAMES[subscription.kind],
            msgBacklog=subscription.cursor.backlog(len(attached.topic.store.entries)),
            address=f"/connection-{session.conn}",
            connectedSince=datetime.fromtimestamp(consumer.since_ms / MS_PER_S, UTC).isoformat(),
            **dict.fromkeys(_UNMEASURED, 0),
        )
    )


def unsubscribe(session: Session, body: CommandUnsubscribe, _frame: Frame) -> None:
    """Serve UNSUBSCRIBE, allowed to a sole consumer only; by force to any, and the others are closed."""
    attached = _attached(session, body.consumer_id)
    if len(attached.subscription.consumers) != 1 and not body.force:
        raise RefusalError(ServerError.MetadataError, "Unconnected or shared consumer attempting to unsubscribe")
    del session.consumers[body.consumer_id]
    attached.subscription.leave(attached.consumer)
    attached.subscription.close_consumers(None)
    attached.topic.drop(attached.subscription)
    _succeed(session, body.request_id)


def close_consumer(session: Session, body: CommandCloseConsumer, _frame: Frame) -> None:
    """Serve CLOSE_CONSUMER.

    A consumer that does not exist is closed already; for one that is being created, SUBSCRIBE stays without an answer.
    """
    waiting = session.joining_consumers.pop(body.consumer_id, None)
    if waiting is not None:
        waiting.gone = True
    attached = session.consumers.pop(body.consumer_id, None)
    if attached is not None:
        attached.leave()
    _succeed(session, body.request_id)


def _attached(session: Session, consumer_id: int) -> Attached:
    attached = session.consumers.get(consumer_id)
    if attached is None:
        raise RefusalError(ServerError.MetadataError, "Consumer not found")
    return attached


def _succeed(session: Session, request_id: int) -> None:
    session.send(replies.reply(CommandType.SUCCESS, request_id=request_id))
