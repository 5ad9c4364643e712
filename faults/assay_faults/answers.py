"""How a broker refuses each of a client's requests: the answering command, and what it takes from the request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from assay_conformance.model.errors import UsageError
from assay_conformance.wire import NO_ID, CommandType, Frame, command, encode
from assay_conformance.wire.pulsar_pb2 import (
    CommandLookupTopicResponse,
    CommandPartitionedTopicMetadataResponse,
    ServerError,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """`copied` are the fields that tie the answer to its request, `fixed` those that make it a failure."""

    kind: CommandType
    copied: tuple[str, ...] = ("request_id",)
    fixed: dict[str, Any] = field(default_factory=dict)
    error: str = "error"
    message: str = "message"

    def to(self, request: Frame, error: int, message: str) -> bytes:
        """Return the encoded frame that refuses this request."""
        tie = {name: getattr(request.body, name) for name in self.copied}
        return encode(command(self.kind, **tie, **self.fixed, **{self.error: error, self.message: message}))

    def is_owed_to(self, request: Frame) -> bool:
        """Return whether a broker answers this request; none answers an acknowledgment that asks for no receipt."""
        return all(request.body.HasField(name) for name in self.copied)

    def error_number(self, name: str) -> int:
        """Return the number of a ServerError, or raise UsageError when there is none of this name."""
        if name not in ServerError.keys():  # noqa: SIM118 - an enum wrapper is no mapping
            raise UsageError(f"answer-error: expected one of {', '.join(ServerError.keys())}, got {name!r}")
        return ServerError.Value(name)


_ERROR = Answer(CommandType.ERROR)
_PARTITIONS_FAILED = CommandPartitionedTopicMetadataResponse.LookupType.Value("Failed")
_LOOKUP_FAILED = CommandLookupTopicResponse.LookupType.Value("Failed")

ANSWERS: Final[dict[CommandType, Answer]] = {
    # The answer to CONNECT cannot name a request; the real broker writes -1.
    CommandType.CONNECT: Answer(CommandType.ERROR, copied=(), fixed={"request_id": NO_ID}),
    CommandType.PARTITIONED_METADATA: Answer(
        CommandType.PARTITIONED_METADATA_RESPONSE, fixed={"response": _PARTITIONS_FAILED}
    ),
    CommandType.LOOKUP: Answer(CommandType.LOOKUP_RESPONSE, fixed={"response": _LOOKUP_FAILED}),
    CommandType.PRODUCER: _ERROR,
    CommandType.SUBSCRIBE: _ERROR,
    CommandType.SEND: Answer(CommandType.SEND_ERROR, copied=("producer_id", "sequence_id")),
    CommandType.ACK: Answer(CommandType.ACK_RESPONSE, copied=("consumer_id", "request_id")),
    CommandType.UNSUBSCRIBE: _ERROR,
    CommandType.CLOSE_PRODUCER: _ERROR,
    CommandType.CLOSE_CONSUMER: _ERROR,
    CommandType.SEEK: _ERROR,
    CommandType.GET_LAST_MESSAGE_ID: _ERROR,
    CommandType.GET_TOPICS_OF_NAMESPACE: _ERROR,
    CommandType.WATCH_TOPIC_LIST: _ERROR,
    CommandType.WATCH_TOPIC_LIST_CLOSE: _ERROR,
    CommandType.CONSUMER_STATS: Answer(
        CommandType.CONSUMER_STATS_RESPONSE, error="error_code", message="error_message"
    ),
    CommandType.GET_SCHEMA: Answer(CommandType.GET_SCHEMA_RESPONSE, error="error_code", message="error_message"),
    CommandType.GET_OR_CREATE_SCHEMA: Answer(
        CommandType.GET_OR_CREATE_SCHEMA_RESPONSE, error="error_code", message="error_message"
    ),
}
