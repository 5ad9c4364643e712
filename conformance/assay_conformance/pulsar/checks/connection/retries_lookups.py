"""Failed look-ups: those that may succeed later are repeated, those that cannot are not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from assay_conformance.checks.base import CAME, ms, on
from assay_conformance.checks.consumption import TimedCheck, from_client, to_client
from assay_conformance.checks.parts import ended_by_client, topics_of
from assay_conformance.checks.resend import ended_ns
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.model.event import Closed, Completion, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic

TEMPORARY = ("ServiceNotReady", "TooManyRequests")
FINAL = ("AuthorizationError", "InvalidTopicName")

LEAST_PAUSE_NS = 20 * MS
"""Back-off begins at 100 ms in most clients and at 10 ms in one; retries in quicker succession have none."""


@dataclass(slots=True)
class _Opening:
    """An open_producer or open_consumer, and the results of its look-ups."""

    call: Invoke
    topics: frozenset[str]
    failures: list[Frame] = field(default_factory=list)
    final: Frame | None = None
    doubtful: Frame | None = None
    """An answer that only some clients hold to be final, or an ERROR for the registration itself."""
    last: dict[str, Frame] = field(default_factory=dict)
    """Topic (or partition) -> its last failed answer, until the next look-up, and how many look-ups in a row left
    without a pause."""
    hasty: Counter[str] = field(default_factory=Counter)


class RetriesLookups(TimedCheck):
    """A look-up with a temporary error is repeated within the operation time-out, and after a pause.

    The back-off doubles: in the second half of the time the next look-up may not fit any more. Judged while one
    producer or consumer is being opened on a topic, leaving out look-ups that may belong to one that is open already.
    Pauses are judged for topics on which nothing else is opened.
    """

    requirement = RequirementId("connection.retries-lookups")
    skips_plain = True

    def start(self) -> None:
        self._openings: dict[int, _Opening] = {}
        self._topics: dict[tuple[int, int], str] = {}
        self._open_topics: set[str] = set()
        """Topics with a producer or consumer that is open: it may look them up, too."""
        self._lookups_needed = False
        """Whether one that is open may have had to look up its topic, after a lost connection or a close by the
        broker."""

    @on(Closed)
    def connection_lost(self, event: Closed) -> None:
        del event
        self._lookups_needed = True

    @on(Frame, "CLOSE_PRODUCER", "CLOSE_CONSUMER", "TOPIC_MIGRATED", "SEND_ERROR", seen=CAME)
    def disturbed(self, event: Frame) -> None:
        self._lookups_needed = self._lookups_needed or to_client(event)

    @on(Invoke, "open_producer", "open_consumer")
    def opens(self, event: Invoke) -> None:
        self._openings[event.op] = _Opening(event, topics_of(self.view, event))

    @on(Frame, "LOOKUP", "PARTITIONED_METADATA")
    def lookup_sent(self, event: Frame) -> None:
        topic = self.tracker.local_topic(str(event.fields.get("topic", "")))
        opening = self._opening_of(topic)
        if not from_client(event) or event.request_id is None:
            return
        self._topics[event.conn, event.request_id] = topic
        if opening is None:
            return
        if opening.final is not None and not self._may_be_for_open_topic(topic, event):
            self.breach(
                "kept-asking",
                f"the look-up of topic {topic} failed with {opening.final.fields.get('error')} at "
                f"{ms(opening.final.t_ns)}, which is final; expected no other look-up; one left at {ms(event.t_ns)}",
                opening.final,
                event,
            )
        last = opening.last.pop(topic, None)
        if last is None or base_topic(topic) in self._open_topics:
            return
        opening.hasty[topic] = opening.hasty[topic] + 1 if event.t_ns - last.t_ns < LEAST_PAUSE_NS else 0
        if opening.hasty[topic] == 3:
            self.breach(
                "without-pause",
                f"topic {topic}: three look-ups in a row left within {LEAST_PAUSE_NS // MS} ms of a failed one; "
                f"expected a longer pause; the last failed at {ms(last.t_ns)}, and the next left at {ms(event.t_ns)}",
                last,
                event,
            )

    @on(Frame, "LOOKUP_RESPONSE", "PARTITIONED_METADATA_RESPONSE")
    def lookup_answered(self, event: Frame) -> None:
        topic = self._topics.pop((event.conn, event.request_id or 0), "")
        if not to_client(event) or event.fields.get("response") != "Failed":
            return
        error, opening = event.fields.get("error"), self._opening_of(topic)
        if opening is not None and error in FINAL and not self._may_be_for_open_topic(topic, event):
            opening.final = opening.final or event
        elif error not in TEMPORARY:
            self._doubt(topic, event)
        elif opening is not None:
            opening.failures.append(event)
            opening.last[topic] = event

    @on(Frame, "PRODUCER", "SUBSCRIBE")
    def registers(self, event: Frame) -> None:
        if from_client(event) and event.request_id is not None:
            topic = self.tracker.local_topic(str(event.fields.get("topic", "")))
            self._topics[event.conn, event.request_id] = topic

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        topic = self._topics.pop((event.conn, event.request_id or 0), "")
        if to_client(event):
            self._doubt(topic, event)

    @on(Completion, "open_producer", "open_consumer")
    def opened(self, event: Completion) -> None:
        opening = self._openings.pop(event.op, None)
        if opening is not None and event.outcome is Outcome.OK:
            self._open_topics |= opening.topics
        if opening is None or not (opening.failures or opening.final) or ended_by_client(event):
            return
        its_own = (answer for topic, answer in opening.last.items() if not self._may_be_for_open_topic(topic, answer))
        last = max((one for one in its_own if one.t_ns <= ended_ns(event)), key=lambda one: one.seq, default=None)
        if event.outcome is Outcome.OK or opening.final is not None or last is None:
            self.exercise(event)
        elif opening.doubtful is None and event.t_ns - opening.call.t_ns < self._retry_deadline(opening):
            self.breach(
                "gave-up",
                f"{event.verb} of handle {event.handle} failed at {ms(event.t_ns)} after {last.fields.get('error')} at "
                f"{ms(last.t_ns)}; expected another look-up, since only {(event.t_ns - opening.call.t_ns) // MS} ms of "
                f"its {self._timeout_ns(opening) // MS} ms had passed",
                last,
                event,
            )

    def _retry_deadline(self, opening: _Opening) -> int:
        """Return the time since the call by which the next look-up, and even the second one, would have fitted."""
        timeout_ns = self._timeout_ns(opening)
        spare = TOLERANCES["answer"].slack_ns if len(opening.failures) == 1 else 2 * TOLERANCES["reconnect"].slack_ns
        return min(timeout_ns // 2, timeout_ns - spare)

    def _timeout_ns(self, opening: _Opening) -> int:
        return int(self.view.client_setting(opening.call.handle, "operation_timeout_ms") or 0) * MS

    def _opening_of(self, topic: str) -> _Opening | None:
        """Return the open call that looks this topic up, where there is exactly one."""
        found = self._openings_on(topic)
        return found[0] if len(found) == 1 else None

    def _may_be_for_open_topic(self, topic: str, frame: Frame) -> bool:
        """An open producer or consumer looks for added partitions at intervals, and looks its topic up to reconnect."""
        seeks_partitions = frame.command.startswith("PARTITIONED_METADATA")
        return base_topic(topic) in self._open_topics and (seeks_partitions or self._lookups_needed)

    def _openings_on(self, topic: str) -> list[_Opening]:
        return [opening for opening in self._openings.values() if base_topic(topic) in opening.topics]

    def _doubt(self, topic: str, answer: Frame) -> None:
        """Any of several open calls on the topic may fail because of it."""
        for opening in self._openings_on(topic):
            opening.doubtful = answer
