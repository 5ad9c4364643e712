"""A session of tests on a disk without room says so, and runs none."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest
from tests.room import see_room


def test_a_session_without_room_is_three_and_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=5 << 20))
    monkeypatch.setattr("tempfile.tempdir", "/tmp")
    with pytest.raises(pytest.exit.Exception) as ended:
        see_room(1 << 30, "a session of tests")
    assert ended.value.returncode == 3
    assert ended.value.msg == (
        "/tmp: 5 MiB are free on its disk, and a session of tests needs 1024 MiB; make room there, or set TMPDIR to a "
        "folder on another disk"
    )
