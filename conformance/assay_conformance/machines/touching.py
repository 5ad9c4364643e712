"""Which faults touched what a breach is about: its producers, its consumers, and their sessions.

A fault that met the frames of another producer, or a connection that only others had a session on, broke nothing here.
What cannot be said for sure is taken for touched: of frames without an owner, and of findings that name no frame.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from assay_conformance.machines.causes import Breach
from assay_conformance.machines.edit import Edit
from assay_conformance.model.case import Case
from assay_conformance.model.event import Event, Fired, Frame
from assay_conformance.model.verdict import Finding

Owner = tuple[str, int]
"""A producer or a consumer by its number, which it has on every connection. Two clients have some numbers in common:
then each is taken for the other, too."""

_ALONE: Final = frozenset({"drop", "duplicate", "answer-error"})
"""What is done to one frame: those after it on its connection go on."""


def touching(events: Iterable[Event], findings: Iterable[Finding]) -> dict[Breach, frozenset[int]]:
    """Return by breach the faults that acted, and touched something that one of its findings is about."""
    seen = _Seen()
    for event in events:
        seen.see(event)
    found: defaultdict[Breach, frozenset[int]] = defaultdict(frozenset)
    for finding in findings:
        found[finding.requirement, finding.code] |= seen.faults_at(finding.events)
    return dict(found)


def acting(case: Case, faults: frozenset[int]) -> Case:
    """Return the Case as if it had no other faults than these."""
    return Edit(faults=frozenset(range(len(case.faults))) - faults).of(case)


@dataclass(slots=True)
class _Seen:
    """Of one history. `frames`: by the link's number; `owners`: on each connection."""

    events: dict[int, Frame] = field(default_factory=dict)
    frames: dict[int, Frame] = field(default_factory=dict)
    owners: defaultdict[int, set[Owner]] = field(default_factory=lambda: defaultdict(set))
    fired: list[Fired] = field(default_factory=list)

    def see(self, event: Event) -> None:
        if isinstance(event, Fired):
            self.fired.append(event)
        elif isinstance(event, Frame):
            self.events[event.seq] = self.frames[event.frame] = event
            self.owners[event.conn].update(_owner(event))

    def faults_at(self, events: Iterable[int]) -> frozenset[int]:
        """Return the faults that touched what these events are about."""
        subject = {owner for seq in events if seq in self.events for owner in _owner(self.events[seq])}
        return frozenset(fired.fault for fired in self.fired if _may_touch(self._reach(fired), subject))

    def _reach(self, fired: Fired) -> set[Owner]:
        """Return what a fault acted on; nothing where that is unknown."""
        if not fired.frames:
            return set() if fired.conn is None else self.owners[fired.conn]
        return set[Owner]().union(*(self._met(self.frames.get(number), fired.action) for number in fired.frames))

    def _met(self, frame: Frame | None, action: str) -> set[Owner]:
        """Return the owner of a frame, where it concerns no other one; else all on its connection."""
        if frame is None:
            return set()
        return (set(_owner(frame)) if action in _ALONE else set()) or self.owners[frame.conn]


def _owner(frame: Frame) -> Iterable[Owner]:
    if frame.producer_id is not None:
        yield "producer", frame.producer_id
    if frame.consumer_id is not None:
        yield "consumer", frame.consumer_id


def _may_touch(reach: set[Owner], subject: set[Owner]) -> bool:
    """Return whether a fault acted on the subject, or on a kind of which the subject names none.

    A message that is lost is some consumer's.
    """
    kinds = {kind for kind, _ in subject}
    return not reach or any(owner in subject or owner[0] not in kinds for owner in reach)
