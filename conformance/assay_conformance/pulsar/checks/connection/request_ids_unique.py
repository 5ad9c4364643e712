"""connection.request-ids-unique"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.topics._migrations import migrated_to

_LOOKUPS = frozenset({"LOOKUP", "PARTITIONED_METADATA", "GET_TOPICS_OF_NAMESPACE", "GET_SCHEMA"})


class RequestIdsUnique(Check):
    """No two requests of a connection have one id: an answer that comes late is the answer to another one else.

    Lookups have answers of their own, and failures inside these: the C++ client counts them apart, and may. At a
    cluster that a topic went to, brokers are looked up (and nothing else) with a count of its own, side by side with
    the first one where that cluster is known already.
    """

    requirement = RequirementId("connection.request-ids-unique")
    skips_plain = True

    def start(self) -> None:
        self._asked: dict[tuple[int, bool, int], list[Frame]] = {}
        self._several: set[int] = set()
        self._clusters: set[str] = set()
        """The addresses of those that topics went to."""

    @on(Frame, "TOPIC_MIGRATED")
    def migrated(self, event: Frame) -> None:
        self._clusters.update(migrated_to(event))

    @on(Frame)
    def frame(self, event: Frame) -> None:
        if event.request_id is None or not from_client(event):
            return
        asked = self._asked.setdefault((event.conn, event.command in _LOOKUPS, event.request_id), [])
        if asked and not self._counted_apart(asked, event):
            before = asked[-1]
            self.breach(
                "used-twice",
                f"connection {event.conn}: {event.command} at {ms(event.t_ns)} has request id {event.request_id}, "
                f"which {before.command} had at {ms(before.t_ns)}",
                before,
                event,
            )
            return
        asked.append(event)
        if event.conn in self._several:
            self.exercise(event)
        self._several.add(event.conn)

    def _counted_apart(self, asked: list[Frame], event: Frame) -> bool:
        opened = self.tracker.opened.get(event.conn)
        if opened is None or opened.url not in self._clusters or len(asked) > 1:
            return False
        return "LOOKUP" in (asked[0].command, event.command)
