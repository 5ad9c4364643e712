"""What the handshake of a connection agrees on: the protocol version, and the largest message."""

from __future__ import annotations

SEVERAL_IDS_SINCE = 12
"""Protocol version of an ACK with more than one message id."""

RECEIPTS_SINCE = 17
"""Protocol version of an ACK with a request id, answered by ACK_RESPONSE."""

COMMANDS_SINCE = {
    "GET_LAST_MESSAGE_ID": 12,
    "GET_TOPICS_OF_NAMESPACE": 12,
    "AUTH_RESPONSE": 14,
    "GET_OR_CREATE_SCHEMA": 15,
    "WATCH_TOPIC_LIST": 20,
}
"""Client command -> the protocol version that introduced it."""
