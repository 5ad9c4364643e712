"""The corpus: a folder of packed runs, so that both sides read the same bytes, today and later.

A part is a run folder (run.json, plan.jsonl, histories) in a zip file; `stored/go-0.21.0` is in `stored/go-0.21.0.zip`.
"""

from __future__ import annotations

import contextlib
import json
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from assay_conformance.model.case import Case
from assay_conformance.model.event import Event
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.run import BrokerInfo, LoadSource, Machine, RunInfo
from assay_conformance.model.schema import CURRENT, FileKind
from assay_fixtures.reference.probe import FACTS
from assay_fixtures.runner.folder import RunFolder, read_lines

PARTS_OF_A_RUN: Final = ("run.json", "plan.jsonl", "history")


def parts(corpus: Path, chosen: Iterable[str] = ()) -> dict[str, Path]:
    """Return the file of each part, or of those whose names begin with one of `chosen`."""
    names = tuple(chosen) or ("",)
    files = ((path.relative_to(corpus).with_suffix("").as_posix(), path) for path in sorted(corpus.rglob("*.zip")))
    return {part: path for part, path in files if part.startswith(names)}


def fingerprint(packed: Path) -> str:
    """Return a digest of all members of a packed part."""
    with zipfile.ZipFile(packed) as archive:
        return json.dumps(sorted((info.filename, info.CRC) for info in archive.infolist()))


# --- packing ----------------------------------------------------------------------------------------------------------


def pack(run: Path, packed: Path) -> int:
    """Pack one run folder; return how many histories it has. A part is there only when it is complete."""
    names = [path for top in PARTS_OF_A_RUN for path in ([run / top] if (run / top).is_file() else _files(run / top))]
    packed.parent.mkdir(parents=True, exist_ok=True)
    aside = packed.with_suffix(".aside")
    with zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in names:
            archive.write(path, path.relative_to(run).as_posix())
    aside.rename(packed)
    return sum(path.suffix == ".jsonl" for path in names) - 1


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.jsonl") if path.is_file())


@contextlib.contextmanager
def run_folders(source: Path) -> Iterator[list[Path]]:
    """Provide the run folders in a folder, or in a tar file."""
    with contextlib.ExitStack() as stack:
        if source.is_file():
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-corpus-")))
            with tarfile.open(source) as archive:
                archive.extractall(folder, filter="data")
            source = folder
        yield sorted(path.parent for path in source.rglob("run.json"))


def unpack(packed: Path, history: str, folder: Path) -> None:
    """Unpack one history of a part as a run folder, for `assay check`."""
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(folder, ["run.json", f"history/{history}.jsonl"])
        head, *cases = archive.read("plan.jsonl").splitlines(keepends=True)
    own = [line for line in cases if json.loads(line)["id"] == history.rpartition("/")[0]]
    (folder / "plan.jsonl").write_bytes(b"".join([head, *own]))


def pack_single(history: Path, packed: Path) -> int:
    """Pack one history with the Case beside it, which may be in a replay file."""
    document = json.loads(history.with_suffix(".json").read_bytes())
    case = msgspec.convert(document.get("case", document), Case)
    events: Iterator[Event] = read_lines(history, FileKind.HISTORY, Event, torn_tail=True)  # type: ignore[arg-type]
    return write(packed, FACTS, [(case, events)])


# --- histories of our own ---------------------------------------------------------------------------------------------


def write(packed: Path, facts: ClientFacts, histories: Iterable[tuple[Case, Iterable[Event]]]) -> int:
    """Write a part of histories that no certification made, one of each Case; return how many they are."""
    with tempfile.TemporaryDirectory(prefix="assay-corpus-") as folder:
        run, cases = RunFolder(Path(folder)), list[Case]()
        for case, events in histories:
            cases.append(case)
            with run.open_history(case.id, 1) as file:
                for event in events:
                    file.add(event)
        run.write_plan(cases)
        run.write_info(_info(packed.stem, facts))
        return pack(run.path, packed)


def _info(name: str, facts: ClientFacts) -> RunInfo:
    return RunInfo(
        schema=str(CURRENT[FileKind.RUN]),
        file=FileKind.RUN,
        run=name,
        suite="",
        catalogue="",
        hypothesis="",
        facts=facts,
        announced=facts.client_version,
        broker=BrokerInfo(kind="embedded", name="assay", version=""),
        machine=Machine(python="", cpus=1, platform=""),
        load_source=LoadSource.SCHEDSTAT,
        seed=0,
        started_unix_ms=0,
        ended_unix_ms=0,
    )


def cases_of(packed: Path) -> dict[str, Case]:
    """Return the Cases of a part by their ids."""
    with zipfile.ZipFile(packed) as archive:
        _, *lines = archive.read("plan.jsonl").splitlines()
    cases = (msgspec.json.decode(line, type=Case) for line in lines)
    return {case.id: case for case in cases}
