"""The check of `chunking.uuid-identifies-message`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.chunking._size_limits import chunk

from assay_conformance.pulsar.checks.chunking.uuid_identifies_message import uuid_identifies_message


def test_uuid_of_name_and_sequence_id_is_accepted() -> None:
    check = chunk(uuid_identifies_message)
    assert (check.findings, check.exercised) == ([], 1)


def test_any_other_uuid_is_found() -> None:
    assert codes_of(chunk(uuid_identifies_message, uuid="0a1b2c")) == ["other-uuid"]
