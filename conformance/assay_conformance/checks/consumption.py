"""What the consumer chapters share: configuration in force, and what frames about consumers say.

An application names messages by delivery, a wire by id, a broker by position; all three meet in the tracker's `Entry`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from assay_conformance.checks.base import View
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import ConsumerSession, Entry, OpenedConsumer, Tracker
from assay_conformance.model.case import ConfigValue
from assay_conformance.model.event import Fate, Frame, Invoke, MessageId, Outcome, Received, Sides
from assay_conformance.model.fault import Direction

REFUSED = (Outcome.FAIL, Outcome.UNSUPPORTED)
"""How a call ends that the client did not take."""


# As in `model.event`: a frame is asked by dozens of checks, and members of enums are slow to find.
_BOTH: Final = Sides.BOTH
_TO_BROKER: Final = Direction.TO_BROKER
_TO_CLIENT: Final = Direction.TO_CLIENT

_WORD: Final = (1 << 64) - 1

EntryKey = tuple[int, Entry]
"""An entry as one consumer, by its handle, has it."""


LEAST_INTERVAL_MS = 40
"""Below this a group interval is too short to distinguish two flushes from one delayed timer."""


def in_force(view: View, consumer: OpenedConsumer, key: str) -> ConfigValue | None:
    """Return a consumer's value in force: fixed by the client, else its step's or the Case's, else the default."""
    known = consumer.settings
    try:
        return known[key]
    except KeyError:
        return known.setdefault(key, view.setting("consumer", key, consumer.invoke.args.get("config")))


def number_in_force(view: View, consumer: OpenedConsumer, key: str) -> int | None:
    value = in_force(view, consumer, key)
    return int(value) if isinstance(value, int | float) else None


def moves_to_dead_letter(view: View, consumer: OpenedConsumer) -> bool:
    """Return whether the client may move a message to a dead letter or retry letter topic.

    Then its redelivery is not requested, and it is acknowledged without an ack of the application.
    """
    return bool(number_in_force(view, consumer, "max_redeliver_count") or in_force(view, consumer, "retry_letters"))


def is_dead_letter(view: View, consumer: OpenedConsumer, frame: Frame) -> bool:
    """Return whether this MESSAGE was redelivered more often than allowed, and is to become a dead letter."""
    most = number_in_force(view, consumer, "max_redeliver_count")
    return bool(most and (frame.redelivery_count or 0) > most)


GROUPS = "ack_grouping"
"""Capability of clients that collect acknowledgments; the others send each at once."""


def holds_acks(view: View, consumer: OpenedConsumer) -> bool:
    """Return whether acknowledgments wait for others.

    Clients that send each at once, having no interval or groups of one, remember none, and so no cumulative one either.
    Those that ask for an answer may do so one by one, whatever the interval (Go client: AckGroupingOptions does not
    apply beside AckWithResponse).
    """
    if in_force(view, consumer, "ack_receipt"):
        return False
    interval_ms = number_in_force(view, consumer, "ack_group_ms")
    if interval_ms is None and GROUPS not in view.facts.capabilities:
        return False
    return interval_ms != 0 and number_in_force(view, consumer, "ack_group_max") != 1


def entry_on(session: ConsumerSession, id: MessageId) -> Entry:
    """Return the entry of an id, the same value for all that ask about one frame: dozens of checks do."""
    before = session.entry_asked
    if before is None or before[0] is not id:
        before = session.entry_asked = (id, Entry(session.topic, id.ledger, id.entry))
    return before[1]


def of_batch(id: MessageId) -> bool:
    """Return whether it is one of several messages of an entry; a batch of one counts as no batch."""
    return id.batch_index >= 0 and id.batch_size != 1


def sent_round(tracker: Tracker, call: Invoke) -> Iterator[tuple[Received, Entry]]:
    """Yield the messages that a reconsume_later names."""
    for ordinal in call.args.get("messages", ()):
        message = tracker.delivery(call.handle or 0, ordinal)
        entry = None if message is None else tracker.entries.get(message.seq)
        if message is not None and entry is not None:
            yield message, entry


def plain_acks(event: Frame) -> bool:
    """Return whether an ACK settles messages; one with a validation error reports a damaged one."""
    return event.fields.get("validation_error") is None


def acked_entries(session: ConsumerSession, event: Frame) -> tuple[Entry, ...]:
    """Return the entries that an individual ACK settles whole: those without an ack_set.

    All callers that ask about one frame get the same value.
    """
    before = session.acked
    if before is None or before[0] is not event:
        sets = event.ack_sets
        ids = (id for place, id in enumerate(event.ids) if not (place < len(sets) and sets[place]))
        before = session.acked = (event, tuple(Entry(session.topic, id.ledger, id.entry) for id in ids))
    return before[1]


def to_client(event: Frame) -> bool:
    return event.dir is _TO_CLIENT and event.to_receiver


def of_earlier_epoch(message: Frame, request: Frame) -> bool:
    """Return whether a MESSAGE was sent before the broker got this request for everything (PIP-84): a client drops it.

    Where one of them names no epoch, that is unknown: False.
    """
    came, asked = message.fields.get("consumer_epoch"), request.fields.get("consumer_epoch")
    return came is not None and asked is not None and int(came) < int(asked)


def is_torn(event: Frame) -> bool:
    """Return whether a frame was damaged, lost, held back or made up.

    One that ended with its connection does not count: it comes again.
    """
    return event.intact is False or (event.sides is not _BOTH and event.fate is not Fate.CUT)


def from_client(event: Frame) -> bool:
    return event.dir is _TO_BROKER and event.from_sender


def elapsed(later_ns: int, earlier_ns: int) -> str:
    return f"{(later_ns - earlier_ns) / MS:.1f} ms"


def bit_of(words: Sequence[int], index: int) -> bool:
    """Return bit `index` of an ack_set; beyond its words it is 0."""
    return index // 64 < len(words) and bool(words[index // 64] >> index % 64 & 1)


def bits_of(words: Sequence[int]) -> int:
    """Return an ack_set as one number; its words are signed."""
    return sum((word & _WORD) << 64 * place for place, word in enumerate(words))


def indexes_of(bits: int) -> list[int]:
    """Return the indexes of the bits that are set."""
    return [index for index in range(bits.bit_length()) if bits >> index & 1]


def is_open(frame: Frame, index: int) -> bool:
    """Return whether this message of a MESSAGE is not acknowledged yet, as its ack_set says."""
    words = frame.ack_sets[0] if frame.ack_sets else ()
    return not words or index < 0 or bit_of(words, index)


def listed(indexes: Iterable[int]) -> str:
    return ", ".join(str(index) for index in sorted(indexes))
