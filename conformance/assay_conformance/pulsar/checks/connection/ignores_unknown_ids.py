"""connection.ignores-unknown-ids"""

from __future__ import annotations

from assay_conformance.checks.base import on
from assay_conformance.checks.consumption import from_client
from assay_conformance.model.event import Fate, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.robustness._ignored import Ignored


class IgnoresUnknownIds(Ignored):
    """An answer to no request, or a command about a producer or consumer that does not exist, has no effect."""

    requirement = RequirementId("connection.ignores-unknown-ids")
    what = "with an id that the client has never used"

    def start(self) -> None:
        super().start()
        self._known: set[tuple[int, str, int]] = set()

    @on(Frame)
    def asked(self, event: Frame) -> None:
        if from_client(event):
            for kind, id in _ids(event):
                self._known.add((event.conn, kind, id))

    def is_to_be_ignored(self, event: Frame) -> bool:
        named = [(event.conn, kind, id) for kind, id in _ids(event)]
        return event.fate is Fate.INJECTED and bool(named) and not self._known.intersection(named)


def _ids(event: Frame) -> list[tuple[str, int]]:
    ids = (("request", event.request_id), ("producer", event.producer_id), ("consumer", event.consumer_id))
    return [(kind, id) for kind, id in ids if id is not None]
