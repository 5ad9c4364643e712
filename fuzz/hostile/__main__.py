"""Hostile input at every door, with one oracle: whatever the input, a command ends in time with its memory bounded, an
exit code of its set, one sentence, nothing left behind and nothing changed outside its folder; a server goes on
serving.

    python -m fuzz.hostile --attacks 50                       fifty a door
    python -m fuzz.hostile --attacks 850 --seed 7             10,000 and more, in about an hour on two cores
    python -m fuzz.hostile --door ledger --only 17 --seed 7   one of them again, its folder kept
    python -m fuzz.hostile --python other/bin/python          another environment under attack

Attacks follow from seed, door and number alone. Prints a table of doors, and the breaches, one of each kind.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from fuzz.hostile import corpus, oracle, target, traffic
from fuzz.hostile.attack import REFUSALS, Tried
from fuzz.hostile.doors import DOORS
from fuzz.hostile.kinds import KINDS, found

from assay_fixtures.verified import exit_code

ALL_DOORS: Final = (*DOORS, *traffic.TRAFFIC)
_SERVERS: Final = ", ".join(traffic.TRAFFIC)
_PROGRESS: Final = 250
_SERVER_TURN: Final = 200
"""Attacks that one broker takes before it is renewed."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attacks", type=int, default=50, help="of each door")
    parser.add_argument("--door", action="append", choices=ALL_DOORS, help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--only", type=int, help="only the attack of this number, and keep its folder")
    parser.add_argument("--python", default=sys.executable, help="of the environment under attack")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write every attack and what came of it there")
    options = parser.parse_args()
    if _wants_ledgers(options):
        parser.error(f"ledgers need numpy and pyarrow in {options.python}: expected them, or doors among {_SERVERS}")
    print(f"seed {options.seed}", flush=True)
    numbers = range(options.attacks) if options.only is None else range(options.only, options.only + 1)
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        tried = _all(options, folder, numbers)
    finally:
        if options.only is None:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"kept: {folder}")
    if options.json:
        options.json.write_text("\n".join(json.dumps(_record(one)) for one in tried) + "\n")
    _print(tried)
    return exit_code(len(tried), sum(bool(one.breaches) for one in tried), "attacks")


def _wants_ledgers(options: argparse.Namespace) -> bool:
    """Whether ledgers are to be made, as for every door of commands, where nothing can write them."""
    if not set(options.door or ALL_DOORS) & set(DOORS):
        return False
    return (
        subprocess.run([options.python, "-c", "import numpy, pyarrow"], capture_output=True, timeout=60).returncode != 0
    )


def _all(options: argparse.Namespace, folder: Path, numbers: range) -> list[Tried]:
    doors = options.door or ALL_DOORS
    tried: list[Tried] = []
    began = time.monotonic()
    for one in _attacks(options, folder, doors, numbers):
        tried.append(one)
        for breach in one.breaches:
            print(f"{one.door} #{one.number} ({one.what}): {breach.rule}: {breach.detail}", flush=True)
        if len(tried) % _PROGRESS == 0:
            print(f"{len(tried)} attacks in {time.monotonic() - began:.0f} s", flush=True)
    return tried


def _attacks(options: argparse.Namespace, folder: Path, doors: tuple[str, ...], numbers: range) -> Iterator[Tried]:
    for door in (name for name in doors if name in traffic.TRAFFIC):
        yield from _on_a_server(options, folder / door, door, numbers)
    commands = [name for name in doors if name in DOORS]
    if commands:
        yield from _on_commands(options, folder, commands, numbers)


def _on_a_server(options: argparse.Namespace, folder: Path, door: str, numbers: range) -> Iterator[Tried]:
    broker = traffic.LightPulsar(options.python, folder)
    try:
        for number in numbers:
            one = traffic.attack(broker, door, number, _rng(options.seed, door, number))
            yield one
            if one.breaches or number % _SERVER_TURN == _SERVER_TURN - 1:
                broker.close()
                broker = traffic.LightPulsar(options.python, folder)
    finally:
        broker.close()


def _on_commands(options: argparse.Namespace, folder: Path, doors: list[str], numbers: range) -> Iterator[Tried]:
    """Attack commands side by side, door by door in turns, so that what one door slows down meets all."""
    cache = folder / "cache"
    idle: SimpleQueue[target.Target] = SimpleQueue()
    servers = [target.Target(options.python, cache) for _ in range(options.jobs)]
    broker = traffic.LightPulsar(options.python, folder / "peer")
    try:
        valid = corpus.make(servers[0], folder, broker.urls)
        for server in servers:
            idle.put(server)

        def one(door: str, number: int) -> Tried:
            server = idle.get()
            try:
                return _on_command(options.seed, server, folder / f"{door}-{number}", valid, door, number, options.only)
            finally:
                idle.put(server)

        with ThreadPoolExecutor(options.jobs) as pool:
            yield from pool.map(one, doors * len(numbers), [n for n in numbers for _ in doors])
    finally:
        broker.close()
        for server in servers:
            server.close()


def _on_command(
    seed: int, server: target.Target, base: Path, valid: corpus.Corpus, door: str, number: int, keep: int | None
) -> Tried:
    what, lay = DOORS[door](_rng(seed, door, number), valid)
    sandbox = target.new_sandbox(base)
    order = lay(sandbox)
    try:
        outcome = server.run(order, sandbox)
    finally:
        if order.peer is not None:
            order.peer.close()
    breaches = tuple(oracle.breaches(order, outcome))
    if keep is None:
        target.forget(sandbox)
    else:
        print(f"assay {' '.join(order.arguments)!a}\n-> {outcome.code} {outcome.err[-2_000:]}")
    return Tried(door, number, what, breaches, refused=outcome.code in REFUSALS)


def _rng(seed: int, door: str, number: int) -> random.Random:
    return random.Random(f"{seed}/{door}/{number}")


def _record(one: Tried) -> dict[str, object]:
    breaches = [{"rule": breach.rule, "detail": breach.detail} for breach in one.breaches]
    return {"door": one.door, "number": one.number, "what": one.what, "refused": one.refused, "breaches": breaches}


def _print(tried: list[Tried]) -> None:
    print(f"\n{'door':<12}{'attacks':>8}{'refused':>9}{'breaches':>10}")
    for door in ALL_DOORS:
        of_door = [one for one in tried if one.door == door]
        if of_door:
            _row(door, of_door)
    _row("all", tried)
    kinds = Counter(f"{one.door}: {one.what}: {breach.rule}" for one in tried for breach in one.breaches)
    for kind, count in kinds.most_common():
        print(f"{count:>6}  {kind}")
    rows = found(tried)
    print(f"kinds of earlier findings that showed: {len(rows)} of {len(KINDS)}: {', '.join(sorted(rows)) or 'none'}")


def _row(name: str, tried: list[Tried]) -> None:
    broken, refused = sum(bool(one.breaches) for one in tried), sum(one.refused for one in tried)
    print(f"{name:<12}{len(tried):>8}{refused:>9}{broken:>10}")


if __name__ == "__main__":
    sys.exit(main())
