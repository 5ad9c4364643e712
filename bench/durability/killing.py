"""Runs of durability Cases, a few Cases on a cluster at a time, kept in one folder and taken up from there."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, cycle, islice
from pathlib import Path

import uvloop
from bench.durability.result import KIND, WRITE_QUORUM, Row, Tally, checks_meant, results, row_of

from assay_conformance.model.case import Case
from assay_conformance.model.errors import HarnessError
from assay_conformance.model.outside import Means
from assay_conformance.pulsar.cases.ordering.durability import KILLS, KINDS, LOADS, Kind, killed
from assay_fixtures.brokers.jvm.cluster import Shape
from assay_fixtures.brokers.jvm.cluster_source import SmallCluster
from assay_fixtures.brokers.pulsar.site import PulsarSite
from assay_fixtures.certification import Options, certify, prepare
from assay_fixtures.packs import load_packs
from assay_fixtures.runner.folder import RunFolder, StoredRun
from assay_fixtures.runner.selection import Selection

CASES_A_CLUSTER = 4
"""Cases for each cluster: one that does not come up again costs no more than these."""
SEEDS = 1_000
"""Cases of one `--seed`."""
TRIES = 3
"""How many kills are tried for each that is wanted."""


def drawn(kind: Kind, seed: int) -> Iterator[Case]:
    """Yield each load in turn, for ever.

    The first depends on the seed, since few kills are few loads.
    """
    for number, load in zip(count(), islice(cycle(LOADS.values()), seed % len(LOADS), None)):
        yield killed(kind, seed * SEEDS + number, load)


def run_batch(row: Row, cases: Sequence[Case], folder: RunFolder) -> None:
    """Run Cases on a cluster that is started for them; the results are in the folder."""
    site = PulsarSite(SmallCluster(shape=Shape(write_quorum=row.write_quorum)))
    plan = prepare(row.client, site=site, means=frozenset({Means.FRAMES, Means.PROCESSES}))
    plan = replace(plan, selection=Selection(run=tuple(cases)), pack=replace(plan.pack, checks=checks_meant(plan.pack)))
    options = Options(recorded={KIND: row.kind, WRITE_QUORUM: row.write_quorum})
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        result = runner.run(certify(plan, folder, options))
    if result.interrupted:
        raise KeyboardInterrupt


class Durability:
    """The runs in `folder`, and what they came to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pack = load_packs()
        self.tallies: dict[Row, Tally] = {}
        for run in sorted(folder.glob("*/run.json")):
            self._take(run.parent)

    def kill(self, row: Row, seed: int, wanted: int) -> Tally:
        """Kill until `wanted` kills count, or many more were tried."""
        tally = self.tallies.setdefault(row, Tally())
        while (lacking := wanted - len(tally.counted)) > 0 and len(tally.kills) < TRIES * wanted:
            done = tally.done
            new = (case for case in drawn(KINDS[row.kind], seed) if case.id not in done)
            cases = tuple(islice(new, min(CASES_A_CLUSTER, -(-lacking // KILLS))))
            folder = RunFolder.create(self._free(row))
            run_batch(row, cases, folder)
            self._take(folder.path)
            if len(tally.results) == len(done):
                raise HarnessError(f"{folder.path}: no Case came to its end")
            said = f"{row.kind}: {len(tally.counted)} kills of {wanted} count, {len(tally.kills)} tried"
            print(said, file=sys.stderr, flush=True)
        return tally

    def _take(self, path: Path) -> None:
        run = StoredRun(path)
        self.tallies.setdefault(row_of(run), Tally()).add(results(run, self._pack))

    def _free(self, row: Row) -> Path:
        names = (f"{row.client}-{row.kind}-quorum-{row.write_quorum}-{number:03}" for number in count(1))
        return next(path for name in names if not (path := self._folder / name).exists())
