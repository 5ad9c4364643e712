"""The lines of a script's schedule: the result of a call gets a name if a later call needs it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from textwrap import indent
from typing import Final

from assay_reports.export.values import WIDTH

PAD: Final = " " * 4
LINE: Final = "\n"
LONGEST_BLOCK: Final = 6
LEAST_REPEATS: Final = 3


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """One call, the same call several times, or several: `word` begins the name of what they return."""

    calls: tuple[str, ...]
    word: str
    times: int = 1
    name: str = ""
    """Of a handle: it has one from the beginning."""

    @property
    def is_one(self) -> bool:
        return len(self.calls) * self.times == 1

    def statement(self) -> str:
        if self.times > 1:
            return f"for _ in range({self.times}):\n{indent(self.calls[0], PAD)}"
        return "\n".join(self.calls)

    def value(self) -> str:
        if self.is_one:
            return self.calls[0]
        if self.times > 1:
            return f"[{self.calls[0]} for _ in range({self.times})]"
        return _over_lines("[", self.calls, "]")


@dataclass(frozen=True, slots=True)
class Wait:
    """Until these have ended."""

    of: tuple[Made, ...]
    timeout: tuple[str, ...] = ()


Line = str | Made | Wait


def written(lines: Sequence[Line], asked_for: Counter[str]) -> list[str]:
    """Return the lines as text; `asked_for` counts what other calls ask for by the name of a handle."""
    waited = Counter(one for line in lines if isinstance(line, Wait) for one in line.of)
    merged = {
        before
        for before, line in pairwise(lines)
        if isinstance(before, Made) and isinstance(line, Wait) and line.of == (before,)
        if waited[before] == 1 and not asked_for[before.name]
    }
    made = [line for line in lines if isinstance(line, Made)]
    names = _names([one for one in made if one not in merged and (waited[one] or asked_for[one.name])])
    return list(_folded(list(_texts(lines, names, merged))))


def _names(kept: list[Made]) -> dict[Made, str]:
    count = Counter(one.word for one in kept)
    so_far = Counter[str]()
    names = {}
    for one in kept:
        so_far[one.word] += 1
        names[one] = one.name or (one.word if count[one.word] == 1 else f"{one.word}_{so_far[one.word]}")
    return names


def _texts(lines: Sequence[Line], names: dict[Made, str], merged: set[Made]) -> Iterator[str]:
    for line in lines:
        match line:
            case Made() if line in merged:
                continue
            case Made() if line in names:
                yield f"{names[line]} = {line.value()}"
            case Made():
                yield line.statement()
            case Wait():
                yield _wait([_waited(one, names) for one in line.of] + [*line.timeout])
            case _:
                yield line


def _waited(one: Made, names: dict[Made, str]) -> str:
    return ("" if one.is_one else "*") + names.get(one, one.value())


def _wait(arguments: list[str]) -> str:
    flat = f"wait_for({', '.join(arguments)})"
    if "\n" not in flat and len(flat) <= WIDTH:
        return flat
    return _over_lines("wait_for(", arguments, ")")


def _over_lines(begin: str, rows: Iterable[str], end: str) -> str:
    return f"{begin}\n{''.join(f'{indent(row, PAD)},{LINE}' for row in rows)}{end}"


def _folded(texts: list[str]) -> Iterator[str]:
    """With a loop for what comes several times in a row."""
    at = 0
    while at < len(texts):
        repeats = {size: _repeats(texts, at, size) for size in range(1, LONGEST_BLOCK + 1)}
        size, times = max(repeats.items(), key=lambda one: (one[0] * (one[1] - 1), -one[0]))
        if times < LEAST_REPEATS:
            size, times = 1, 1
        block = texts[at : at + size]
        yield LINE.join(block) if times == 1 else f"for _ in range({times}):\n{indent(LINE.join(block), PAD)}"
        at += size * times


def _repeats(texts: list[str], at: int, size: int) -> int:
    block = texts[at : at + size]
    times = 1
    while block and texts[at + times * size : at + (times + 1) * size] == block:
        times += 1
    return times
