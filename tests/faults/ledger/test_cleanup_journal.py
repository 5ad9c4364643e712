"""What is written before something is made, and what a later reader makes of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay_faults.cleanup_journal import CleanupJournal, Kind, read


def test_an_entry_is_in_the_file_before_anything_is_made_of_it(tmp_path: Path) -> None:
    with CleanupJournal.begin(tmp_path) as ledger:
        entry = ledger.creating(Kind.PROCESS, "bookie 1")
        assert read(ledger.path.read_bytes())[1] == [entry]


def test_what_is_done_is_not_left(tmp_path: Path) -> None:
    with CleanupJournal.begin(tmp_path) as ledger:
        first, second = ledger.creating(Kind.PROCESS, "a"), ledger.creating(Kind.PROCESS, "b")
        ledger.done(first)
        assert read(ledger.path.read_bytes())[1] == [second] == list(ledger.left())


def test_a_ledger_with_nothing_left_goes_with_its_run(tmp_path: Path) -> None:
    with CleanupJournal.begin(tmp_path) as ledger:
        ledger.done(ledger.creating(Kind.PROCESS, "a"))
    assert not list(tmp_path.iterdir())


def test_a_ledger_with_something_left_stays_behind(tmp_path: Path) -> None:
    with CleanupJournal.begin(tmp_path) as ledger:
        entry = ledger.creating(Kind.PROCESS, "a")
    assert read(ledger.path.read_bytes())[1] == [entry]


def test_the_owner_is_this_process_and_alive(tmp_path: Path) -> None:
    with CleanupJournal.begin(tmp_path) as ledger:
        owner, _ = read(ledger.path.read_bytes())
        assert owner is not None
        assert owner.pid == os.getpid()
        assert owner.alive()


def test_a_torn_last_line_hides_nothing_before_it(tmp_path: Path) -> None:
    with CleanupJournal.begin(tmp_path) as ledger:
        entry = ledger.creating(Kind.PROCESS, "a")
        with ledger.path.open("ab") as file:
            file.write(b'{"id":"assay-12')
        assert read(ledger.path.read_bytes())[1] == [entry]


def test_ids_differ_between_entries_and_between_runs(tmp_path: Path) -> None:
    with CleanupJournal.begin(tmp_path) as one, CleanupJournal.begin(tmp_path) as other:
        ids = [ledger.creating(Kind.PROCESS, "a").id for ledger in (one, other, one, other)]
    assert len(set(ids)) == 4


def test_a_directory_without_the_id_in_its_name_is_refused(tmp_path: Path) -> None:
    with CleanupJournal.begin(tmp_path) as ledger, pytest.raises(ValueError, match=r"expected \{id\} in its name"):
        ledger.creating(Kind.DIRECTORY, "/home/somebody")


def test_a_directory_lives_as_long_as_its_block(tmp_path: Path) -> None:
    with CleanupJournal.begin(tmp_path / "ledgers") as ledger:
        with ledger.directory(tmp_path) as place:
            assert place.is_dir()
        assert not place.exists()
        assert not ledger.left()
