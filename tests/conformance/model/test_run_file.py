"""run.json, and what holds for every document that is one JSON object: equal bytes, upgrades, one-sentence refusals."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from assay_conformance.model import schema
from assay_conformance.model.errors import UsageError
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.run import BrokerInfo, LoadSource, Machine, RunInfo, read_run
from assay_conformance.model.schema import FileKind, write_document


def info(*capabilities: str, **fields: Any) -> RunInfo:
    return RunInfo(
        schema="2.0",
        file=FileKind.RUN,
        run="r",
        suite="0.1.0",
        catalogue="abc",
        hypothesis="6",
        facts=ClientFacts(agent="a", client="c", client_version="1", capabilities=frozenset(capabilities)),
        announced="1.0",
        broker=BrokerInfo(kind="embedded", name="assay", version="0.1.0"),
        machine=Machine(python="3.11", cpus=2, platform="linux"),
        load_source=LoadSource.SCHEDSTAT,
        seed=0,
        started_unix_ms=1,
        **fields,
    )


def changed(**values: Any) -> bytes:
    return json.dumps({**json.loads(write_document(info())), **values}).encode()


def test_run_survives_its_file() -> None:
    run = info("producer", ended_unix_ms=2, options={"tier": "fast"})
    assert read_run(write_document(run), "run.json") == run


def test_equal_runs_are_equal_bytes_whatever_the_order_of_a_set() -> None:
    names = [f"capability-{number}" for number in range(20)]
    assert write_document(info(*names)) == write_document(info(*reversed(names)))


def test_unknown_keys_and_newer_minors_are_read() -> None:
    read = read_run(changed(schema="2.7", later=True), "run.json")
    assert msgspec.structs.replace(read, schema="2.0") == info()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "run.json: is empty, expected a JSON value; expected a header record"),
        (b"[1]", "run.json: Expected `object`, got `array`; expected a header record"),
        (b"\xff", "run.json: is not UTF-8: "),
        (changed(file="plan"), "run.json: \"file\" is 'plan', expected 'run'"),
        (changed(schema="one"), "run.json: \"schema\" is 'one', expected"),
        (changed(schema="3.0"), "run.json: written in schema 3.0 of run files, this assay reads up to 2.x"),
        (changed(schema="0.9"), "run.json: schema 0.9 of run files is no longer read"),
        (changed(seed="7"), "run.json: Expected `int`, got `str` - at `$.seed`"),
    ],
)
def test_what_is_no_run_is_refused_in_one_sentence(data: bytes, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_run(data, "run.json")
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_older_major_is_upgraded_by_its_function(monkeypatch: pytest.MonkeyPatch) -> None:
    def from_zero(record: dict[str, Any]) -> dict[str, Any]:
        return {**record, "schema": "1.0", "seed": record.pop("random_seed")}

    monkeypatch.setitem(schema.UPGRADES, (FileKind.RUN, 0), from_zero)
    old = json.loads(changed(schema="0.3"))
    old["random_seed"] = old.pop("seed") + 9
    assert read_run(json.dumps(old).encode(), "run.json").seed == 9
