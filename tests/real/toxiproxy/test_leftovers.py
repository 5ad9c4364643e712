"""Nothing is left of a run that was killed: no server of its own, no proxy in somebody else's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from assay_faults.cleaning import clean
from assay_faults.cleanup_journal import MARKER
from assay_faults.processes.identity import marked
from assay_faults.toxiproxy.api import Api
from assay_fixtures.injectors import TOXIPROXY_VARIABLE

RUNNER = """
import asyncio, sys
from pathlib import Path
from assay_faults.cleanup_journal import CleanupJournal
from assay_fixtures.injectors import Equipment, INJECTORS
from assay_conformance.model.outside import Means

async def main(folder):
    with CleanupJournal.begin(folder / "ledger") as ledger:
        injector = INJECTORS[Means.TOXIPROXY](Equipment(ledger, folder))(None)
        await injector.prepare({})
        await injector.front("pulsar://127.0.0.1:9")
        print("up", flush=True)
        await asyncio.sleep(60)

asyncio.run(main(Path(sys.argv[1])))
"""


def killed(folder: Path, **environment: str) -> None:
    """A run that put a proxy up, and was then ended by SIGKILL."""
    command = [sys.executable, "-c", RUNNER, str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **environment})
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_a_server_of_its_own_is_gone(tmp_path: Path) -> None:
    killed(tmp_path)
    run = next((tmp_path / "ledger").iterdir()).stem
    clean(tmp_path / "ledger")
    assert marked(MARKER, run) == {}
    assert list((tmp_path / "ledger").iterdir()) == []


def test_a_proxy_in_a_server_that_ran_before_is_removed(tmp_path: Path, api: Api) -> None:
    killed(tmp_path, **{TOXIPROXY_VARIABLE: api.url})
    (left,) = api.proxies()
    (cleaned,) = clean(tmp_path / "ledger")
    assert cleaned.removed == f"proxy {left} at {api.url}"
    assert api.proxies() == {}
