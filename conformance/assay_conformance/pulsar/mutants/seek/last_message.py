"""Clients that return another id than the broker's when they are asked for the last message of a topic."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import structs

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.values import Done, Result


class LastMessageIdIsRemembered(Consumer):
    """A call for the last message of a topic returns the id that the first such call got."""

    breaks = "seek.last-message-id-as-answered"
    stands_for = "an id that is kept for has_message_available, and returned to the application as well"
    _last: Result | None = None

    def last_message_id(self, ended: Callable[[Result], None]) -> None:
        def answered(result: Result) -> None:
            self._last = self._last or result
            ended(self._last)

        super().last_message_id(answered)


class LastMessageIdWithoutIndex(Consumer):
    """A call for the last message of a topic returns the first message of the last batch."""

    breaks = "seek.last-message-id-as-answered"
    stands_for = "apache/pulsar#6462: an id made of ledger and entry alone"

    def last_message_id(self, ended: Callable[[Result], None]) -> None:
        def answered(result: Result) -> None:
            last = result.message_id if isinstance(result, Done) else None
            if last is not None and last.batch_index > 0:
                result = Done(message_id=structs.replace(last, batch_index=0))
            ended(result)

        super().last_message_id(answered)
