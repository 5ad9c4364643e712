"""What one history of a Case came to, without times: two versions of a client, or two clients, are compared by it.

Ids, ledgers, payloads and names that a broker makes up are each run's own, and do not count; nor does what only says
when something happened, or in how many frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from assay_conformance.machines.outcomes.aspects import Aspect, Kind, Outcomes, Value
from assay_conformance.machines.outcomes.calls import Calls
from assay_conformance.machines.outcomes.connections import Connections
from assay_conformance.machines.outcomes.deliveries import Deliveries
from assay_conformance.machines.outcomes.names import Names
from assay_conformance.machines.outcomes.topics import Topics
from assay_conformance.model.event import AgentEnded, Began, Ended, Ending, Event, Invoke, Received

_DECIDED: Final = frozenset({Ending.DONE, Ending.AGENT_LOST})
"""Every other end is no client's doing, or may not be."""


def outcomes(events: Iterable[Event]) -> Outcomes | None:
    """Return what the client did in a run; None where the run says nothing of the client."""
    sight = _Sight()
    for event in events:
        sight.see(event)
    return dict(sight.outcomes()) if sight.how in _DECIDED else None


class _Sight:
    def __init__(self) -> None:
        self._names = Names()
        self._calls = Calls()
        self._deliveries = Deliveries()
        self._topics = Topics()
        self._connections = Connections()
        self._death: AgentEnded | None = None
        self.how: Ending | None = None

    def see(self, event: Event) -> None:
        match event:
            case Began():
                self._connections.know(event.local_names)
            case Invoke():
                self._names.send(event)
                self._deliveries.open(event)
            case Received():
                self._deliveries.receive(event)
            case AgentEnded(killed=False):
                self._death = event
            case Ended():
                self.how = event.how
        self._calls.see(event)
        self._topics.see(event, self._names)
        self._connections.see(event)

    def outcomes(self) -> Iterator[tuple[Aspect, Value]]:
        lived = self._death is None
        yield Aspect(Kind.PROCESS, ""), ("lived" if lived else _death(self._death),)
        yield from self._calls.outcomes(lived=lived)
        if lived:
            yield from self._topics.outcomes(self._names)
            yield from self._deliveries.outcomes(self._names, self._topics.stored(self._names))
            yield from self._connections.outcomes()


def _death(event: AgentEnded | None) -> str:
    status = None if event is None else event.exit_status
    if status is None:
        return "ended"
    return f"died of signal {-status}" if status < 0 else f"ended with status {status}"


__all__ = ["Aspect", "Kind", "Outcomes", "Value", "outcomes"]
