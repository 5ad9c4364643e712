"""A stored run as a ledger: its attempts lie one behind the other, and none of their numbers meet."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from assay_conformance.ledger.info import Acks
from assay_conformance.ledger.tables import DELIVERY, PARTS
from assay_fixtures.cli import main
from assay_reports.ledgers.histories import APART_US
from assay_reports.ledgers.opening import Ledger, open_ledger

GOLDEN = Path(__file__).parents[3] / "fixtures" / "golden" / "runs" / "1.1"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    out = tmp_path_factory.mktemp("run") / "ledger"
    with pytest.raises(SystemExit) as ended:
        main(["ledger", str(GOLDEN), "--out", str(out)])
    assert ended.value.code == 0
    return open_ledger(str(out))


def test_every_number_is_a_row_of_its_small_table(ledger: Ledger) -> None:
    topics = {one.topic for one in ledger.small["topic"]}
    streams = {one.stream: one.topic for one in ledger.small["stream"]}
    subs = {one.sub: set(map(int, one.topics.split())) for one in ledger.small["subscription"]}
    for table in PARTS:
        assert {row.stream for row in ledger.read(table)} <= set(streams)
    assert all(streams[row.stream] in subs[row.sub] for row in ledger.read(DELIVERY))
    assert set(streams.values()) <= topics


def test_attempts_do_not_touch_in_time(ledger: Ledger) -> None:
    times = sorted(row.t for row in ledger.read(DELIVERY))
    gaps = [later - earlier for earlier, later in itertools.pairwise(times) if later - earlier > APART_US // 2]
    assert gaps
    assert min(gaps) >= APART_US


def test_how_the_application_acknowledged_stands_in_the_contract(ledger: Ledger) -> None:
    assert ledger.info.acking.mode is not Acks.UNKNOWN


def test_a_run_is_not_written_twice(ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["ledger", "run", str(GOLDEN), "--out", ledger.where])
    assert ended.value.code == 2
    assert "is there already" in capsys.readouterr().err
