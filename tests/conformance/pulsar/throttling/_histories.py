from __future__ import annotations

import msgspec

from assay_conformance.checks.trial import ANY_CASE
from assay_conformance.history.script import Script
from assay_conformance.model.case import Case, Rate, Topic, Topology


def throttled_case(**topic: Rate | bool) -> Case:
    return msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", **topic),)))  # type: ignore[arg-type]


DISPATCH = throttled_case(dispatch_rate=Rate(messages=10))


def dispatched(*reads: tuple[int, int], batch: int = 1) -> list:  # type: ignore[type-arg]
    """Events of reads (time in ms, entries), each entry with `batch` messages."""
    story = Script()
    story.consumer()
    number = 0
    for at_ms, entries in reads:
        story.at(at_ms)
        for _ in range(entries):
            story.message(*range(number, number + batch), entry=number)
            number += batch
    return story.done()


BOTH = throttled_case(dispatch_rate=Rate(messages=10, bytes=1_000))


def read_at(*reads: tuple[int, int], size: int = 100, again: bool = False) -> list:  # type: ignore[type-arg]
    """Events of reads (time in ms, entries) of entries of so many bytes; `again`: always the same ones."""
    story = Script()
    for number in range(100):
        story.stored(number, size=size)
    story.consumer()
    number = 0
    for at_ms, entries in reads:
        story.at(at_ms)
        number = 0 if again else number
        for _ in range(entries):
            story.message(number)
            number += 1
    return story.done()
