"""The Python client's own tests against a light Pulsar: which pass, and why each other does not.

    python bench/client_suite.py CHECKOUT [--write]

CHECKOUT is a checkout of apache/pulsar-client-python at a released version. Its tests name ports 6650 and 8080, which
have to be free; they run with the wheel of that version, in an environment that uv makes. `--write` puts the outcome
into docs/light-pulsar.md. Exit code 1 when a test fails that is not listed here with its reason.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple
from urllib.request import Request, urlopen

from junitparser import JUnitXml, TestCase
from uv import find_uv_bin

from assay_fixtures.light import LightPulsar
from assay_fixtures.verified import exit_code

PAGE: Final = Path(__file__).resolve().parents[1] / "docs/light-pulsar.md"
BEGIN, END = "<!-- begin of what bench/client_suite.py --write made -->\n", "<!-- end -->\n"
FILES: Final = ("pulsar_test.py", "reader_test.py", "asyncio_test.py", "schema_test.py", "table_view_test.py")
NEEDS: Final = ("requests", "fastavro", "protobuf", "pytest", "pytest-timeout")
PORT, HTTP_PORT = 6650, 8080
NAMESPACE: Final = "public/default-2"
"""What the suite's own script prepares beside public/default."""
ONE_TEST_S: Final = 60

TLS: Final = "wants TLS on port 6651"
AUTH: Final = "wants a broker that authenticates"
ASIDE: Final = {
    "test_tls_auth": TLS,
    "test_tls_auth2": TLS,
    "test_tls_auth3": TLS,
    "test_tls_encryption_with_other_auth": TLS,
    "test_token_auth": AUTH,
    "test_token_auth_supplier": AUTH,
    "test_basic_auth": AUTH,
    "test_basic_auth_method": AUTH,
    "test_connect_timeout": "wants an address that swallows packets; none is reached from a closed network",
}
"""Tests that are not run, and why: none of them is about what a broker does with messages."""

KNOWN: Final[dict[str, str]] = {}
"""Tests that fail here, and why."""


class Ran(NamedTuple):
    """One test; `trouble` is empty when it passed."""

    file: str
    name: str
    trouble: str


def run(checkout: Path, version: str) -> tuple[list[Ran], float]:
    """Run every test except those left out; return the results and the seconds they took."""
    python = [find_uv_bin(), "run", "--quiet", "--no-project", "--isolated", "--python", sys.executable]
    for package in (f"pulsar-client[avro]=={version}", *NEEDS):
        python += ["--with", package]
    python += ["python", "-m"]
    # The environment is made before the clock runs.
    subprocess.run([*python, "pytest", "--version"], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as scratch, LightPulsar(port=PORT, http_port=HTTP_PORT) as pulsar:
        urlopen(Request(f"{pulsar.admin_url}/admin/v2/namespaces/{NAMESPACE}", method="PUT")).close()
        report, log = Path(scratch) / "junit.xml", Path(scratch) / "log.txt"
        options = [
            "-q",
            "-s",
            "--rootdir=.",
            "-p",
            "no:cacheprovider",
            f"--timeout={ONE_TEST_S}",
            f"--junitxml={report}",
        ]
        aside = [f"--deselect={FILES[0]}::PulsarTest::{name}" for name in ASIDE]
        began_s = time.monotonic()
        with log.open("w") as out:
            tests = [*python, "pytest", *FILES, *options, *aside]
            subprocess.run(tests, cwd=checkout / "tests", stdout=out, stderr=subprocess.STDOUT, check=False)
        took_s = time.monotonic() - began_s
        if not report.exists():
            raise SystemExit(f"the tests did not come to their end:\n{log.read_text(errors='replace')[-20_000:]}")
        return [_ran(case) for suite in JUnitXml.fromfile(str(report)) for case in suite], took_s


def _ran(case: TestCase) -> Ran:
    trouble = " ".join(result.message or "failed" for result in case.result)
    return Ran(f"{case.classname.split('.')[0]}.py", case.name, trouble)


def render(ran: list[Ran], took_s: float, version: str) -> str:
    """Return the part of the page with the results."""
    failed = {one.name: one.trouble for one in ran if one.trouble}
    total = len(ran) + len(ASIDE)
    lines = [
        f"pulsar-client {version}: {len(ran) - len(failed)} of its {total} tests pass, in {took_s:.0f} s.",
        "",
        "| file | passed | of |",
        "|---|---|---|",
    ]
    for file in FILES:
        here = [one for one in ran if one.file == file]
        of = len(here) + (len(ASIDE) if file == FILES[0] else 0)
        lines.append(f"| `{file}` | {sum(not one.trouble for one in here)} | {of} |")
    lines += ["", "| does not pass | why |", "|---|---|"]
    lines += [f"| `{name}` | {why} |" for name, why in sorted(ASIDE.items())]
    lines += [f"| `{name}` | {KNOWN.get(name, 'not known yet')} |" for name in sorted(failed)]
    for file in FILES:
        names = [f"`{one.name}`" for one in ran if one.file == file and not one.trouble]
        lines += ["", f"Passed in `{file}`: {', '.join(names)}."]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--write", action="store_true", help="put the outcome into docs/light-pulsar.md")
    options = parser.parse_args()
    version = _version(options.checkout)
    ran, took_s = run(options.checkout, version)
    told = render(ran, took_s, version)
    if options.write:
        before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        PAGE.write_text(before + BEGIN + told + END + rest.partition(END)[2], "utf-8")
    else:
        print(told)
    unlisted = [one for one in ran if one.trouble and one.name not in KNOWN]
    for one in unlisted:
        print(f"{one.file}: {one.name}: {one.trouble}", file=sys.stderr)
    return exit_code(len(ran), len(unlisted), "tests of the client")


def _version(checkout: Path) -> str:
    about = checkout / "pulsar/__about__.py"
    found = re.search(r"__version__\s*=\s*'([\d.]+)'", about.read_text("utf-8")) if about.exists() else None
    if found is None:
        raise SystemExit(f"{about}: expected the version of a checkout of apache/pulsar-client-python")
    return found[1]


if __name__ == "__main__":
    sys.exit(main())
