"""Opening files that somebody else may have written."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay_conformance.model.errors import AssayError, HarnessError, UsageError
from assay_reports.files import read_bytes, read_json, read_text, read_toml, writing


def test_a_fifo_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(fifo := tmp_path / "replay.json")
    with pytest.raises(UsageError, match="is a FIFO; expected a replay file"):
        read_bytes(fifo, "a replay file")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/tty"])
def test_a_device_is_refused(device: str) -> None:
    with pytest.raises(UsageError, match=f"{device}: .*expected a replay file"):
        read_bytes(Path(device), "a replay file")


def test_a_link_to_a_device_is_refused(tmp_path: Path) -> None:
    (link := tmp_path / "agent.toml").symlink_to("/dev/zero")
    with pytest.raises(UsageError, match="is a device"):
        read_toml(link, "an agent's agent.toml")


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a directory; expected a list"):
        read_bytes(tmp_path, "a list")


def test_a_socket_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        with pytest.raises(UsageError, match="cannot be read"):
            read_bytes(tmp_path / "s", "a list")


@pytest.mark.parametrize("name", ["missing", "x" * 5000, "a\0b"])
def test_a_name_of_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"cannot be read: .*; expected a list"):
        read_bytes(tmp_path / name, "a list")


def test_a_file_of_more_than_the_bound_is_refused_unread(tmp_path: Path) -> None:
    with (large := tmp_path / "large").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match="has 1099511627776 bytes; expected a list of at most 67108864"):
        read_bytes(large, "a list")


def test_a_file_without_a_size_is_read() -> None:
    assert b"Name:" in read_bytes(Path("/proc/self/status"), "a status")


def test_a_file_without_a_size_is_bounded() -> None:
    with pytest.raises(UsageError, match="of at most 100"):
        read_bytes(Path("/proc/self/status"), "a status", 100)


def test_bad_bytes_are_named_with_their_file(tmp_path: Path) -> None:
    (bad := tmp_path / "bad").write_bytes(b'{"a": "\xff"}')
    decoder = msgspec.json.Decoder(Any)
    for read in (lambda: read_text(bad, "a list"), lambda: read_json(bad, "a list", decoder)):
        with pytest.raises(UsageError, match=r"bad: is not UTF-8.*; expected a list"):
            read()


@pytest.mark.parametrize(
    ("number", "fault"),
    [
        (errno.EISDIR, UsageError),
        (errno.ENOTDIR, UsageError),
        (errno.EACCES, UsageError),
        (errno.ENAMETOOLONG, UsageError),
        (errno.ENOSPC, HarnessError),
        (errno.EMFILE, HarnessError),
        (None, HarnessError),
    ],
)
def test_what_cannot_be_written_is_the_fault_of_its_path_or_of_the_machine(
    number: int | None, fault: type[AssayError]
) -> None:
    with pytest.raises(AssayError, match="page: cannot be written: no") as caught, writing(Path("page"), "a folder"):
        raise OSError("no") if number is None else OSError(number, "no")
    assert type(caught.value) is fault
