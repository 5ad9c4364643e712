"""Letter topics on which a fault dropped, changed or repeated a SEND, so that a receipt may be for another letter."""

from __future__ import annotations

from bisect import bisect_left

from assay_conformance.checks.consumption import is_torn, to_client
from assay_conformance.model.event import Event, Fate
from assay_conformance.pulsar.timeline import Timeline
from assay_conformance.pulsar.timeline.letters import Letter


class AmbiguousReceipts:
    """The letters of an attempt whose receipts may be those of others."""

    def __init__(self, timeline: Timeline) -> None:
        self._repeated: dict[str, int] = {}
        """Topic -> the first SEND there that a fault repeated: there is a receipt too many, whatever comes later."""
        self._steps: dict[str, list[tuple[int, bool]]] = {}
        """Topic -> when a SEND there was torn, or an error said that one is lost: no receipt of it will come."""
        for frame in timeline.events.frames("SEND", "SEND_ERROR") if timeline.letters.all else ():
            torn = frame.command == "SEND" and is_torn(frame)
            session = timeline.session_of(frame) if torn or frame.command == "SEND_ERROR" else None
            if session is None or not (torn or to_client(frame)):
                continue
            if torn and frame.fate is Fate.DUPLICATED:
                self._repeated.setdefault(session.topic, frame.seq)
            else:
                self._steps.setdefault(session.topic, []).append((frame.seq, torn))

    def has(self, letter: Letter, at: Event) -> bool:
        """Return whether this letter's receipt may be another's at an event."""
        topic = letter.unit.line.topic
        steps = self._steps.get(topic, [])
        place = bisect_left(steps, (at.seq, False))
        return self._repeated.get(topic, at.seq) < at.seq or (place > 0 and steps[place - 1][1])
