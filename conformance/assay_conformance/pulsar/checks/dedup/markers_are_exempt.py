from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.dedup._deduplication import Name, calls_markers, name_of, named_session
from assay_conformance.pulsar.checks.dedup._names import effective_highest_id
from assay_conformance.pulsar.checks.dedup._retries import is_taken_for_copy
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


@dataclass(slots=True)
class _Name:
    """The highest id of a message, and the marker with the highest id."""

    last: int = -1
    marker: Frame | None = None
    waiting: dict[tuple[int, int], Frame] = field(default_factory=dict)
    """(connection, sequence id) -> a SEND whose answer is judged."""
    unanswered: Counter[tuple[int, int]] = field(default_factory=Counter)
    """(connection, sequence id) -> its unanswered SENDs: with several it is unknown which of them an answer is for."""

    def sent(self, send: Frame, id: int) -> None:
        """Take a SEND at the broker."""
        place = (send.conn, id)
        self.waiting.pop(place, None)
        self.unanswered[place] += 1
        highest_marker = -1 if self.marker is None else self.marker.sequence_id or 0
        is_marker = bool(send.fields.get("marker"))
        is_judged = id <= self.last if is_marker else self.last < id <= highest_marker
        if is_judged and self.unanswered[place] == 1:
            self.waiting[place] = send
        if not is_marker:
            self.last = max(self.last, id, effective_highest_id(send))
        elif self.marker is None or id > highest_marker:
            self.marker = send

    def answered(self, answer: Frame) -> Frame | None:
        """Return the SEND that this answers, where it is judged."""
        place = (answer.conn, answer.sequence_id or 0)
        self.unanswered[place] = max(0, self.unanswered[place] - 1)
        return self.waiting.pop(place, None)


class _Answered(NamedTuple):
    """A marker, or a message with an id between those of messages and of a marker. `marker`: the highest by then."""

    send: Frame
    marker: Frame | None
    answer: Frame


def _answered(timeline: Timeline) -> Iterator[_Answered]:
    topics = timeline.topology.topics if calls_markers(timeline.view.case) else ()
    judged, names = {topic.name for topic in topics if topic.deduplication}, dict[Name, _Name]()
    for frame in timeline.events.frames("SEND", "SEND_RECEIPT", "SEND_ERROR") if judged else ():
        session = named_session(timeline, frame, judged)
        if session is None:
            continue
        name = names.setdefault(name_of(session), _Name())
        if frame.command == "SEND" and frame.at_broker and frame.sequence_id is not None:
            name.sent(frame, frame.sequence_id)
        elif frame.command != "SEND" and frame.from_sender:
            send = name.answered(frame)
            if send is not None:
                yield _Answered(send, name.marker, frame)


@check("dedup.markers-are-exempt", of=_answered)
def markers_are_exempt(timeline: Timeline, answered: _Answered) -> Says:
    """dedup.markers-are-exempt: a SEND that is marked as a marker is stored although its id was used before, and does
    not raise the last id: a message with an id between the last message's and the marker's is stored.

    Brokers send markers among themselves, as SENDs; here a fault turns a client's SEND into one.
    """
    send, marker, answer = answered
    if not is_taken_for_copy(answer):
        if answer.command == "SEND_RECEIPT":
            yield Exercised(answer)
        return
    came = f"arrived at {ms(send.t_ns)}; expected it to be stored; it was answered as a duplicate at {ms(answer.t_ns)}"
    if send.fields.get("marker"):
        what = f"a marker with sequence id {send.sequence_id}, which a message of its producer name had used before,"
        yield breach("compared", f"{what} {came}", send, answer)
    elif marker is not None and not _may_be_loaded_as_message(timeline, marker, answer):
        what = f"a message with sequence id {send.sequence_id}, higher than any message's and lower than a marker's"
        yield breach("remembered", f"{what} ({marker.sequence_id}), {came}", marker, send, answer)


def _may_be_loaded_as_message(timeline: Timeline, marker: Frame, answer: Frame) -> bool:
    """Return whether the marker may be loaded as a message.

    The log has a message where a fault made a marker of the SEND: a broker that loads the topic afterwards reads its
    id.
    """
    session = timeline.session_of(answer)
    return session is not None and session.request.seq > marker.seq
