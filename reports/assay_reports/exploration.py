"""exploration.json: what an exploration did and found, in figures and in causes.

The run folder around it holds the Cases worth keeping, and is judged, shown and compared like any other.
"""

from __future__ import annotations

import msgspec

from assay_conformance.model.schema import CURRENT, FileKind, Header, read_document, write_document
from assay_reports.text import counted

EXPLORATION = "exploration.json"
"""Its name in the run folder."""

SLOW_S = 2.0
"""A Case that took longer waited for the client's own time-outs."""

GOALS_FROM_S = 60
"""A shorter exploration mostly starts up: what it reached says little."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """`cases` were run and judged within `wall_s`, those of confirmations and reductions apart (`more_runs`). Shares
    are of `cases`: a fault acted on a frame, the client connected again, sent a batch, or a message in chunks, it took
    longer than SLOW_S, or what is listed as lost, duplicated, out of order, dying or hanging did not show in it
    (`unhidden`)."""

    cases: int
    wall_s: float
    more_runs: int
    drawn: int
    median_steps: float
    touched: float
    reconnected: float
    batched: float = 0.0
    chunked: float = 0.0
    unhidden: float = 0.0
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
    nothing. `other_shapes` of the Cases it is `seen` in lack a word of its shape: their causes are not
    distinguished."""

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
    """A known failure that showed, by the entry of the expectations file that names it. `deviation` is the cause that
    the entry belongs to, and `security` says that it has consequences for security."""

    requirement: str
    code: str
    listed_in: str
    seen: int
    deviation: str = ""
    security: bool = False


class Once(msgspec.Struct, frozen=True, kw_only=True):
    """A breach that did not come again when its Case was run again; or, where `beside_others`, came again beside other
    Cases and in none alone; or, where `tries` is 0, was found too late for that. `seen` drawn Cases showed it; `open`:
    no reported cause explains it, so that it counts neither as the client's failure nor as nothing. What was
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
    def how_often(self) -> str:
        """Return in words how often the failure occurred again, and where."""
        if not self.tries:
            return f"found too late to be run again; in {counted(self.seen, 'Case')}"
        where = " beside other Cases, in none alone" if self.beside_others else ""
        return f"again in {self.confirmed} of {self.tries} fresh runs{where}; in {counted(self.seen, 'Case')}"


class NeverOpened(msgspec.Struct, frozen=True, kw_only=True):
    """A verb that opens something, and of which none of `tries` succeeded. `error` is what most of them ended with."""

    verb: str
    tries: int
    error: str


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """What one client came to in runs of the reduced Case: each value, and in how many of them."""

    values: tuple[tuple[str, int], ...]


class Differs(msgspec.Struct, frozen=True, kw_only=True):
    """What two clients came to in one reduced Case, in no run to the same. `place`: of which call, subscription or
    topic of the Case; `how`: in words that other Cases with it share. `also` differs in this Case, too; `seen` drawn
    Cases had it. The Case is in `explored.jsonl`, and a history of each client beside `history`."""

    what: str
    how: str
    place: str
    ours: Side
    theirs: Side
    also: tuple[str, ...]
    case: str
    history: str
    shape: tuple[str, ...]
    steps: int
    faults: int
    runs: int
    minimal: bool
    seen: int
    took_s: float


class Against(msgspec.Struct, frozen=True, kw_only=True):
    """The client that the first one was compared with. Of `cases`, of which `directed` were written by hand, `hints`
    came out otherwise on first look; `gone` counts by kind what of that did not hold, and `left` what was not looked
    into. `confirming` is the part of the time of all runs that looking into them took, in `runs` runs."""

    agent: str
    version: str
    cases: int
    directed: int
    hints: int
    gone: int
    runs: int
    confirming: float
    left: int
    differs: tuple[Differs, ...]


class Exploration(Header, frozen=True, kw_only=True):
    """`unexercised` are the clauses that no Case reached, of those this client could be asked; `gave_nothing` the areas
    of which no Case could be drawn. `broke_off` is what it broke off of, trouble of assay's own; empty else. `opened`
    producers, consumers and table views were opened well; of the verbs in `never_opened` none."""

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
    against: Against | None = None
    opened: int = 0
    never_opened: tuple[NeverOpened, ...] = ()

    @property
    def in_vain(self) -> bool:
        """Return whether nothing could be opened, so that nothing is known of the client."""
        return bool(self.never_opened) and not self.opened


SHARE = "share "
"""How the names of those goals begin whose numbers are parts of 1."""


def goals(figures: Figures) -> tuple[Goal, ...]:
    unhidden = round(figures.unhidden, 3)
    return (
        Goal(name="Cases a second", least=30, measured=round(figures.cases_per_s, 1)),
        Goal(name="steps of the median Case", least=6, measured=figures.median_steps),
        Goal(name=f"{SHARE}with a fault that touched a frame", least=0.5, measured=round(figures.touched, 3)),
        Goal(name=f"{SHARE}with a reconnect", least=0.25, measured=round(figures.reconnected, 3)),
        Goal(name=f"{SHARE}without a listed loss, duplicate, disorder, death or hang", least=0.85, measured=unhidden),
    )


def render(exploration: Exploration) -> bytes:
    return write_document(exploration)


def read_exploration(data: bytes, where: str) -> Exploration:
    """Return the content of an exploration.json; UsageError that names `where` when it is none."""
    return read_document(data, FileKind.EXPLORATION, Exploration, where)


def open_sentences(explored: Exploration) -> tuple[str, ...]:
    """Return why an exploration has no verdict: one sentence for each failure that it left open."""
    return tuple(f"{once.requirement}: {once.code}, {once.how_often}" for once in explored.once if once.open)


def head() -> dict[str, object]:
    return {"schema": str(CURRENT[FileKind.EXPLORATION]), "file": FileKind.EXPLORATION}
