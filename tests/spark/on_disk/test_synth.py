"""Made-up ledgers: certificates are exact, bytes follow from the plan, and anomalies are where the truth file says."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay_conformance.ledger.info import Part
from assay_conformance.ledger.tables import ACK, ATTEMPT, DELIVERY, OUTCOME, STORED
from assay_conformance.model.errors import UsageError
from assay_reports.ledgers.audit import audit
from assay_reports.ledgers.opening import Ledger, open_ledger
from assay_reports.ledgers.synth.anomalies import KINDS
from assay_reports.ledgers.synth.flows import FLOWS
from assay_reports.ledgers.synth.plan import Asked, Plan, default_anomalies, read_anomalies
from assay_reports.ledgers.synth.writing import TRUTH, make


def made(folder: Path, plan: Plan) -> Ledger:
    make(plan, folder, "0", 1, lambda _done, _of: None)
    return open_ledger(str(folder))


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


HEALTHY = Plan(30_000, 1, True, 20_000)
SICK = Plan(80_000, 3, True, 40_000, default_anomalies(True))
PLAIN = Plan(20_000, 2, False, 15_000, default_anomalies(False))


@pytest.fixture(scope="module", params=[HEALTHY, SICK, PLAIN], ids=["healthy", "sick", "plain"])
def ledger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    return made(tmp_path_factory.mktemp("made") / "ledger", request.param)


def test_certificates_are_exact(ledger: Ledger) -> None:
    told = audit(ledger, full=True)
    assert (told.differences, told.rows) == ((), ledger.rows(DELIVERY.name) + ledger.rows(OUTCOME.name))


def test_positions_count_each_consumers_deliveries_in_time(ledger: Ledger) -> None:
    found = defaultdict(list)
    for row in ledger.read(DELIVERY):
        found[row.consumer].append((row.pos, row.t))
    for rows in found.values():
        rows.sort()
        assert [pos for pos, _ in rows] == list(range(len(rows)))
        assert [t for _, t in rows] == sorted(t for _, t in rows)


def test_what_made_the_rows_up_stands_in_the_contract(ledger: Ledger) -> None:
    assert ledger.info.versions[Part.NUMPY] == np.__version__


def test_a_plain_ledger_has_three_events_a_message(tmp_path: Path) -> None:
    ledger = made(tmp_path / "ledger", Plan(20_000, 1, False, 20_000))
    counts = [ledger.rows(table.name) for table in (ATTEMPT, OUTCOME, DELIVERY, ACK, STORED)]
    assert counts == [20_000, 20_000, 20_000, 0, 0]


def test_a_mixed_ledger_holds_what_healthy_runs_hold(tmp_path: Path) -> None:
    ledger = made(tmp_path / "ledger", HEALTHY)
    outcomes, deliveries = list(ledger.read(OUTCOME)), list(ledger.read(DELIVERY))
    assert {row.code for row in outcomes} == {0, 1, 2}
    assert {row.attempt for row in ledger.read(ATTEMPT)} == {0, 1}
    assert {row.kind for row in ledger.read(ACK)} == {0, 1, 2}
    assert {row.chunks for row in ledger.read(STORED)} == {1, 3}
    assert {(row.sub, row.again) for row in deliveries} == {(0, 0), (1, 0), (1, 1)}
    assert any(row.deliver_at is not None for row in ledger.read(ATTEMPT))


def test_a_plan_that_was_killed_is_gone_on_with_to_the_same_bytes(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    made(whole, HEALTHY)
    made(killed, HEALTHY)
    (killed / "delivery" / "w1-000000.parquet").rename(killed / "delivery" / ".w1-000000.parquet")
    (killed / "ack" / "w0-000000.parquet").unlink()
    made(killed, HEALTHY)
    assert content(killed) == content(whole)


def test_processes_make_the_same_bytes(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    made(one, PLAIN)
    make(PLAIN, two, "0", 2, lambda _done, _of: None)
    assert content(one) == content(two)


def test_another_plan_is_not_mixed_in(tmp_path: Path) -> None:
    made(tmp_path / "ledger", PLAIN)
    with pytest.raises(UsageError, match="another plan"):
        made(tmp_path / "ledger", HEALTHY)


def test_the_truth_names_every_anomaly(tmp_path: Path) -> None:
    made(tmp_path / "ledger", SICK)
    told = msgspec.json.decode((tmp_path / "ledger" / TRUTH).read_bytes())
    assert len(told) == 5 * len(KINDS) + len(FLOWS)
    assert {one["kind"] for one in told} == {*KINDS, *FLOWS}
    assert len({(one["kind"], one["stream"], one["seq"]) for one in told}) == len(told)


def test_an_anomaly_sits_where_it_was_asked_for(tmp_path: Path) -> None:
    ledger = made(tmp_path / "ledger", Plan(20_000, 1, False, 20_000, {"lost": Asked(at=((3, 450),))}))
    told = {(row.stream, row.seq) for row in ledger.read(OUTCOME)}
    got = {(row.stream, row.seq) for row in ledger.read(DELIVERY)}
    assert told - got == {(3, 450)}


def test_a_place_that_holds_no_anomaly_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="nearest place in this stream is seq 450"):
        Plan(20_000, 1, False, 20_000, {"lost": Asked(at=((3, 449),))}).truth()


def test_a_rate_is_of_messages() -> None:
    plan = Plan(1_000_000, 1, False, 1_000_000, {"corrupt": Asked(rate=1e-5)})
    assert len(plan.truth()) == 10


def test_too_many_anomalies_are_refused() -> None:
    with pytest.raises(UsageError, match="no place for so many anomalies of kind lost"):
        Plan(10_000, 1, False, 10_000, {"lost": Asked(count=1000)}).truth()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("moon.count = 1", "no anomaly 'moon'; expected one of"),
        ("hole.count = 1", "no anomaly 'hole' in a plain ledger"),
        ("lost.often = 1", "lost: .*often"),
        ("stalled.at = [[0, 150]]", "stalled: at a topic of its own, and at no message"),
        ("lost = [", "expected a TOML file of anomalies"),
        ("lost.count = -3", "lost: Expected `int` >= 0"),
        ("lost.rate = 5.0", "lost: Expected `float` <= 1.0"),
    ],
)
def test_a_wrong_file_of_anomalies_is_told_apart(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "anomalies.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=sentence):
        read_anomalies(path, mix="stalled" in text)


def test_a_fifo_in_the_place_of_the_plan_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ledger").mkdir()
    os.mkfifo(tmp_path / "ledger" / "synth.json")
    with pytest.raises(UsageError, match="is a FIFO; expected the plan of a ledger"):
        made(tmp_path / "ledger", PLAIN)


@pytest.mark.parametrize(
    ("messages", "size", "anomalies", "why"),
    [
        (10**400, 10**6, {}, "parts; expected at most"),
        (10**6, 1, {}, "1000000 parts; expected at most"),
        (10**6, 10**6, {"corrupt": Asked(count=10**9)}, "1000000000 anomalies were asked for"),
        (10**9, 10**6, {"corrupt": Asked(rate=1.0)}, "1000000000 anomalies were asked for"),
    ],
)
def test_a_ledger_that_no_machine_would_hold_is_refused(
    messages: int, size: int, anomalies: dict[str, Asked], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        Plan(messages, 1, False, size, anomalies)
