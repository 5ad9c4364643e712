"""What occurs in a history at all: a check that waits for what never comes is shown none of it.

Most histories have nothing of most chapters in them: no chunk, no seek, no retry letter. A check names what it cannot
do without (`Check.needs`); the history is searched once, before it is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from assay_conformance.model.case import Case
from assay_conformance.model.event import Completion, Event, Fate, Frame, Invoke, Meta, Stored
from assay_conformance.model.facts import ClientFacts


class Trait(StrEnum):
    """What a frame or a stored entry is, or holds; or what a consumer was opened as."""

    CHUNK = "a part of a message"
    BATCH = "several messages"
    COMPRESSED = "a compressed body"
    DELAYED = "a time before which it is not delivered"
    HARMED = "a frame that a fault touched, or whose checksum does not fit"
    NO_QUEUE = "a consumer without a receiver queue"


class Setting(NamedTuple):
    """A configuration value that is in force for somebody, and neither off nor zero."""

    part: str
    key: str


Occasion = type | tuple[type, str] | Trait | Setting
"""An event of a type; a Frame of a command, an Invoke or Completion of a verb; or one of the others."""

_PARTS = {"open_client": "client", "open_producer": "producer", "open_consumer": "consumer"}


def occasions(events: Iterable[Event], case: Case, facts: ClientFacts) -> frozenset[Occasion]:
    """All that occur in these events."""
    types: set[type] = set()
    commands: set[str] = set()
    words: set[tuple[type, str]] = set()
    others: set[Trait | Setting] = set()
    for event in events:
        kind = type(event)
        types.add(kind)
        if isinstance(event, Frame):
            commands.add(event.command)
            if event.fate is not Fate.PASSED or event.intact is False:
                others.add(Trait.HARMED)
            if event.meta is not None:
                others.update(_traits(event.meta))
        elif isinstance(event, Stored):
            others.update(_traits(event.meta))
        elif isinstance(event, Invoke):
            words.add((Invoke, event.verb))
            if event.verb in _PARTS:
                others.update(_settings(event, case, facts))
        elif isinstance(event, Completion):
            words.add((Completion, event.verb))
    return frozenset[Occasion]().union(types, words, others, ((Frame, command) for command in commands))


def _traits(meta: Meta) -> Iterator[Trait]:
    if meta.chunk_id is not None:
        yield Trait.CHUNK
    if meta.batch is not None:
        yield Trait.BATCH
    if meta.compression != "NONE":
        yield Trait.COMPRESSED
    if meta.deliver_at_ms is not None:
        yield Trait.DELAYED


def _settings(opening: Invoke, case: Case, facts: ClientFacts) -> Iterator[Setting | Trait]:
    part = _PARTS[opening.verb]
    for key in facts.settable | facts.fixed.keys() | facts.defaults.keys():
        value = facts.in_force(case.config, part, key, opening.args.get("config"))
        if value:
            yield Setting(part, key)
        elif part == "consumer" and key == "receiver_queue_size":
            yield Trait.NO_QUEUE
