"""A list of anomalies that somebody else wrote: what is wrong with it is one sentence. It is read with numpy there."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay_conformance.model.errors import UsageError
from assay_reports.ledgers.synth.plan import read_anomalies

BAD = {
    "no UTF-8": b'a = "\xff"',
    "deep lists": b"a = " + b"[" * 100_000 + b"]" * 100_000,
    "a key of 20,000 parts": b".".join([b"a"] * 20_000) + b" = 1",
    "a number of 5,000 digits": b"a = " + b"9" * 5_000,
    "no TOML": b"\n\n= 3",
}


@pytest.mark.parametrize("bad", BAD)
def test_what_is_wrong_with_a_file_is_one_short_sentence(bad: str, tmp_path: Path) -> None:
    path = tmp_path / "anomalies.toml"
    path.write_bytes(BAD[bad])
    with pytest.raises(UsageError) as raised:
        read_anomalies(path, mix=False)
    assert (str(path) in str(raised.value), len(str(raised.value)) < 900) == (True, True)


def test_a_folder_is_no_list_of_anomalies(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a directory"):
        read_anomalies(tmp_path, mix=False)
