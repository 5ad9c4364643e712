"""How long after a part lands `assay watch` says what is wrong with it, once it is warm.

    python -m bench.watch [--parts 120] [--every-s 1]

Parts of 5,000 messages land in a ledger at a steady pace; every tenth has one message out of order. The first minute is
warm-up. Prints the seconds from landing to alarm: least, median, greatest; and how many alarms were false.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from pathlib import Path

import click
from bench.growing import Growing

from assay_fixtures.programs import Kept
from assay_reports.ledgers.opening import open_ledger
from assay_reports.spark.alarms import Alarm
from assay_reports.spark.session import Settings, spark_session
from assay_reports.spark.watch import CONF, Watch

ROWS = 5_000
BAD_EVERY = 10
WARM_UP_S = 60.0


@click.command()
@click.option("--parts", default=120, show_default=True)
@click.option("--every-s", default=1.0, show_default=True)
def main(parts: int, every_s: float) -> None:
    landed: dict[int, float] = {}
    said: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder, spark_session(Kept(), Settings("local[2]", CONF, "1g")) as session:
        ledger = Growing(Path(folder) / "ledger", time.time_ns() // 1_000_000)

        def write() -> None:
            for number in range(parts):
                first = number * ROWS
                bad = {first + ROWS // 2} if number % BAD_EVERY == BAD_EVERY - 1 else set()
                ledger.land(first, first + ROWS, disorder=bad)
                landed.update(dict.fromkeys(bad, time.monotonic()))
                time.sleep(every_s)
            ledger.end()

        def hear(alarm: Alarm) -> None:
            said.setdefault(alarm.seq, time.monotonic())

        began_s = time.monotonic()
        writing = threading.Thread(target=write)
        writing.start()
        watch = Watch(session, open_ledger(str(ledger.where)), hear)
        watch.run()
        writing.join()
        warm = [said[seq] - at_s for seq, at_s in landed.items() if seq in said and at_s - began_s > WARM_UP_S]
        missed, false = len(landed.keys() - said.keys()), len(said.keys() - landed.keys())
        if warm:
            middle = statistics.median(warm)
            print(f"landing to alarm  {min(warm):.2f} s, {middle:.2f} s, {max(warm):.2f} s ({len(warm)} alarms)")
        print(
            f"missed {missed}, false {false}; {watch.batches} batches, {watch.most_open} buckets and "
            f"{watch.most_seconds} counts of a second in mind at most"
        )


if __name__ == "__main__":
    main()
