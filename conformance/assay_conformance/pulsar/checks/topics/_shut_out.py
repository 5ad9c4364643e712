"""Topics that a client was refused for good: it is not expected to register there any more."""

from __future__ import annotations

from assay_conformance.checks.base import Check, View, on
from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import Timeline

TEMPORARY_ERRORS = frozenset(
    {"ServiceNotReady", "TooManyRequests", "MetadataError", "PersistenceError", "UnknownError", "ChecksumError"}
)
"""Errors after which a retry may succeed. All others end a producer or consumer in one client or another."""


def refused_for_good(timeline: Timeline) -> dict[str, list[Frame]]:
    """Topic -> the answers with a final error to a LOOKUP, PRODUCER or SUBSCRIBE, in order.

    A LOOKUP does not say for which producer or consumer it is, so an error counts for the whole topic.
    """
    found: dict[str, list[Frame]] = {}
    asked = timeline.requests("LOOKUP", "PRODUCER", "SUBSCRIBE")
    answers = ((one.answer, timeline.local_topic(one.frame)) for one in asked if one.answer is not None and one.error)
    for answer, topic in sorted(answers, key=lambda one: one[0].seq):
        if answer.fields.get("error") not in TEMPORARY_ERRORS:
            found.setdefault(topic, []).append(answer)
    return found


class ShutOutCheck(Check):
    """Knows the topics for which a LOOKUP, PRODUCER or SUBSCRIBE got a final error.

    A LOOKUP does not say for which producer or consumer it is, so an error counts for the whole topic.
    """

    def __init__(self, view: View) -> None:
        self.shut_out: dict[str, Frame] = {}
        """Topic -> the last answer with a final error."""
        self._requested_topics: dict[tuple[int, int], str] = {}
        super().__init__(view)

    @on(Frame, "LOOKUP", "PRODUCER", "SUBSCRIBE")
    def _requested(self, event: Frame) -> None:
        if from_client(event) and event.request_id is not None:
            self._requested_topics[event.conn, event.request_id] = self.tracker.local_topic(
                str(event.fields.get("topic", ""))
            )

    @on(Frame, "LOOKUP_RESPONSE", "ERROR")
    def _answered(self, event: Frame) -> None:
        error = event.fields.get("error")
        if not to_client(event) or error is None or error in TEMPORARY_ERRORS:
            return
        topic = self._requested_topics.get((event.conn, event.request_id or 0))
        if topic is not None:
            self.shut_out[topic] = event
