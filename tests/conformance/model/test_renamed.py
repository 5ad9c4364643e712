"""Former names: the table itself, and what is read with one in it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import pytest
from tests.conformance.model.test_run_file import info

from assay_conformance.catalogue import load
from assay_conformance.model.renamed import current, former_case, hint, renamed, table
from assay_conformance.model.run import read_run
from assay_conformance.model.schema import CURRENT, FileKind, write_document
from assay_conformance.pulsar.cases import all_cases
from assay_conformance.pulsar.mutants import mutants

KINDS: dict[str, tuple[Mapping[str, str], Iterable[str]]] = {
    "requirements": (table().requirements, load().requirements),
    "cases": (table().cases, [case.id for case in all_cases()]),
    "mutants": (table().mutants, mutants()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_name_in_the_table_is_a_name_of_today(kind: str) -> None:
    names, today = KINDS[kind]
    assert sorted(set(names.values()) - set(today)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_former_name_is_given_to_anything_else(kind: str) -> None:
    names, today = KINDS[kind]
    assert sorted(set(names) & set(today)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_name_stands_for_two_former_ones(kind: str) -> None:
    names, _ = KINDS[kind]
    assert len(set(names.values())) == len(names)


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("resend.same-unit", "resend.identical-bytes"),
        ("resend/epochs", "resend/producer-epochs"),
        ("nack/at-once@lz4+exclusive", "nack/delay-below-minimum@lz4+exclusive"),
        ("letters.buried-alone: batched", "dead-letter.not-batched: batched"),
        ("ack.survives-load in ack/stopped-broker.", "ack.survives-unload in ack/graceful-broker-stop."),
        ("resend.send-timeout", "resend.send-timeout"),
        ("history/resend/epochs/1.jsonl", "history/resend/epochs/1.jsonl"),
        ("acme.resend.same-unit", "acme.resend.same-unit"),
    ],
)
def test_former_ids_become_those_of_today_wherever_they_are_whole_words(then: str, now: str) -> None:
    assert current(then) == now


@pytest.mark.parametrize("names", [table().requirements, table().cases])
def test_every_former_id_is_read(names: Mapping[str, str]) -> None:
    assert {current(then) for then in names} == set(names.values())


def test_a_record_is_renamed_in_its_keys_and_in_its_depth() -> None:
    then = {"resend/epochs": [{"requirement": "resend.epoch-grows", "exercised": 2}], "left": None}
    assert renamed(then) == {
        "resend/producer-epochs": [{"requirement": "resend.producer-epoch-increases", "exercised": 2}],
        "left": None,
    }


def test_the_former_name_of_a_permutation_keeps_its_circumstances() -> None:
    assert former_case("resend/producer-epochs@lz4") == "resend/epochs@lz4"
    assert former_case("resend/queue-order") is None


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("resend.same-unit", "; it is called 'resend.identical-bytes' now"),
        ("epoch-stays", "; it is called 'epoch-never-increases' now"),
        ("letters.buried-*", "'dead-letter.not-batched'"),
        ("letters", "; they are called 'dead-letter."),
        ("resend.identical-bytes", ""),
        ("nonsense", ""),
    ],
)
def test_who_asks_for_a_former_name_gets_the_name_of_today(word: str, answer: str) -> None:
    assert answer in hint(word)
    assert bool(hint(word)) is bool(answer)


def test_a_document_with_former_ids_is_read_with_those_of_today() -> None:
    document = json.loads(write_document(info(options={"select": ["resend/epochs"]})))
    read = read_run(json.dumps({**document, "schema": "1.1"}).encode(), "run.json")
    assert read.options == {"select": ["resend/producer-epochs"]}
    assert read.schema == str(CURRENT[FileKind.RUN])
