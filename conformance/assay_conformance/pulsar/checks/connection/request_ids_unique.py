"""connection.request-ids-unique"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.topics._migrations import migrated_to

_LOOKUPS = frozenset({"LOOKUP", "PARTITIONED_METADATA", "GET_TOPICS_OF_NAMESPACE", "GET_SCHEMA"})


class RequestIdsUnique(Check):
    """No two requests of a connection have the same id, or a late answer could be taken for another request's.

    Look-ups have answers of their own, with errors inside: the C++ client counts them apart, and may. For a cluster
    that a topic migrated to, look-ups (and nothing else) have a counter of their own, next to the first one where that
    cluster is connected already.
    """

    requirement = RequirementId("connection.request-ids-unique")
    skips_plain = True

    def start(self) -> None:
        self._requests: dict[tuple[int, bool, int], list[Frame]] = {}
        self._in_use: set[int] = set()
        self._clusters: set[str] = set()
        """Service URLs of the clusters that topics migrated to."""

    @on(Frame, "TOPIC_MIGRATED")
    def migrated(self, event: Frame) -> None:
        self._clusters.update(migrated_to(event))

    @on(Frame)
    def frame(self, event: Frame) -> None:
        if event.request_id is None or not from_client(event):
            return
        earlier = self._requests.setdefault((event.conn, event.command in _LOOKUPS, event.request_id), [])
        if earlier and not self._counted_apart(earlier, event):
            before = earlier[-1]
            self.breach(
                "used-twice",
                f"connection {event.conn}: {event.command} at {ms(event.t_ns)} has request id {event.request_id}; "
                f"expected a new one, since {before.command} had it at {ms(before.t_ns)}",
                before,
                event,
            )
            return
        earlier.append(event)
        if event.conn in self._in_use:
            self.exercise(event)
        self._in_use.add(event.conn)

    def _counted_apart(self, earlier: list[Frame], event: Frame) -> bool:
        opened = self.tracker.opened.get(event.conn)
        if opened is None or opened.url not in self._clusters or len(earlier) > 1:
            return False
        return "LOOKUP" in (earlier[0].command, event.command)
