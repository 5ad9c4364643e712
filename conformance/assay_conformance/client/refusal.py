"""Why a request failed, which error the application gets, and whether a retry may help."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from assay_conformance.client.values import Failed
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import pulsar_pb2 as pb


class Cause(Enum):
    SERVER = "the broker answered an error"
    TIMED_OUT = "no answer came in time"
    LOST = "the connection was lost"
    TOO_MANY = "too many requests wait for their answers"


class Retry(Enum):
    """Whether to register again: while opening only until the operation time-out, afterwards for ever."""

    NEVER = "never"
    ONCE_OPEN = "only when it had been open before"
    ALWAYS = "always"


# ServerError -> (the application's error, when a registration is tried again); others: (OTHER, ALWAYS).
_SERVER_ERRORS: dict[int, tuple[ErrorClass, Retry]] = {
    pb.AuthenticationError: (ErrorClass.AUTH, Retry.NEVER),
    pb.AuthorizationError: (ErrorClass.AUTH, Retry.NEVER),
    pb.ConsumerBusy: (ErrorClass.OTHER, Retry.ONCE_OPEN),
    pb.ProducerBlockedQuotaExceededException: (ErrorClass.OTHER, Retry.ONCE_OPEN),
    pb.ChecksumError: (ErrorClass.CORRUPT, Retry.ALWAYS),
    pb.ServiceNotReady: (ErrorClass.NOT_LEADER, Retry.ALWAYS),
    pb.UnsupportedVersionError: (ErrorClass.OTHER, Retry.NEVER),
    pb.TopicNotFound: (ErrorClass.UNKNOWN_TOPIC, Retry.NEVER),
    pb.SubscriptionNotFound: (ErrorClass.UNKNOWN_TOPIC, Retry.NEVER),
    pb.TopicTerminatedError: (ErrorClass.TERMINATED, Retry.NEVER),
    pb.InvalidTopicName: (ErrorClass.UNKNOWN_TOPIC, Retry.NEVER),
    pb.IncompatibleSchema: (ErrorClass.SERIALIZATION, Retry.NEVER),
    pb.ConsumerAssignError: (ErrorClass.OTHER, Retry.NEVER),
    pb.NotAllowedError: (ErrorClass.OTHER, Retry.NEVER),
    pb.ProducerFenced: (ErrorClass.FENCED, Retry.NEVER),
}
_CAUSES: dict[Cause, ErrorClass] = {
    Cause.SERVER: ErrorClass.OTHER,
    Cause.TIMED_OUT: ErrorClass.TIMEOUT,
    Cause.LOST: ErrorClass.TRANSPORT,
    Cause.TOO_MANY: ErrorClass.OTHER,
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that did not succeed; `code` is the broker's ServerError where it answered one."""

    cause: Cause
    text: str
    code: int | None = None

    @property
    def error(self) -> ErrorClass:
        if self.code is not None:
            return _SERVER_ERRORS.get(self.code, (ErrorClass.OTHER, Retry.ALWAYS))[0]
        return _CAUSES[self.cause]

    @property
    def retry(self) -> Retry:
        if self.cause is Cause.TOO_MANY:
            return Retry.ONCE_OPEN
        return Retry.ALWAYS if self.code is None else _SERVER_ERRORS.get(self.code, (None, Retry.ALWAYS))[1]

    def failed(self, *, certain: bool = False) -> Failed:
        return Failed(self.error, self.text, certain)


def server_refusal(code: int, text: str) -> Refusal:
    name = pb.ServerError.Name(code) if code in pb.ServerError.values() else f"error {code}"
    return Refusal(Cause.SERVER, f"{name}: {text}", code)
