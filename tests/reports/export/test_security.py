"""The export of a security deviation is refused with whom to tell first, unless it is asked for by its id."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay_fixtures.agents.manifest import find
from assay_fixtures.cli import _run
from assay_reports.expectations import parse_expectations
from assay_reports.findings import security_of

MANIFEST = find("pulsar-python")
SECRET = "dead-letter--consumer-closed-before-receipt.json"
HEAD = 'schema = "2.0"\nagent = "a"\ntested = "*"\n'
CAUSE = """
[[deviation]]
id = "{id}"
title = "t"
versions = "*"
reason = "r"
{more}
[[deviation.seen]]
requirement = "x.y"
code = "{code}"
cases = ["x/{id}"]
"""


def ids(case: str, code: str, *causes: str, disclosed: tuple[str, ...] = ()) -> list[str]:
    listed = parse_expectations(HEAD + "".join(causes), "e.toml")
    return [one.id for one in security_of([listed], case, {("x.y", code)}, disclosed)]


def cause(name: str, code: str, *, secret: bool) -> str:
    return CAUSE.format(id=name, code=code, more='security = "s@example.org"' if secret else "")


def test_replay_of_a_security_deviation_is_not_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = MANIFEST.folder / "replays" / SECRET
    assert _run(["export", str(file), "-o", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert "report it to security@apache.org" in told
    assert "--disclose dead-letter-with-other-bytes exports it" in told
    assert list(tmp_path.iterdir()) == []


def test_replay_of_a_security_deviation_is_exported_when_its_id_is_named(tmp_path: Path) -> None:
    file = MANIFEST.folder / "replays" / SECRET
    assert _run(["export", str(file), "-o", str(tmp_path), "--disclose", "dead-letter-with-other-bytes"]) == 0


def test_replay_of_another_deviation_is_exported(tmp_path: Path) -> None:
    file = MANIFEST.folder / "replays" / "ack--while-disconnected.json"
    assert _run(["export", str(file), "-o", str(tmp_path)]) == 0


def test_case_that_is_listed_for_it_shows_it() -> None:
    both = cause("open", "lost", secret=False), cause("secret", "lost", secret=True)
    assert ids("x/secret", "lost", *both) == ["secret"]


def test_any_case_with_what_no_published_deviation_shows_shows_it() -> None:
    both = cause("open", "late", secret=False), cause("secret", "lost", secret=True)
    assert ids("generated/x", "lost", *both) == ["secret"]


def test_case_with_what_others_show_too_does_not_show_it() -> None:
    both = cause("open", "lost", secret=False), cause("secret", "lost", secret=True)
    assert ids("generated/x", "lost", *both) == []


def test_named_one_is_not_among_them() -> None:
    assert ids("x/secret", "lost", cause("secret", "lost", secret=True), disclosed=("secret",)) == []
