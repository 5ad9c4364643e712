"""Publishes: each SEND as it reached its broker, and what the broker answered.

An answer names a producer and a sequence id. Where several SENDs of that id are unanswered, brokers answer

| with                               |                                                                 |
|------------------------------------|-----------------------------------------------------------------|
| SEND_ERROR ChecksumError           | one that came damaged, before they look at its id               |
| what marks the SEND as a duplicate | the last of them, at once: what came before waits for the store |
| anything else                      | the first of them: the store writes in order                    |

SEND_ERROR for a batch names the highest id of the batch. A SEND for a producer that is closed is not answered, nor is
what waits when its producer registers again.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.history.events import Events
from assay_conformance.judging.certainty import UnknownError
from assay_conformance.model.event import Frame
from assay_conformance.wire.answers import UNKNOWN_COPY

_HIGHEST_POSSIBLE_ID = 1 << 62


@dataclass(slots=True, eq=False)
class Publish:
    """A SEND at its broker. `registered`: the last PRODUCER that had come for its producer; `likely_answer`: its
    answer, or another's where `is_vague`; `is_ignored`: its producer was closed when it came."""

    send: Frame
    registered: Frame | None = None
    likely_answer: Frame | None = None
    is_vague: bool = False
    is_ignored: bool = False

    @property
    def answer(self) -> Frame | None:
        """The answer; unknown where it may be for another SEND."""
        if self.is_vague:
            raise UnknownError("several SENDs with one sequence id were unanswered: an answer may be for any")
        return self.likely_answer

    @property
    def producer(self) -> tuple[int, int | None, int | None]:
        """The key of its producer, as the broker identifies it."""
        since = None if self.registered is None else self.registered.seq
        return self.send.conn, self.send.producer_id, since

    @property
    def id(self) -> int:
        """Its sequence id: the lowest of a batch."""
        return self.send.sequence_id or 0

    @property
    def highest_id(self) -> int:
        """The highest of its sequence ids. The default of `highest_sequence_id` on the wire is beyond every real id."""
        highest = self.send.highest_sequence_id or 0
        return max(self.id, highest if highest < _HIGHEST_POSSIBLE_ID else 0)

    @property
    def is_intact(self) -> bool:
        """Its checksum fits, as far as that is known: a broker refuses a SEND for that before it looks at its id."""
        return self.send.intact is not False

    @property
    def is_early_chunk(self) -> bool:
        """It is a chunk before the last of its message."""
        return self.send.meta is not None and self.send.meta.is_early_chunk


class Publishes:
    """All of the attempt."""

    def __init__(self, events: Events) -> None:
        self.all: list[Publish] = []
        """In order of arrival."""
        self._by_frame: dict[int, Publish] = {}
        producers: dict[tuple[int, int | None], _Producer] = {}
        for frame in events.frames("PRODUCER", "CLOSE_PRODUCER", "SEND", "SEND_RECEIPT", "SEND_ERROR"):
            place = (frame.conn, frame.producer_id)
            if frame.command == "PRODUCER":
                if frame.to_receiver:
                    producers[place] = _Producer(frame)
            elif frame.command == "CLOSE_PRODUCER":
                if frame.at_broker:
                    producers.setdefault(place, _Producer()).is_closed = True
            elif frame.command == "SEND":
                if frame.to_receiver:
                    self.all.append(producers.setdefault(place, _Producer()).came(frame))
                    self._by_frame[frame.seq] = self.all[-1]
            elif frame.from_sender and place in producers:
                answered = producers[place].answered(frame)
                if answered is not None:
                    self._by_frame[frame.seq] = answered

    def of(self, frame: Frame) -> Publish | None:
        """Return the publish of which this is the SEND, or likely the answer."""
        return self._by_frame.get(frame.seq)


class _Producer:
    """A producer at its broker: what it sent that is not answered."""

    def __init__(self, registered: Frame | None = None) -> None:
        self.is_closed = False
        self._registered = registered
        self._waiting: dict[int, list[Publish]] = {}
        """By sequence id."""

    def came(self, send: Frame) -> Publish:
        publish = Publish(send, self._registered, is_ignored=self.is_closed)
        if not self.is_closed:
            self._waiting.setdefault(publish.id, []).append(publish)
        return publish

    def answered(self, answer: Frame) -> Publish | None:
        """Return what this is likely for, and note where it may be for another."""
        id = self._waits_under(answer)
        waiting = self._waiting.get(id, [])
        fitting = _fitting(waiting, answer)
        if not fitting:
            return None
        if len(fitting) > 1 and (answer.command == "SEND_ERROR" or not _is_one_message(fitting)):
            for publish in fitting:
                publish.is_vague = True
        fitting[0].likely_answer = answer
        waiting.remove(fitting[0])
        if not waiting:
            del self._waiting[id]
        return fitting[0]

    def _waits_under(self, answer: Frame) -> int:
        id = answer.sequence_id or 0
        if answer.command != "SEND_ERROR" or id in self._waiting:
            return id
        return next((lowest for lowest, waiting in self._waiting.items() if waiting[0].highest_id == id), id)


def _fitting(waiting: list[Publish], answer: Frame) -> list[Publish]:
    """Return what an answer may be for, the likeliest first."""
    if answer.fields.get("error") == "ChecksumError":
        return [one for one in waiting if not one.is_intact] or waiting[:]
    intact = [one for one in waiting if one.is_intact]
    if takes_for_copy(answer):
        return [one for one in reversed(intact) if not one.is_early_chunk] or intact
    return intact


def _is_one_message(publishes: list[Publish]) -> bool:
    """Return whether they are chunks of one message, which a client takes for receipted in order."""
    uuids = {one.send.meta.uuid for one in publishes if one.send.meta is not None}
    return len(uuids) == 1 and all(one.send.is_chunk for one in publishes)


def takes_for_copy(answer: Frame) -> bool:
    """Return whether an answer marks its SEND as a duplicate, or as a possible one."""
    if answer.command == "SEND_ERROR":
        return UNKNOWN_COPY in str(answer.fields.get("message", ""))
    return is_duplicate(answer)
