"""The agent's lines, and the agent as a process: what `certify`, `agent check` and `explore` meet."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from random import Random
from typing import Final

from fuzz.hostile import values
from fuzz.hostile.attack import VERDICT_CODES, Drawn, Order, Sandbox
from fuzz.hostile.corpus import CASE, Corpus

_HERE: Final = Path(__file__).parents[1]
_COMMAND: Final = re.compile(r"^command = .*(\nnursery = .*)?$", re.MULTILINE)

EVENTS: Final[dict[str, bytes]] = {
    "hello": b'{"event":"hello","t_ns":1,"id":@ID@,"schema":"1.0","agent":"reference",'
    b'"client":"assay-reference-client","client_version":"0.1.0","language":"python","capabilities":["producer","consumer"]}',
    "clock": b'{"event":"ok","t_ns":1,"id":@ID@}',
    "open_client": b'{"event":"ok","t_ns":1,"id":@ID@}',
    "open_producer": b'{"event":"fail","t_ns":1,"id":@ID@,"error":"timeout","text":"no answer"}',
    "open_consumer": b'{"event":"unknown","t_ns":1,"id":@ID@,"error":"other","text":"gone"}',
    "send": b'{"event":"ok","t_ns":1,"id":@ID@,"message_id":[3,0,-1,-1,0]}',
    "receive": b'{"event":"received","t_ns":1,"consumer":2,"delivery":1,"message_id":[3,0,-1,-1,0],"size":3,'
    b'"digest":1,"identity":[1,2,3],"properties":{"a":"b"},"topic":"persistent://public/default/x"}',
    "note": b'{"event":"note","t_ns":1,"text":"hello"}',
}
"""What an agent may say, of every kind; damaged one at a time."""

_ACTS: Final = {
    "none": 30,
    "close stdout": 4,
    "close stdin": 2,
    "exit 0": 4,
    "abort": 2,
    "SIGKILL": 2,
    "SIGSTOP": 1,
    "SIGSTOP to the group": 1,
    "hold the output": 6,
    "leave children": 4,
    "leave a daemon": 4,
    "ignore every end": 1,
    "flood stderr": 2,
    "flood stdout": 2,
    "one endless line": 2,
}
_LIES: Final[dict[str, dict[str, object]]] = {
    "a digest that nobody sent": {"digest": 0xDEADBEEF, "identity": None, "message_id": [9, 9, -1, -1, 0]},
    "a topic that does not exist": {"topic": "persistent://public/default/elsewhere", "digest": 0xDEADBEEF},
}
_LIE_SHARE: Final = 0.06
_AGENT_TIME_S: Final = 100.0
"""The bench waits up to a minute for a first answer, and some of these never give one."""


def agent(rng: Random, corpus: Corpus) -> Drawn:
    text = corpus.agent_toml.read_text("utf-8")
    if rng.random() < _LIE_SHARE:
        return _lie(rng, text)
    act = rng.choices(list(_ACTS), list(_ACTS.values()))[0]
    verb = rng.choice(("start", *EVENTS, "close", "exit", "nack"))
    raw, kind = _line(rng, verb)
    plan = {
        "verb": verb if verb != "note" else "send",
        "nth": rng.choice((1, 1, 1, 2, 9)),
        "raw": base64.b64encode(raw).decode(),
        "act": act,
        "instead": rng.random() < 0.5,
    }
    checks = rng.random() < 0.4

    def lay(sandbox: Sandbox) -> Order:
        _write(sandbox, text, _HERE / "rogue.py", plan)
        if checks:
            return Order(("agent", "check", "agent/agent.toml"), codes=VERDICT_CODES, time_s=_AGENT_TIME_S)
        words = ("certify", "agent/agent.toml", "--select", CASE)
        return Order(words, codes=VERDICT_CODES - {0}, time_s=_AGENT_TIME_S)

    return (kind if act == "none" else act), lay


def _line(rng: Random, verb: str) -> tuple[bytes, str]:
    if rng.random() < 0.15:
        return rng.choice(
            [
                (b"DEBUG reconnecting", "no JSON"),
                (b"", "an empty line"),
                (b"\xff\xfe", "no UTF-8"),
                (b"[" * 100_000, "brackets"),
                (b"{}", "an empty object"),
                (b'{"event":"ok","t_ns":1,"id":' + b"9" * 5_000 + b"}", "an id of 5,000 digits"),
                (b'{"event":"hello","x":' + b"[" * 2_000 + b"]" * 2_000 + b"}", "2,000 lists in one another"),
            ]
        )
    document = EVENTS.get(verb, rng.choice(list(EVENTS.values()))).replace(b"@ID@", b"77777")
    damaged, kind = rng.choice(values.TREES)(rng, document)
    return damaged.replace(b"77777", b"@ID@"), f"a line with {kind}"


def _lie(rng: Random, text: str) -> Drawn:
    name = rng.choice(list(_LIES))

    def lay(sandbox: Sandbox) -> Order:
        _write(sandbox, text, _HERE / "liar.py", _LIES[name])
        return Order(("certify", "agent/agent.toml", "--select", CASE), codes=frozenset({1}), time_s=_AGENT_TIME_S)

    return name, lay


def _write(sandbox: Sandbox, text: str, program: Path, plan: object) -> None:
    folder = sandbox.work / "agent"
    folder.mkdir()
    (folder / "plan.json").write_text(json.dumps(plan))
    isolated = [] if program.name == "liar.py" else ["-I", "-S"]
    words = ["{python}", *isolated, str(program), "{here}/plan.json"]
    (folder / "agent.toml").write_text(_COMMAND.sub(lambda _: f"command = {json.dumps(words)}\nnursery = []", text, 1))
