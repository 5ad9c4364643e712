"""What a reader says of whether there is more, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Event, Invoke


class Reading(Consuming):
    """A reader of a topic that holds so many messages, with publish times a second apart, has read some of them."""

    def __init__(self, holds: int, *read: int, begins: str = "earliest", listens: bool = False) -> None:
        super().__init__("Exclusive", initial_position=begins)
        began, *opening = self.events
        self.events = [began]
        for number in range(holds):
            self.stored(number)
        self.events += opening
        if listens:
            self.events = [_with_handler(event) for event in self.events]
        self.events = [msgspec.structs.replace(event, seq=seq) for seq, event in enumerate(self.events)]
        self.gets(*read)

    def comes(self, number: int) -> Reading:
        """One more is stored."""
        self.stored(number)
        return self

    def says(self, available: bool) -> Reading:
        invoke = self.invoke("has_message_available", CONSUMER, args={"consumer": CONSUMER})
        self.complete(invoke, values={"available": available})
        return self

    def seeks(self, **target: object) -> Reading:
        self.complete(self.invoke("seek", CONSUMER, args=target))
        return self


def _with_handler(event: Event) -> Event:
    if not isinstance(event, Invoke) or event.verb != "open_consumer":
        return event
    return msgspec.structs.replace(event, args={**event.args, "listener": True})
