"""Messages beside the first one that should have gone to the same partition."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

from assay_conformance.pulsar.timeline import Routed


def beside_first(messages: Iterable[Routed], alike: Callable[[Routed], Hashable]) -> Iterator[tuple[Routed, Routed]]:
    """Yield each message but the first one with the same `alike`, after that one."""
    firsts: dict[Hashable, Routed] = {}
    for message in messages:
        first = firsts.setdefault(alike(message), message)
        if first is not message:
            yield first, message
