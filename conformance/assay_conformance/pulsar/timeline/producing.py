"""The timeline's relations about producers at their brokers, and the routing of messages; derived when first used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from assay_conformance.judging.certainty import UnknownError
from assay_conformance.model.case import Topic
from assay_conformance.model.event import Completion, Event, Frame, Note, Outcome
from assay_conformance.model.payload import is_identified
from assay_conformance.pulsar.timeline.callbacks import Callback, CalledIn, callbacks, calls_in
from assay_conformance.pulsar.timeline.calling import Calling
from assay_conformance.pulsar.timeline.obstacles import Obstacles
from assay_conformance.pulsar.timeline.pending import Pending
from assay_conformance.pulsar.timeline.producers import Producer, Send, Unit
from assay_conformance.pulsar.timeline.publishes import Publishes
from assay_conformance.pulsar.timeline.requests import ANSWERS, Answers
from assay_conformance.pulsar.timeline.routing import PartitionQueues, Routed, fixed_topics, grown_topics, routed
from assay_conformance.pulsar.timeline.sends import IN_FLIGHT_NS
from assay_conformance.pulsar.timeline.served import ServedProducer, served_producers

UNSURE: Final = "two producers may have written the same PRODUCER: it is unknown whose it was"


class Producing(Calling):
    """The producers' part of a timeline that only some chapters ask for."""

    @cached_property
    def served_producers(self) -> list[ServedProducer]:
        """Every PRODUCER as its broker saw it, in order."""
        return served_producers(self._tracker, self.events)

    @cached_property
    def publishes(self) -> Publishes:
        """Every SEND as its broker got and answered it."""
        return Publishes(self.events)

    @cached_property
    def answers_to_requests(self) -> Answers:
        """What was written to clients in answer to any request with an id."""
        return Answers(self.events.frames(*ANSWERS))

    @cached_property
    def _answers_to_registrations(self) -> Answers:
        return Answers(self.events.frames("PRODUCER_SUCCESS", "SUCCESS", "ERROR"))

    @cached_property
    def callbacks(self) -> list[Callback]:
        """Callbacks of sends that were asked to wait, in the order in which they began."""
        return callbacks(self.events, {end.op: end for end in self.events.completions("send")})

    @cached_property
    def calls_in_callbacks(self) -> list[CalledIn]:
        """Calls made inside them, and meanwhile on the same client."""
        return list(calls_in(self.events, self.callbacks))

    @cached_property
    def obstacles(self) -> Obstacles:
        """What stood in the way of calls."""
        return Obstacles(self)  # type: ignore[arg-type]

    @cached_property
    def pending(self) -> Pending:
        """What is pending at an event."""
        return Pending(self._tracker, self.events)

    def answers_to(self, request: Frame) -> list[Frame]:
        """Return all that was written to the client in answer to a PRODUCER, SUBSCRIBE or request to close one."""
        return self._answers_to_registrations.all_to(request)

    @cached_property
    def opened_producers(self) -> dict[int, Completion]:
        """Handle -> the first success of the call that opened it."""
        return self.succeeded("open_producer")

    def succeeded(self, verb: str) -> dict[int, Completion]:
        """Return by handle the first success of a verb; in order."""
        found: dict[int, Completion] = {}
        for end in self.events.completions(verb):
            if end.outcome is Outcome.OK and end.handle is not None:
                found.setdefault(end.handle, end)
        return found

    def check_owned(self, handle: int | None) -> None:
        """Raise `UnknownError` where a session that may be this producer's may be another's."""
        if handle in self._tracker.foresight.unsure:
            raise UnknownError(UNSURE)

    def had_time_to_read(self, frame: Frame, by: Event) -> bool:
        """Return whether a frame's connection lived on for long enough to read it, or still did at an event."""
        closed = self._tracker.closed.get(frame.conn)
        return closed is None or closed.seq > by.seq or closed.t_ns - frame.t_ns > IN_FLIGHT_NS

    def chooses_ids(self, producer: Producer) -> bool:
        """Return whether the application chooses its sequence ids."""
        return producer.handle in self._tracker.foresight.explicit

    def opens_lazily(self, handle: int | None) -> bool:
        """Return whether its producer of a partition opens when a message is first to go there."""
        return self.view.producer_setting(handle or 0, "lazy_start_partitioned_producers") is True

    def batches_by_key(self, handle: int | None) -> bool:
        """Return whether a producer has a batch for each key, which may leave in another order than its messages."""
        return self.view.producer_setting(handle or 0, "batching_type") == "key_based"

    def topic_of(self, handle: int) -> Topic | None:
        """Return the topology's topic on which a producer was opened."""
        opening, topology = self._tracker.lines.openings.get(handle), self.view.case.topology
        first = topology.topics[0].name
        return topology.named(first if opening is None else opening.args.get("topic", first))

    @cached_property
    def batches(self) -> list[Unit]:
        """Units of known producers that hold several messages, or say that they may, in order of their first SEND."""
        batches = (unit for unit in self.units if unit.first.meta is not None and unit.first.meta.batch is not None)
        return sorted(batches, key=lambda unit: unit.first.seq)

    @property
    def units(self) -> Iterator[Unit]:
        """Units of known producers."""
        return (unit for line in self._tracker.lines.all if line.handle is not None for unit in line.units)

    @property
    def sent(self) -> Iterator[tuple[Unit, Frame]]:
        """Every SEND of known producers, with its unit; by units."""
        return ((unit, frame) for unit in self.units for _, frame in unit.sends)

    @cached_property
    def _routed(self) -> list[Routed]:
        return routed(self.view, fixed_topics(self.view))

    @cached_property
    def routed(self) -> list[Routed]:
        """Every message that the client routed to a partition, in order."""
        return [message for message in self._routed if message.producer.setting("router") is None]

    @cached_property
    def routed_by_producer(self) -> dict[int, list[Routed]]:
        """The same by the handle of the producer."""
        found: dict[int, list[Routed]] = {}
        for message in self.routed:
            found.setdefault(message.producer.handle, []).append(message)
        return found

    @cached_property
    def routed_by_application(self) -> dict[tuple[int, int], Routed]:
        """(handle, number) -> the message, of producers with a router of the application."""
        return _by_number(one for one in self._routed if one.producer.setting("router") is not None)

    @cached_property
    def grown_topics(self) -> dict[str, tuple[int, int]]:
        """Topics that get more partitions while the Case runs -> how many they begin and end with."""
        return grown_topics(self.view)

    @cached_property
    def routed_to_grown(self) -> dict[tuple[int, int], Routed]:
        """(handle, number) -> the message, of those that left for a partition of such a topic."""
        ends = {topic: count for topic, (_, count) in self.grown_topics.items()}
        return _by_number(routed(self.view, ends))

    @cached_property
    def partition_queues(self) -> PartitionQueues:
        """What waits for its receipt at each partition, of messages that the client routed."""
        return PartitionQueues(self.routed)

    @cached_property
    def notes(self) -> dict[tuple[int, int], list[Note]]:
        """(handle, number) of a message -> what code of the application inside the client (`model.hooks`) noted of it.

        Notes of one agent are in its own order; against the wire they are not ordered.
        """
        found: dict[tuple[int, int], list[Note]] = {}
        for note in self.events.of(Note):
            if note.handle is not None and "number" in note.values:
                found.setdefault((note.handle, int(note.values["number"])), []).append(note)
        return found

    def notes_of(self, handle: int, number: int, text: str) -> list[Note]:
        """Return the notes with this text (`model.hooks`) about one message."""
        return [note for note in self.notes.get((handle, number), ()) if note.text == text]

    def send(self, handle: int, number: int) -> Send | None:
        """Return the call for a message of a producer; None for one of a burst."""
        return self._tracker.send_of(handle, number)

    @cached_property
    def _unnumbered(self) -> frozenset[int]:
        sends = self._tracker.sends.items()
        return frozenset(handle for handle, its in sends if not all(is_identified(send.invoke.size) for send in its))

    def check_numbered(self, handle: int) -> None:
        """Raise `UnknownError` where code of the application cannot know some messages of this producer: it sees their
        payloads, and the smallest do not say their number."""
        if handle in self._unnumbered:
            raise UnknownError("some payloads are too small to identify their messages")


def _by_number(messages: Iterable[Routed]) -> dict[tuple[int, int], Routed]:
    """Return by producer and number where each message left first."""
    found: dict[tuple[int, int], Routed] = {}
    for message in messages:
        found.setdefault((message.producer.handle, message.number), message)
    return found
