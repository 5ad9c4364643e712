"""docs/findings.md: what is known of the Python client, and which released version shows what.

    python -m bench.by_version 3.12.0 3.13.0 ... [--runs FOLDER] [--disclose ID ...]

Certifies the versions named that FOLDER has no run of, keeps how many Cases of each showed what, and writes the page
from the list of known deviations and all that is kept. What is listed counts, too. Deviations with consequences for
security are left out, except those whose ids are named.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec
from bench.judged_by import UNKNOWN, sentence
from bench.past_bugs.certifying import AGENT, certified
from bench.versions import COUNTS_AGAINST
from packaging.version import Version

from assay_fixtures.agents import manifest
from assay_reports.expectations import Expectation, Expectations, read_expectations
from assay_reports.findings import causes, meets, only_withheld

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "findings.md"
FOLDER: Final = ROOT / "fixtures" / "golden" / "by_version"
TITLE: Final = "## By version\n"

_INTRO = """# Findings

<!-- generated: python -m bench.by_version -->

What `assay certify pulsar-python` found in released versions of the Apache Pulsar Python client (`pulsar-client`, which
wraps the C++ client). Each deviation was seen on the wire; the reference client passes the same Case on the same
broker. The list is `fixtures/agents/pulsar-python/expectations.toml`, and the replay files are in
`fixtures/agents/pulsar-python/replays`: `assay replay FILE` runs one again, `--agent pulsar-python@latest` asks whether
it is repaired. Which version shows what stands in the [tables](#by-version) at the end.

"""

Deviation = tuple[str, str]
"""Requirement and finding code."""

_HEAD = """
The newest wheel of every minor from 3.4 on, one run of tier fast each, without `--faults`
(`python -m bench.by_version VERSION ...`): in how many Cases, permutations among them, a version showed it. What kills
the process, and what depends on the client's own timers or on who is faster, differs from run to run.
"""

_OLDER = """
Older versions have deviations of their own, repaired since. Up to 3.10 a batch went by its last sequence id
(`other-id`, and what follows from it in `starts-elsewhere`, `id-reused` and `id-skipped`). 3.4 refuses sends although
there is room (`refused-with-room`, <https://github.com/apache/pulsar-client-cpp/pull/392>), ends a seek before it is
connected again, and looks up what CLOSE_PRODUCER and CLOSE_CONSUMER have named already. What else was repaired before
3.13 is counted above, and has no paragraph.
"""

_BEYOND = """
### Beyond these runs

Listed, and shown by none of the runs above: the replay file shows it, or more than tier fast. *for* are the versions it
was measured in.

"""


class Shown(msgspec.Struct, frozen=True):
    """`cases`: requirement -> finding code -> how many Cases showed it; `catalogues`: what they were judged by."""

    version: str
    cases: dict[str, dict[str, int]]
    catalogues: tuple[str, ...] = UNKNOWN


def shown(version: str, run: Path) -> Shown:
    """Return what a run broke."""
    counted: Counter[Deviation] = Counter()
    told = json.loads((run / "verdicts.json").read_text("utf-8"))
    for cell in told["cells"]:
        if cell["verdict"] in COUNTS_AGAINST:
            counted.update({(cell["requirement"], finding["code"]) for finding in cell.get("findings", ())})
    cases: dict[str, dict[str, int]] = {}
    for (requirement, code), count in sorted(counted.items()):
        cases.setdefault(requirement, {})[code] = count
    return Shown(version, cases, (told["catalogue"],))


def kept() -> list[Shown]:
    """Return what is stored, from the oldest version to the newest."""
    found = (msgspec.json.decode(path.read_bytes(), type=Shown) for path in FOLDER.glob("*.json"))
    return sorted(found, key=lambda one: Version(one.version))


def keep(one: Shown) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{one.version}.json").write_bytes(msgspec.json.format(msgspec.json.encode(one), indent=1) + b"\n")


def rows(found: Iterable[Shown]) -> list[Deviation]:
    return sorted({(one, code) for version in found for one, codes in version.cases.items() for code in codes})


def listed() -> Expectations:
    return read_expectations(manifest.find(AGENT).path.parent / "expectations.toml")


def page(found: list[Shown], known: Expectations, disclosed: Collection[str] = ()) -> str:
    """Return the whole page."""
    hidden = only_withheld(known, disclosed)
    shown_entries = [entry for entry in known.entries if (str(entry.requirement), entry.code) not in hidden]
    return (
        _INTRO
        + meets(known, disclosed)
        + "\n## The causes\n\n"
        + causes(known, disclosed)
        + "\n"
        + section(_without(found, hidden), shown_entries)
    )


def _without(found: Iterable[Shown], hidden: Collection[Deviation]) -> list[Shown]:
    """Return what is shown of each version, without what is not to be published."""
    return [
        msgspec.structs.replace(
            one,
            cases={
                requirement: {code: count for code, count in codes.items() if (requirement, code) not in hidden}
                for requirement, codes in one.cases.items()
            },
        )
        for one in found
    ]


def section(found: list[Shown], entries: Iterable[Expectation]) -> str:
    """Return the section from its title to the end of the page."""
    beyond: dict[Deviation, list[Expectation]] = {}
    for entry in entries:
        if (deviation := (str(entry.requirement), entry.code)) not in rows(found):
            beyond.setdefault(deviation, []).append(entry)
    by = sentence({one.version: one.catalogues for one in found})
    return (
        TITLE
        + _HEAD
        + "\n"
        + "\n".join(_table(found))
        + f"\n\n{by}\n"
        + _OLDER
        + _BEYOND
        + "\n".join(_others(beyond))
        + "\n"
    )


def _table(found: list[Shown]) -> Iterator[str]:
    yield "| requirement | code | " + " | ".join(one.version for one in found) + " |"
    yield "|---|---|" + "---|" * len(found)
    for requirement, code in rows(found):
        counts = (one.cases.get(requirement, {}).get(code, 0) for one in found)
        yield f"| `{requirement}` | `{code}` | " + " | ".join(str(count or "") for count in counts) + " |"


def _others(beyond: Mapping[Deviation, list[Expectation]]) -> Iterator[str]:
    yield "| requirement | code | for | in |"
    yield "|---|---|---|---|"
    for (requirement, code), entries in sorted(beyond.items()):
        versions = ", ".join(dict.fromkeys(f"`{entry.versions}`" for entry in entries))
        cases = list(dict.fromkeys("a generated Case" if _is_drawn(entry) else f"`{entry.case}`" for entry in entries))
        yield f"| `{requirement}` | `{code}` | {versions} | {', '.join(cases)} |"


def _is_drawn(entry: Expectation) -> bool:
    return entry.case.startswith("generated/")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "past_bugs")
    parser.add_argument("--disclose", metavar="ID", nargs="*", default=())
    said = parser.parse_args()
    for version in said.versions:
        keep(shown(version, certified(version, said.runs)[0]))
    PAGE.write_text(page(kept(), listed(), said.disclose), "utf-8")


if __name__ == "__main__":
    main()
