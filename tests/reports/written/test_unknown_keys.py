"""A key that nobody knows is named with its place and what was expected, in every file that people write or edit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay_conformance.model.case import Case
from assay_conformance.model.doors import MalformedError, convert, decode_json
from assay_conformance.model.errors import UsageError
from assay_conformance.model.schema import FileKind
from assay_fixtures.runner.folder import StoredRun, lines, read_lines
from assay_reports.replay import Replay, read_replay
from assay_reports.verdicts import read_verdicts

GOLDEN = Path(__file__).parents[3] / "fixtures" / "golden" / "runs"
CASE: dict[str, Any] = {
    "id": "resend/one",
    "title": "One",
    "requirements": ["resend.keeps-order"],
    "steps": [{"who": "agent", "verb": "open_client", "saves": 0}],
    "faults": [{"trigger": {"when": "frame", "command": "SEND", "direction": "c2b"}, "action": {"do": "drop"}}],
    "topology": {"topics": [{"name": "t"}]},
}
REPLAY = {
    **dict.fromkeys(("suite", "catalogue", "agent", "client", "version", "broker"), "1"),
    "schema": "2.0",
    "file": "replay",
    "case": CASE,
    "breaches": [{"requirement": "resend.keeps-order", "clause": "", "code": "lost", "sentence": ""}],
}


def with_key(table: Any, place: list[Any], key: str) -> Any:
    """A copy with one more key in the table at that place."""
    copy = json.loads(json.dumps(table))
    inner = copy
    for step in place:
        inner = inner[step]
    inner[key] = 5
    return copy


@pytest.mark.parametrize(
    ("place", "key", "sentence"),
    [
        ([], "topologies", "unknown key 'topologies'; did you mean 'topology'?"),
        (["topology"], "broker", "unknown key 'broker' in topology; did you mean 'brokers'?"),
        (
            ["topology", "topics", 0],
            "partition",
            "unknown key 'partition' in topology.topics; did you mean 'partiti",
        ),
        (["steps", 0], "save", "unknown key 'save' in steps; did you mean 'saves'?"),
        (["faults", 0], "unti", "unknown key 'unti' in faults; did you mean 'until'?"),
        (["faults", 0, "trigger"], "wher", "unknown key 'wher' in faults.trigger; did you mean 'where'?"),
        (
            ["topology"],
            "zzz",
            "unknown key 'zzz' in topology; expected one of brokers, keep_alive_ms, ",
        ),
    ],
)
def test_it_is_named_with_its_place_and_a_near_miss(place: list[Any], key: str, sentence: str) -> None:
    with pytest.raises(MalformedError) as refused:
        convert(with_key(CASE, place, key), Case)
    assert str(refused.value).startswith(sentence)


def test_text_and_tables_are_read_alike() -> None:
    text = json.dumps(with_key(CASE, ["topology"], "broker")).encode()
    with pytest.raises(MalformedError, match="unknown key 'broker' in topology; did you mean 'brokers'"):
        decode_json(text, msgspec.json.Decoder(Case))


def test_a_replay_file_with_one_is_refused_and_the_file_named() -> None:
    assert isinstance(read_replay(json.dumps(REPLAY).encode(), "r.json"), Replay)
    wrong = with_key(REPLAY, ["case", "topology", "topics", 0], "partition")
    with pytest.raises(UsageError, match=r"^r\.json: unknown key 'partition' in case\.topology\.topics; did you mean"):
        read_replay(json.dumps(wrong).encode(), "r.json")


def test_a_plan_with_one_is_refused_and_the_line_named(tmp_path: Path) -> None:
    plan = tmp_path / "plan.jsonl"
    plan.write_bytes(lines(FileKind.PLAN, [CASE, with_key(CASE, ["topology"], "broker")]))
    with pytest.raises(UsageError, match=r"plan\.jsonl, line 3: unknown key 'broker' in topology"):
        list(read_lines(plan, FileKind.PLAN, Case))


@pytest.mark.parametrize("version", [path.name for path in sorted(GOLDEN.iterdir()) if path.is_dir()])
def test_what_earlier_versions_wrote_is_read(version: str) -> None:
    verdicts = GOLDEN / version / "verdicts.json"
    assert StoredRun(GOLDEN / version).plan
    assert read_verdicts(verdicts.read_bytes(), str(verdicts)).cells
