"""When topics are loaded again: what a broker keeps in memory only is lost then."""

from __future__ import annotations

from assay_conformance.model.case import Case, Who
from assay_conformance.model.event import Fired, Stepped
from assay_conformance.model.fault import Fault
from assay_conformance.model.outside import Kill, Role, Stop
from assay_conformance.model.topic_names import base_topic

_LOADING_STEPS = frozenset({"unload", "move", "migrate"})


class BrokerEnds:
    """Which steps and faults of a Case are the end of a broker. A client's own end is none."""

    def __init__(self, case: Case) -> None:
        steps = enumerate(case.steps)
        self._steps = {index for index, step in steps if step.who is Who.BROKER and step.verb == "restart"}
        self._faults = {index for index, fault in enumerate(case.faults) if _ends_broker(fault)}

    @property
    def possible(self) -> bool:
        """Whether the Case has any."""
        return bool(self._steps or self._faults)

    def see(self, event: Stepped | Fired) -> bool:
        return event.fault in self._faults if isinstance(event, Fired) else event.step in self._steps


def _ends_broker(fault: Fault) -> bool:
    return isinstance(fault.action, Kill | Stop) and fault.action.target.role is Role.BROKER


class Loads:
    """Counts the loads of every topic, as steps and faults of a Case bring them about.

    `see` gets the events; one that may have loaded a topic counts for it.
    """

    def __init__(self, case: Case) -> None:
        self._ends = BrokerEnds(case)
        steps = enumerate(case.steps)
        self._steps = {
            index: step.args.get("topic")
            for index, step in steps
            if step.who is Who.BROKER and step.verb in _LOADING_STEPS
        }
        self._of_all = 0
        self._of: dict[str, int] = {}

    def see(self, event: Stepped | Fired) -> None:
        if self._ends.see(event):
            self._of_all += 1
        elif isinstance(event, Stepped) and (topic := self._steps.get(event.step)) is not None:
            self._of[topic] = self._of.get(topic, 0) + 1

    def of(self, topic: str) -> int:
        """Return the loads of a local topic name, with or without its partition."""
        return self._of_all + self._of.get(base_topic(topic), 0)
