"""How many producer names a broker writes down of a topic."""

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
    """`last`: the receipt of each name's last message, and how many entries were stored by then, in which load.

    Of `written` the snapshot that a load begins with is all that a broker can know; `known` of them were told their
    last id.
    """

    loads: int
    entries: int = 0
    last: dict[str, tuple[Frame, int, int]] = field(default_factory=dict)
    written: dict[str, Frame] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    known: list[Frame] = field(default_factory=list)


class MaxProducersInSnapshot(LastIdCheck):
    """Judged on what names are told that are asked for first after their topic was loaded anew.

    Only names that were silent for two snapshots before the load: the entries of others may lie behind the last one,
    and whoever loads the topic reads these.
    """

    requirement = RequirementId("dedup.max-producers-in-snapshot")

    def start(self) -> None:
        super().start()
        settings = self.view.case.topology.settings
        self._limit = settings.dedup_max_producers
        self._behind = 2 * settings.dedup_snapshot_entries
        self._on = set(deduplicated(self.view))
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
        """A chunk has a receipt too, and is in no snapshot."""
        session = self.tracker.producer_of(event) if checked_later(event.meta) else None
        if session is not None:
            self._on.discard(base_topic(session.topic))

    @on(Frame, "SEND_RECEIPT")
    def receipt(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if session is None or session.name is None or not event.from_sender or event.fate is Fate.INJECTED:
            return
        if base_topic(session.topic) in self._on and not is_duplicate(event):
            topic = self._topic(session.topic)
            topic.entries += 1
            topic.last[session.name] = (event, topic.entries, topic.loads)

    def _topic(self, name: str) -> _Topic:
        """As it is in its present load."""
        loads = self._loads.of(name)
        topic = self._topics.setdefault(name, _Topic(loads))
        if topic.loads != loads:
            begun = topic.entries - self._behind
            last = topic.last.items()
            topic.written = {
                of: receipt for of, (receipt, entries, load) in last if load == topic.loads and entries <= begun
            }
            topic.loads = loads
            topic.entries = 0
            topic.asked, topic.known = set(), []
        return topic

    def told(self, topic: str, name: str, last_id: int, event: Frame) -> None:
        if base_topic(topic) in self._on:
            self._told(topic, self._topic(topic), name, last_id, event)

    def _told(self, place: str, topic: _Topic, name: str, last_id: int, event: Frame) -> None:
        if name not in topic.written or name in topic.asked or len(topic.written) <= self._limit:
            return
        topic.asked.add(name)
        self.exercise(event)
        if last_id == NO_SEQUENCE_ID:
            return
        topic.known.append(event)
        if len(topic.known) == self._limit + 1:
            self._breach(place, topic, event)

    def _breach(self, place: str, topic: _Topic, event: Frame) -> None:
        self.breach(
            "too-many-names",
            f"a broker may write down {self._limit} producer names of topic {place}; loaded anew, it told the last ids "
            f"of {len(topic.known)} that had sent nothing for {self._behind} entries before, "
            f"{event.fields.get('producer_name')} at {ms(event.t_ns)} among them",
            *(topic.written[str(told.fields.get("producer_name"))] for told in topic.known),
            *topic.known,
        )
