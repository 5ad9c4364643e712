"""Fills the corpus of `bench.compare_judging`. What is there already stays; what was interrupted goes on.

    python -m bench.compare_judging.fill --corpus FOLDER directed
    python -m bench.compare_judging.fill --corpus FOLDER lives [--lives 10000] [--seed 1]
    python -m bench.compare_judging.fill --corpus FOLDER mutants [--before PYTHON]
    python -m bench.compare_judging.fill --corpus FOLDER pack KIND SOURCE [SOURCE ...]
    python -m bench.compare_judging.fill --corpus FOLDER unpack PART HISTORY RUN

`directed`: every directed Case and its permutations, with the reference client in virtual time. `lives`: drawn ones of
all areas. `mutants`: each in its Cases of the kill matrix, and in twenty of these lives. PYTHON is the interpreter of
the earlier checkout: lives are preferred that it judged by the requirement that a mutant stands for.

`pack` takes run folders, of certifications or golden ones, in SOURCE, a folder or a tar file, and calls them KIND/NAME.
A SOURCE NAME.jsonl is a single history of the reference client; NAME.json beside it is its Case, or a replay file with
it. `unpack` makes a run folder of one history, for `assay check` and `assay show`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.compare_judging.corpus import pack, pack_single, parts, run_folders, unpack
from bench.compare_judging.making import make_directed, make_lives, make_mutants
from bench.compare_judging.sampling import candidates
from bench.compare_judging.sides import Side


def packed(corpus: Path, kind: str, source: Path) -> Iterator[str]:
    """Pack every run folder of a source, or a single history; yield a line for each."""
    if source.suffix == ".jsonl":
        yield f"{kind}/{source.stem}: {pack_single(source, corpus / kind / f'{source.stem}.zip')}"
        return
    stem = source.name.partition(".tar")[0]
    with run_folders(source) as runs:
        for run in runs:
            name = stem if len(runs) == 1 else f"{stem}-{run.name}"
            yield f"{kind}/{name}: {pack(run, corpus / kind / f'{name}.zip')}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("directed")
    lives = commands.add_parser("lives")
    lives.add_argument("--lives", type=int, default=10_000)
    lives.add_argument("--seed", type=int, default=1)
    mutants = commands.add_parser("mutants")
    mutants.add_argument("--before", type=Path, default=Path(sys.executable))
    packing = commands.add_parser("pack")
    packing.add_argument("kind")
    packing.add_argument("sources", nargs="+", type=Path)
    unpacking = commands.add_parser("unpack")
    unpacking.add_argument("part")
    unpacking.add_argument("history")
    unpacking.add_argument("run", type=Path)
    return parser


def _filled(said: argparse.Namespace) -> Iterator[str]:
    corpus: Path = said.corpus
    match said.command:
        case "directed":
            yield from make_directed(corpus)
        case "lives":
            yield from make_lives(corpus, said.lives, said.seed)
        case "mutants":
            side, lives = Side(said.before, corpus / "judged"), parts(corpus, ["lives/"])
            side.judge(lives)
            yield from make_mutants(corpus, [one for part in lives for one in candidates(side.said(part), bool)])
        case "pack":
            for source in said.sources:
                yield from packed(corpus, said.kind, source)
        case "unpack":
            unpack(corpus / f"{said.part}.zip", said.history, said.run)
            yield f"{said.run}: {said.history}"


def main() -> None:
    for line in _filled(_parser().parse_args()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
