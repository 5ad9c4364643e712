"""Messages beside the first one that should have gone to the same partition."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

from assay_conformance.pulsar.timeline import Exercised, Routed, Says, breach, ms


def beside_first(messages: Iterable[Routed], alike: Callable[[Routed], Hashable]) -> Iterator[tuple[Routed, Routed]]:
    """Yield each message but the first one with the same `alike`, after that one."""
    firsts: dict[Hashable, Routed] = {}
    for message in messages:
        first = firsts.setdefault(alike(message), message)
        if first is not message:
            yield first, message


def judge_alike(messages: tuple[Routed, Routed], code: str, why: str) -> Says:
    """Judge whether a message went where the first one did."""
    first, message = messages
    yield Exercised(message.frame)
    if message.partition != first.partition:
        yield breach(
            code,
            f"{message} went to partition {message.partition} at {ms(message.frame.t_ns)}, and {first} to partition "
            f"{first.partition} at {ms(first.frame.t_ns)}; expected one partition, since {why}",
            *(first.frame, message.frame),
        )
