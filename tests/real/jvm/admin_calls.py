"""List the calls of Pulsar's web service, from the resource classes of an installed release.

`python -m tests.real.jvm.admin_calls` rewrites `light/admin/calls.tsv`.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

import assay_fixtures.light.admin as admin
from assay_fixtures.brokers.jvm.archive import installed
from assay_fixtures.brokers.jvm.command import Pulsar

_SOURCE: Final = Path(__file__).with_name("AdminCalls.java")
_WITHIN_S: Final = 120.0


def listed(pulsar: Pulsar) -> list[str]:
    """A line a call: method, path, name."""
    jars = pulsar.home / "lib"
    jar = jars / f"org.apache.pulsar-pulsar-broker-{pulsar.version}.jar"
    # Java runs a source file by itself; a runtime without a compiler cannot.
    command = [str(pulsar.java.program), "-cp", f"{jars}/*", str(_SOURCE), str(jar)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_WITHIN_S)
    return done.stdout.splitlines()


def main() -> None:
    pulsar = installed()
    head = f"# The calls of the web service of Pulsar {pulsar.version}: method, path, name. {_MADE}"
    Path(admin.__file__).with_name("calls.tsv").write_text("\n".join([head, *listed(pulsar), ""]), "utf-8")


_MADE: Final = "Made by python -m tests.real.jvm.admin_calls."

if __name__ == "__main__":
    main()
