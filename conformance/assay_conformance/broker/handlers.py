"""What a connected client may ask for, and who serves it. Anything else (transactions, scalable topics, what only a
broker sends) ends the connection."""

from __future__ import annotations

from typing import Final

from assay_conformance.broker import consuming, describing, handshake, listing, locating, producing, replies
from assay_conformance.broker.rules import RefusalError, ViolationError
from assay_conformance.broker.session import Handler, Session
from assay_conformance.wire import CommandType, Frame
from assay_conformance.wire.pulsar_pb2 import ServerError


def _connect_again(_session: Session, _body: object, _frame: Frame) -> None:
    raise ViolationError


def _ping(session: Session, _body: object, _frame: Frame) -> None:
    session.send(_PONG)


def _pong(_session: Session, _body: object, _frame: Frame) -> None:
    """Do nothing: any frame shows already that the client is alive."""


def _refuse_transaction(_session: Session, _body: object, _frame: Frame) -> None:
    raise RefusalError(ServerError.NotAllowedError, "Transactions are not enabled.")


_PONG = replies.reply(CommandType.PONG)

HANDLERS: Final[dict[int, Handler]] = {
    CommandType.SEND: producing.send,
    CommandType.ACK: consuming.acknowledge,
    CommandType.FLOW: consuming.flow,
    CommandType.REDELIVER_UNACKNOWLEDGED_MESSAGES: consuming.redeliver,
    CommandType.PING: _ping,
    CommandType.PONG: _pong,
    CommandType.PARTITIONED_METADATA: locating.partitioned_metadata,
    CommandType.LOOKUP: locating.look_up,
    CommandType.GET_TOPICS_OF_NAMESPACE: listing.topics_of_namespace,
    CommandType.WATCH_TOPIC_LIST: listing.watch,
    CommandType.WATCH_TOPIC_LIST_CLOSE: listing.stop_watching,
    CommandType.PRODUCER: producing.create_producer,
    CommandType.CLOSE_PRODUCER: producing.close_producer,
    CommandType.SUBSCRIBE: consuming.subscribe,
    CommandType.CLOSE_CONSUMER: consuming.close_consumer,
    CommandType.UNSUBSCRIBE: consuming.unsubscribe,
    CommandType.SEEK: consuming.seek,
    CommandType.GET_LAST_MESSAGE_ID: consuming.last_message_id,
    CommandType.CONSUMER_STATS: consuming.stats,
    CommandType.GET_SCHEMA: describing.get_schema,
    CommandType.GET_OR_CREATE_SCHEMA: describing.get_or_create_schema,
    CommandType.AUTH_RESPONSE: handshake.answer_challenge,
    CommandType.CONNECT: _connect_again,
    CommandType.NEW_TXN: _refuse_transaction,
    CommandType.ADD_PARTITION_TO_TXN: _refuse_transaction,
    CommandType.ADD_SUBSCRIPTION_TO_TXN: _refuse_transaction,
    CommandType.END_TXN: _refuse_transaction,
    CommandType.TC_CLIENT_CONNECT_REQUEST: _refuse_transaction,
}
