"""run.json: under what a run was made, so that its verdicts mean something elsewhere and later.

Written before the agent starts, when it has said hello, and when the run ends: one without `ended_unix_ms` is of a run
that was killed, or whose agent did not come up.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import msgspec

from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.schema import FileKind, Header, read_document


class LoadSource(StrEnum):
    """How the agent's lack of CPU was measured: its own run-queue wait, or the lateness of a process beside it."""

    SCHEDSTAT = "schedstat"
    SENTINEL = "sentinel"


class BrokerInfo(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """`kind` is how the bench got it (`embedded`, ...); name and version are what it announced. `write_quorum`: to how
    many bookies each message goes, where the bench has said so."""

    kind: str
    name: str
    version: str
    write_quorum: int | None = None


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    python: str
    cpus: int
    platform: str


class LeftOut(msgspec.Struct, frozen=True):
    """A Case that was not selected, and why: its tier, a need the broker does not meet, the user's choice."""

    case: str
    reason: str


UnixMs = Annotated[int, msgspec.Meta(ge=0, lt=253_402_300_800_000)]
"""Up to the end of the year 9999, after which there are no dates."""


class RunInfo(Header, frozen=True, kw_only=True):
    """`facts.client_version` is the version asked for, `announced` what the library said in its `hello`, empty before.

    `build` is a digest of what was installed as the client, empty if unknown.
    `options` are those of the command, by name, as far as they can change a verdict; `seed` is that of the generated
    part of the plan. Times are milliseconds since 1970.
    """

    run: str
    suite: str
    catalogue: str
    hypothesis: str
    facts: ClientFacts
    announced: str
    broker: BrokerInfo
    machine: Machine
    load_source: LoadSource
    seed: int
    started_unix_ms: UnixMs
    ended_unix_ms: UnixMs | None = None
    interrupted: bool = False
    left_out: tuple[LeftOut, ...] = ()
    build: str = ""
    options: dict[str, Any] = msgspec.field(default_factory=dict)


def read_run(data: bytes, where: str) -> RunInfo:
    """Return the content of a run.json. Raises UsageError, which names `where`, when it is none."""
    return read_document(data, FileKind.RUN, RunInfo, where)
