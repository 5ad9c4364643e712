"""Which refusals a request may come of: each may have a timer of its own, which outlives the session it came on."""

from __future__ import annotations

from assay_conformance.checks.consumption import EntryKey
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.checks.tracker import Call
from assay_conformance.checks.written import Request
from assay_conformance.pulsar.checks.nack._windows import Window


class Timers:
    """Of all refusals that may not have been acted upon."""

    def __init__(self) -> None:
        self._asked_ns: dict[EntryKey, list[int]] = {}

    def start(self, call: Call) -> None:
        self._asked_ns.setdefault((call.consumer.handle, call.entry), []).append(call.invoke.t_ns)

    def asked_for(self, request: Request) -> list[EntryKey]:
        """In the order of their refusals: of two that were refused at once, every judge is to pick the same."""
        return request.asks_for(self._asked_ns)

    def due(self, request: Request, window: Window) -> set[EntryKey]:
        """The entries it asks for of which some refusal has waited for long enough.

        One request uses up one refusal, the oldest, of each entry it names, and of all where it names none: how many
        were acted upon together is the client's business. What is overdue was acted upon, too.
        """
        event, asked_for = request.frame, self.asked_for(request)
        earliest_ns = window.earliest_ns - TOLERANCES["nack-early"].slack_ns
        overdue_ns = window.latest_ns + TOLERANCES["nack-late"].slack_ns
        due = set()
        for key in asked_for:
            running = self._asked_ns[key]
            ripe = [asked_ns for asked_ns in running if event.t_ns - asked_ns >= earliest_ns]
            if ripe:
                due.add(key)
                left = [asked_ns for asked_ns in running if event.t_ns - asked_ns <= overdue_ns]
                if event.ids and min(ripe) in left:
                    # That one alone: messages of a batch that were refused together have a timer each.
                    left.remove(min(ripe))
                self._asked_ns[key] = left
        if due and not event.ids:
            oldest = min((key for key in asked_for if key in due), key=lambda key: min(self._asked_ns[key], default=0))
            del self._asked_ns[oldest][:1]
        return due
