"""An exploration in words, for the terminal: while it goes on, and when it has ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from assay_reports.differences_text import against_line, difference_lines
from assay_reports.exploration import GOALS_FROM_S, SHARE, SLOW_S, Exploration, Figures, Found, Goal
from assay_reports.report import replay_command
from assay_reports.text import clean, counted, one_line


def progress_line(figures: Figures, found: int, listed: int) -> str:
    """Return what an exploration says of itself while it goes on."""
    return (
        f"{counted(figures.cases, 'Case')}, {figures.cases_per_s:.0f}/s, faults in {figures.touched:.0%}, "
        f"{figures.clauses} of {counted(figures.clauses_there, 'clause')}, {counted(figures.pairs, 'state x fault')}, "
        f"{counted(found, 'finding')}, {listed} known"
    )


def print_exploration(explored: Exploration, folder: str, console: Console, withheld: int = 0, agent: str = "") -> None:
    """Print the causes, then the figures, since the end is what stays on the screen.

    `withheld` is the number of security deviations that `explored` leaves out; `agent` is the agent's path, where its
    id names no installed one.
    """
    for found in explored.found:
        for text in _of_cause(found, folder, agent):
            console.print(text)
    if explored.against is not None:
        for text in difference_lines(explored.against, f"{explored.agent} {explored.version}", folder):
            console.print(text)
    if withheld:
        console.print(
            f"known   {counted(withheld, 'deviation')} with consequences for security not shown: --disclose ID"
        )
    for line in _lines(explored, folder):
        console.print(Text(clean(line)))


def _of_cause(found: Found, folder: str, agent: str) -> Iterator[Text]:
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
    yield Text(f"  {replay_command(f'{folder}/{found.replay}', agent)}\n")


def _lines(explored: Exploration, folder: str) -> Iterator[str]:
    for listed in explored.listed:
        seen = counted(listed.seen, "Case")
        yield f"known   {listed.requirement}: {listed.code}, in {seen}; listed for {listed.listed_in}"
    for once in sorted(explored.once, key=lambda one: one.open):
        kept = f"{folder}/{once.replay}" if once.replay else "what was seen could not be written"
        word = "open  " if once.open else "once  "
        yield f"{word}  {once.requirement}: {once.code}, {once.how_often}; {kept}"
    if any(once.open for once in explored.once):
        yield (
            "open    is what broke once, or beside other Cases only, and what nothing explains: a race of this client, "
            "or a mistake of the bench; no verdict, exit code 3 where nothing fails"
        )
    figures = explored.figures
    yield (
        f"ran     {counted(figures.cases, 'Case')} in {figures.wall_s:.0f} s, and {figures.more_runs} to confirm and "
        f"reduce, with {counted(figures.agents, 'agent process', 'agent processes')}; seed {explored.seed}, "
        f"{in_words(explored.areas)}"
    )
    if round(figures.wall_s) >= GOALS_FROM_S:
        yield "goals   on two idle cores: " + "; ".join(_of_goals(explored.goals))
    yield (
        f"covered {figures.clauses} of {counted(figures.clauses_there, 'clause')}, "
        f"{counted(figures.pairs, 'pair')} of state and fault; batched {figures.batched:.0%}, "
        f"chunked {figures.chunked:.0%}; inconclusive {figures.inconclusive}, "
        f"slower than {SLOW_S:g} s {figures.slow:.0%}"
    )
    if explored.against is not None:
        yield against_line(explored.against)
    if figures.harness_errors:
        yield (
            f"bench   {counted(figures.harness_errors, 'Case')} ended in trouble of assay's own, or of its brokers, "
            "and nothing is said of the client by them: exit code 4, or 3 where it was the brokers' alone; report.html "
            "has examples"
        )
    for one in explored.never_opened:
        yield (
            f"closed  {one.verb}: none of {counted(one.tries, 'call')} succeeded, and nothing after it was explored; "
            f"most ended with {one_line(one.error)}"
        )
    if explored.in_vain:
        yield "in vain: nothing could be opened, and nothing is known of the client; exit code 3"
    for area in explored.gave_nothing:
        yield f"empty   {area}: no Case could be drawn of it that this client and these brokers can be asked"
    if not (figures.cases or explored.interrupted or explored.broke_off or explored.gave_nothing):
        yield f"nothing that was drawn had run when {figures.wall_s:.0f} s were over; expected a longer --for"
    if explored.interrupted:
        yield "interrupted: what was known by then is kept"
    if explored.broke_off:
        yield f"broken off: what was known by then is kept; {explored.broke_off}"
    yield f"run     {folder}"


def _of_goals(reached: Sequence[Goal]) -> Iterator[str]:
    for goal in reached:
        form = ".0%" if goal.name.startswith(SHARE) else "g"
        least = f"{'at least' if goal.met else 'MISSED:'} {goal.least:{form}}"
        yield f"{goal.measured:{form}} {goal.name.removeprefix(SHARE)} ({least})"


def in_words(areas: Sequence[str]) -> str:
    from assay_conformance.machines.areas import Area

    return "all areas" if set(areas) == set(Area) else ", ".join(areas)
