"""Messages on their way to the application, and in its hands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from assay_conformance.client.entries import Entry, Opened
from assay_conformance.client.values import Failed, Outgoing
from assay_conformance.wire import MessageMetadata

if TYPE_CHECKING:
    from assay_conformance.client.consumer import Consumer


@dataclass(slots=True, eq=False)
class Inbound:
    """One message in the queue. `session` is the registration it came in."""

    consumer: Consumer
    session: int
    entry: Entry
    opened: Opened
    metadata: MessageMetadata
    redelivery_count: int


@dataclass(slots=True, eq=False)
class Handed:
    """A message the application has: what settling it needs."""

    consumer: Consumer
    entry: Entry
    index: int | None
    redelivery_count: int
    letter: Outgoing | None = None
    """The copy that a retry letter topic gets of it."""
    schema_version: bytes = b""
    """Of the schema that its value was written with; empty where it names none."""


class Queue(Protocol):
    """Where a consumer's messages go: the queue of its subscription."""

    def arrived(self, inbound: Inbound) -> None: ...

    def withdraw(self, consumer: Consumer) -> int:
        """Take out what this consumer brought; how many messages that were."""
        ...

    def active_changed(self, partition: int, active: bool) -> None:
        """Report that the broker made the consumer of a partition active, or inactive."""
        ...

    def starved(self) -> None:
        """Let a consumer without prefetch ask for a message again where the application waits for one."""
        ...

    def given_up(self, failed: Failed) -> None:
        """Report that a consumer which had been subscribed was refused for good."""
        ...
