"""Put the conversations of `fixtures/golden/admin` to a node of real Pulsar.

`python -m tests.real.jvm.admin_answers --write SERVICE_URL ADMIN_URL` records its answers; without `--write` it says
which are different.
"""

from __future__ import annotations

import argparse
import contextlib
import secrets
import socket
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from tests.fixtures.light.answers import Answer, Conversation, Recording, alike, play, recordings

from assay_conformance.wire import CommandType, Frame, Splitter, command, decode, encode
from assay_conformance.wire.service_urls import address
from assay_fixtures.verified import exit_code

_ANSWERS_WITHIN_S: Final = 10.0
_RESTS_S: Final = (0.4, 1.5, 4.0)
"""How long what has no answer of its own, such as a MESSAGE, is waited for: nothing tells that none will come. Policies
of topics take as long to hold: they come by a topic of the broker's own. On a busy machine each may take longer, so a
conversation that went otherwise is held again with longer rests."""
_WITH_PROPERTIES: Final = "application/vnd.partitioned-topic-metadata+json"
NO_ANSWER: Final = 0
_MAX_FRAME_BYTES: Final = 6_000_000


class RealBroker:
    """A node that runs. Each conversation has a namespace, a tenant and a cluster of its own."""

    def __init__(self, service_url: str, admin_url: str, rest_s: float) -> None:
        self._rest_s = rest_s
        word = secrets.token_hex(4)
        self.names = {"ns": f"public/ns-{word}", "tenant": f"tenant-{word}", "cluster": f"cluster-{word}"}
        self._address = address(service_url)
        self._admin_url = admin_url
        self._open: dict[int, socket.socket] = {}
        self._splitters: dict[int, Splitter] = {}
        self.ask("PUT", f"namespaces/{self.names['ns']}", {}, b"")

    def ask(self, method: str, path: str, query: dict[str, str], body: bytes) -> tuple[int, bytes]:
        asked = f"?{urllib.parse.urlencode(query)}" if query else ""
        url = f"{self._admin_url}/admin/v2/{urllib.parse.quote(path)}{asked}"
        headers = {"Content-Type": _WITH_PROPERTIES if body.startswith(b'{"partitions"') else "application/json"}
        request = urllib.request.Request(url, method=method, data=body or None, headers=headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=_ANSWERS_WITHIN_S) as answer:
                told = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            told = error.code, error.read()
        except TimeoutError:
            told = NO_ANSWER, b""
        if method != "GET":
            time.sleep(self._rest_s)
        return told

    def exchange(self, conn: int, data: bytes, *, answered: bool) -> list[Frame]:
        if conn not in self._open:
            self._open[conn] = socket.create_connection((self._address.host, self._address.port), _ANSWERS_WITHIN_S)
            self._splitters[conn] = Splitter(_MAX_FRAME_BYTES)
            self._open[conn].sendall(encode(command(CommandType.CONNECT, client_version="t", protocol_version=21)))
            self._receive(conn, answered=True)
        self._open[conn].sendall(data)
        return self._receive(conn, answered=answered)

    def find(self, topic: str) -> None:
        """A broker serves no topic whose namespace it does not own, and owns it from the first lookup on."""
        domain, _, rest = topic.partition("://")
        url = f"{self._admin_url}/lookup/v2/topic/{domain}/{rest}"
        with contextlib.suppress(urllib.error.HTTPError), urllib.request.urlopen(url, timeout=_ANSWERS_WITHIN_S):
            pass

    def _receive(self, conn: int, *, answered: bool) -> list[Frame]:
        """What comes until it is quiet; where there is an answer, from that on."""
        frames: list[Frame] = []
        end_s = time.monotonic() + (_ANSWERS_WITHIN_S if answered else self._rest_s)
        while (left_s := end_s - time.monotonic()) > 0:
            self._open[conn].settimeout(left_s)
            try:
                data = self._open[conn].recv(65536)
            except TimeoutError:
                break
            except ConnectionResetError:
                data = b""
            if not data:
                self._open.pop(conn).close()
                break
            for raw in self._splitters[conn].feed(data):
                frame = decode(raw)
                if frame.type == CommandType.PING:
                    self._open[conn].sendall(encode(command(CommandType.PONG)))
                else:
                    frames.append(frame)
                    end_s = time.monotonic() + self._rest_s
        return [frame for frame in frames if frame.type != CommandType.CONNECTED]

    def close(self) -> None:
        for opened in self._open.values():
            opened.close()


def answers(conversation: Conversation, service_url: str, admin_url: str, rest_s: float = _RESTS_S[0]) -> list[Answer]:
    broker = RealBroker(service_url, admin_url, rest_s)
    try:
        return play(broker, conversation)
    finally:
        broker.close()


def different(recording: Recording, service_url: str, admin_url: str) -> list[str]:
    """The steps that this node answers otherwise than was recorded."""
    found: list[str] = []
    for conversation in recording.conversations:
        for rest_s in _RESTS_S:
            came = answers(conversation, service_url, admin_url, rest_s)
            wrong = list(_differences(conversation, came))
            if not wrong:
                break
        found += wrong
    return found


def _differences(conversation: Conversation, came: Sequence[Answer]) -> Iterator[str]:
    for number, (step, answer) in enumerate(zip(conversation.steps, came, strict=True)):
        if not alike(step.answer, answer, step.match):
            what = step.call or step.command
            yield f"{conversation.name}, step {number}, {what}: {answer}, recorded was {step.answer}"


def recorded(recording: Recording, version: str, service_url: str, admin_url: str) -> Recording:
    """The same conversations with this node's answers."""
    conversations = []
    for conversation in recording.conversations:
        came = answers(conversation, service_url, admin_url)
        steps = [
            msgspec.structs.replace(step, answer=answer) for step, answer in zip(conversation.steps, came, strict=True)
        ]
        conversations.append(Conversation(conversation.name, tuple(steps)))
    return Recording(version, tuple(conversations))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("service_url")
    parser.add_argument("admin_url")
    told = parser.parse_args(arguments)
    trouble: list[str] = []
    chosen = [path for path in recordings() if told.only in path.name]
    for path in chosen:
        recording = msgspec.json.decode(path.read_bytes(), type=Recording)
        if told.write:
            made = recorded(recording, "4.0.8", told.service_url, told.admin_url)
            path.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
        else:
            trouble += different(recording, told.service_url, told.admin_url)
    for line in trouble:
        sys.stdout.write(f"{line}\n")
    return exit_code(len(chosen), len(trouble), "recordings")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
