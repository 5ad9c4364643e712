"""What goes into the client and what comes out of it, as values, and the sink it talks to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from assay_conformance.model.event import ErrorClass, MessageId


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message to send. `sequence_id` None: the producer numbers it."""

    payload: bytes
    key: str | None = None
    ordering_key: str | None = None
    properties: dict[str, str] = field(default_factory=dict)
    sequence_id: int | None = None
    event_time_ms: int | None = None
    deliver_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message handed to the application; `number` counts its consumer's deliveries from 1."""

    number: int
    message_id: MessageId
    payload: bytes
    topic: str
    producer_name: str
    sequence_id: int
    redelivery_count: int
    publish_time_ms: int
    event_time_ms: int | None
    key: str | None
    properties: dict[str, str]


@dataclass(frozen=True, slots=True)
class Done:
    """An operation succeeded; only the fields that apply are set."""

    message_id: MessageId | None = None
    sequence_id: int | None = None
    producer_name: str | None = None
    last_sequence_id: int | None = None
    count: int | None = None
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failed:
    """An operation failed. `certain`: it surely did not happen; otherwise it may have."""

    error: ErrorClass
    text: str
    certain: bool = False


Result = Done | Failed


class ClientSink(Protocol):
    """Where the client acts. Connection numbers are the client's own, counted from 0 and never used twice."""

    def connect(self, conn: int, url: str) -> None:
        """Open a connection to the broker at `url`; answer with `opened(conn)` or `closed(conn)`."""
        ...

    def write(self, conn: int, data: bytes) -> None: ...

    def close(self, conn: int) -> None:
        """Close it; `closed(conn)` need not follow and is ignored."""
        ...

    def completed(self, op: int, result: Result) -> None:
        """Note that operation `op` ended; called exactly once for each."""
        ...

    def delivered(self, consumer: int, delivery: Delivery) -> None: ...
