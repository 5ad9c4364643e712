"""Spring for Apache Pulsar against a light Pulsar, or a real one: which of its ways to use a broker work.

    python -m bench.spring_pulsar [--real]

`src/uses` is an application with fourteen uses: templates, listeners of each kind of subscription and acknowledgment, a
reader, dead letters, patterns, partitions made over HTTP, JSON, headers and delays. It is compiled here, with what
`pom.xml` names, so that a JDK and Maven have to be installed. `--real` runs it against the release that `assay tools
install pulsar` brought. Exit code 1 when a use fails.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from assay_faults.cleanup_journal import CleanupJournal
from assay_fixtures.brokers.jvm.archive import installed
from assay_fixtures.brokers.jvm.standalone import Standalone
from assay_fixtures.light import LightPulsar
from assay_fixtures.verified import exit_code

HERE: Final = Path(__file__).parent
BUILD_S: Final = 600
RUN_S: Final = 600
"""Of fourteen uses, each of which waits half a minute at most for each message."""


def build(folder: Path) -> str:
    """Compile the application into `folder`; return its class path.

    Raise CalledProcessError when Maven or javac fail.
    """
    libraries = folder / "lib"
    maven = ["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies"]
    subprocess.run([*maven, f"-DoutputDirectory={libraries}"], check=True, timeout=BUILD_S)
    classes, sources = folder / "classes", sorted(map(str, HERE.glob("src/uses/*.java")))
    compiler = ["javac", "-nowarn", "-parameters", "--release", "17", "-cp", f"{libraries}/*", "-d", str(classes)]
    subprocess.run([*compiler, *sources], check=True, timeout=BUILD_S)
    return f"{classes}:{libraries}/*"


def uses(class_path: str, service_url: str, admin_url: str) -> Iterator[str]:
    """Yield one line for each use, as the application prints it: `pass NAME` or `fail NAME: why`."""
    urls = (f"-Dservice.url={service_url}", f"-Dadmin.url={admin_url}")
    java = ["java", "-Xmx512m", *urls, "-cp", class_path, "uses.Uses"]
    ran = subprocess.run(java, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=RUN_S, check=False)
    yield from (line for line in ran.stdout.splitlines() if line.startswith(("pass ", "fail ")))


def on_light(class_path: str) -> list[str]:
    with LightPulsar() as pulsar:
        return list(uses(class_path, pulsar.service_url, pulsar.admin_url))


async def on_real(class_path: str, folder: Path, journal: CleanupJournal) -> list[str]:
    async with Standalone(installed(), data=folder / "data", logs=folder, ledger=journal) as pulsar:
        return await asyncio.to_thread(lambda: list(uses(class_path, pulsar.service_url, pulsar.admin_url)))


@contextmanager
def _scratch() -> Iterator[tuple[Path, CleanupJournal]]:
    with tempfile.TemporaryDirectory() as name, CleanupJournal.begin(Path(name) / "journal") as journal:
        yield Path(name), journal


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", action="store_true")
    is_real = parser.parse_args().real
    with _scratch() as (folder, journal):
        class_path = build(folder)
        lines = asyncio.run(on_real(class_path, folder, journal)) if is_real else on_light(class_path)
    failed = sum(line.startswith("fail ") for line in lines)
    broker = "real" if is_real else "light"
    print(*lines, f"{len(lines) - failed} of {len(lines)} uses work on {broker} Pulsar", sep="\n")
    return exit_code(len(lines), failed, "uses")


if __name__ == "__main__":
    sys.exit(main())
