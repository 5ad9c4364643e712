"""Code of the application that a Case has run inside the client, by name: the words of the keys `router` and
`interceptor`. Agents in other languages have their own copies of these few lines.

What such code sees it reports as notes: `router` with the message's `number`, how many `partitions` there are and its
`answer`; `before-send` and `acknowledged` with the `number`. A state listener, which `open_consumer` asks for, tells
`state` with `active`, 1 or 0, and the `partition`, -1 of a topic without any; a listener of a table view `value` with
`key`, `size` and `digest`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

ROUTER, BEFORE_SEND, ACKNOWLEDGED, STATE, VALUE = "router", "before-send", "acknowledged", "state", "value"
"""Texts of the notes."""


def by_number(number: int, partitions: int) -> int:
    """Return the partition: the number of the message, modulo the partitions."""
    return number % partitions


def out_of_range(number: int, partitions: int) -> int:
    """Return the partition as `by_number` does, but for every third message one that does not exist."""
    return partitions if number % 3 == 2 else by_number(number, partitions)


ROUTERS: Mapping[str, Callable[[int, int], int]] = {"by_number": by_number, "out_of_range": out_of_range}

INTERCEPTORS = ("notes",)
"""`notes` changes nothing, and reports its calls."""
