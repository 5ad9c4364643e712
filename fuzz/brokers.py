"""The embedded broker and a real one answer random sequences of raw commands alike, and store the same.

    python fuzz/brokers.py --sequences 1000 --seed 7
    python fuzz/brokers.py --seed 7 --only 412
    python fuzz/brokers.py --file FILE --broker pulsar://127.0.0.1:6650 --admin http://127.0.0.1:8080

A sequence is a script of commands over one to three connections, many of them refused; it follows from seed and number
alone. Both brokers get it, and what each answered is compared under a normal form, a table of what may differ and why
(assay_fixtures.differential.normal). After every sequence comes a last look: what each subscription has left, what is
stored, which schemas and topics there are. A difference that shows in every one of three runs is a disagreement: it is
reduced, printed, and written where `--keep` says. The exit code is 1 then.

A node of real Pulsar is started for it (`assay tools install pulsar`, extra `admin`). One that is named instead has to
do at once what the embedded one does at once: activeConsumerFailoverDelayTimeMillis=0, and
acknowledgmentAtBatchIndexLevelEnabled=true, brokerDeduplicationEnabled=false, transactionCoordinatorEnabled=false,
systemTopicEnabled=false, topicLevelPoliciesEnabled=false.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from assay_conformance.model.errors import AssayError
from assay_faults.cleanup_journal import CleanupJournal
from assay_fixtures.brokers.jvm.archive import installed
from assay_fixtures.brokers.pulsar.admin import Admin
from assay_fixtures.brokers.pulsar.rest import Rest
from assay_fixtures.differential.campaign import Campaign, Disagreement, Figures
from assay_fixtures.differential.generator import generate
from assay_fixtures.differential.node import node
from assay_fixtures.differential.real import RealParty
from assay_fixtures.differential.script import Script
from assay_fixtures.verified import exit_code


def scripts_of(options: argparse.Namespace) -> list[Script]:
    if options.file is not None:
        return [msgspec.json.decode(options.file.read_bytes(), type=Script)]
    numbers = range(options.sequences) if options.only is None else [options.only]
    return [generate(options.seed, number) for number in numbers]


def told(options: argparse.Namespace) -> Callable[[Disagreement], None]:
    def tell(found: Disagreement) -> None:
        print(f"sequence {found.script.name} ({found.reduced.policy}), reduced to:")
        for step in found.reduced.steps:
            print(f"  {msgspec.json.encode(step).decode()}")
        for difference in found.differences:
            print(f"  {difference}", flush=True)
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{found.script.name}.json").write_bytes(msgspec.json.encode(found.reduced))

    return tell


async def compare(options: argparse.Namespace, broker: str, admin_url: str) -> Figures:
    """Play the scripts in namespaces whose names begin with a word of this run, and remove them."""
    admin, word = Admin(Rest([admin_url])), f"fuzz-{time.time_ns() // 1_000_000:x}"
    campaign = Campaign(lambda namespace: RealParty(broker, admin, namespace), word)
    try:
        return await campaign.play(scripts_of(options), told(options))
    finally:
        if options.broker is not None:
            await admin.delete_marked("public", word)
        await admin.close()


async def run(options: argparse.Namespace) -> Figures:
    if options.broker is not None:
        return await compare(options, options.broker, options.admin)
    with (
        tempfile.TemporaryDirectory(prefix="assay-fuzz-") as folder,
        CleanupJournal.begin(Path(folder) / "ledger") as ledger,
    ):
        async with node(installed(), Path(folder), ledger) as started:
            return await compare(options, started.service_url, started.admin_url)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, default=None, help="play this sequence alone")
    parser.add_argument("--file", type=Path, default=None, help="play a sequence that was kept")
    parser.add_argument("--keep", type=Path, default=None, help="write reduced disagreements into this folder")
    parser.add_argument("--broker", default=None, help="service url of a real broker, instead of starting one")
    parser.add_argument("--admin", default=None, help="its admin url")
    options = parser.parse_args()
    if (options.broker is None) != (options.admin is None):
        parser.error("--broker and --admin go together")
    started = time.monotonic()
    try:
        figures = asyncio.run(run(options))
    except AssayError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    for line in figures.lines():
        print(line)
    print(f"{time.monotonic() - started:.0f} s")
    return exit_code(figures.scripts, len(figures.disagreements), "sequences")


if __name__ == "__main__":
    sys.exit(main())
