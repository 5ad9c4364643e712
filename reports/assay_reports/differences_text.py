"""What two clients came to, in words: for the terminal, and for exploration.json."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.text import Text

from assay_reports.exploration import Against, Differs, Side
from assay_reports.text import clean, counted, one_line

MOST_WORDS = 12
"""Messages, or stretches of them, that a line names."""

MOST_VALUES = 3


def value_text(value: Sequence[str]) -> str:
    """Return an outcome as text: `2#0-4, 2#7` for six messages of the producer with handle 2, "none" for nothing."""
    words = list(_stretches(value))
    more = [f"and {len(words) - MOST_WORDS} more"] if len(words) > MOST_WORDS else []
    return ", ".join([*words[:MOST_WORDS], *more]) or "none"


def _stretches(value: Sequence[str]) -> Iterator[str]:
    """Messages whose numbers follow each other are one stretch."""
    numbered = sorted((producer, int(number)) for producer, number in map(_number, value) if number)
    begins = [
        place
        for place, one in enumerate(numbered)
        if not place or (numbered[place - 1][0], numbered[place - 1][1] + 1) != one
    ]
    for begin, end in pairwise([*begins, len(numbered)]):
        (producer, first), (_, last) = numbered[begin], numbered[end - 1]
        yield f"{producer}#{first}" if first == last else f"{producer}#{first}-{last}"
    yield from (word for word in value if not _number(word)[1])


def _number(word: str) -> tuple[str, str]:
    producer, _, number = word.partition("#")
    return (producer, number) if number.isdecimal() else (word, "")


def difference_lines(against: Against, ours: str, folder: str) -> Iterator[Text]:
    """Yield each difference with the outcomes of both clients; `ours` is agent and version of the first client."""
    theirs = f"{against.agent} {against.version}"
    for differs in against.differs:
        yield from _of(differs, ours, theirs, folder)


def _of(differs: Differs, ours: str, theirs: str, folder: str) -> Iterator[Text]:
    place = f" ({differs.place})" if differs.place else ""
    yield Text.assemble(("differs  ", "yellow"), (clean(differs.what), "bold"), clean(place))
    for name, side in ((ours, differs.ours), (theirs, differs.theirs)):
        yield Text(f"  {name}: {one_line(_values(side, differs.runs))}")
    left = "nothing can be taken away" if differs.minimal else "not reduced to the end"
    yield Text(
        f"  in {counted(differs.seen, 'Case')}; {counted(differs.steps, 'step')} and "
        f"{counted(differs.faults, 'fault')}, {left} ({differs.took_s:.0f} s)"
    )
    if differs.also:
        yield Text(clean(f"  differs as well: {'; '.join(differs.also)}"))
    yield Text(
        f"  {folder}/{differs.history}.ours.jsonl and .theirs.jsonl; assay replay {folder} --case {differs.case}\n"
    )


def _values(side: Side, runs: int) -> str:
    said = [f"{value}, in {times} of {counted(runs, 'run')}" for value, times in side.values[:MOST_VALUES]]
    more = len(side.values) - MOST_VALUES
    return "; ".join([*said, *([f"and {counted(more, 'other value')}"] if more > 0 else [])])


def against_line(against: Against) -> str:
    """Return what the comparison was."""
    return (
        f"against {against.agent} {against.version}: {counted(against.cases, 'Case')} compared, "
        f"{against.directed} of them written by hand; {against.hints} came out otherwise on first look, "
        f"of which {counted(against.gone, 'difference')} did not hold; "
        f"{against.runs} runs to look into them ({against.confirming:.0%} of the time), "
        f"{against.left} not looked into; {counted(len(against.differs), 'difference')}"
    )
