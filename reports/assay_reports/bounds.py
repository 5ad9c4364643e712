"""Bounds of what this package reads and waits for, each with its unit and its reason."""

from __future__ import annotations

from typing import Final

MOST_COLUMN_BYTES: Final = 256 << 20
"""Of one column in one row group of a foreign Parquet file, uncompressed: usual writers stay far below, and a file of
some megabytes can unpack to any size."""

MOST_TEXT_BYTES: Final = 256 << 20
"""Of a ledger's column of names or keys in one row group, uncompressed, as the file declares it."""

MOST_LINE_BYTES: Final = 1 << 20
"""Of a line of a log, or a row of a CSV: it is decoded as a whole, and takes up to a hundred times its length then."""

MOST_YEARS: Final = 10
"""No run is so long: a time this far from its beginning is of another unit than the map says, and so is a duration."""

# --- files ------------------------------------------------------------------------------------------------------------

MOST_FILE_BYTES: Final = 64 << 20
"""Of one JSON document, or one line of a file of lines: decoded it takes about ten times as much."""

MOST_RUN_FILE_BYTES: Final = 16 << 30
"""Of a history, a plan or a log of a run, which are read line by line, and for their digests: a million events have 221
MiB. Holes in a file cost nothing to make, and half a minute for each 16 GiB to read."""

MOST_TOML_BYTES: Final = 2 << 20
"""Of a file that people write. Ours has 150 kB."""

MOST_SMALL_CELLS: Final = 10_000_000
"""Rows times columns of a small table of a ledger, such as its topics or keys: every reader holds all of them, and a
few bytes of Parquet can say any number."""

# --- exported scripts -------------------------------------------------------------------------------------------------

SCRIPT_WAITS_S: Final = 10.0
"""For what a script of `assay export` waits for, where its Case says no other time. `export/runtime` has it again:
scripts run without assay."""

# --- Spark ------------------------------------------------------------------------------------------------------------

JVM_STARTS_S: Final = 300.0
"""For Spark's JVM to say its port: it may take jars from a slow disk, beside other work."""

JVM_STOPS_S: Final = 10.0
"""For that JVM to end once it was asked to; then it is killed."""

JVM_KILLED_S: Final = 10.0
"""For that JVM, and all that it started, to be gone once it was killed."""

JAVA_ANSWER_S: Final = 30.0
"""For `java -version`: a cold JVM on a busy machine."""

MASTER_CONNECTS_S: Final = 5.0
"""For a connection to the master that `--master` names."""

WORKERS_COME_S: Final = 120.0
"""For a worker of that master to give this job a process: others may have them all."""

LEDGER_BEGINS_S: Final = 5.0
"""For the rest of a ledger once its ledger.json is there: its writer has it there a moment later, and what is still
wrong then stays wrong."""

ABANDONED_S: Final = 3600.0
"""A fold without its JSON may belong to a process that is at it; after this it is removed."""

# --- disk -------------------------------------------------------------------------------------------------------------

LEAST_FREE_BYTES: Final = 64 << 20
"""On the disk of a ledger that is to be made up: below this none is begun."""

LEAST_FREE_SPARK_BYTES: Final = 16 << 20
"""Below this the JVM may not even start, and would say anything but why."""

# --- ledgers ----------------------------------------------------------------------------------------------------------

HOLD_S: Final = 1.0
"""Deliveries wait so long for what other processes had written before them: twice what a writer may hold back."""
