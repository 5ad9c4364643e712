"""Make the golden run folder of today's schema: `python -m tests.end_to_end.make_golden`.

A short run of the reference client with one rule broken, so that it holds passes and a failure. What is only
rendered from it (page, JUnit, replay files, log) is not kept.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from tests.end_to_end.running import GOLDEN, mutant

from assay_conformance.model.schema import CURRENT, FileKind
from assay_fixtures.certification import Options, certify, prepare
from assay_fixtures.cli.execute import to_end
from assay_fixtures.cli.settle import settle
from assay_fixtures.runner.folder import RunFolder, StoredRun

CASES = (
    "ack/close-with-pending-acks",
    "dedup/effectively-once",
    "nack/one-of-three",
    "resend/pending-sends",
)
KEPT = ("run.json", "plan.jsonl", "history", "findings.jsonl", "verdicts.json", "certificate.json")


def main() -> None:
    target = GOLDEN / str(CURRENT[FileKind.RUN])
    if target.exists():
        sys.exit(f"{target} exists already: a released schema keeps its golden run; remove it first if it must go")
    with tempfile.TemporaryDirectory() as base:
        agent = mutant(Path(base), "close-drops-acks")
        plan = prepare(str(agent), wanted=CASES)
        folder = RunFolder.create(Path(base) / "golden")
        to_end(certify(plan, folder, Options(recorded={"tier": "fast", "strict": False, "select": list(CASES)})))
        settle(StoredRun(folder.path), plan.pack)
        target.mkdir(parents=True)
        for name in KEPT:
            copy = shutil.copytree if (folder.path / name).is_dir() else shutil.copy
            copy(folder.path / name, target / name)


if __name__ == "__main__":
    main()
