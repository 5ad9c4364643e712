"""When topics are loaded anew: what a broker keeps in memory only is lost then."""

from __future__ import annotations

from assay_conformance.model.case import Case, Who
from assay_conformance.model.event import Fired, Stepped

_LOADING_STEPS = frozenset({"unload", "move", "migrate", "restart"})
_LOADING_FAULTS = frozenset({"kill", "stop"})
"""Processes that end: whatever they served is loaded by whoever serves it next."""


class Loads:
    """Counts the loads of every topic, as steps and faults of a Case bring them about.

    `see` is told the events; one that may have loaded a topic counts for it.
    """

    def __init__(self, case: Case) -> None:
        steps = enumerate(case.steps)
        self._steps = {
            index: step.args.get("topic")
            for index, step in steps
            if step.who is Who.BROKER and step.verb in _LOADING_STEPS
        }
        self._of_all = 0
        self._of: dict[str, int] = {}

    def see(self, event: Stepped | Fired) -> None:
        if isinstance(event, Fired):
            self._of_all += event.action in _LOADING_FAULTS
        elif event.step in self._steps:
            topic = self._steps[event.step]
            if topic is None:
                self._of_all += 1
            else:
                self._of[topic] = self._of.get(topic, 0) + 1

    def of(self, topic: str) -> int:
        """Of a local topic name, with or without its partition."""
        return self._of_all + self._of.get(topic.partition("-partition-")[0], 0)
