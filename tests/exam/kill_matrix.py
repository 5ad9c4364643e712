"""docs/mutants.md: which requirement catches each mutant, in which Cases, and what else fails there.

`python -m tests.exam.kill_matrix [--anew]` tries the mutants that nothing is kept of (or all of them) in virtual time,
each in every Case of the row it breaks, keeps what failed in fixtures/golden/kills.json, and writes the page from that.
It keeps as it goes, so that what was interrupted goes on where it stopped. (That mutants are caught at all is shown by
test_both_ways.py, whenever it runs.)
"""

from __future__ import annotations

import argparse
import ast
import inspect
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec
from tests.exam.named import NOT_NAMED

from assay_conformance.broker import BrokerMutation, mutations
from assay_conformance.client import Mutation
from assay_conformance.client.mutations import MUTATIONS

ROOT: Final = Path(__file__).parents[2]
KEPT: Final = ROOT / "fixtures" / "golden" / "kills.json"
FOUND: Final = ROOT / "fixtures" / "golden" / "kills_by_exploration.json"
PAGE: Final = ROOT / "docs" / "mutants.md"

_HEAD = """\
<!-- generated: python -m tests.exam.kill_matrix -->
# Mutants

Each mutant is the reference client, or the embedded broker, with one rule broken at one place: most of them are bugs
that released clients had. An honest client on an honest broker passes every Case named here; the mutant fails the
requirement beside it, in these Cases (`pytest tests/exam/test_both_ways.py`). What else fails in them is a consequence
that is admitted there, with its reason.
"""

SHOWN: Final = 4
"""Cases that are named; the others are counted."""

SOON_S: Final = 120
"""Of CPU: what one core has in two minutes."""

FEW: Final = 3_600
"""Cases that an exploration over sockets is to run in two minutes, at least."""


class Kill(msgspec.Struct, frozen=True):
    """What failed with a mutant: Case -> requirements; the Cases are those of the requirements of `row`."""

    row: str
    failed: dict[str, tuple[str, ...]]


class Found(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of an exploration with a mutant: `explored` Cases were run in `cpu_s`, of which `reached` exercise the
    requirement that it stands for with an honest client, and the last one is the `case` that failed it, or none did."""

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


def page(kills: Mapping[str, Kill], rows: Mapping[str, frozenset[str]], broker: Mapping[str, str]) -> str:
    """`rows`: row -> requirements; `broker`: mutant -> the rule it breaks."""
    clients = [(name, MUTATIONS[name].rule, MUTATIONS[name].stands_for) for name in Mutation]
    brokers = [(name, rule, "") for name, rule in broker.items()]
    return "\n".join(
        (
            _HEAD,
            f"{len(clients)} clients and {len(brokers)} brokers; {_caught(kills, rows)} are caught.",
            "",
            "## Clients",
            "",
            *_table(clients, kills, rows),
            "",
            "## Brokers",
            "",
            *_table(brokers, kills, rows),
            "",
            *_without_a_mutant(),
            *_by_exploration(found()),
        )
    )


def killers(kill: Kill, requirements: Iterable[str]) -> dict[str, list[str]]:
    """Requirement -> Cases in which it fails, of those that the mutant breaks."""
    return {
        requirement: cases
        for requirement in sorted(requirements)
        if (cases := [case for case, failed in sorted(kill.failed.items()) if requirement in failed])
    }


def _caught(kills: Mapping[str, Kill], rows: Mapping[str, frozenset[str]]) -> int:
    return sum(bool(killers(kill, rows.get(kill.row, ()))) for kill in kills.values())


def _table(
    mutants: Iterable[tuple[str, str, str]], kills: Mapping[str, Kill], rows: Mapping[str, frozenset[str]]
) -> Iterator[str]:
    yield "| mutant | what it does | stands for | caught by | what else fails |"
    yield "|---|---|---|---|---|"
    for name, rule, stands_for in mutants:
        kill = kills.get(name)
        if kill is None:
            continue
        own = rows.get(kill.row, frozenset())
        caught = "; ".join(f"`{one}` in {_cases(cases)}" for one, cases in killers(kill, own).items())
        also = sorted({one for failed in kill.failed.values() for one in failed} - own)
        shown = ", ".join(f"`{one}`" for one in also)
        yield f"| `{name}` | {_cell(rule)} | {_cell(stands_for)} | {caught or 'nothing'} | {shown} |"


def _without_a_mutant() -> Iterator[str]:
    yield "## Checks that no mutant is named after"
    yield ""
    yield "Each fails where another requirement does, which that mutant is named after."
    yield ""
    yield "| requirement | why |"
    yield "|---|---|"
    yield from (f"| `{requirement}` | {why} |" for requirement, why in NOT_NAMED.items())
    yield ""


_EXPLORED = """\
## By exploration alone

One exploration of an honest client in virtual time, drawn and steered as `assay explore` does it, of all areas, and
each mutant in it (`python -m bench.kill_by_exploration --seed N --anew`). No directed Case is run; of what was drawn,
Cases are preferred that look like the one that was written for a clause nothing has exercised yet. *CPU* is what the
exploration took up to the Case in which the mutant is caught, every Case before it, drawing, judging and steering
included; two minutes of two cores are 240 s. *explored* are the Cases up to that one, *reached* those of them that
exercise the requirement with an honest client; the mutant was tried in these alone, as the others could not have told
of it. Some kinds of lives were added for what earlier explorations had seldom met.
"""


def _by_exploration(search: Search) -> Iterator[str]:
    yield _EXPLORED
    found = search.mutants
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


def _cases(cases: list[str]) -> str:
    named = ", ".join(f"`{case}`" for case in cases[:SHOWN])
    return f"{named} and {len(cases) - SHOWN} more" if len(cases) > SHOWN else named


def _cell(text: str) -> str:
    return text.replace("|", "\\|").strip().removesuffix(".")


def broker_rules() -> dict[str, str]:
    """Each broker mutant's own words: what stands below it in its enumeration."""
    body = ast.parse(inspect.getsource(mutations)).body
    told = next(one for one in body if isinstance(one, ast.ClassDef) and one.name == BrokerMutation.__name__).body
    found: dict[str, str] = {}
    for before, after in pairwise(told):
        if isinstance(before, ast.Assign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            assert isinstance(before.value, ast.Constant)
            found[str(before.value.value)] = str(after.value.value)
    return found


def written() -> str:
    """The page of what is kept."""
    from tests.exam import test_both_ways as exam

    rows: dict[str, set[str]] = {}
    for id, requirement in exam.PACK.catalogue.requirements.items():
        if id in exam.PACK.checks:
            rows.setdefault(requirement.row, set()).add(id)
    return page(kept(), {row: frozenset(own) for row, own in rows.items()}, broker_rules())


def main() -> None:
    from tests.exam import test_both_ways as exam

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--anew", action="store_true", help="try every mutant again")
    said = parser.parse_args()
    known = {str(mutant) for mutant in (*Mutation, *BrokerMutation)}
    kills = {} if said.anew else {name: kill for name, kill in kept().items() if name in known}
    for mutant in (*Mutation, *BrokerMutation):
        if mutant not in kills:
            row = MUTATIONS[mutant].row if isinstance(mutant, Mutation) else exam.BROKER_ROWS[mutant]
            kills[str(mutant)] = Kill(row, {tried.case.id: exam.failed_in(tried) for tried in exam.tried_with(mutant)})
            keep(kills)
    keep(kills)
    PAGE.write_text(written(), "utf-8")


if __name__ == "__main__":
    main()
