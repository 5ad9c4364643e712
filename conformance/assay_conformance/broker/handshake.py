"""How a connection begins, and how its credentials are asked for again while it lasts (PIP-55).

With tokens configured a CONNECT has to carry one of them; a challenge is answered with one of those that are valid by
then. A client that cannot refresh its credentials is disconnected instead of challenged, and so is one that is silent.
"""

from __future__ import annotations

from typing import Final

from assay_conformance.broker import replies
from assay_conformance.broker.rules import (
    CHALLENGE_VERSION,
    REFRESH,
    SERVER_VERSION,
    TLS_METHOD,
    TOKEN_METHOD,
    ViolationError,
)
from assay_conformance.broker.session import Session
from assay_conformance.wire import NO_ID, CommandType, Frame
from assay_conformance.wire.pulsar_pb2 import CommandAuthResponse, CommandConnect, ServerError

_FLAGS_SINCE: Final = {
    "supports_topic_watchers": 20,
    "supports_get_partitioned_metadata_without_auto_creation": 21,
}
"""Feature flag -> the least protocol version with which it is announced. A client may go by the flag alone, as the Java
client does, so a broker that stands for an older one must not announce what that one did not have."""


def connect(session: Session, body: CommandConnect) -> None:
    """Serve CONNECT: the connection is usable, or refused and closed."""
    broker = _broker(session, body)
    if broker is None:
        _turn_away(session, ServerError.ServiceNotReady, f"No broker at {body.proxy_to_broker_url}")
    elif not _is_known(session, body.auth_method_name, body.auth_data):
        _turn_away(session, ServerError.AuthenticationError, "Failed to authenticate")
    else:
        announced = session.host.announced.protocol_version
        session.established(body, broker)
        session.send(
            replies.reply(
                CommandType.CONNECTED,
                server_version=SERVER_VERSION,
                protocol_version=session.version,
                max_message_size=session.host.announced.max_message_bytes,
                feature_flags={flag: True for flag, since in _FLAGS_SINCE.items() if announced >= since},
            )
        )


def _broker(session: Session, body: CommandConnect) -> int | None:
    """Return the broker that a client asks for; what is addressed to a proxy is not looked at without one."""
    if not body.proxy_to_broker_url or not session.host.settings.proxied:
        return session.broker
    return session.topics.placement.broker_at(body.proxy_to_broker_url)


def challenge(session: Session) -> None:
    """Ask for fresh credentials. A second time without an answer, or of one that cannot: the end."""
    if session.version < CHALLENGE_VERSION or not session.refreshes or session.challenged is not None:
        session.end()
        return
    session.challenged = session.host.after(session.host.settings.auth_refresh_ms, session.end)
    session.send(
        replies.reply(
            CommandType.AUTH_CHALLENGE,
            server_version=SERVER_VERSION,
            protocol_version=session.version,
            challenge={"auth_method_name": session.auth_method, "auth_data": REFRESH},
        )
    )


def answer_challenge(session: Session, body: CommandAuthResponse, _frame: Frame) -> None:
    """Serve AUTH_RESPONSE.

    One that was not asked for is checked all the same, and where no credentials are required it is wrong; one without
    credentials counts as none.
    """
    if not body.HasField("response") or not body.response.HasField("auth_data"):
        raise ViolationError
    tokens = session.host.tokens
    if not (
        session.connected and tokens and _is_known(session, body.response.auth_method_name, body.response.auth_data)
    ):
        _turn_away(session, ServerError.AuthenticationError, "Failed to authenticate")
    elif session.challenged is not None:
        session.challenged.cancel()
        session.challenged = None


def _is_known(session: Session, method: str, data: bytes) -> bool:
    """Return whether credentials are known. An empty token stands for a certificate, which is in no command."""
    tokens = session.host.tokens
    by_certificate = method == TLS_METHOD and not data and b"" in tokens
    return not tokens or by_certificate or (method == TOKEN_METHOD and data in tokens)


def _turn_away(session: Session, error: ServerError, text: str) -> None:
    session.send(replies.error(NO_ID, error, text))
    session.end()
