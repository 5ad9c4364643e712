"""Arguments, standard streams and signals: what a shell, a scheduler or a person does to a command."""

from __future__ import annotations

import shutil
import signal
from random import Random
from typing import Final

from fuzz.hostile import places
from fuzz.hostile.attack import INTERRUPTED, REFUSALS, VERDICT_CODES, Drawn, Order, Sandbox, Signalled, Stream
from fuzz.hostile.corpus import CASE, Corpus

_FULL: Final = "/dev/full"
_PLACE: Final = "odd-place"
"""What lies there is no regular file."""
WORDS: Final = (
    "",
    " ",
    "-1",
    "0",
    "9" * 400,
    "1e9",
    "nan",
    "../../neighbour",
    "/proc/x",
    _FULL,
    "x" * 5_000,
    "a\nb",
    "\x1b[31mred",
    "\u202edlrow",
    "http://[bad",
    "pulsar://127.0.0.1:1",
    "pulsar://[::1",
    "resend/queue-order@",
    "@",
    "profile:",
    "{",
    "%s",
    "*",
    "inf",
    "9" * 20,
    "C:",
    "file:x",
    "a\udcffb",
    _PLACE,
    _PLACE,
    _PLACE,
)

_OPTIONS: Final[dict[tuple[str, ...], tuple[str, ...]]] = {
    ("certify", "reference", "--select", CASE): (
        "--select",
        "--deselect",
        "--tier",
        "--expectations",
        "--run-dir",
        "--jobs",
        "--faults",
        "--broker",
        "--admin",
        "--token-file",
        "--tls-ca",
        "--allow-destructive",
    ),
    ("list",): ("requirements", "cases", "profiles"),
    ("explain",): ("",),
    ("check",): ("",),
    ("show",): ("",),
    ("compare",): ("",),
    ("export",): ("-o", "--name"),
    ("replay",): ("--case", "--agent"),
    ("explore", "reference", "--for", "1s"): ("--for", "--seed", "--jobs", "--max-disk", "--area"),
    ("tune", "--partitions", "8", "--message-size", "100"): ("--partitions", "--message-size", "--rate"),
    ("ledger", "show"): ("",),
    ("ledger", "audit"): ("",),
    ("ledger", "ingest"): ("", "--out"),
    ("ledger", "run"): ("", "--out"),
    ("ledger", "map", "logs/orders.toml"): ("",),
    ("soak", "nobody"): (
        *(
            "--rate",
            "--producers",
            "--partitions",
            "--size",
            "--keys",
            "--nack-share",
            "--seed",
            "--faults",
            "--ledger",
        ),
        *("--most-leak", "--most-descriptors", "--warm-up"),
    ),
    ("watch", "nowhere", "--wait", "0"): ("--wait", "--memory"),
    ("reconcile",): ("",),
    ("reconcile", "nowhere"): ("--report", "--spill", "--memory", "--master"),
    ("ledger", "synth", "big", "--messages", "100"): ("--messages", "--seed", "--parts", "--jobs", "--anomalies"),
    ("broker", "--port", "0", "--http-port", "0"): ("--host", "--port", "--name", "--conf", "--log"),
    ("agent", "check"): ("", "--wheel"),
    ("expectations", "update"): ("", "--file"),
    ("doctor",): ("--json",),
    ("completion",): ("",),
}

_SERVE_S: Final = 1.0


def arguments(rng: Random, _: Corpus) -> Drawn:
    """Draw a command with one unexpected argument or option, and sometimes an unexpected environment."""
    command = rng.choice(list(_OPTIONS))
    option, word = rng.choice(_OPTIONS[command]), rng.choice(WORDS)
    words = (*command, *((option, word) if option else (word,)))
    environment: tuple[tuple[str, str], ...] = ()
    descriptors = None
    kind = f"{command[0]} {option} with an odd word"
    if rng.random() < 0.1:
        words = ("certify", "reference", "--select", CASE)
        environment = (("ASSAY_CACHE", rng.choice(("/proc/x", "/dev/null", "", "x" * 300))),)
        kind = "an odd ASSAY_CACHE"
    elif rng.random() < 0.05:
        words = ("certify", "reference", "--select", CASE)
        descriptors = rng.choice((8, 12, 16, 24, 40))
        kind = "few descriptors"
    # Too few descriptors are the machine's failing, which 4 is for.
    codes = VERDICT_CODES if descriptors is None else VERDICT_CODES | {4}
    if command[0] == "broker":
        codes |= {INTERRUPTED}
    if word == _FULL:
        # A disk without room, where it is written to.
        codes |= {4}

    def lay(sandbox: Sandbox) -> Order:
        if word == _PLACE:
            places.put(rng, sandbox.work / _PLACE)
        return Order(
            words,
            codes=codes,
            environment=environment,
            descriptors=descriptors,
            signals=(Signalled(_SERVE_S, signal.SIGTERM),) if command[0] == "broker" else (),
        )

    return kind, lay


_TALKERS: Final[dict[tuple[str, ...], int]] = {
    ("certify", "reference", "--select", CASE): 0,
    ("doctor",): 0,
    ("list", "requirements"): 0,
    ("explain", "resend.keeps-queue-order"): 0,
    ("certify", "nobody"): 2,
    ("certify", "reference", "--no-such-option"): 2,
    ("check", "nowhere"): 2,
    ("show", "{golden}", CASE): 0,
    ("tune", "--partitions", "8", "--message-size", "100"): 0,
}
"""Commands and the code that they end with, whatever their streams are."""


def streams(rng: Random, corpus: Corpus) -> Drawn:
    """Draw standard streams that are closed or full, which change no exit code."""
    words = rng.choice(list(_TALKERS))
    states = tuple(rng.choice((Stream.OPEN, Stream.CLOSED, Stream.FULL)) for _ in range(3))
    if all(state is Stream.OPEN for state in states):
        states = (Stream.OPEN, Stream.OPEN, Stream.FULL)
    unheard = Stream.OPEN not in states[1:]
    # Where stdout itself is the result and cannot be written, that is the machine's failing.
    unwritten = states[1] is Stream.FULL and words[0] != "certify"
    codes = frozenset({_TALKERS[words]}) | ({4} if unwritten else frozenset())

    def lay(_: Sandbox) -> Order:
        return Order(
            tuple(word.replace("{golden}", str(corpus.run)) for word in words),
            codes=codes,
            streams=(states[0], states[1], states[2]),
            silent=unheard or states[2] is not Stream.OPEN,
        )

    kinds = (
        f"{name} {state}" for name, state in zip(("stdin", "stdout", "stderr"), states, strict=True) if state != "open"
    )
    return ", ".join(kinds), lay


_LONG: Final[dict[tuple[str, ...], int]] = {
    ("certify", "reference"): 1,
    ("certify", "reference", "--json"): 1,
    ("explore", "reference", "--for", "20s"): 1,
    ("agent", "check", "reference"): 1,
    ("compare", "run", "reference"): 1,
    ("replay", "failure.json", "--agent", "reference"): 1,
    ("check", "run"): 1,
    ("soak", "reference", "--rate", "50", "--for", "20s", "--out", "soaked"): 1,
    ("tools", "list"): 1,
    ("ledger", "synth", "big", "--messages", "3000000"): 1,
}

_ENDING_S: Final = 15.0
"""Within which two signals end anything."""


def signals(rng: Random, corpus: Corpus) -> Drawn:
    """Draw one to three interrupts at any moment.

    The exit code is 130, or the command's own if it had ended by then.
    """
    words = rng.choice(list(_LONG))
    first_s = rng.choice((0.05, 0.2, 0.5, 1.0, 2.0, 4.0)) * rng.uniform(0.5, 1.5)
    number = rng.choice((signal.SIGINT, signal.SIGINT, signal.SIGTERM))
    times = rng.choice((1, 2, 3))
    gap_s = rng.choice((0.02, 0.3, 1.0))
    plan = tuple(Signalled(first_s + index * gap_s, number) for index in range(times))
    # Three kill: a shell reports that as it reports any killed program.
    codes = VERDICT_CODES | {INTERRUPTED} | ({-number, -signal.SIGKILL} if times == 3 else set())
    if words[:2] == ("certify", "reference") and first_s < 1.0:
        codes -= {0}
    replays = corpus.replays
    replay = rng.choice(replays)

    def lay(sandbox: Sandbox) -> Order:
        shutil.copytree(corpus.run, sandbox.work / "run")
        shutil.copy(replay, sandbox.work / "failure.json")
        return Order(words, codes=frozenset(codes) | REFUSALS, signals=plan, time_s=first_s + times * gap_s + _ENDING_S)

    return f"{words[0]}: {times} x {number.name}", lay
