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
    """An opening that is refused for now goes on beyond its time-out."""

    breaks = "connection.reconnects-while-opening"
    stands_for = "a deadline for each request, and none for the whole opening"

    def _is_too_late(self, delay_ns: int) -> bool:
        return False


class ReusesRequestIds(Requests):
    """Request ids start again while their connection goes on."""

    breaks = "connection.request-ids-unique"
    stands_for = "a counter too small, that wraps around"

    def _next_id(self) -> int:
        return super()._next_id() % 4


class RequestsBeforeConnected(Connection):
    """Requests follow CONNECT without waiting for CONNECTED."""

    breaks = "connection.handshake-first"
    stands_for = "a handshake taken for granted"

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
    """A connection is kept although its PING stays unanswered."""

    breaks = "connection.closes-silent-connection"
    stands_for = "only the network's own errors count"

    def _judge_silence(self, heard_ns: int) -> None:
        if self._heard_ns > heard_ns:
            super()._judge_silence(heard_ns)
        else:
            self._idle()


class IgnoresNegotiatedVersion(Connection):
    """Acknowledgments leave together whatever the broker's version."""

    breaks = ("connection.negotiated-version", "connection.no-checksum-to-old-broker")
    stands_for = "a version read and never used"

    def _agreed(self, brokers_version: int) -> int:
        return PROTOCOL_VERSION


class ChecksumToOldBroker(Producer):
    """Messages carry a checksum whatever the broker's version."""

    breaks = "connection.no-checksum-to-old-broker"
    stands_for = "a version read for acknowledgments alone"

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
    """The message limit of the last connection holds for every connection."""

    breaks = "connection.max-message-size-per-connection"
    stands_for = "C++ client (read in its source): one limit for the whole process"
    also = (RemembersLimit, RecordsLimit)

    def _limit(self) -> int:
        assert isinstance(self.shared, RemembersLimit)
        return self.shared.last_limit


class UnboundedRedirects(Lookup):
    """A lookup is redirected any number of times."""

    breaks = "connection.follows-redirects"
    stands_for = "pulsar-rs (read in its source): no bound on redirects"

    def _are_too_many(self, redirects_left: int) -> bool:
        return False


class RedirectTakenForTheBroker(Lookup):
    """A redirect is taken for the answer: the client registers there without asking again."""

    breaks = "connection.follows-redirects"
    stands_for = "pulsar-flex (read in its source): the kind of answer is not read"

    def _names_the_broker(self, body: pb.CommandLookupTopicResponse) -> bool:
        return True


class RedirectDropsAuthority(Lookup):
    """A redirected lookup is asked again without authority."""

    breaks = "connection.follows-redirects"
    stands_for = "a flag that is read and not handed on"

    def _authority(self, body: pb.CommandLookupTopicResponse) -> bool:
        return False


class OpeningNotRetried(Handler):
    """What fails for now while a producer or consumer is opened ends the opening."""

    breaks = ("connection.retries-service-not-ready", "connection.reconnects-while-opening")
    stands_for = "pulsar-client-cpp#293, pulsar-client-cpp#396: passing errors at creation are not retried"

    def _is_final(self, refusal: Refusal) -> bool:
        return self._opening or super()._is_final(refusal)


class TimedOutRegistrationNotClosed(Handler):
    """A registration that timed out is made again without closing the first."""

    breaks = "connection.closes-timed-out-registration"
    stands_for = "a time-out taken for a refusal: the broker may hold both"

    def _close_unanswered(self, connection: Connection) -> None:
        pass


class UnknownReceiptClosesConnection(Connection):
    """A receipt for a producer that is not there closes the connection."""

    breaks = "connection.ignores-unknown-ids"
    stands_for = "what cannot be, must not be"

    def _receipt(self, frame: Frame) -> None:
        if frame.body.producer_id in self.producers:
            super()._receipt(frame)
        else:
            self.close(Cause.LOST, "a receipt for no producer of this connection")


class LookupNotRetried(Handler):
    """Opening fails with the first lookup that does."""

    breaks = "connection.retries-lookups"
    stands_for = "pulsar-client-cpp#396: a failure on the way to the broker is not retried at creation"

    def _is_final(self, refusal: Refusal) -> bool:
        return (self._opening and self.phase is Phase.SEEKING) or super()._is_final(refusal)


class IgnoresAuthChallenge(Connection):
    """A broker that asks for fresh credentials gets no answer."""

    breaks = "connection.answers-auth-challenge"
    stands_for = "a command without a handler"

    def _challenge(self, frame: Frame) -> None:
        pass


class AuthRefreshNotAnnounced(Connection):
    """A client that refreshes credentials does not say so in its CONNECT, and is never asked for them."""

    breaks = "connection.answers-auth-challenge"
    stands_for = "pulsar-rs (read in its source): feature flags that are never set"

    def _introduction(self, supplied: Supplied | None) -> dict[str, Any]:
        introduction = super()._introduction(supplied)
        introduction["feature_flags"]["supports_auth_refresh"] = False
        return introduction


class IgnoresProxy(Lookup):
    """A broker behind a proxy is connected to without it."""

    breaks = "connection.proxy-to-broker-url"
    stands_for = "a flag of the lookup that is not read"

    def _way(self, body: pb.CommandLookupTopicResponse) -> Way:
        return Way(self._url(body))


class PrefersTls(Lookup):
    """A broker that is named by two URLs is connected to by TLS."""

    breaks = "connection.url-of-its-own-scheme"
    stands_for = "pulsar-rs#299: the TLS URL of an answer, where there is one"

    def _url(self, body: pb.CommandLookupTopicResponse) -> str:
        return body.brokerServiceUrlTls or super()._url(body)


class AnswersWithOldCredentials(Supplier):
    """A broker that asks for fresh credentials gets those it has."""

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
    """Credentials without bytes are left out of the answer to a broker that asks for fresh ones."""

    breaks = "connection.answers-auth-challenge"
    stands_for = "pulsar-client-go#1062: nil auth data of a certificate, which the broker takes for no answer"

    def _response(self, supplied: Supplied) -> dict[str, Any]:
        response = super()._response(supplied)
        return response if supplied.data else {"auth_method_name": supplied.method}


class KeepsCredentialsTooLong(Supplier):
    """What the supplier gave is given again the next time."""

    breaks = "connection.asks-supplier-each-time"
    stands_for = "a cache of credentials that lives longer than they do: behind an expired token no reconnect succeeds"

    _kept: Supplied | None = None

    def ask(self) -> Supplied:
        kept = self._kept
        self._kept = None if kept is not None else super().ask()
        return kept or self._kept or super().ask()


class ConnectsWithoutCredentials(Connection):
    """Where the supplier fails, CONNECT leaves without credentials."""

    breaks = "connection.asks-supplier-each-time"
    stands_for = "pulsar-client-cpp (read in an older Commands::newConnect): its result goes unread"

    def _without_credentials(self, use: Callable[[Supplied], None]) -> None:
        use(Supplied(data=b""))


class SupplierFailureIsFinal(Handler):
    """A producer or consumer whose supplier fails once does not come back."""

    breaks = "connection.reconnects-after-supplier-failure"
    stands_for = "an authentication error that is final, whoever it is of"

    def _is_final(self, refusal: Refusal) -> bool:
        return "supplier" in refusal.text or super()._is_final(refusal)


class _Capped(Backoff):
    """Its pauses end before an operation times out, so that the next question is asked at all."""

    def next_ns(self) -> int:
        return min(super().next_ns(), 3_000_000_000)


class LookupsShareBackoff(Lookup):
    """Questions about all topics wait ever longer together."""

    breaks = "connection.lookup-backoff-per-topic"
    stands_for = "apache/pulsar-client-cpp#296: one Backoff object for all retryable lookups"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._shared_backoff = _Capped(self._shared.jitter)

    def _backoff(self) -> Backoff:
        return self._shared_backoff


class TimedOutLookupKeepsItsPlace(Lookup):
    """A lookup that timed out counts among those that wait, for as long as its connection lasts."""

    breaks = "connection.ended-lookup-frees-its-place"
    stands_for = "a counter that goes down when an answer comes, and only then"

    def _has_ended(self, connection: int, answer: Frame | Refusal) -> None:
        if not isinstance(answer, Refusal) or answer.cause is not Cause.TIMED_OUT:
            super()._has_ended(connection, answer)
