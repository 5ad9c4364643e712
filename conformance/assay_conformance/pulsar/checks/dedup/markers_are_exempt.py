from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.dedup._deduplication import Name, calls_markers, name_of, named_session
from assay_conformance.pulsar.timeline import Exercised, Publish, Says, Timeline, breach, check, ms, takes_for_copy


@dataclass(slots=True)
class _Name:
    """The highest id of a message, and the marker with the highest id."""

    last: int = -1
    marker: Publish | None = None

    def is_exempt(self, publish: Publish) -> bool:
        """Return whether it is a marker with an old id, or a message above all others and not above a marker."""
        if publish.send.fields.get("marker"):
            return publish.id <= self.last
        return self.marker is not None and self.last < publish.id <= self.marker.id

    def add(self, publish: Publish) -> None:
        if not publish.send.fields.get("marker"):
            self.last = max(self.last, publish.highest_id)
        elif self.marker is None or publish.id > self.marker.id:
            self.marker = publish


def _exempt(timeline: Timeline) -> Iterator[tuple[Publish, Publish | None]]:
    """Yield SENDs that are exempt, each with the highest marker before it."""
    topics = timeline.topology.topics if calls_markers(timeline.view.case) else ()
    judged, names = {topic.name for topic in topics if topic.deduplication}, dict[Name, _Name]()
    for publish in timeline.publishes.all if judged else ():
        session = named_session(timeline, publish.send, judged)
        if session is not None and publish.send.sequence_id is not None:
            name = names.setdefault(name_of(session), _Name())
            if name.is_exempt(publish):
                yield publish, name.marker
            name.add(publish)


@check("dedup.markers-are-exempt", of=_exempt)
def markers_are_exempt(timeline: Timeline, exempt: tuple[Publish, Publish | None]) -> Says:
    """dedup.markers-are-exempt: a SEND that is marked as a marker is stored although its id was used before, and does
    not raise the last id: a message with an id between the last message's and the marker's is stored.

    Brokers send markers among themselves, as SENDs; here a fault turns a client's SEND into one.
    """
    (publish, marker), send, answer = exempt, exempt[0].send, exempt[0].answer
    if answer is None:
        return
    if not takes_for_copy(answer):
        if answer.command == "SEND_RECEIPT":
            yield Exercised(answer)
        return
    came = f"arrived at {ms(send.t_ns)}; expected it to be stored; it was answered as a duplicate at {ms(answer.t_ns)}"
    if send.fields.get("marker"):
        what = f"a marker with sequence id {publish.id}, which a message of its producer name had used before,"
        yield breach("compared", f"{what} {came}", send, answer)
    elif marker is not None and not _may_be_loaded_as_message(timeline, marker.send, answer):
        what = f"a message with sequence id {publish.id}, higher than any message's and lower than a marker's"
        yield breach("remembered", f"{what} ({marker.id}), {came}", marker.send, send, answer)


def _may_be_loaded_as_message(timeline: Timeline, marker: Frame, answer: Frame) -> bool:
    """Return whether the marker may be loaded as a message.

    The log has a message where a fault made a marker of the SEND: a broker that loads the topic afterwards reads its
    id.
    """
    session = timeline.session_of(answer)
    return session is not None and session.request.seq > marker.seq
