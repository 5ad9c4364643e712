"""A Docker engine of the tests' own, and the image built in it. Root starts one; Debian: apt install docker.io."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay_faults.cleanup_journal import CleanupJournal, Kind, environment_of
from assay_fixtures.brokers.container.engine import Engine, connect
from assay_fixtures.tools.image import build

UP_WITHIN_S = 60


class OwnEngine:
    """A dockerd on a socket and folders of its own, which leaves the machine's packet rules alone."""

    def __init__(self, folder: Path, ledger: CleanupJournal) -> None:
        self.host = f"unix://{folder}/docker.sock"
        self._folder = folder
        self._ledger = ledger
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        entry = self._ledger.creating(Kind.PROCESS, "dockerd")
        folder = self._folder
        command = ["dockerd", "-H", self.host, f"--data-root={folder}/data", f"--exec-root={folder}/exec"]
        command += [f"--pidfile={folder}/dockerd.pid", "--iptables=false", "--ip-forward=false", "--ip-masq=false"]
        with (folder / "dockerd.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, **environment_of(entry)}, start_new_session=True
            )
        until = time.monotonic() + UP_WITHIN_S
        while time.monotonic() < until and self._process.poll() is None:
            if subprocess.run(["docker", "-H", self.host, "info"], capture_output=True, check=False).returncode == 0:
                return
        raise AssertionError((folder / "dockerd.log").read_text()[-2000:])

    def kill(self) -> None:
        """At once, as a crash does, and its containerd with it: its containers go on without them."""
        assert self._process is not None
        below = self._folder / "exec" / "containerd" / "containerd.pid"
        containerd = int(below.read_text())
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.kill(containerd, signal.SIGKILL)
        (self._folder / "dockerd.pid").unlink(missing_ok=True)
        # The next engine would take a zombie that nobody has reaped yet for a containerd that runs, and wait for it.
        below.unlink()

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait()
        # It mounts its folder over itself at each start; one that was killed has left that behind.
        while (self._folder / "data").is_mount():
            subprocess.run(["umount", self._folder / "data"], check=True)


@pytest.fixture(scope="session")
def own_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnEngine]:
    bridged = Path("/sys/class/net/docker0").exists()
    folder = tmp_path_factory.mktemp("engine")
    with CleanupJournal.begin(folder / "ledger") as ledger, pytest.MonkeyPatch.context() as patch:
        engine = OwnEngine(folder, ledger)
        engine.start()
        patch.setenv("DOCKER_HOST", engine.host)
        yield engine
        engine.stop()
        for entry in ledger.left():
            ledger.done(entry)
    if not bridged:
        subprocess.run(["ip", "link", "delete", "docker0"], check=True)


@pytest.fixture(scope="session")
def image(own_engine: OwnEngine) -> str:
    """Built from the installed release; `assay tools install pulsar` comes first."""
    del own_engine
    return build(None, print)


@pytest.fixture
def engine(image: str) -> Iterator[Engine]:
    del image
    engine = connect()
    yield engine
    assert engine.client.containers.list(all=True) == []
    engine.close()
