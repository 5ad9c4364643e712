"""An earlier checkout and this one judge the same stored histories: what does either say that the other does not?

    python -m bench.compare_judging --before PYTHON --corpus FOLDER [--only PART ...] [--chapter CHAPTER ...]
                                    [--sample CPU_S] [--fresh] [--shown 5] [--write FILE]
    python -m bench.compare_judging.fill --corpus FOLDER ...            makes the corpus

PYTHON is the interpreter of an environment in which the earlier checkout is installed. Caps on findings and examples
are lifted on both sides. Compared are findings (requirement, code, events), how often each requirement was exercised
(no fewer may be after), verdicts and evidence grades; ids of before through the table of old and new ones. What a side
says of a part is kept in FOLDER/judged, by the digest of its code: a second comparison judges only what has changed.
`--fresh` judges all again, for figures of CPU time.

`--chapter resend` or `--chapter resend.keeps-order` lists differences in these requirements alone. With `--sample` only
so many seconds' worth of histories are judged after: by what was said before, those that show most of the requirements
listed, what is rare included. The status is 1 where something differs, and 3 where nothing was compared.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from bench.compare_judging.comparing import Difference, Kind, compared
from bench.compare_judging.corpus import parts
from bench.compare_judging.renames import known
from bench.compare_judging.results import Judged
from bench.compare_judging.sampling import candidates, sample
from bench.compare_judging.sides import Side

from assay_fixtures.verified import exit_code


def of_chapter(requirement: str, chapters: Sequence[str]) -> bool:
    """Return whether a requirement is one of these, or of these chapters, or none is named."""
    return not chapters or any(requirement == one or requirement.startswith(f"{one}.") for one in chapters)


def listed(found: Sequence[Difference], shown: int) -> Iterator[str]:
    """Yield a line for each difference, the first few of each kind and requirement."""
    groups: dict[tuple[str, Kind], list[Difference]] = defaultdict(list)
    for one in found:
        groups[one.requirement, one.kind].append(one)
    for (requirement, kind), those in sorted(
        groups.items(), key=lambda item: (item[0][0], list(Kind).index(item[0][1]))
    ):
        yield f"{requirement or 'any requirement'}: {kind}, {len(those)}"
        yield from (f"    {one.history}  {one.detail}" for one in those[:shown])
        if len(those) > shown:
            yield f"    and {len(those) - shown} more"


class Measured:
    """How much a side has judged."""

    def __init__(self) -> None:
        self.histories = self.events = 0
        self.cpu_s = 0.0

    def add(self, judged: Sequence[Judged]) -> None:
        self.histories += len(judged)
        self.events += sum(one.events for one in judged)
        self.cpu_s += sum(one.cpu_s for one in judged)

    def summary(self, word: str, peak_mb: int) -> str:
        memory = f"peak {peak_mb} MB" if peak_mb else "as it was kept"
        return f"{word}: {self.histories} histories, {self.events} events, {self.cpu_s:.1f} s of CPU, {memory}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--after", type=Path, default=Path(sys.executable))
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--chapter", action="append", default=[])
    parser.add_argument("--sample", type=float, metavar="CPU_S")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--shown", type=int, default=5)
    parser.add_argument("--write", type=Path, help="all differences, as lines of JSON")
    return parser


def main() -> int:
    said = _parser().parse_args()
    corpus, renames = parts(said.corpus, said.only), known()
    earlier, later = (Side(python, said.corpus / "judged", said.fresh) for python in (said.before, said.after))

    def wanted(requirement: str) -> bool:
        return of_chapter(requirement, said.chapter) or of_chapter(renames.of_id(requirement), said.chapter)

    earlier.judge(corpus)
    chosen: dict[str, set[str]] | None = None
    if said.sample is not None:
        chosen = defaultdict(set)
        for one in sample((one for part in corpus for one in candidates(earlier.said(part), wanted)), said.sample):
            chosen[one.part].add(one.history)
    later.judge(corpus, chosen)
    before, after, found = Measured(), Measured(), list[Difference]()
    for part in corpus:
        was = [one for one in earlier.said(part) if chosen is None or one.history in chosen[part]]
        now = later.said(part)
        before.add(was)
        after.add(now)
        found += [one for one in compared(was, now, renames) if not one.requirement or wanted(one.requirement)]
    if said.write:
        said.write.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in found))
    print("\n".join(listed(found, said.shown)))
    print(before.summary("before", earlier.peak_mb))
    print(after.summary("after", later.peak_mb))
    print(
        ", ".join(f"{count} x {kind}" for kind, count in Counter(one.kind for one in found).items()) or "no difference"
    )
    return exit_code(after.histories, len(found), "histories")


if __name__ == "__main__":
    sys.exit(main())
