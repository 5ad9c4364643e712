"""What one checkout says of stored histories: a program that the interpreter of that checkout runs.

It runs under an earlier checkout as well as under this one. So it imports nothing of `bench`, and of assay only what
both have: how a run folder is read, the loader of packs, and the bench's `judge`. Caps on findings and examples are
lifted, and no stretch of a history is left out.

One request is read from stdin as JSON, a list of [part, packed run, history names or null]; one line of JSON is written
for each history, and one at the end of each part. With `--digest` it writes the digest of the code that judges instead.
"""

from __future__ import annotations

import hashlib
import json
import resource
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

import assay_conformance
import assay_fixtures
from assay_conformance.model.case import Case
from assay_conformance.model.event import Event
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.schema import FileKind
from assay_conformance.model.verdict import Judgement
from assay_fixtures.packs import Pack, load_packs
from assay_fixtures.runner.folder import StoredRun, read_lines
from assay_fixtures.runner.judging import judge

CAPS: Final = ("MAX_FINDINGS", "MAX_EXAMPLES")
"""Constants, wherever a checkout has them."""

EDITION: Final = 1
"""The edition of what this program writes: results of other editions are not used again."""

LEAVES_OUT: Final = ("assay_conformance.checks.part", "shortened")
"""Where earlier checkouts leave plain stretches out of long histories."""


def digest() -> str:
    """Return a digest of all code and tables on which the judging depends."""
    whole = hashlib.sha256(f"edition {EDITION}".encode())
    for package in (assay_conformance, assay_fixtures):
        root = Path(str(package.__file__)).parent
        for path in sorted(path for path in root.rglob("*") if path.suffix in (".py", ".toml")):
            whole.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return whole.hexdigest()


def lift_caps() -> None:
    """Lift the caps in every module that has imported one.

    Raise SystemExit where no module has a cap: it may have been renamed.
    """
    modules = [module for name, module in sys.modules.items() if name.startswith("assay_")]
    for cap in CAPS:
        capped = [module for module in modules if cap in vars(module)]
        if not capped:
            raise SystemExit(f"one_side: no module has {cap}; name the cap that this checkout has instead")
        for module in capped:
            setattr(module, cap, sys.maxsize)
    module_name, function = LEAVES_OUT
    if hasattr(sys.modules.get(module_name), function):
        setattr(sys.modules[module_name], function, lambda *_args: None)


def judged_part(packed: Path, names: Collection[str] | None, pack: Pack) -> Iterator[dict[str, Any]]:
    """Yield what is said of each history of a packed run, or of the named ones."""
    with tempfile.TemporaryDirectory(prefix="assay-one-side-") as folder, zipfile.ZipFile(packed) as archive:
        run = Path(folder)
        members = [member for member in archive.namelist() if member.startswith("history/")]
        if names is not None:
            members = [member for member in members if history_name(member) in names]
        archive.extractall(run, ["run.json", *members])
        ids = write_plan(run / "plan.jsonl", archive.read("plan.jsonl"), {case_id(member) for member in members})
        stored = StoredRun(run)
        # By the ids that are in the file: a checkout may read them as others.
        cases = dict(zip(ids, stored.plan.values(), strict=True))
        for member in members:
            told = said(run / member, cases[case_id(member)], stored.info.facts, pack)
            yield {"history": history_name(member), **told}


def history_name(member: str) -> str:
    """Return a member's name of a history, such as `resend/queue-order/1` for `history/resend/queue-order/1.jsonl`."""
    return str(PurePosixPath(member).relative_to("history").with_suffix(""))


def case_id(member: str) -> str:
    return history_name(member).rpartition("/")[0]


def write_plan(file: Path, plan: bytes, wanted: Collection[str]) -> list[str]:
    """Write the wanted Cases of a plan; return their ids in order."""
    head, *lines = plan.splitlines(keepends=True)
    of_ids = {id: line for line in lines if (id := json.loads(line)["id"]) in wanted}
    file.write_bytes(b"".join([head, *of_ids.values()]))
    return list(of_ids)


def said(history: Path, case: Case, facts: ClientFacts, pack: Pack) -> dict[str, Any]:
    began_s = time.process_time()
    try:
        events: list[Event] = list(read_lines(history, FileKind.HISTORY, Event, torn_tail=True))  # type: ignore[arg-type]
        judgements = judge(events, case, facts, pack.catalogue, pack.checks, int(history.stem))
    except Exception as error:
        return {"trouble": f"{type(error).__name__}: {error}"}
    cpu_s = time.process_time() - began_s
    return {
        "events": len(events),
        "cpu_s": round(cpu_s, 5),
        "said": {one.requirement: plain(one) for one in judgements},
    }


def plain(judgement: Judgement) -> Mapping[str, Any]:
    return {
        "verdict": judgement.verdict.value,
        "exercised": judgement.exercised,
        "subjects": judgement.examples,
        "findings": sorted((finding.code, list(finding.events)) for finding in judgement.findings),
        "grades": dict(Counter(finding.grade.value for finding in judgement.findings)),
        "reason": judgement.reason,
        # Earlier checkouts do not count them.
        "not_judged": dict(getattr(judgement, "not_judged", None) or {}),
    }


def main() -> None:
    if sys.argv[1:] == ["--digest"]:
        print(digest())
        return
    pack = load_packs()
    lift_caps()
    for part, packed, names in json.load(sys.stdin):
        for one in judged_part(Path(packed), None if names is None else set(names), pack):
            print(json.dumps({"type": "judged", "part": part, **one}), flush=True)
        peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps({"type": "end", "part": part, "peak_mb": peak_kb // 1024}), flush=True)


if __name__ == "__main__":
    main()
