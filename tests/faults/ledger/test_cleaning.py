"""What a killed run left is removed, and nothing else."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.left_out import Need, needs

from assay_faults.cleaning import clean, finish
from assay_faults.cleanup_journal import MARKER, CleanupJournal, Entry, Kind, environment_of, read
from assay_faults.processes.identity import ProcessState, identify, marked, state

RUNNER = Path(__file__).with_name("runner.py")
ROOT_ONLY = needs(Need.ROOT)
PATIENCE_S = 30


def abandoned(folder: Path, kind: Kind, name: str = "", **detail: str) -> Entry:
    """An entry in the ledger of a run that has ended."""
    with CleanupJournal.begin(folder) as ledger:
        entry = ledger.creating(kind, name, **detail)
    owner, _ = read(ledger.path.read_bytes())
    assert owner is not None
    # This process lives on; its ledger says so. Somebody else's pid and start stand for a dead one.
    text = ledger.path.read_text().replace(f'"start_ticks":{owner.start_ticks}', '"start_ticks":1')
    ledger.path.write_text(text)
    return entry


@contextmanager
def sleeper(**environment: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["/bin/sleep", "600"], env=environment) as process:
        yield process
        process.kill()


# --- one kind at a time ---


def test_a_process_is_known_by_its_environment_though_its_pid_was_never_written(tmp_path: Path) -> None:
    entry = abandoned(tmp_path, Kind.PROCESS, "broker 0")
    with sleeper(**environment_of(entry)) as process:
        assert [c.removed for c in clean(tmp_path)] == [f"process broker 0 ({process.pid})"]
        assert process.wait(PATIENCE_S) == -signal.SIGKILL


def test_a_stopped_process_is_killed_as_well(tmp_path: Path) -> None:
    entry = abandoned(tmp_path, Kind.PROCESS, "broker 0")
    with sleeper(**environment_of(entry)) as process:
        process.send_signal(signal.SIGSTOP)
        clean(tmp_path)
        assert process.wait(PATIENCE_S) == -signal.SIGKILL


def test_a_process_of_another_run_is_not_touched(tmp_path: Path) -> None:
    entry = abandoned(tmp_path, Kind.PROCESS, "broker 0")
    with sleeper(**{MARKER: f"{entry.id.rpartition('-')[0]}0-0"}) as process:
        assert clean(tmp_path) == []
        assert process.poll() is None


def test_a_directory_is_removed_with_what_is_in_it(tmp_path: Path) -> None:
    entry = abandoned(tmp_path / "ledgers", Kind.DIRECTORY, str(tmp_path / "data-{id}"))
    (Path(entry.name) / "below").mkdir(parents=True)
    clean(tmp_path / "ledgers")
    assert not Path(entry.name).exists()


def test_a_link_where_the_directory_was_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    entry = abandoned(tmp_path / "ledgers", Kind.DIRECTORY, str(tmp_path / "{id}"))
    Path(entry.name).symlink_to(tmp_path / "precious")
    clean(tmp_path / "ledgers")
    assert (tmp_path / "precious").is_dir()


@ROOT_ONLY
def test_a_mount_is_removed_before_the_directory_it_is_on(tmp_path: Path) -> None:
    with CleanupJournal.begin(tmp_path / "ledgers") as ledger:
        place = ledger.creating(Kind.DIRECTORY, str(tmp_path / "{id}"))
        entry = ledger.creating(Kind.MOUNT, f"{place.name}/{{id}}")
        Path(entry.name).mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "x", entry.name], check=True)
        assert [c.entry for c in finish(ledger)] == [entry, place]
    assert not Path(place.name).exists()


@ROOT_ONLY
def test_somebody_elses_mount_in_our_directory_is_left_with_what_is_in_it(tmp_path: Path) -> None:
    entry = abandoned(tmp_path / "ledgers", Kind.DIRECTORY, str(tmp_path / "{id}"))
    Path(entry.name).mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "theirs", entry.name], check=True)
    try:
        (Path(entry.name) / "precious").touch()
        assert ["is mounted in it" in c.trouble for c in clean(tmp_path / "ledgers")] == [True]
        assert (Path(entry.name) / "precious").exists()
    finally:
        subprocess.run(["umount", entry.name], check=True)
    assert [bool(c.removed) for c in clean(tmp_path / "ledgers")] == [True]


class _Proxies(BaseHTTPRequestHandler):
    deleted: list[str]

    def do_DELETE(self) -> None:
        self.deleted.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_proxy_in_a_server_of_somebody_else_is_deleted_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of the web, and not asked: it knows nothing of this machine.
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    _Proxies.deleted = []
    with HTTPServer(("127.0.0.1", 0), _Proxies) as server:
        Thread(target=server.handle_request).start()
        entry = abandoned(tmp_path, Kind.PROXY, url=f"http://127.0.0.1:{server.server_port}")
        clean(tmp_path)
    assert _Proxies.deleted == [f"/proxies/{entry.id}"]


def test_a_container_without_an_engine_to_ask_stays_in_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    abandoned(tmp_path, Kind.CONTAINER, "pulsar")
    monkeypatch.setenv("PATH", str(tmp_path))
    (trouble,) = clean(tmp_path)
    assert trouble.trouble.startswith("there is no program docker to remove it with: docker ps --all")
    assert clean(tmp_path) == [trouble]


def test_a_container_is_looked_for_in_the_engine_that_it_was_made_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker = tmp_path / "docker"
    docker.write_text(f'#!/bin/sh\necho "$1 $2" >> {tmp_path}/asked\n')
    docker.chmod(0o755)
    entry = abandoned(tmp_path, Kind.CONTAINER, "pulsar", host="unix:///run/theirs.sock")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    assert clean(tmp_path) == []
    assert set((tmp_path / "asked").read_text().splitlines()) == {f"--host {entry.detail['host']}"}


# --- whose it is ---


def test_nothing_of_a_living_run_is_touched(tmp_path: Path) -> None:
    with (
        CleanupJournal.begin(tmp_path) as ledger,
        sleeper(**environment_of(ledger.creating(Kind.PROCESS, "a"))) as process,
    ):
        assert clean(tmp_path) == []
        assert process.poll() is None


def test_a_pid_given_to_another_process_does_not_keep_a_ledger_alive(tmp_path: Path) -> None:
    abandoned(tmp_path, Kind.PROCESS, "a")
    clean(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_killed_run_that_nobody_has_waited_for_is_dead(tmp_path: Path) -> None:
    command = [sys.executable, str(RUNNER), str(tmp_path / "ledgers"), str(tmp_path), "0", Kind.DIRECTORY.value]
    with subprocess.Popen(command) as process:
        while not list(tmp_path.glob("assay-*/file")):
            assert process.poll() is None
        owner = identify(process.pid)
        assert owner is not None
        os.kill(process.pid, signal.SIGKILL)
        while state(owner) is not ProcessState.ZOMBIE:
            pass
        assert clean(tmp_path / "ledgers")
    assert not list(tmp_path.glob("assay-*"))


def test_the_second_time_there_is_nothing_left_to_say(tmp_path: Path) -> None:
    entry = abandoned(tmp_path / "ledgers", Kind.DIRECTORY, str(tmp_path / "{id}"))
    Path(entry.name).mkdir()
    assert len(clean(tmp_path / "ledgers")) == 1
    assert clean(tmp_path / "ledgers") == []


def test_two_at_once_tell_of_each_thing_once(tmp_path: Path) -> None:
    for _ in range(20):
        Path(abandoned(tmp_path / "ledgers", Kind.DIRECTORY, str(tmp_path / "{id}")).name).mkdir()
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(clean, [tmp_path / "ledgers"] * 4))
    assert sorted(map(len, told))[-1] <= 20 == sum(map(len, told))


def test_a_ledger_that_goes_as_it_is_opened_was_somebody_elses_to_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    abandoned(tmp_path, Kind.DIRECTORY, str(tmp_path / "{id}"))
    opening = os.open

    def opened_and_gone(path: Path, flags: int) -> int:
        descriptor = opening(path, flags)
        path.unlink()
        return descriptor

    monkeypatch.setattr("assay_faults.cleaning.os.open", opened_and_gone)
    assert clean(tmp_path) == []


# --- a run killed at any moment ---


def _kinds() -> list[str]:
    kinds = [Kind.PROCESS, Kind.DIRECTORY]
    if os.geteuid() == 0:
        kinds.append(Kind.MOUNT)
        if shutil.which("ip"):
            kinds.append(Kind.NAMESPACE)
    return [kind.value for kind in kinds]


def _left_of(run: str) -> list[str]:
    """What carries a mark of this run anywhere on the machine."""
    mark = run.encode()
    processes = [e for e in Path("/proc").iterdir() if e.name.isdigit() and mark in _environment(e)]
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if run in line]
    namespaces = Path("/run/netns").glob(f"{run}*")
    return [*map(str, processes), *mounts, *map(str, namespaces)]


def _environment(entry: Path) -> bytes:
    try:
        return (entry / "environ").read_bytes()
    except OSError:
        return b""


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", range(12))
def test_after_a_kill_at_a_random_moment_nothing_of_the_run_is_left(tmp_path: Path, seed: int) -> None:
    ledgers, place = tmp_path / "ledgers", tmp_path / "place"
    ledgers.mkdir()
    place.mkdir()
    draw = random.Random(seed)
    wanted = draw.randrange(1, 25)
    with subprocess.Popen([sys.executable, RUNNER, ledgers, place, str(seed), *_kinds()]) as run:
        while _lines(ledgers) < wanted:
            assert run.poll() is None
        # Not at a line, but anywhere after it.
        with pytest.raises(subprocess.TimeoutExpired):
            run.wait(draw.random() * 0.02)
        run.kill()
    (ledger,) = ledgers.iterdir()

    cleaned = clean(ledgers)

    assert [c.trouble for c in cleaned if c.trouble] == []
    assert _left_of(ledger.stem) == []
    assert list(place.iterdir()) == []
    assert list(ledgers.iterdir()) == []


def _lines(ledgers: Path) -> int:
    return sum(len(path.read_bytes().splitlines()) for path in ledgers.iterdir())


# --- processes, one by one ---


def test_a_process_that_was_waited_for_is_gone() -> None:
    with sleeper() as process:
        who = identify(process.pid)
        assert who is not None
        assert state(who) is ProcessState.ALIVE
    assert state(who) is ProcessState.GONE


def test_a_marked_process_is_found_with_its_children() -> None:
    command = ["/bin/sh", "-c", "sleep 600 & echo $!; wait"]
    with subprocess.Popen(command, env={MARKER: "assay-test-0"}, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        assert {who.pid for who in marked(MARKER, "assay-test-")} == {process.pid, child}
        os.kill(child, signal.SIGKILL)
