"""Topics that a client was refused for good: whoever it asked for does not have to come there any more."""

from __future__ import annotations

from assay_conformance.checks.base import Check, View, on
from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.model.event import Frame

PASSING = frozenset(
    {"ServiceNotReady", "TooManyRequests", "MetadataError", "PersistenceError", "UnknownError", "ChecksumError"}
)
"""What may be another answer a moment later. All others end a producer or consumer, in one client or another."""


class ShutOutCheck(Check):
    """Knows which topics were refused, when one was looked up or somebody asked to be let in. For whom a look-up was,
    nobody can tell."""

    def __init__(self, view: View) -> None:
        self.shut_out: dict[str, Frame] = {}
        """Topic -> the last such refusal."""
        self._asked_for: dict[tuple[int, int], str] = {}
        super().__init__(view)

    @on(Frame, "LOOKUP", "PRODUCER", "SUBSCRIBE")
    def _asks(self, event: Frame) -> None:
        if from_client(event) and event.request_id is not None:
            self._asked_for[event.conn, event.request_id] = self.tracker.local_topic(str(event.fields.get("topic", "")))

    @on(Frame, "LOOKUP_RESPONSE", "ERROR")
    def _refuses(self, event: Frame) -> None:
        error = event.fields.get("error")
        if not to_client(event) or error is None or error in PASSING:
            return
        topic = self._asked_for.get((event.conn, event.request_id or 0))
        if topic is not None:
            self.shut_out[topic] = event
