"""Messages in the order of their calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assay_conformance.pulsar.timeline import Routed


def in_call_order(messages: Iterable[Routed]) -> Iterator[list[Routed]]:
    """Yield stretches of messages with no number missing between them, each where it first left."""
    by_number: dict[int, Routed] = {}
    for message in messages:
        by_number.setdefault(message.number, message)
    stretch: list[Routed] = []
    for number in sorted(by_number):
        if stretch and stretch[-1].number != number - 1:
            yield stretch
            stretch = []
        stretch.append(by_number[number])
    if stretch:
        yield stretch
