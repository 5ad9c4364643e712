"""What the handshake of a connection agrees on: the protocol version, and the largest message."""

from __future__ import annotations

from assay_conformance.model.event import Frame

SEVERAL_IDS_SINCE = 12
"""Protocol version of an ACK with more than one message id."""

RECEIPTS_SINCE = 17
"""Protocol version of an ACK with a request id, answered by ACK_RESPONSE."""

COMMANDS_SINCE = {
    "GET_LAST_MESSAGE_ID": 12,
    "GET_TOPICS_OF_NAMESPACE": 12,
    "AUTH_RESPONSE": 14,
    "GET_OR_CREATE_SCHEMA": 15,
}
"""Client command -> the protocol version that introduced it."""

COMMANDS_BY_FLAG = {"WATCH_TOPIC_LIST": "supports_topic_watchers"}
"""Client command -> the feature flag of CONNECTED by which a broker offers it, whatever its version."""


def offers(connected: Frame, command: str) -> bool:
    """Return whether a broker's CONNECTED has the flag of a command."""
    return bool((connected.fields.get("feature_flags") or {}).get(COMMANDS_BY_FLAG[command]))
