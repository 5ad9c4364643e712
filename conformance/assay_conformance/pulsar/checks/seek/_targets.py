"""The first message after a place of a topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from assay_conformance.model.event import Event, MessageId, Stored
from assay_conformance.pulsar.timeline import Entry, Timeline


class Message(NamedTuple):
    """Its entry, and its index in a batch, 0 where there is none."""

    entry: Entry
    place: int

    def __str__(self) -> str:
        return f"{self.entry} (index {self.place})"


def readable(timeline: Timeline, topic: str, at: Event) -> list[Stored] | None:
    """Return what a topic held at an event; None where not all of it is delivered once, whole and in order.

    So are chunks, which come as their last one, messages that may be delivered later than others, and entries that
    nothing can be taken from, which clients discard.
    """
    stored = [one for one in timeline.stored_on(topic) if one.seq < at.seq]
    if any(entry.meta.chunk_id is not None or entry.meta.deliver_at_ms is not None for entry in stored):
        return None
    return stored if all(entry.members for entry in stored) else None


def first_after(stored: Sequence[Stored], id: MessageId, *, inclusive: bool) -> Message | None:
    """Return the first message after this one, or that one itself; None where there is none, or it is not stored."""
    messages = [message for entry in stored for message in _messages(entry)]
    places = [place for place, message in enumerate(messages) if _is_target(id, message)]
    if not places:
        return None
    place = places[0] if inclusive else places[-1] + 1
    return messages[place] if place < len(messages) else None


def first_of(entry: Stored) -> Message:
    """Return the first message of an entry."""
    return next(_messages(entry))


def _is_target(id: MessageId, message: Message) -> bool:
    """Return whether the message is the target. Without an index an id names all of its entry."""
    entry, index = message
    return (entry.ledger, entry.entry) == id.position and id.batch_index in (-1, index)


def _messages(entry: Stored) -> Iterator[Message]:
    place = Entry(entry.topic, entry.id.ledger, entry.id.entry)
    for index in range(entry.meta.messages):
        yield Message(place, index)
