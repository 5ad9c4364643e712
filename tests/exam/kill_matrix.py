"""docs/mutants.md: which requirement catches each mutant, in which Cases, and what else fails there.

`python -m tests.exam.kill_matrix [--anew]` tries the mutants of which nothing is kept, or not of all Cases (or all
mutants) in virtual time, each in every Case of the requirements it breaks, keeps what failed in
fixtures/golden/kills.json, and writes the page from that. It keeps as it goes, so that what was interrupted goes on
where it stopped. (That mutants are caught at all is shown by test_both_ways.py, whenever it runs.)
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from assay_conformance.model.case import Case
from assay_conformance.model.requirement import Side
from assay_conformance.pulsar.mutants import Mutant, mutants

ROOT: Final = Path(__file__).parents[2]
KEPT: Final = ROOT / "fixtures" / "golden" / "kills.json"
FOUND: Final = ROOT / "fixtures" / "golden" / "kills_by_exploration.json"
PAGE: Final = ROOT / "docs" / "mutants.md"

_HEAD = """\
<!-- generated: python -m tests.exam.kill_matrix -->
# Mutants

Each mutant is the reference client, or the embedded broker, with one rule broken at one place: most of them are bugs
that released clients had. The reference client on the embedded broker passes every Case named here; the mutant fails
the requirement beside it, in these Cases (`pytest tests/exam/test_both_ways.py`). What else fails in them is a
consequence that this test lists with its reason.
"""

SHOWN: Final = 4
"""Cases that are named; the others are counted."""

SOON_S: Final = 120
"""Of CPU: what one core has in two minutes."""

FEW: Final = 3_600
"""Cases that an exploration over sockets is to run in two minutes, at least."""


class Kill(msgspec.Struct, frozen=True):
    """What failed with a mutant: Case -> requirements; the Cases are those of the requirements it `breaks`."""

    breaks: tuple[str, ...]
    failed: dict[str, tuple[str, ...]]


class Found(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of an exploration with a mutant: `explored` Cases were run in `cpu_s`, of which `reached` exercise the
    requirement that it stands for with an honest client, and the last one is the `case` that failed it, or none did.
    Nothing explored: it is newer than the exploration."""

    reached: int
    explored: int
    cpu_s: float
    case: str = ""


class Search(msgspec.Struct, frozen=True):
    """One exploration, and what became of each mutant in it. `cpu_s`: what it could take at most."""

    seed: int
    cpu_s: float
    mutants: dict[str, Found]


def found() -> Search:
    return msgspec.json.decode(FOUND.read_bytes(), type=Search)


def keep_found(search: Search) -> None:
    FOUND.write_bytes(msgspec.json.format(msgspec.json.encode(search, order="sorted"), indent=1) + b"\n")


def kept() -> dict[str, Kill]:
    return msgspec.json.decode(KEPT.read_bytes(), type=dict[str, Kill]) if KEPT.exists() else {}


def keep(kills: Mapping[str, Kill]) -> None:
    text = msgspec.json.format(msgspec.json.encode(kills, order="sorted"), indent=1)
    KEPT.write_bytes(text + b"\n")


def page(kills: Mapping[str, Kill], without: Mapping[str, str]) -> str:
    """`without`: requirement -> why no mutant breaks it."""
    clients, brokers = ([one for one in mutants().values() if one.side is side] for side in (Side.CLIENT, Side.BROKER))
    return "\n".join(
        (
            _HEAD,
            f"{len(clients)} clients and {len(brokers)} brokers; {_caught(kills)} are caught.",
            "",
            "## Clients",
            "",
            *_table(clients, kills),
            "",
            "## Brokers",
            "",
            *_table(brokers, kills),
            "",
            *_without_a_mutant(without),
            *_by_exploration(found()),
        )
    )


def killers(kill: Kill) -> dict[str, list[str]]:
    """Requirement -> Cases in which it fails, of those that the mutant breaks."""
    return {
        requirement: cases
        for requirement in sorted(kill.breaks)
        if (cases := [case for case, failed in sorted(kill.failed.items()) if requirement in failed])
    }


def _caught(kills: Mapping[str, Kill]) -> int:
    return sum(bool(killers(kill)) for kill in kills.values())


def _table(known: Iterable[Mutant], kills: Mapping[str, Kill]) -> Iterator[str]:
    yield "| mutant | what it does | stands for | caught by | what else fails |"
    yield "|---|---|---|---|---|"
    for one in known:
        kill = kills.get(one.name)
        if kill is None:
            continue
        caught = "; ".join(f"`{requirement}` in {_cases(cases)}" for requirement, cases in killers(kill).items())
        also = sorted({requirement for failed in kill.failed.values() for requirement in failed} - set(kill.breaks))
        shown = ", ".join(f"`{requirement}`" for requirement in also)
        yield f"| `{one.name}` | {_cell(one.does)} | {_cell(one.stands_for)} | {caught or 'nothing'} | {shown} |"


def _without_a_mutant(without: Mapping[str, str]) -> Iterator[str]:
    yield "## Checks without a mutant"
    yield ""
    yield "Each fails where another requirement does, which a mutant breaks."
    yield ""
    yield "| requirement | why |"
    yield "|---|---|"
    yield from (f"| `{requirement}` | {why} |" for requirement, why in without.items())
    yield ""


_EXPLORED = """\
## By exploration alone

One exploration of all areas with the reference client in virtual time, drawn and steered as by `assay explore`, and
each mutant in it (`python -m bench.kill_by_exploration --seed N --anew`). No directed Case is run; for a clause that no
drawn Case has exercised yet, Cases are preferred that resemble the one written for it. *explored* is the number of
Cases up to the one in which the mutant is caught, and *CPU* the time that they took, drawing, judging and steering
included; two minutes of two cores are 240 s. *reached* is the number of those Cases in which the reference client
exercises the requirement; the mutant was tried in these only, since the others cannot show it. Some kinds of drawn
Cases were added because earlier explorations had seldom exercised what they do.
"""


def _by_exploration(search: Search) -> Iterator[str]:
    yield _EXPLORED
    found = {name: one for name, one in search.mutants.items() if one.explored}
    untried = sorted(search.mutants.keys() - found.keys())
    killed = {name: one for name, one in found.items() if one.case}
    missed = {name: one for name, one in found.items() if not one.case and one.reached}
    unreached = sorted(name for name, one in found.items() if not one.reached)
    soon = sum(one.cpu_s <= SOON_S for one in killed.values())
    few = sum(one.explored <= FEW for one in killed.values())
    yield (
        f"With seed {search.seed}, {len(killed)} of {len(found)} are caught within {search.cpu_s:.0f} s of CPU, {soon} "
        f"of them within {SOON_S}; {len(missed)} are not, and {len(unreached)} are not reached. Over sockets fewer "
        f"Cases are run in a second: {few} are caught by the first {FEW:,}, two minutes at 30 Cases/s."
    )
    yield ""
    yield "| mutant | caught in | reached | explored | CPU, s |"
    yield "|---|---|---|---|---|"
    for name, one in (*sorted(killed.items()), *sorted(missed.items())):
        caught = f"`{one.case}`" if one.case else "nothing"
        yield f"| `{name}` | {caught} | {one.reached} | {one.explored} | {one.cpu_s:.1f} |"
    yield ""
    if unreached:
        yield f"Not reached: {', '.join(f'`{name}`' for name in unreached)}."
        yield ""
    if untried:
        yield f"Not tried yet: {', '.join(f'`{name}`' for name in untried)}."
        yield ""


def _cases(cases: list[str]) -> str:
    named = ", ".join(f"`{case}`" for case in cases[:SHOWN])
    return f"{named} and {len(cases) - SHOWN} more" if len(cases) > SHOWN else named


def _cell(text: str) -> str:
    return text.replace("|", "\\|").strip().removesuffix(".")


def written() -> str:
    """The page of what is kept."""
    from tests.exam.test_both_ways import WITHOUT_A_MUTANT

    return page(kept(), WITHOUT_A_MUTANT)


def _is_of(kill: Kill, mutant: Mutant, cases: Iterable[Case]) -> bool:
    """Return whether what is kept is of the requirements that a mutant breaks now, and of all their Cases."""
    return kill.breaks == mutant.breaks and kill.failed.keys() == {case.id for case in cases}


def main() -> None:
    from tests.exam import test_both_ways as exam

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--anew", action="store_true", help="try every mutant again")
    said = parser.parse_args()
    kills = {} if said.anew else {name: kill for name, kill in kept().items() if name in mutants()}
    for name, mutant in mutants().items():
        cases = exam.cases_of(name)
        if name not in kills or not _is_of(kills[name], mutant, cases):
            kills[name] = Kill(mutant.breaks, exam.failures_with(name, cases))
            keep(kills)
    keep(kills)
    PAGE.write_text(written(), "utf-8")


if __name__ == "__main__":
    main()
