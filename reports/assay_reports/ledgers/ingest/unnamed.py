"""What is known of a run whose segments lie in a folder."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from assay_conformance.ledger.info import LedgerInfo, Origin, read_info
from assay_conformance.ledger.segments import BlockKind
from assay_conformance.model.run import BrokerInfo
from assay_conformance.model.schema import CURRENT, FileKind
from assay_reports.files import load
from assay_reports.ledgers.ingest.reading import columns, segment_files
from assay_reports.ledgers.layout import INFO


def info_beside(folders: Iterable[Path], suite: str) -> LedgerInfo:
    """Return the first ledger.json there is; else one that says what segments tell by themselves: when the run
    began."""
    for folder in folders:
        if os.path.lexists(path := folder / INFO):
            return load(path, f"a {INFO}", read_info)
        last = folder
    return LedgerInfo(
        schema=str(CURRENT[FileKind.LEDGER]),
        file=FileKind.LEDGER,
        run=os.path.basename(os.path.realpath(last)),
        suite=suite,
        origin=Origin.SEGMENTS,
        client="unknown",
        client_version="unknown",
        broker=BrokerInfo(kind="unknown", name="unknown", version="unknown"),
        seed=0,
        started_unix_ms=_began(last),
        ended_unix_ms=int(time.time() * 1000),
    )


def _began(folder: Path) -> int:
    """Return the earliest clock sample of any file: its writer was just opened."""
    samples = []
    for file in segment_files(folder):
        for blocks in file.pieces(final=False):
            clocks = [one for one in blocks if one.kind == BlockKind.CLOCKS]
            if clocks:
                samples.append(int(columns(clocks[0])["unix_us"][0]))
                break
    return min(samples, default=0) // 1000
