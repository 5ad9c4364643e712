"""A run folder is all it takes: judged again elsewhere it says the same, byte for byte; a changed event shows."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.end_to_end.running import GOLDEN, command_line, mutant

from assay_conformance.model.renamed import renamed
from assay_conformance.model.requirement import Level
from assay_conformance.model.schema import CURRENT, RENAMED, FileKind
from assay_fixtures.cli import _run
from assay_fixtures.packs import Pack, load_packs
from assay_fixtures.runner.folder import StoredRun, history_path

Event = dict[str, Any]
Printed = pytest.CaptureFixture[str]

# --- judged again elsewhere -------------------------------------------------------------------------------------------

COMPARED = ("findings.jsonl", "verdicts.json", "certificate.json", "junit.xml", "report.html")

ALONE = """
import sys
FORBIDDEN = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system")
def refuse(event, arguments):
    if event.startswith(FORBIDDEN):
        raise RuntimeError(f"judging needs no {event}")
sys.addaudithook(refuse)
from assay_fixtures.cli import main
main()
"""
"""The `assay` command in an interpreter that can neither reach a network nor start a process."""


def judge_alone(run: str, where: Path) -> int:
    """`assay check RUN`, typed in `where`, without a PATH, a cache, or anybody to talk to."""
    bare = {"PATH": "/nonexistent", "HOME": str(where / "home"), "ASSAY_CACHE": str(where / "cache")}
    return subprocess.run([sys.executable, "-c", ALONE, "check", run], cwd=where, env=bare, check=False).returncode


@dataclass(frozen=True)
class Moved:
    """What the run wrote, and what judging it again elsewhere wrote."""

    codes: tuple[int, int]
    before: dict[str, bytes]
    after: dict[str, bytes]


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Moved:
    base = tmp_path_factory.mktemp("moved")
    here, there = base / "here", base / "there"
    agent = mutant(here / "agent", "resend-changes-metadata")
    arguments = ("certify", str(agent), "--select", "resend/same-message", "--select", "ack/within-one-group-time")
    ran = subprocess.run(command_line(*arguments), cwd=here, capture_output=True, check=False)
    (folder,) = (here / "runs").iterdir()
    before = {name: (folder / name).read_bytes() for name in COMPARED}
    for name in COMPARED:
        (folder / name).unlink()
    shutil.rmtree(folder / "replay")
    shutil.rmtree(agent.parent)
    there.mkdir()
    folder = folder.rename(there / folder.name)
    code = judge_alone(str(folder), there)
    return Moved((ran.returncode, code), before, {name: (folder / name).read_bytes() for name in COMPARED})


@pytest.mark.one_in(2, group="moved run")
def test_moved_run_ends_with_the_same_code(moved: Moved) -> None:
    assert moved.codes == (1, 1)


@pytest.mark.one_in(2, group="moved run")
@pytest.mark.parametrize("name", COMPARED)
def test_moved_run_is_judged_to_the_same_bytes(moved: Moved, name: str) -> None:
    assert moved.before[name] == moved.after[name]


def test_interpreter_that_judges_alone_could_not_do_otherwise() -> None:
    attempt = f"{ALONE.partition('from assay')[0]}\nimport socket\nsocket.socket()"
    told = subprocess.run([sys.executable, "-c", attempt], capture_output=True, text=True, check=False)
    assert "judging needs no socket." in told.stderr


# --- the golden runs --------------------------------------------------------------------------------------------------

RELEASED = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())


def golden(tmp_path: Path, version: str = "1.0") -> Path:
    """A copy that may be written to."""
    return shutil.copytree(GOLDEN / version, tmp_path / "golden")


def _unjudged(tmp_path: Path, version: str) -> Path:
    """A copy without what was made by judging it."""
    folder = golden(tmp_path, version)
    for name in ("findings.jsonl", "verdicts.json", "certificate.json"):
        (folder / name).unlink(missing_ok=True)
    return folder


def _then(version: str, name: str) -> dict[str, Any]:
    """A document of a golden run, with the ids of today."""
    return renamed(json.loads((GOLDEN / version / name).read_bytes())) | {"schema": str(RENAMED)}


def _pack_of_then(version: str) -> Pack:
    """Ours, without requirements that a golden run knows nothing of: one added since is listed as a difference."""
    pack = load_packs()
    judged = {row["requirement"] for row in _then(version, "verdicts.json")["requirements"]}
    known = {name: stated for name, stated in pack.catalogue.requirements.items() if name in judged}
    checks = {name: check for name, check in pack.checks.items() if name in judged}
    return replace(pack, catalogue=replace(pack.catalogue, requirements=known), checks=checks)


@pytest.fixture
def pack_of_then(request: pytest.FixtureRequest, in_place_of_our_pack: Callable[[Pack], None]) -> Pack:
    """What judges a golden run here."""
    callspec = getattr(request.node, "callspec", None)
    pack = _pack_of_then(callspec.params.get("version", "1.0") if callspec else "1.0")
    in_place_of_our_pack(pack)
    return pack


def test_schema_of_today_has_a_golden_run() -> None:
    assert str(CURRENT[FileKind.RUN]) in RELEASED


@pytest.mark.parametrize("version", RELEASED)
@pytest.mark.usefixtures("pack_of_then")
def test_golden_run_is_judged_to_the_same_findings(version: str, tmp_path: Path) -> None:
    folder = _unjudged(tmp_path, version)
    assert _run(["check", str(folder)]) == 1
    then, now = (_records(where / "findings.jsonl") for where in (GOLDEN / version, folder))
    # Where a check stands among the others is no part of what it says.
    assert sorted(map(_wordless, now), key=str) == sorted(map(_wordless, map(renamed, then)), key=str)


@pytest.mark.parametrize("version", RELEASED)
@pytest.mark.usefixtures("pack_of_then")
def test_golden_run_comes_to_the_same_verdicts(version: str, tmp_path: Path) -> None:
    folder = _unjudged(tmp_path, version)
    _run(["check", str(folder)])
    then, now = _then(version, "verdicts.json"), json.loads((folder / "verdicts.json").read_bytes())
    for document in (then, now):
        # The wording of a clause may improve, and with it the catalogue's revision.
        del document["catalogue"], document["schema"]
        document["cells"].sort(key=lambda cell: (cell["requirement"], cell["case"]))
    # Keys may be added.
    assert _wordless({key: now[key] for key in then}) == _wordless(then)


def _wordless(value: Any) -> Any:
    """Return what was found without the sentences about it, whose wording may improve: requirement, code and events."""
    if isinstance(value, dict):
        return {key: _wordless(one) for key, one in value.items() if key not in ("sentence", "reason")}
    return [_wordless(one) for one in value] if isinstance(value, list) else value


def _records(path: Path) -> list[dict[str, Any]]:
    """Of a file of JSON lines, without its header."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()[1:]]


def _checked(tmp_path: Path) -> Path:
    """A run that these very rules judged, with its digests."""
    folder = golden(tmp_path)
    _run(["check", str(folder)])
    return folder


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_that_is_as_it_was_is_checked_to_the_same_bytes(tmp_path: Path) -> None:
    folder = _checked(tmp_path)
    before = contents(folder)
    _run(["check", str(folder)])
    assert contents(folder) == before


@pytest.mark.parametrize("name", ["run.json", "plan.jsonl", "history/nack/one-of-three/1.jsonl"])
def test_what_differs_from_the_digest_is_named_and_nothing_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _checked(tmp_path)
    with (folder / name).open("ab") as file:
        file.write(b" \n" if name.endswith(".json") else (folder / name).read_bytes().splitlines(True)[-1])
    (folder / "verdicts.json").unlink()
    assert _run(["check", str(folder)]) == 2
    assert f"{name} differs from the run's digest in certificate.json; nothing is written" in capsys.readouterr().err
    assert not (folder / "verdicts.json").exists()


def test_a_history_that_is_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _checked(tmp_path)
    (folder / "history/nack/one-of-three/1.jsonl").unlink()
    assert _run(["check", str(folder)]) == 2
    assert "history/nack/one-of-three/1.jsonl differs from the run's digest" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["certificate.json", "verdicts.json"])
def test_a_document_that_does_not_follow_from_its_run_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _checked(tmp_path)
    text = (folder / name).read_text("utf-8")
    (folder / name).write_text(text.replace('"pass"', '"fail"', 1), "utf-8")
    assert _run(["check", str(folder)]) == 2
    assert f"{name}: does not follow from the run" in capsys.readouterr().err


def test_without_its_certificate_a_changed_run_is_judged_as_it_is(tmp_path: Path) -> None:
    folder = _checked(tmp_path)
    (folder / "certificate.json").unlink()
    run = json.loads((folder / "run.json").read_bytes())
    (folder / "run.json").write_text(json.dumps({**run, "seed": 7}), "utf-8")
    assert _run(["check", str(folder)]) != 2
    assert (folder / "certificate.json").exists()


def test_digests_are_those_that_sha256sum_checks(tmp_path: Path) -> None:
    folder = _checked(tmp_path)
    for line in (folder / "SHA256SUMS").read_text("utf-8").splitlines():
        digest, name = line.split("  ", 1)
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def test_checking_writes_through_no_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, elsewhere = golden(tmp_path), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder / "findings.jsonl").unlink()
    (folder / "findings.jsonl").symlink_to(elsewhere / "findings.jsonl")
    (folder / "replay").symlink_to(elsewhere)
    assert _run(["check", str(folder)]) == 2
    assert f"{folder / 'replay'}: is a link" in capsys.readouterr().err
    assert list(elsewhere.iterdir()) == []


CERTIFIED = [version for version in RELEASED if (GOLDEN / version / "certificate.json").exists()]


@pytest.mark.parametrize("version", CERTIFIED)
def test_golden_run_comes_to_the_same_certificate(version: str, tmp_path: Path) -> None:
    folder = _unjudged(tmp_path, version)
    _run(["check", str(folder)])
    then, now = _then(version, "certificate.json"), json.loads((folder / "certificate.json").read_bytes())
    claimed = [{claim["profile"]: claim for claim in one.pop("profiles")} for one in (then, now)]
    # Requirements and profiles may be added, and clauses reworded; what was certified stays.
    for rows in ("requirements", "broker_side"):
        known = {row["requirement"] for row in then[rows]}
        now[rows] = [row for row in now[rows] if row["requirement"] in known]
    since = {"catalogue": "", "schema": "", "rules": ""}
    then |= since
    # Keys may be added.
    assert {key: ({**now, **since})[key] for key in then} == then
    for profile, claim in claimed[0].items():
        again = claimed[1][profile]
        assert claim["claimed"] or not again["claimed"]
        # A requirement that was added since was not judged then.
        new = [reason for reason in again.get("because", ()) if reason not in claim.get("because", ())]
        assert all(reason.endswith(": not judged in this run") for reason in new), new


@pytest.mark.parametrize("name", ["run.json", "plan.jsonl", "expectations.toml", "history/nack/one-of-three/1.jsonl"])
def test_digest_of_a_run_is_that_of_all_it_was_judged_by(name: str, tmp_path: Path) -> None:
    folder = golden(tmp_path)
    (folder / "expectations.toml").write_text('schema = "1.0"\n')
    stored = StoredRun(folder)
    before = stored.digest("expectations.toml")
    assert stored.digest("expectations.toml") == before
    (folder / name).write_bytes((folder / name).read_bytes() + b"\n")
    assert stored.digest("expectations.toml") != before


# --- events that were changed -----------------------------------------------------------------------------------------

HistoryChange = Callable[[list[Event]], list[Event]]


def change(folder: Path, case: str, changed: HistoryChange) -> None:
    """Rewrite the first history of a Case."""
    path = history_path(folder, case, 1)
    head, *events = (json.loads(line) for line in path.read_text().splitlines())
    after = changed([*events])
    assert after != events
    path.write_text("".join(json.dumps(event) + "\n" for event in (head, *after)))


def index_of(events: list[Event], nth: int = 0, **wanted: Any) -> int:
    """The nth event with these fields."""
    return [i for i, event in enumerate(events) if wanted.items() <= event.items()][nth]


def without_one_resend(events: list[Event]) -> list[Event]:
    """A send did not leave again, and yet its receipt came."""
    del events[index_of(events, 3, kind="frame", command="SEND")]
    return events


def with_a_failed_send(events: list[Event]) -> list[Event]:
    """The client says of a stored message that it surely was not sent."""
    place = index_of(events, kind="completion", verb="send")
    events[place] = {**events[place], "outcome": "fail", "error": "other"}
    return events


def with_a_lost_entry(events: list[Event]) -> list[Event]:
    """The topic does not hold an entry that was acknowledged."""
    del events[index_of(events, kind="stored")]
    place = index_of(events, kind="read-back")
    events[place] = {**events[place], "entries": events[place]["entries"][1:]}
    return events


def with_an_early_redelivery_request(events: list[Event]) -> list[Event]:
    place = index_of(events, kind="frame", command="REDELIVER_UNACKNOWLEDGED_MESSAGES")
    early = events.pop(place)
    nack = index_of(events, kind="completion", verb="nack")
    events.insert(nack + 1, {**early, "t_ns": events[nack]["t_ns"] + 1_000})
    return events


CHANGES: dict[str, tuple[str, HistoryChange, str, str]] = {
    "resend": ("resend/pending-sends", without_one_resend, "resend.ignores-stale-receipt", "fail"),
    "outcome": ("dedup/effectively-once", with_a_failed_send, "dedup.effectively-once", "fail"),
    "entry": ("dedup/effectively-once", with_a_lost_entry, "dedup.effectively-once", "fail"),
    "time": ("nack/one-of-three", with_an_early_redelivery_request, "nack.redelivery-requested-in-time", "fail"),
    "end": ("nack/one-of-three", lambda events: events[:-1], "nack.redelivery-requested-in-time", "harness-error"),
}
"""What is changed -> the Case, how, the requirement that notices, and what it comes to."""


def verdicts(folder: Path) -> dict[str, str]:
    rows = json.loads((folder / "verdicts.json").read_text())["requirements"]
    return {row["requirement"]: row["verdict"] for row in rows}


@pytest.mark.parametrize("what", CHANGES)
def test_one_changed_event_changes_the_verdict(what: str, tmp_path: Path) -> None:
    case, changed, requirement, verdict = CHANGES[what]
    folder = golden(tmp_path)
    assert verdicts(folder).get(requirement) in ("pass", None)
    change(folder, case, changed)
    _run(["check", str(folder)])
    assert verdicts(folder)[requirement] == verdict


def test_a_run_without_one_of_its_histories_is_invalid(tmp_path: Path) -> None:
    folder = golden(tmp_path)
    shutil.rmtree(folder / "history" / "nack")
    assert _run(["check", str(folder)]) != 0
    assert verdicts(folder)["nack.redelivery-requested-in-time"] == "invalid"


# --- a newer catalogue ------------------------------------------------------------------------------------------------


def test_newer_catalogue_lists_what_it_sees_differently(
    tmp_path: Path, pack_of_then: Pack, in_place_of_our_pack: Callable[[Pack], None], capsys: Printed
) -> None:
    pack = pack_of_then
    old = pack.catalogue.requirements["ack.flushed-on-close"]
    softer = {**pack.catalogue.requirements, old.id: msgspec.structs.replace(old, level=Level.SHOULD)}
    newer = replace(pack, catalogue=replace(pack.catalogue, requirements=softer, revision="newer"))
    in_place_of_our_pack(newer)
    folder = golden(tmp_path)
    assert _run(["check", str(folder)]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("changed")]
    (difference,) = told
    assert difference.startswith("changed  ack.flushed-on-close: fail (")
    assert "-> warn (" in difference
    assert json.loads((folder / "verdicts.json").read_text())["catalogue"] == "newer"


def test_requirement_added_since_is_listed_as_a_difference(tmp_path: Path, capsys: Printed) -> None:
    _run(["check", str(golden(tmp_path))])
    assert "changed  robustness.calls-do-not-hang: not judged -> pass" in capsys.readouterr().out


@pytest.mark.usefixtures("pack_of_then")
def test_same_catalogue_lists_no_differences(tmp_path: Path, capsys: Printed) -> None:
    _run(["check", str(golden(tmp_path))])
    assert "changed  " not in capsys.readouterr().out
