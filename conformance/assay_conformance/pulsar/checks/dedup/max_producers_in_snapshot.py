from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import Fate, Frame
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID, deduplicated, named_session
from assay_conformance.pulsar.checks.dedup._last_ids import LastId, last_ids
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


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

    def loaded(self, loads: int, most_entries: int) -> None:
        """Take a load: a broker that loads the topic also reads the entries after its last snapshot."""
        begun = self.entries - most_entries
        last = ((name, *its) for name, its in self.last.items())
        self.written = {name: receipt for name, receipt, at, load in last if load == self.loads and at <= begun}
        self.loads, self.entries, self.registered, self.known = loads, 0, set(), []


class _Registered(NamedTuple):
    """The first registration of a name after a load; `known`: all answers by which the broker knew one, and the last
    receipts of their names."""

    last_id: LastId
    known: tuple[Frame, ...]
    receipts: tuple[Frame, ...]


def _registered(timeline: Timeline) -> Iterator[_Registered]:
    settings, judged = timeline.topology.settings, deduplicated(timeline.view)
    named = {one.event.seq: one for one in last_ids(timeline)} if judged and timeline.has_loaded else {}
    topics: dict[str, _Topic] = {}
    for frame in timeline.events.frames("SEND", "SEND_RECEIPT", "PRODUCER_SUCCESS") if named else ():
        session, last_id = named_session(timeline, frame, judged), named.get(frame.seq)
        place = last_id.name[0] if last_id is not None else "" if session is None else session.topic
        if base_topic(place) not in judged:
            continue
        if frame.command == "SEND":
            if frame.meta is not None and frame.meta.is_early_chunk:
                # Chunks have receipts and are not in the snapshot: topics with chunks are not judged.
                judged -= {base_topic(place)}
            continue
        if last_id is None and (session is None or not _is_stored(frame)):
            continue
        loads = timeline.loads(place, frame)
        topic = topics.setdefault(place, _Topic(loads))
        if topic.loads != loads:
            topic.loaded(loads, 2 * settings.dedup_snapshot_entries)
        if last_id is None and session is not None:
            topic.entries += 1
            topic.last[session.name or ""] = (frame, topic.entries, topic.loads)
        elif last_id is not None and len(topic.written) > settings.dedup_max_producers:
            name = last_id.name[1]
            if name in topic.written and name not in topic.registered:
                topic.registered.add(name)
                topic.known += [frame] if last_id.id != NO_SEQUENCE_ID else []
                receipts = (topic.written[str(one.fields.get("producer_name"))] for one in topic.known)
                yield _Registered(last_id, tuple(topic.known), tuple(receipts))


def _is_stored(answer: Frame) -> bool:
    is_receipt = answer.command == "SEND_RECEIPT" and answer.from_sender and answer.fate is not Fate.INJECTED
    return is_receipt and not is_duplicate(answer)


@check("dedup.max-producers-in-snapshot", of=_registered)
def max_producers_in_snapshot(timeline: Timeline, registered: _Registered) -> Says:
    """dedup.max-producers-in-snapshot: how many producer names a broker keeps in a topic's deduplication snapshot.

    Judged by the last sequence ids that names get at their first registration after the topic was loaded again, and
    only of names that sent nothing for two snapshot intervals before that.
    """
    ((topic, name), id, event), known, receipts = registered
    settings = timeline.topology.settings
    yield Exercised(event)
    if id != NO_SEQUENCE_ID and len(known) == settings.dedup_max_producers + 1:
        yield breach(
            "too-many-names",
            f"the deduplication snapshot of topic {topic} may hold {settings.dedup_max_producers} producer names; "
            f"expected a broker that loads the topic to know the last sequence ids of no more names, but for those of "
            f"its last {2 * settings.dedup_snapshot_entries} entries; it knew {len(known)} others, {name} at "
            f"{ms(event.t_ns)} among them",
            *(*receipts, *known),
        )
