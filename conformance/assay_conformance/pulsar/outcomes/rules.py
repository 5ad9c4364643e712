"""How a call ends, by what became of the answer to its request: rules, of which the first that fits counts.

A rule stands where all clients do the same (`sources` say where it is to be read: Java, C++, Go and Rust), or a clause
decides. Where clients differ and none does, no rule fits, and the cell is observed: its calls end, and none succeeds
against an error, which is owed whatever happens.
"""

from __future__ import annotations

from typing import Final

from assay_conformance.pulsar.outcomes.ends import HANG, REFUSED, SUCCESS, End, Rule
from assay_conformance.pulsar.outcomes.errors import BUSY, FINAL_ERRORS, PASSING_ERRORS, TRANSIENT
from assay_conformance.pulsar.outcomes.requests import ANSWERS, ERRORS, Cell, Loss, Phase, cells

_JAVA_CNX: Final = "Java client, ClientCnx: "
_JAVA_CONSUMER: Final = "Java client, ConsumerImpl: "
_JAVA_PRODUCER: Final = "Java client, ProducerImpl: "
_JAVA_RETRIABLE: Final = "Java client API, PulsarClientException: isRetriableError"
_CPP_RETRYABLE: Final = "C++ client, ResultUtils: isResultRetryable"
_CPP_CONSUMER: Final = "C++ client, ConsumerImpl: "
_GO_CONSUMER: Final = "Go client, consumer_partition: "
_GO_PRODUCER: Final = "Go client, producer_partition: "
_RUST_RETRY: Final = "Rust client, retry_op: handle_retry_error"

_BY_ID: Final = (
    _JAVA_CNX + "pendingRequests, duplicatedResponseCounter",
    "C++ client, ClientConnection: pendingRequests_",
    "Go client, connection: deletePendingRequest",
    "Rust client, connection: pending_requests",
)
_TIMED_OUT: Final = (
    _JAVA_CNX + "checkRequestTimeout",
    "C++ client, ClientConnection: handleRequestTimeout",
    "Go client, rpc_client: RequestOnCnx",
    "Rust client, connection: operation_timeout",
)
_CONNECTION_GONE: Final = (
    _JAVA_CNX + "channelInactive",
    "C++ client, ClientConnection: close",
    "Go client, connection: failPendingRequests",
)
_AT_OPENING: Final = (
    _JAVA_PRODUCER + "connectionOpened, connectionFailed",
    _JAVA_RETRIABLE,
    _CPP_RETRYABLE,
    _GO_PRODUCER + "newPartitionProducer",
    _RUST_RETRY,
)
_CLAUSE: Final = ("its clause",)

_OPENING: Final = (Phase.OPENING,)
_BACK: Final = (Phase.RETURN, Phase.SENT_AWAY)
_UNCLOSED: Final = (*_OPENING, *_BACK)
_LOST: Final = (Loss.LOST_BEFORE, Loss.LOST_INSIDE)
_NOT_IN_TIME: Final = (Loss.NO_ANSWER, Loss.LATE)
_LOOK_UPS: Final = ("PARTITIONED_METADATA", "LOOKUP")
_REGISTERS: Final = ("PRODUCER", "SUBSCRIBE")
_CLOSES: Final = ("CLOSE_PRODUCER", "CLOSE_CONSUMER")
_CALLS: Final = ("SEEK", "UNSUBSCRIBE", "GET_LAST_MESSAGE_ID")

FINAL: Final = ("AuthorizationError", "NotAllowedError", "ConsumerAssignError")
"""Refuse the opening of a producer or consumer for good, whatever client it is."""
_NOT_FOUND: Final = "topics.topic-not-found-is-final"
_PENDING: Final = "resend.pending-sends-resent"
_WHILE_OPENING: Final = "connection.reconnects-while-opening"
_COMES_BACK: Final = "subscription.keeps-reconnecting"
_BUT_NOT_FOUND: Final = tuple(one for one in ERRORS if one != "TopicNotFound")

RULES: Final = (
    # --- closing
    # A client may end what is pending before it has left, and so never do what the clause is about.
    Rule(
        ("SEND",),
        (Phase.CLOSING,),
        (*ERRORS, *_NOT_IN_TIME, Loss.TWICE),
        End.WITH_CLOSE,
        HANG,
        ("the clause of `producer.close-ends-pending-sends`",),
    ),
    Rule(
        (),
        (Phase.CLOSING,),
        tuple(one for one in ANSWERS if one != Loss.OTHER_KIND),
        End.WITH_CLOSE,
        HANG,
        (
            _JAVA_PRODUCER + "connectionOpened, in state Closing",
            "C++ client, ProducerImpl: handleCreateProducer; ConsumerImpl: handleCreateConsumer",
            *_CONNECTION_GONE,
        ),
    ),
    # --- whatever the answer is
    Rule(("SEND",), _UNCLOSED, (Loss.TWICE,), End.GOES_ON, "resend.ignores-stale-receipt", _CLAUSE),
    Rule((*_LOOK_UPS, *_REGISTERS, *_CALLS, *_CLOSES, "ACK"), _UNCLOSED, (Loss.TWICE,), End.GOES_ON, HANG, _BY_ID),
    Rule(
        ("GET_TOPICS_OF_NAMESPACE", "GET_SCHEMA", "WATCH_TOPIC_LIST"),
        _UNCLOSED,
        (Loss.TWICE,),
        End.GOES_ON,
        HANG,
        _BY_ID,
    ),
    Rule((), _UNCLOSED, (Loss.LOST_BEHIND,), End.AS_ANSWERED, HANG, _CONNECTION_GONE),
    Rule(
        ("WATCH_TOPIC_LIST",),
        _OPENING,
        tuple(one for one in ANSWERS if one != Loss.OTHER_KIND),
        End.GOES_ON,
        HANG,
        ("Java client, PatternMultiTopicsConsumerImpl: falls back to polling", "other clients: poll alone"),
    ),
    # --- the connection is lost, or nothing comes in time
    Rule(("CONNECT", *_REGISTERS), _OPENING, _LOST, End.RETRIED, _WHILE_OPENING, _CLAUSE),
    Rule(_LOOK_UPS, _OPENING, _LOST, End.RETRIED, HANG, (f"the clause of `{_WHILE_OPENING}`",)),
    Rule(
        ("CONNECT", *_LOOK_UPS, *_REGISTERS, "GET_TOPICS_OF_NAMESPACE"),
        _OPENING,
        _NOT_IN_TIME,
        End.FAILS,
        HANG,
        _TIMED_OUT,
    ),
    Rule(
        ("PRODUCER",),
        _BACK,
        _NOT_IN_TIME,
        End.RETURNS,
        HANG,
        ("the clause of `connection.closes-timed-out-registration`",),
    ),
    Rule(("PRODUCER",), _BACK, _LOST, End.RETURNS, _PENDING, _CLAUSE),
    Rule(("SUBSCRIBE",), _BACK, (*_LOST, *_NOT_IN_TIME), End.RETURNS, _COMES_BACK, _CLAUSE),
    Rule(("LOOKUP", "CONNECT"), _BACK, (*_LOST, *_NOT_IN_TIME), End.RETURNS, HANG, (f"the clause of `{_COMES_BACK}`",)),
    Rule(("SEND",), _UNCLOSED, _LOST, End.RETRIED, _PENDING, _CLAUSE),
    Rule(("SEND",), _UNCLOSED, (Loss.NO_ANSWER,), End.FAILS, "resend.send-timeout", _CLAUSE),
    Rule(("SEND",), _UNCLOSED, (Loss.LATE,), End.FAILS, HANG, ("the clause of `resend.send-timeout`",)),
    Rule(("ACK",), _UNCLOSED, _LOST, End.FAILS_OR_AGAIN, "ack.error-response-is-no-success", _CLAUSE),
    Rule(("ACK",), _UNCLOSED, _NOT_IN_TIME, End.FAILS, HANG, _TIMED_OUT),
    Rule((*_CALLS, "GET_TOPICS_OF_NAMESPACE"), _UNCLOSED, _LOST, End.FAILS_OR_AGAIN, HANG, _CONNECTION_GONE),
    Rule(_CALLS, _UNCLOSED, _NOT_IN_TIME, End.FAILS, HANG, _TIMED_OUT),
    Rule(
        _CLOSES,
        _UNCLOSED,
        (*ERRORS, *_LOST, *_NOT_IN_TIME),
        End.ENDS,
        HANG,
        (
            _JAVA_CONSUMER + "closeAsync, cleanupAtClose",
            _CPP_CONSUMER + "closeAsync",
            _GO_CONSUMER + "internalClose",
        ),
    ),
    # --- errors at the first opening
    Rule(("CONNECT",), _OPENING, ERRORS, End.FAILS, HANG, (_JAVA_CNX + "handleError", *_AT_OPENING[1:3])),
    Rule(_LOOK_UPS, _OPENING, tuple(sorted(BUSY)), End.RETRIED, "connection.retries-lookups", _CLAUSE),
    Rule(_LOOK_UPS, _OPENING, ("AuthorizationError",), End.AT_ONCE, "connection.retries-lookups", _CLAUSE),
    Rule(_REGISTERS, _OPENING, ("ServiceNotReady",), End.RETRIED, "connection.retries-service-not-ready", _CLAUSE),
    Rule(_REGISTERS, _OPENING, ("TopicNotFound",), End.AT_ONCE, _NOT_FOUND, _CLAUSE),
    Rule(_REGISTERS, _OPENING, ("IncompatibleSchema",), End.AT_ONCE, "schema.incompatible-is-final", _CLAUSE),
    Rule(_REGISTERS, _OPENING, FINAL, End.AT_ONCE, REFUSED, _AT_OPENING),
    Rule(("PRODUCER",), _OPENING, tuple(sorted(FINAL_ERRORS)), End.AT_ONCE, REFUSED, _AT_OPENING),
    Rule((*_LOOK_UPS, *_REGISTERS), _OPENING, ERRORS, End.FAILS, HANG, _AT_OPENING),
    Rule(
        ("GET_TOPICS_OF_NAMESPACE",),
        _OPENING,
        ERRORS,
        End.FAILS,
        SUCCESS,
        ("Java client, BinaryProtoLookupService: getTopicsUnderNamespace", "C++ client, RetryableLookupService"),
    ),
    # --- errors when a handle comes back
    Rule(("SUBSCRIBE",), _BACK, _BUT_NOT_FOUND, End.RETURNS_OR_TELLS, _COMES_BACK, _CLAUSE),
    Rule(("CONNECT", "LOOKUP"), _BACK, _BUT_NOT_FOUND, End.RETURNS_OR_TELLS, HANG, (f"the clause of `{_COMES_BACK}`",)),
    Rule(_REGISTERS, _BACK, ("TopicNotFound",), End.GIVES_UP, _NOT_FOUND, _CLAUSE),
    Rule(("PRODUCER",), _BACK, ("TopicTerminatedError",), End.GIVES_UP, "resend.terminated-fails-all", _CLAUSE),
    Rule(("PRODUCER",), _BACK, ("ProducerFenced",), End.GIVES_UP, "producer.fenced-is-final", _CLAUSE),
    Rule(
        ("PRODUCER",),
        _BACK,
        ("ProducerBlockedQuotaExceededException",),
        End.FAILS_PENDING,
        "resend.quota-exceeded-fails-pending",
        _CLAUSE,
    ),
    Rule(
        ("PRODUCER",),
        _BACK,
        tuple(sorted(PASSING_ERRORS)),
        End.RETURNS,
        "resend.reconnect-retries-temporary-error",
        _CLAUSE,
    ),
    # --- errors to what an open handle asks
    Rule(("SEND",), _UNCLOSED, ("ChecksumError",), End.RETRIED, "resend.checksum-error-resent", _CLAUSE),
    Rule(("SEND",), _UNCLOSED, tuple(sorted(TRANSIENT)), End.RETRIED, "resend.retries-transient-error", _CLAUSE),
    Rule(("SEND",), _UNCLOSED, ("NotAllowedError",), End.AT_ONCE, "resend.not-allowed-fails-one", _CLAUSE),
    Rule(("SEND",), _UNCLOSED, ("TopicTerminatedError",), End.GIVES_UP, "resend.terminated-fails-all", _CLAUSE),
    Rule(("ACK",), _UNCLOSED, ERRORS, End.FAILS_OR_AGAIN, "ack.error-response-is-no-success", _CLAUSE),
    Rule(
        ("SEEK",),
        _UNCLOSED,
        ERRORS,
        End.AT_ONCE,
        REFUSED,
        (
            _JAVA_CONSUMER + "seekAsyncInternal",
            _CPP_CONSUMER + "seekAsyncInternal",
            _GO_CONSUMER + "requestSeekWithoutClear",
            "Rust client, consumer/topic: seek",
        ),
    ),
    Rule(
        ("UNSUBSCRIBE",),
        _UNCLOSED,
        ERRORS,
        End.AT_ONCE,
        REFUSED,
        (
            _JAVA_CONSUMER + "unsubscribeAsync",
            _CPP_CONSUMER + "unsubscribeAsync",
            _GO_CONSUMER + "internalUnsubscribe",
            "Rust client, consumer/topic: unsubscribe",
        ),
    ),
    Rule(
        ("GET_LAST_MESSAGE_ID",),
        _UNCLOSED,
        ERRORS,
        End.FAILS,
        SUCCESS,
        (
            _JAVA_CONSUMER + "internalGetLastMessageIdAsync",
            _CPP_CONSUMER + "internalGetLastMessageIdAsync",
            _GO_CONSUMER + "getLastMessageIDAndMarkDeletePosition: asks until its time-out",
        ),
    ),
)


def rule_of(cell: Cell) -> Rule | None:
    """Return the rule for a cell; None where it is observed."""
    return next((rule for rule in RULES if rule.fits(cell)), None)


def end_of(cell: Cell) -> End:
    """Return how the calls of a cell end."""
    rule = rule_of(cell)
    return End.OBSERVED if rule is None else rule.end


def sourced() -> int:
    """Return how many of the cells have a rule."""
    return sum(rule_of(cell) is not None for cell in cells())
