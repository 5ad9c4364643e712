"""How many producer names a broker keeps in a topic's deduplication snapshot."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.lines import is_duplicate
from assay_conformance.checks.loading import Loads
from assay_conformance.model.event import Fate, Fired, Frame, Stepped
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID, deduplicated
from assay_conformance.pulsar.checks.dedup._names import checked_later
from assay_conformance.pulsar.checks.dedup._registrations import LastIdCheck


@dataclass(slots=True)
class _Topic:
    """`last`: per name the receipt of its last message, the number of entries stored by then, and the load.

    After a load the broker knows of the names in `written` only from its snapshot; for those in `known` it reported a
    last id.
    """

    loads: int
    entries: int = 0
    last: dict[str, tuple[Frame, int, int]] = field(default_factory=dict)
    written: dict[str, Frame] = field(default_factory=dict)
    registered: set[str] = field(default_factory=set)
    known: list[Frame] = field(default_factory=list)


class MaxProducersInSnapshot(LastIdCheck):
    """Judged by the last sequence ids that names get at their first registration after their topic was loaded again.

    Only names that sent nothing for two snapshot intervals before the load: a broker that loads the topic also reads
    the entries after its last snapshot.
    """

    requirement = RequirementId("dedup.max-producers-in-snapshot")

    def start(self) -> None:
        super().start()
        settings = self.view.case.topology.settings
        self._limit = settings.dedup_max_producers
        self._snapshot_entries = 2 * settings.dedup_snapshot_entries
        self._judged_topics = set(deduplicated(self.view))
        self._loads = Loads(self.view.case)
        self._topics: dict[str, _Topic] = {}

    def concerned(self) -> bool:
        return bool(deduplicated(self.view))

    @on(Stepped)
    @on(Fired)
    def loaded(self, event: Stepped | Fired) -> None:
        self._loads.see(event)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        """Chunks have receipts and are not in the snapshot: topics with chunks are not judged."""
        session = self.tracker.producer_of(event) if checked_later(event.meta) else None
        if session is not None:
            self._judged_topics.discard(base_topic(session.topic))

    @on(Frame, "SEND_RECEIPT")
    def receipt(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if session is None or session.name is None or not event.from_sender or event.fate is Fate.INJECTED:
            return
        if base_topic(session.topic) in self._judged_topics and not is_duplicate(event):
            topic = self._topic(session.topic)
            topic.entries += 1
            topic.last[session.name] = (event, topic.entries, topic.loads)

    def _topic(self, name: str) -> _Topic:
        """Return the state of the topic in its present load."""
        loads = self._loads.of(name)
        topic = self._topics.setdefault(name, _Topic(loads))
        if topic.loads != loads:
            begun = topic.entries - self._snapshot_entries
            last = topic.last.items()
            topic.written = {
                of: receipt for of, (receipt, entries, load) in last if load == topic.loads and entries <= begun
            }
            topic.loads = loads
            topic.entries = 0
            topic.registered, topic.known = set(), []
        return topic

    def last_id_reported(self, topic: str, name: str, last_id: int, event: Frame) -> None:
        if base_topic(topic) in self._judged_topics:
            self._judge(topic, self._topic(topic), name, last_id, event)

    def _judge(self, place: str, topic: _Topic, name: str, last_id: int, event: Frame) -> None:
        if name not in topic.written or name in topic.registered or len(topic.written) <= self._limit:
            return
        topic.registered.add(name)
        self.exercise(event)
        if last_id == NO_SEQUENCE_ID:
            return
        topic.known.append(event)
        if len(topic.known) == self._limit + 1:
            self._breach(place, topic, event)

    def _breach(self, place: str, topic: _Topic, event: Frame) -> None:
        self.breach(
            "too-many-names",
            f"the snapshot of topic {place} may hold {self._limit} producer names; expected no last id for others "
            f"after the topic was loaded again; the broker knew those of {len(topic.known)} names that had sent "
            f"nothing for the last {self._snapshot_entries} entries before, {event.fields.get('producer_name')} at "
            f"{ms(event.t_ns)} among them",
            *(topic.written[str(answer.fields.get("producer_name"))] for answer in topic.known),
            *topic.known,
        )
