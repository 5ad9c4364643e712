"""exploration.json: what an exploration did and found, in figures and in causes; the terminal's words for it.

The run folder around it holds the Cases worth keeping, and is judged, shown and compared like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from rich.console import Console
from rich.text import Text

from assay_conformance.model.schema import CURRENT, FileKind, Header, read_document, write_document
from assay_reports.text import clean, counted, one_line

EXPLORATION = "exploration.json"
"""Its name in the run folder."""

SLOW_S = 2.0
"""A Case that took longer waited for the client's own time-outs."""

GOALS_FROM_S = 60
"""A shorter exploration mostly starts up: what it reached says little."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """`cases` were run and judged within `wall_s`, those of confirmations and reductions apart (`more_runs`). Shares
    are of `cases`: a fault acted on a frame, the client connected again, it took longer than SLOW_S."""

    cases: int
    wall_s: float
    more_runs: int
    drawn: int
    median_steps: float
    touched: float
    reconnected: float
    slow: float
    clauses: int
    clauses_there: int
    pairs: int
    inconclusive: int
    harness_errors: int
    agents: int

    @property
    def cases_per_s(self) -> float:
        return self.cases / self.wall_s if self.wall_s else 0.0


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """What an exploration on two idle cores should reach: `measured` against `least`."""

    name: str
    least: float
    measured: float

    @property
    def met(self) -> bool:
        return self.measured >= self.least


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One cause. `case` is in the run folder's plan. `verdict` is what breaking its requirement comes to. `known_by`
    are listed failures that came and went with it in all of `together` runs: it is taken for their doing, and fails
    nothing. `other_shapes` of the Cases it is `seen` in lack a word of its shape: their causes are not told apart."""

    requirement: str
    code: str
    verdict: str
    sentence: str
    also: tuple[str, ...]
    known_by: tuple[str, ...]
    together: int = 0
    shape: tuple[str, ...]
    case: str
    replay: str
    steps: int
    faults: int
    confirmed: int
    tries: int
    minimal: bool
    took_s: float
    seen: int
    other_shapes: int = 0


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A known failure that showed, by the entry of the expectations file that names it."""

    requirement: str
    code: str
    listed_in: str
    seen: int


class Once(msgspec.Struct, frozen=True, kw_only=True):
    """A breach that did not come again when its Case was run again; or, where `beside_others`, came again beside other
    Cases and in none alone; or, where `tries` is 0, was found too late for that. `seen` drawn Cases showed it; `open`:
    nothing that is told explains it, so that it is neither taken for the client's failure nor for nothing. What was
    seen is kept at `replay`, if the disk had room for it."""

    requirement: str
    code: str
    sentence: str
    confirmed: int
    tries: int
    replay: str
    beside_others: bool = False
    seen: int = 1
    open: bool = False

    @property
    def told(self) -> str:
        """How often it came again, and where."""
        if not self.tries:
            return f"found too late to be run again; in {counted(self.seen, 'Case')}"
        where = " beside other Cases, in none alone" if self.beside_others else ""
        return f"again in {self.confirmed} of {self.tries} fresh runs{where}; in {counted(self.seen, 'Case')}"


class Exploration(Header, frozen=True, kw_only=True):
    """`unexercised` are the clauses that no Case reached, of those this client could be asked; `gave_nothing` the areas
    of which no Case could be drawn. `broke_off` is what it broke off of, trouble of assay's own; empty else."""

    run: str
    agent: str
    version: str
    areas: tuple[str, ...]
    gave_nothing: tuple[str, ...] = ()
    seed: int
    interrupted: bool
    broke_off: str = ""
    figures: Figures
    goals: tuple[Goal, ...]
    found: tuple[Found, ...]
    listed: tuple[Listed, ...]
    once: tuple[Once, ...]
    unexercised: tuple[str, ...]


_SHARE = "share "
"""How the names of those goals begin whose numbers are parts of 1."""


def goals(figures: Figures) -> tuple[Goal, ...]:
    return (
        Goal(name="Cases a second", least=30, measured=round(figures.cases_per_s, 1)),
        Goal(name="steps of the median Case", least=6, measured=figures.median_steps),
        Goal(name=f"{_SHARE}with a fault that touched a frame", least=0.5, measured=round(figures.touched, 3)),
        Goal(name=f"{_SHARE}with a reconnect", least=0.25, measured=round(figures.reconnected, 3)),
    )


def render(exploration: Exploration) -> bytes:
    return write_document(exploration)


def read_exploration(data: bytes, where: str) -> Exploration:
    """The content of an exploration.json; UsageError that names `where` when it is none."""
    return read_document(data, FileKind.EXPLORATION, Exploration, where)


def open_sentences(told: Exploration) -> tuple[str, ...]:
    """Why there is no verdict on an exploration, as far as it left something open."""
    return tuple(f"{once.requirement}: {once.code}, {once.told}" for once in told.once if once.open)


def head() -> dict[str, object]:
    return {"schema": str(CURRENT[FileKind.EXPLORATION]), "file": FileKind.EXPLORATION}


# --- the terminal -----------------------------------------------------------------------------------------------------


def progress_line(figures: Figures, found: int, listed: int) -> str:
    """What an exploration says of itself while it goes on."""
    return (
        f"{counted(figures.cases, 'Case')}, {figures.cases_per_s:.0f}/s, faults in {figures.touched:.0%}, "
        f"{figures.clauses} of {counted(figures.clauses_there, 'clause')}, {counted(figures.pairs, 'state x fault')}, "
        f"{counted(found, 'finding')}, {listed} known"
    )


def print_exploration(told: Exploration, folder: str, console: Console) -> None:
    """Causes first, the figures last, since the end is what stays on the screen."""
    for found in told.found:
        for text in _of_cause(found, folder):
            console.print(text)
    for line in _lines(told, folder):
        console.print(Text(clean(line)))


def _of_cause(found: Found, folder: str) -> Iterator[Text]:
    word = "known" if found.known_by else found.verdict
    style = {"known": "dim", "fail": "bold red"}.get(word, "yellow")
    yield Text.assemble((f"{word}  ", style), (f"{found.requirement}: {found.code}", "bold"))
    yield Text(f"  {one_line(found.sentence)}")
    size = f"{counted(found.steps, 'step')} and {counted(found.faults, 'fault')}"
    left = "nothing can be taken away" if found.minimal else "not reduced to the end"
    others = f" (and other shapes: {found.other_shapes} of them)" if found.other_shapes else ""
    yield Text(
        f"  in {counted(found.seen, 'Case')}{others}; again in {found.confirmed} of {found.tries} fresh runs; "
        f"{size}, {left} ({found.took_s:.0f} s)"
    )
    if found.also:
        yield Text(f"  breaks as well: {', '.join(found.also)}")
    if found.known_by:
        together = counted(found.together, "run")
        yield Text(f"  came and went with what is listed, in {together}: {', '.join(found.known_by)}")
    yield Text(f"  assay replay {folder}/{found.replay}\n")


def _lines(told: Exploration, folder: str) -> Iterator[str]:
    for listed in told.listed:
        seen = counted(listed.seen, "Case")
        yield f"known   {listed.requirement}: {listed.code}, in {seen}; listed for {listed.listed_in}"
    for once in sorted(told.once, key=lambda one: one.open):
        kept = f"{folder}/{once.replay}" if once.replay else "what was seen could not be written"
        word = "open  " if once.open else "once  "
        yield f"{word}  {once.requirement}: {once.code}, {once.told}; {kept}"
    if any(once.open for once in told.once):
        yield (
            "open    is what broke once, or beside other Cases only, and what nothing explains: a race of this client, "
            "or a mistake of the bench; no verdict, exit code 3 where nothing fails"
        )
    figures = told.figures
    yield (
        f"ran     {counted(figures.cases, 'Case')} in {figures.wall_s:.0f} s, and {figures.more_runs} to confirm and "
        f"reduce, with {counted(figures.agents, 'agent process', 'agent processes')}; seed {told.seed}, "
        f"{in_words(told.areas)}"
    )
    if round(figures.wall_s) >= GOALS_FROM_S:
        yield "goals   on two idle cores: " + "; ".join(_of_goals(told.goals))
    yield (
        f"covered {figures.clauses} of {counted(figures.clauses_there, 'clause')}, "
        f"{counted(figures.pairs, 'pair')} of state and fault; inconclusive {figures.inconclusive}, "
        f"slower than {SLOW_S:g} s {figures.slow:.0%}"
    )
    if figures.harness_errors:
        yield (
            f"bench   {counted(figures.harness_errors, 'Case')} ended in trouble of assay's own, or of its brokers, "
            "and nothing is said of the client by them: exit code 4, or 3 where it was the brokers' alone; report.html "
            "has examples"
        )
    for area in told.gave_nothing:
        yield f"empty   {area}: no Case could be drawn of it that this client and these brokers can be asked"
    if not (figures.cases or told.interrupted or told.broke_off or told.gave_nothing):
        yield f"nothing that was drawn had run when {figures.wall_s:.0f} s were over; expected a longer --for"
    if told.interrupted:
        yield "interrupted: what was known by then is kept"
    if told.broke_off:
        yield f"broken off: what was known by then is kept; {told.broke_off}"
    yield f"run     {folder}"


def _of_goals(reached: Sequence[Goal]) -> Iterator[str]:
    for goal in reached:
        form = ".0%" if goal.name.startswith(_SHARE) else "g"
        least = f"{'at least' if goal.met else 'MISSED:'} {goal.least:{form}}"
        yield f"{goal.measured:{form}} {goal.name.removeprefix(_SHARE)} ({least})"


def in_words(areas: Sequence[str]) -> str:
    from assay_conformance.machines.areas import Area

    return "all areas" if set(areas) == set(Area) else ", ".join(areas)
