"""The embedded broker and a real one answer random sequences of raw commands alike, and store the same.

    python fuzz/brokers.py --sequences 1000 --seed 7 --broker pulsar://127.0.0.1:6650 --admin http://127.0.0.1:8080
    python fuzz/brokers.py --seed 7 --only 412 --broker ... --admin ...
    python fuzz/brokers.py --file FILE --broker ... --admin ...

A sequence is a script of commands over one to three connections, many of them refused; it follows from seed and number
alone. Both brokers get it, and what each answered is compared under a normal form, a table of what may differ and why
(assay_fixtures.differential.normal). Behind every sequence comes a last look: what each subscription has left, what is
stored, which schemas and topics there are. A difference that shows in every one of three runs is a disagreement: it is
reduced, printed, and written where `--keep` says. The exit code is 1 then.

The real broker should do at once what the embedded one does at once: activeConsumerFailoverDelayTimeMillis=0, and
acknowledgmentAtBatchIndexLevelEnabled=true, brokerDeduplicationEnabled=false, transactionCoordinatorEnabled=false,
systemTopicEnabled=false, topicLevelPoliciesEnabled=false.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from pathlib import Path

import msgspec

from assay_conformance.model.errors import AssayError
from assay_fixtures.differential.campaign import Campaign, Disagreement, Figures
from assay_fixtures.differential.generator import generate
from assay_fixtures.differential.real import Admin, RealParty
from assay_fixtures.differential.script import Script


def scripts_of(options: argparse.Namespace) -> list[Script]:
    if options.file is not None:
        return [msgspec.json.decode(options.file.read_bytes(), type=Script)]
    numbers = range(options.sequences) if options.only is None else [options.only]
    return [generate(options.seed, number) for number in numbers]


async def run(options: argparse.Namespace) -> Figures:
    admin = Admin(options.admin)
    word = f"fuzz-{time.time_ns() // 1_000_000:x}"
    campaign = Campaign(lambda namespace: RealParty(options.broker, admin, namespace), word)

    def tell(found: Disagreement) -> None:
        print(f"sequence {found.script.name} ({found.reduced.policy}), reduced to:")
        for step in found.reduced.steps:
            print(f"  {msgspec.json.encode(step).decode()}")
        for difference in found.differences:
            print(f"  {difference}", flush=True)
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{found.script.name}.json").write_bytes(msgspec.json.encode(found.reduced))

    return await campaign.play(scripts_of(options), tell)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, default=None, help="play this sequence alone")
    parser.add_argument("--file", type=Path, default=None, help="play a sequence that was kept")
    parser.add_argument("--keep", type=Path, default=None, help="write reduced disagreements into this folder")
    parser.add_argument("--broker", required=True, help="service url of the real broker")
    parser.add_argument("--admin", required=True, help="its admin url")
    options = parser.parse_args()
    started = time.monotonic()
    try:
        figures = asyncio.run(run(options))
    except AssayError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    for line in figures.lines():
        print(line)
    print(f"{time.monotonic() - started:.0f} s")
    return 1 if figures.disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
