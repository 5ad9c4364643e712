"""Code of the application inside the client: when it is called, with what, and what comes of its answers.

Its calls are notes of the agent. Those of one agent are in its own order; against the wire they are not ordered.
"""

from __future__ import annotations

from collections.abc import Iterable

from assay_conformance.checks.base import on
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import AgentEnded, Note
from assay_conformance.model.hooks import ROUTER
from assay_conformance.model.payload import is_identified
from assay_conformance.pulsar.checks.routing._routed import Routed, RoutingCheck

Message = tuple[int, int]
"""Producer handle and number."""


def all_known(sends: Iterable[Operation]) -> bool:
    """What code of the application sees of a message is its payload, and the smallest do not say their number."""
    return all(is_identified(send.invoke.size) for send in sends)


class RouterCheck(RoutingCheck):
    """Messages of producers with a router of the application, and its answers."""

    def start(self) -> None:
        super().start()
        self.answers: dict[Message, list[Note]] = {}
        self.left: dict[Message, Routed] = {}
        self.told_all = True

    def is_own(self, handle: int) -> bool:
        return not super().is_own(handle)

    @on(Note)
    def noted(self, event: Note) -> None:
        if event.text == ROUTER and event.handle is not None:
            self.answers.setdefault((event.handle, int(event.values["number"])), []).append(event)

    @on(AgentEnded)
    def agent_ended(self, event: AgentEnded) -> None:
        del event
        self.told_all = False

    def routed(self, message: Routed) -> None:
        self.left.setdefault((message.handle, message.number), message)
