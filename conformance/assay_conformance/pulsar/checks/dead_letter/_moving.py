"""Which messages have to be moved to the dead letter topic.

These are messages that the application nacked after maxRedeliverCount redeliveries, messages that came once more after
that, and messages whose letter the client sent when they came for the last time, without delivering them. Messages in
chunks are kept apart from the others.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from assay_conformance.checks.consumption import to_client
from assay_conformance.model.event import Completion, Event, Fate, Frame
from assay_conformance.pulsar.checks.dead_letter._counting import most_redeliveries
from assay_conformance.pulsar.checks.dead_letter._transferring import transfers
from assay_conformance.pulsar.checks.dead_letter._transfers import Cause, EndedTransfer, TransferEnd, TransferOutcomes
from assay_conformance.pulsar.timeline import Consumer, ConsumerSession, Entry, Says, Timeline, breach, known_owner, ms
from assay_conformance.pulsar.timeline.letters import Kind, Letter
from assay_conformance.pulsar.timeline.moments import SettleCompleted

LETTER_ADDS_BYTES = 256
"""By how much a letter may be larger than its message: two properties name its origin."""


def moved_to_dead_letter(timeline: Timeline, *, large: bool) -> TransferOutcomes:
    """Return how transfers to the dead letter topic ended; `large`: of messages in chunks, otherwise of all others.

    A message for which a retry letter was asked for is settled by that, or requested at once: it is not to be moved
    until it is redelivered. `unsettled`: nacks of messages in chunks below the maximum.
    """
    most = {one.handle: count for one in timeline.consumers if (count := most_redeliveries(timeline, one))}
    nacks = [one for one in _nacks(timeline) if most.get(one.call.consumer.handle)] if most else []
    at_most = [one for one in nacks if _times(timeline, one) >= most[one.call.consumer.handle]]
    causes = [Cause(one.event, one.call.consumer, one.call.entry, one.call.called_ns) for one in at_most if one.session]
    causes += (*_beyond(timeline, most), *_unseen(timeline, most)) if most else ()
    too_long = set() if large or not causes else _too_long(timeline)
    causes = [one for one in causes if one.source not in too_long and _is_whole(timeline, one.source, large=large)]
    below = {id(one) for one in nacks} - {id(one) for one in at_most} if large else ()
    calls = [(one.event, one.call) for one in nacks if id(one) in below and _is_chunk(timeline, one.call.entry)]
    return transfers(timeline, causes, [(one.call, one.entry) for one in timeline.letters.rounds], calls)


def _nacks(timeline: Timeline) -> Iterator[SettleCompleted]:
    for consumer in timeline.nacking:
        moments = (moment for moment in timeline.moments(consumer) if isinstance(moment, SettleCompleted))
        yield from (moment for moment in moments if moment.is_nack)


def _times(timeline: Timeline, nack: SettleCompleted) -> int:
    """Return how often its message had been redelivered; -1 where that is not known."""
    times = timeline.redeliveries(nack.call.message)
    return -1 if times is None else times


def _is_chunk(timeline: Timeline, entry: Entry) -> bool:
    stored = timeline.letters.stored(entry)
    return stored is not None and stored.meta.chunk_id is not None


def _beyond(timeline: Timeline, most: dict[int, int]) -> Iterator[Cause]:
    chunks: dict[tuple[int, str | None], int] = {}
    for frame, session, consumer, entry in _intact(timeline):
        count, whole = most.get(consumer.handle), _came_whole(timeline, chunks, session, entry)
        if count and whole and (frame.redelivery_count or 0) > count:
            yield Cause(frame, consumer, entry, frame.t_ns, is_new=True)


def _unseen(timeline: Timeline, most: dict[int, int]) -> Iterator[Cause]:
    """Yield messages that came with the maximum, and whose letter left before the application got them.

    Go and Rust clients do not hand them over.
    """
    sent_round = _SentRound(timeline)
    dead = (one for one in timeline.letters.of(Kind.DEAD) if not sent_round.may_have_caused(one))
    letters = [(one, one.origin) for one in dead if one.origin is not None]
    came: dict[Entry, list[tuple[Frame, Consumer, Entry]]] = {}
    for frame, _, consumer, entry in _intact(timeline) if letters else ():
        came.setdefault(timeline.letters.origin_of(entry), []).append((frame, consumer, entry))
    for letter, origin in letters:
        before = [one for one in came.get(origin, ()) if one[0].seq < letter.frame.seq]
        if not before:
            continue
        frame, consumer, entry = before[-1]
        is_last = frame.redelivery_count == most.get(consumer.handle)
        if is_last and not _was_seen(timeline, frame, consumer, entry, letter.frame):
            yield Cause(frame, consumer, entry, frame.t_ns, is_new=True)


class _SentRound:
    """Calls of reconsume_later: a message that went to the retry topic as often as allowed becomes a dead letter."""

    def __init__(self, timeline: Timeline) -> None:
        self._asked, self._sent = defaultdict[Entry, list[int]](list), defaultdict[Entry, list[int]](list)
        for one in timeline.letters.rounds:
            self._asked[one.origin].append(one.call.seq)
        for letter in timeline.letters.all if self._asked else ():
            if letter.origin is not None and not letter.again:
                self._sent[letter.origin].append(letter.frame.seq)

    def may_have_caused(self, letter: Letter) -> bool:
        """Return whether reconsume_later had been called for a message more often than letters of it had left."""
        if letter.origin is None or letter.origin not in self._asked:
            return False
        asked, sent = (bisect_left(known[letter.origin], letter.frame.seq) for known in (self._asked, self._sent))
        return asked > sent


def _was_seen(timeline: Timeline, came: Frame, consumer: Consumer, entry: Entry, until: Frame) -> bool:
    received = (one for one in timeline.received(consumer) if came.seq < one.seq < until.seq)
    return any(timeline.entry_of(one) == entry for one in received)


def _intact(timeline: Timeline) -> Iterator[tuple[Frame, ConsumerSession, Consumer, Entry]]:
    """Yield MESSAGEs that came to consumers that are known."""
    for delivery in timeline.deliveries:
        consumer = known_owner(delivery.session, delivery.frame)
        if consumer is not None and to_client(delivery.frame) and delivery.frame.intact:
            yield delivery.frame, delivery.session, consumer, delivery.entry


def _came_whole(
    timeline: Timeline, chunks: dict[tuple[int, str | None], int], session: ConsumerSession, entry: Entry
) -> bool:
    """Return whether with this entry, which has just come, its client has all of the message.

    Some of its chunks alone make no letter, however often those have come. `chunks`: by session and uuid the one that
    is to come next.
    """
    stored = timeline.letters.stored(entry)
    if stored is None or stored.meta.chunk_id is None:
        return True
    chunk, key = stored.meta.chunk_id, (id(session), stored.meta.uuid)
    if chunk and chunk != chunks.get(key):
        return False
    if chunk + 1 < (stored.meta.chunks or 0):
        chunks[key] = chunk + 1
        return False
    chunks.pop(key, None)
    return True


def _is_whole(timeline: Timeline, entry: Entry, *, large: bool) -> bool:
    """Return whether an entry has a whole message, which has the place of its last chunk."""
    stored = timeline.letters.stored(entry)
    chunk = None if stored is None else stored.meta.chunk_id
    last = stored is not None and (chunk is None or chunk + 1 >= (stored.meta.chunks or 0))
    return last and (chunk is not None) is large


def _too_long(timeline: Timeline) -> set[Entry]:
    """Return what came in a frame with hardly any room for what a letter adds: its client may have to refuse it."""
    most_bytes, found = timeline.topology.max_message_bytes, set()
    for frame, _, _, entry in _intact(timeline):
        unpacked = (frame.meta and frame.meta.uncompressed_size) or 0
        if frame.size + unpacked + LETTER_ADDS_BYTES > most_bytes:
            found.add(entry)
    return found


def _was_refused_earlier(timeline: Timeline, cause: Event, before: Frame, again: Event) -> bool:
    """Return whether the second of two requests belongs to the refusal of the delivery before.

    The application refused the message before it was asked for because its letter had failed, or the two requests may
    have crossed that.
    """
    called_ns = cause.called_ns if isinstance(cause, Completion) else None
    is_of_before = called_ns is not None and called_ns < before.t_ns
    return is_of_before or not timeline.bounds.is_past("crossing", before.t_ns, again.t_ns)


def judge_letter_not_tried(timeline: Timeline, ended: EndedTransfer) -> Says:
    """Judge a message whose redelivery was requested although no letter of it was tried, nor had one failed.

    A failed letter and an earlier nack may both request the message, and so may each copy that a fault repeated. What
    is requested on a connection that is already lost may have had a letter that was lost with it.
    """
    transfer, way, _, event, before = ended
    if isinstance(event, Frame) and event.fate is Fate.CUT:
        return
    if (
        way is not TransferEnd.REDELIVERY_REQUESTED
        or transfer.waits_ns is None
        or transfer.failure is not None
        or transfer.letter is not None
    ):
        return
    if before is not None and _was_refused_earlier(timeline, transfer.cause, before, event):
        return
    copies = (one for one in timeline.copies(transfer.consumer, transfer.source) if one.frame.seq < event.seq)
    if any(one.frame.fate is Fate.DUPLICATED and one.frame.intact for one in copies):
        return
    yield breach(
        "asked-again",
        f"consumer {transfer.consumer.handle}: {transfer.source} had been redelivered maxRedeliverCount times by "
        f"{ms(transfer.cause.t_ns)}; expected it to be sent to the dead letter topic; no copy was sent, nothing had "
        f"failed, and its redelivery was requested at {ms(event.t_ns)}",
        *(transfer.cause, event),
    )
