"""Our own reducer over Case data: steps and faults shrink together, to a Case from which nothing more can be taken.

Pure: it proposes what to take away, the bench runs what is left (side by side, each confirmed) and says what still
fails. Every proposal is a valid Case, since steps that lost their handle are no-ops; what the Case needs before it can
begin (its openers) is proposed for removal like anything else.

Runs of a client are dear, so a Case goes down in few rounds: all that can be taken alone is tried in the same round,
and then taken together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from assay_conformance.machines.drawn_faults import changes_process, ends_process
from assay_conformance.machines.edit import Edit, Key
from assay_conformance.machines.parameters import OPERATION_TIMEOUT_MS, SEND_TIMEOUT_MS
from assay_conformance.model.case import Case, ClientConfig, Topic, Topology, Who
from assay_conformance.model.fault import Cut, Fault, OnFrame
from assay_conformance.model.needs import changed

_WIDEST: Final = 4
"""Steps in a row that are taken as one where every single step is tried as well."""

_KEPT = frozenset({"send_timeout_ms", "operation_timeout_ms", "producer_name", "initial_position"})
"""Without these a Case takes its client's patience, or another position, and a bug of a name cannot show."""

_SHORTEST_MS: Final[Mapping[Key, int]] = {
    ("producer", "send_timeout_ms"): SEND_TIMEOUT_MS // 2,
    ("client", "operation_timeout_ms"): OPERATION_TIMEOUT_MS,
}
"""As short as time-outs are drawn; a Case that waits for one takes that long in every run."""

_PARTS: Final = ("client", "producer", "consumer")

_NUMBERS = ("count", "number", "size")
"""Arguments of a step that are lowered: messages and bytes."""

_ROUND: Final = 40
"""Runs that take hardly longer side by side than one: a round with fewer is filled with what would come next."""

_MOST_OPEN: Final = 3
"""Rounds that leave open whether something can be taken, until it counts as needed."""

_FEW: Final = 16
"""Up to here a number is lowered to the last one; a reader does not need the exact limit of a thousand bytes."""


@dataclass
class Reducer:
    """Ask `proposals`, run the Case without each, give `accept` what can be taken together. Finished when there are no
    more proposals: without any one step or fault the Case passes, and did so twice, or three rounds left that open."""

    case: Case
    may_be_last: bool = False
    """If nothing of what was proposed can be taken, the Case is as small as it gets, unless a busy machine leaves that
    open."""
    _stage: int = 0
    _asked: list[Edit] = field(default_factory=list)
    _refused: set[bytes] = field(default_factory=set)
    """What was run and does not fail, or was left open too often."""
    _needed: set[bytes] = field(default_factory=set)
    """The Case without one step or fault, where that was run a second time."""
    _left_open: Counter[bytes] = field(default_factory=Counter)
    """How often a machine that was too busy could not say whether it fails."""

    def proposals(self) -> list[Edit]:
        """Return what may be taken from the Case, each alone, the boldest first; empty when nothing is left to try.

        In the end each step and each fault is proposed once more, or twice if it was not yet: that a Case passed once
        without one may be a busy machine's doing.
        """
        while self._stage < len(_STAGES):
            if found := self._of(self._stage):
                self._asked, self.may_be_last = self._filled(found)
                return self._asked
            self._stage += 1
        return []

    def _of(self, stage: int, beside: Sequence[Edit] = ()) -> list[Edit]:
        """Return what is to be tried in this stage, and is not yet among those beside."""
        found = self._untried((*beside, *_STAGES[stage](self.case)))[len(beside) :]
        if stage == _LAST:
            found += [one for one in _ones(self.case) if _text(one.of(self.case)) not in self._needed]
        return found

    def _filled(self, round: list[Edit]) -> tuple[list[Edit], bool]:
        """Return the round with some of what would come next, and whether nothing comes after that."""
        for stage in range(self._stage + 1, len(_STAGES)):
            more, room = self._of(stage, round), max(0, _ROUND - len(round))
            round = [*round, *more[:room]]
            if len(more) > room:
                return round, False
        return round, True

    def accept(self, edit: Edit | None, left_open: Collection[Edit] = ()) -> None:
        """Go on without this; None: the Case needs each of the proposals, those apart that were left open: they are
        proposed again."""
        if edit is not None:
            self.case = edit.of(self.case)
            return
        now = {_text(one.of(self.case)) for one in left_open}
        self._left_open.update(now)
        again = {text for text in now if self._left_open[text] < _MOST_OPEN}
        asked = Counter(text for one in self._asked if (text := _text(one.of(self.case))) not in again)
        self._needed |= {text for text, times in asked.items() if times > 1 or text in self._refused}
        self._refused |= asked.keys()

    def _untried(self, edits: Iterable[Edit]) -> list[Edit]:
        seen, found = {_text(self.case), *self._refused}, []
        for edit in edits:
            text = _text(edit.of(self.case))
            if text not in seen:
                seen.add(text)
                found.append(edit)
        return found


def quicker(case: Case) -> list[Case]:
    """Return Cases that run faster and may fail as well, the quickest first.

    They have time-outs as short as they are drawn, and no faults after which a client is dead, or another one, so that
    each run needs a new process.
    """
    dear = frozenset(i for i, fault in enumerate(case.faults) if changes_process([fault]) or ends_process([fault]))
    sooner = [Edit(values=_long(case), faults=faults).of(case) for faults in (dear, frozenset[int]())]
    return [one for place, one in enumerate(sooner) if one not in (case, *sooner[:place])]


def without_unfired(case: Case, fired: Collection[int]) -> Case:
    """Return the Case as it really happened: an optional fault that did not act is left out."""
    idle = (index for index, fault in enumerate(case.faults) if index not in fired and fault.optional)
    return Edit(faults=frozenset(idle)).of(case)


# --- what is proposed, stage by stage --------------------------------------------------------------------------------


def _bold(case: Case) -> Iterator[Edit]:
    """Yield removals of much at once."""
    yield from _pauses(case)
    yield from _stretches(len(case.steps), len(case.steps) // 2, least=_WIDEST)
    if case.faults:
        yield Edit(faults=frozenset(range(len(case.faults))))
        yield from _faults(case)
    keys = frozenset(_keys(case.config))
    yield from _sooner(case)
    yield Edit(topology=True, keys=keys)
    yield Edit(topology=True)
    yield Edit(keys=keys)
    yield from (Edit(keys=frozenset(key for key in keys if key[0] == part)) for part in _PARTS)


def _single(case: Case) -> Iterator[Edit]:
    """Yield the removals of one thing, or of a few steps in a row."""
    yield from _pauses(case)
    yield from _stretches(len(case.steps), _WIDEST)
    yield from _faults(case)
    yield Edit(topology=True)
    yield from (Edit(topic=frozenset({name})) for name in _said_of_topic(case.topology))
    yield from (Edit(keys=frozenset({key})) for key in _keys(case.config))


def _plainer(case: Case) -> Iterator[Edit]:
    """Yield faults as cuts at the same frame, which say more to a reader than a lost or late one."""
    for index, fault in enumerate(case.faults):
        if isinstance(fault.trigger, OnFrame) and not isinstance(fault.action, Cut):
            for before in (False, True):
                cut = Fault(trigger=fault.trigger, action=Cut(before=before), scope=fault.scope)
                yield Edit(plainer={index: cut})


def _lower(case: Case) -> Iterator[Edit]:
    for index, step in enumerate(case.steps):
        for name in _NUMBERS:
            value = step.args.get(name)
            for lower in _lower_values(value) if isinstance(value, int) else ():
                yield Edit(arguments={(index, name): lower})
    for index, fault in enumerate(case.faults):
        if isinstance(fault.trigger, OnFrame):
            yield from (Edit(ks={index: k}) for k in _lower_values(fault.trigger.k))
        if fault.until.after_ms is not None:
            yield from (Edit(after_ms={index: ms}) for ms in _lower_values(fault.until.after_ms))


def _restated(case: Case) -> Iterator[Edit]:
    """Yield what is left in plainer words and smaller numbers, and each single thing again.

    What was in the way of one may be gone then.
    """
    yield from _single(case)
    yield from _plainer(case)
    yield from _lower(case)


_Stage = Callable[[Case], Iterator[Edit]]
_STAGES: tuple[_Stage, ...] = (_bold, _single, _restated)
_LAST: Final = len(_STAGES) - 1


def _pauses(case: Case) -> Iterator[Edit]:
    """Yield the removals of all waits of so many milliseconds, and of each.

    They come first, for where one of these would do, or a wait for something, the other is to stay: it is as long as a
    machine needs, and the Case fails on a busy one, too.
    """
    found = [index for index, step in enumerate(case.steps) if (step.who, step.verb) == (Who.WAIT, "ms")]
    if len(found) > 1:
        yield Edit(steps=frozenset(found))
    yield from (Edit(steps=frozenset({index})) for index in found)


def _sooner(case: Case) -> Iterator[Edit]:
    """Yield time-outs as short as can be: all, and each."""
    long = _long(case)
    if len(long) > 1:
        yield Edit(values=long)
    yield from (Edit(values={key: shorter}) for key, shorter in long.items())


def _long(case: Case) -> dict[Key, int]:
    """Return what the time-outs could be that are longer."""
    return {
        (part, key): shortest_ms
        for (part, key), shortest_ms in _SHORTEST_MS.items()
        if isinstance(value := getattr(case.config, part).get(key), int) and value > shortest_ms
    }


def _stretches(steps: int, width: int, least: int = 1) -> Iterator[Edit]:
    """Yield removals of steps in a row: so many, half as many, and so on."""
    width = min(width, steps)
    while width >= least:
        yield from (Edit(steps=frozenset(range(start, start + width))) for start in range(0, steps, width))
        width //= 2


def _ones(case: Case) -> Iterator[Edit]:
    """Yield the removals of each step and each fault."""
    yield from _stretches(len(case.steps), 1)
    yield from _faults(case)


def _faults(case: Case) -> Iterator[Edit]:
    yield from (Edit(faults=frozenset({index})) for index in range(len(case.faults)))


def _keys(config: ClientConfig) -> list[Key]:
    return [(part, key) for part in _PARTS for key in getattr(config, part) if key not in _KEPT]


def _said_of_topic(topology: Topology) -> tuple[str, ...]:
    """Return what is set for the only topic."""
    if len(topology.topics) != 1:
        return ()
    (topic,) = topology.topics
    return tuple(changed(topic, Topic(name=topic.name)))


def _lower_values(value: int) -> Iterator[int]:
    """Yield 1, an eighth, the half, and of a small number four, two and one less.

    Each is smaller than `value`, and at least 1.
    """
    wanted = (1, value // 8, value // 2, *((value - 4, value - 2, value - 1) if value <= _FEW else ()))
    return (lower for lower in sorted(set(wanted)) if 1 <= lower < value)


def _text(case: Case) -> bytes:
    return msgspec.json.encode(case)
