"""Acknowledgments that Pulsar 4.0.8 forgets, recognised by its own log.

A topic is unloaded while the first ledger of a cursor is being created: the acknowledgments that wait for it fail, and
the cursor is written as it was before them (ManagedCursorImpl: asyncClose writes lastMarkDeleteEntry, and those in
pendingMarkDeleteOps are not in it). Seen where bookies are slow, and seen to take older ones with it, which lay beyond
the mark and had outlived a kill. The broker says of each that failed, by topic and subscription, after which position
it was; nothing else is excused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from assay_conformance.model.event import Event, Frame
from assay_conformance.model.verdict import Judgement, Verdict

REQUIREMENT = "ack.survives-unload"
CODE = "acked-again"
_FAILED_ACK = re.compile(
    r"PersistentSubscription - \[persistent://(?P<topic>\S+)\]\[(?P<subscription>[^]]+)\] "
    r"Failed to delete message at (?P<ledger>\d+):(?P<entry>-?\d+): .*CursorAlreadyClosedException"
)

Position = tuple[int, int]
Forgotten = Mapping[str, Position]
"""By `tenant/namespace/topic`: the acknowledgments after this position may be forgotten."""


def forgotten(log: Iterable[str]) -> Forgotten:
    """Return what a broker's log says of acknowledgments that failed with their cursor."""
    found: dict[str, Position] = {}
    for line in log:
        if said := _FAILED_ACK.search(line):
            position = int(said["ledger"]), int(said["entry"])
            found[said["topic"]] = min(position, found.get(said["topic"], position))
    return found


def is_forgotten(judgement: Judgement, topic: str, known: Forgotten, events: Iterable[Event]) -> bool:
    """Return whether all that came again in a failed judgement had acknowledgments that the broker says it lost."""
    if judgement.requirement != REQUIREMENT or judgement.verdict is not Verdict.FAIL or topic not in known:
        return False
    if any(finding.code != CODE for finding in judgement.findings):
        return False
    last = {max(finding.events) for finding in judgement.findings}
    again = [event for event in events if isinstance(event, Frame) and event.command == "MESSAGE" and event.seq in last]
    return len(again) == len(last) and all(event.ids[0].position > known[topic] for event in again)
