"""Clients that break the rules of a connection: handshake, keep-alive, lookup, requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay_conformance.client.backoff import Backoff
from assay_conformance.client.connection import PROTOCOL_VERSION, Connection, State
from assay_conformance.client.handler import Handler, Phase
from assay_conformance.client.keep_alive import KeepAlive
from assay_conformance.client.lookup import Lookup, Way
from assay_conformance.client.ops import Op
from assay_conformance.client.producer import Producer
from assay_conformance.client.refusal import Cause, Refusal
from assay_conformance.client.requests import Requests
from assay_conformance.client.shared import Shared
from assay_conformance.client.supplier import Supplier
from assay_conformance.model.credentials import Supplied
from assay_conformance.pulsar.mutants._late import late_ns
from assay_conformance.wire import Frame
from assay_conformance.wire import pulsar_pb2 as pb


class OpensBeyondTimeout(Handler):
    """An opening that gets temporary errors goes on beyond its time-out."""

    breaks = "connection.reconnects-while-opening"
    stands_for = "a deadline for each request, but none for the whole opening"

    def _is_too_late(self, delay_ns: int) -> bool:
        return False


class ReusesRequestIds(Requests):
    """Request ids are reused on the same connection."""

    breaks = "connection.request-ids-unique"
    stands_for = "a counter that is too small and wraps around"

    def _next_id(self) -> int:
        return super()._next_id() % 4


class RequestsBeforeConnected(Connection):
    """Requests follow CONNECT without waiting for CONNECTED."""

    breaks = "connection.handshake-first"
    stands_for = "a handshake assumed to succeed"

    def opened(self) -> None:
        opening = self._state is State.OPENING
        super().opened()
        if opening:
            self._release()


class PongLate(Connection):
    """PING is answered late."""

    breaks = "connection.answers-ping"
    stands_for = "an event loop blocked by callbacks"
    lateness_ms = 1000

    def _ping(self, frame: Frame) -> None:
        self._shared.after(late_ns(self._shared, PongLate), lambda: super(PongLate, self)._ping(frame))


class KeepsSilentConnection(KeepAlive):
    """A connection is kept although its PING is not answered."""

    breaks = "connection.closes-silent-connection"
    stands_for = "only network errors end a connection"

    def _judge_silence(self, heard_ns: int) -> None:
        if self._heard_ns > heard_ns:
            super()._judge_silence(heard_ns)
        else:
            self._idle()


class IgnoresNegotiatedVersion(Connection):
    """Several ids are sent in one ACK whatever the broker's protocol version."""

    breaks = ("connection.negotiated-version", "connection.no-checksum-to-old-broker")
    stands_for = "a version read and never used"

    def _agreed(self, brokers_version: int) -> int:
        return PROTOCOL_VERSION


class ChecksumToOldBroker(Producer):
    """Messages carry a checksum whatever the broker's protocol version."""

    breaks = "connection.no-checksum-to-old-broker"
    stands_for = "a version checked only for acknowledgments"

    def _frame_for(self, version: int, op: Op) -> bytes:
        return op.frame


class RemembersLimit(Shared):
    last_limit = 0


class RecordsLimit(Connection):
    def _connected(self, frame: Frame) -> None:
        super()._connected(frame)
        assert isinstance(self._shared, RemembersLimit)
        self._shared.last_limit = self.max_message_bytes


class MaxMessageSizeOfLastConnection(Producer):
    """The max_message_size of the latest connection applies to every connection."""

    breaks = "connection.max-message-size-per-connection"
    stands_for = "C++ client (read in its source): one limit for the whole process"
    also = (RemembersLimit, RecordsLimit)

    def _limit(self) -> int:
        assert isinstance(self.shared, RemembersLimit)
        return self.shared.last_limit


class UnboundedRedirects(Lookup):
    """Any number of redirects of a lookup is followed."""

    breaks = "connection.follows-redirects"
    stands_for = "pulsar-rs (read in its source): no bound on redirects"

    def _are_too_many(self, redirects_left: int) -> bool:
        return False


class RedirectTakenForTheBroker(Lookup):
    """A redirect is taken for the final answer: the client registers at that broker without another lookup."""

    breaks = "connection.follows-redirects"
    stands_for = "pulsar-flex (read in its source): the kind of answer is not read"

    def _names_the_broker(self, body: pb.CommandLookupTopicResponse) -> bool:
        return True


class RedirectDropsAuthority(Lookup):
    """A redirected lookup is repeated without its authoritative flag."""

    breaks = "connection.follows-redirects"
    stands_for = "a flag that is read and not handed on"

    def _authority(self, body: pb.CommandLookupTopicResponse) -> bool:
        return False


class OpeningNotRetried(Handler):
    """A temporary error while a producer or consumer is opened ends the opening."""

    breaks = ("connection.retries-service-not-ready", "connection.reconnects-while-opening")
    stands_for = "pulsar-client-cpp#293, pulsar-client-cpp#396: temporary errors at creation are not retried"

    def _is_final(self, refusal: Refusal) -> bool:
        return self._opening or super()._is_final(refusal)


class TimedOutRegistrationNotClosed(Handler):
    """A registration that timed out is repeated without closing the first one."""

    breaks = "connection.closes-timed-out-registration"
    stands_for = "a time-out taken for a refusal: the broker may have both"

    def _close_unanswered(self, connection: Connection) -> None:
        pass


class UnknownReceiptClosesConnection(Connection):
    """A receipt for an unknown producer closes the connection."""

    breaks = "connection.ignores-unknown-ids"
    stands_for = "an impossible case treated as a protocol error"

    def _receipt(self, frame: Frame) -> None:
        if frame.body.producer_id in self.producers:
            super()._receipt(frame)
        else:
            self.close(Cause.LOST, "a receipt for no producer of this connection")


class LookupNotRetried(Handler):
    """Opening fails with the first failed lookup."""

    breaks = "connection.retries-lookups"
    stands_for = "pulsar-client-cpp#396: a connection failure is not retried at creation"

    def _is_final(self, refusal: Refusal) -> bool:
        return (self._opening and self.phase is Phase.SEEKING) or super()._is_final(refusal)


class IgnoresAuthChallenge(Connection):
    """A broker that asks for fresh credentials gets no answer."""

    breaks = "connection.answers-auth-challenge"
    stands_for = "a command without a handler"

    def _challenge(self, frame: Frame) -> None:
        pass


class AuthRefreshNotAnnounced(Connection):
    """A client that can refresh credentials does not announce that in CONNECT, and is never asked to."""

    breaks = "connection.answers-auth-challenge"
    stands_for = "pulsar-rs (read in its source): feature flags that are never set"

    def _introduction(self, supplied: Supplied | None) -> dict[str, Any]:
        introduction = super()._introduction(supplied)
        introduction["feature_flags"]["supports_auth_refresh"] = False
        return introduction


class IgnoresProxy(Lookup):
    """A client connects directly to a broker behind a proxy."""

    breaks = "connection.proxy-to-broker-url"
    stands_for = "a flag of the lookup that is not read"

    def _way(self, body: pb.CommandLookupTopicResponse) -> Way:
        return Way(self._url(body))


class PrefersTls(Lookup):
    """If an answer names two URLs of a broker, the client connects by TLS, whatever its own scheme is."""

    breaks = "connection.url-of-its-own-scheme"
    stands_for = "pulsar-rs#299: the TLS URL of an answer is used if there is one"

    def _url(self, body: pb.CommandLookupTopicResponse) -> str:
        return body.brokerServiceUrlTls or super()._url(body)


class AnswersWithOldCredentials(Supplier):
    """A broker that asks for fresh credentials gets the old ones again."""

    breaks = "connection.answers-auth-challenge"
    stands_for = "credentials that are read once, when the client is made"

    def ask(self) -> Supplied:
        return self._answers[0]


class AnswersWithoutCredentials(Connection):
    """The answer to a broker that asks for fresh credentials carries none."""

    breaks = "connection.answers-auth-challenge"
    stands_for = "pulsar-client-go#1062: absent auth data, and the broker drops the connection at each refresh"

    def _response(self, supplied: Supplied) -> dict[str, Any]:
        response = super()._response(supplied)
        del response["auth_data"]
        return response


class CertificateAnsweredWithNothing(Connection):
    """Empty credentials are left out of the answer to a broker that asks for fresh ones."""

    breaks = "connection.answers-auth-challenge"
    stands_for = "pulsar-client-go#1062: nil auth data of a TLS certificate, which the broker takes for no answer"

    def _response(self, supplied: Supplied) -> dict[str, Any]:
        response = super()._response(supplied)
        return response if supplied.data else {"auth_method_name": supplied.method}


class KeepsCredentialsTooLong(Supplier):
    """The supplier's credentials are reused at the next connection."""

    breaks = "connection.asks-supplier-each-time"
    stands_for = "credentials cached longer than they are valid: once a token has expired no reconnect succeeds"

    _kept: Supplied | None = None

    def ask(self) -> Supplied:
        kept = self._kept
        self._kept = None if kept is not None else super().ask()
        return kept or self._kept or super().ask()


class ConnectsWithoutCredentials(Connection):
    """If the credentials supplier fails, CONNECT is sent without credentials."""

    breaks = "connection.asks-supplier-each-time"
    stands_for = "pulsar-client-cpp (read in an older Commands::newConnect): its result is not checked"

    def _without_credentials(self, use: Callable[[Supplied], None]) -> None:
        use(Supplied(data=b""))


class SupplierFailureIsFinal(Handler):
    """A producer or consumer gives up reconnecting when its credentials supplier fails once."""

    breaks = "connection.reconnects-after-supplier-failure"
    stands_for = "every authentication error treated as final, whoever raises it"

    def _is_final(self, refusal: Refusal) -> bool:
        return "supplier" in refusal.text or super()._is_final(refusal)


class _Capped(Backoff):
    """Its pauses end before an operation times out, so that the next question is asked at all."""

    def next_ns(self) -> int:
        return min(super().next_ns(), 3_000_000_000)


class LookupsShareBackoff(Lookup):
    """Lookups of all topics share one backoff."""

    breaks = "connection.lookup-backoff-per-topic"
    stands_for = "apache/pulsar-client-cpp#296: one Backoff object for all retryable lookups"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._shared_backoff = _Capped(self._shared.jitter)

    def _backoff(self) -> Backoff:
        return self._shared_backoff


class TimedOutLookupKeepsItsPlace(Lookup):
    """A lookup that timed out counts as pending for as long as its connection lasts."""

    breaks = "connection.ended-lookup-frees-its-place"
    stands_for = "a counter that only an answer decrements"

    def _has_ended(self, connection: int, answer: Frame | Refusal) -> None:
        if not isinstance(answer, Refusal) or answer.cause is not Cause.TIMED_OUT:
            super()._has_ended(connection, answer)
