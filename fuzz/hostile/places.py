"""What can stand where a file is expected."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _folder(path: Path) -> None:
    path.mkdir()


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        # A path of a socket is short; the name in the folder is what matters.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            server.bind(f"/proc/self/fd/{folder}/{path.name}")
        finally:
            os.close(folder)


def _empty(path: Path) -> None:
    path.touch()


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 20 << 30)


def _absent(path: Path) -> None:
    del path


PLACES: Final[dict[str, Callable[[Path], None]]] = {
    "a FIFO": _fifo,
    "a device": _device,
    "a link to itself": _loop,
    "a folder": _folder,
    "a socket": _socket,
    "an empty file": _empty,
    "a sparse file of 20 GiB": _sparse,
    "nothing": _absent,
}


def put(rng: random.Random, path: Path) -> str:
    """Replace the file at `path`, if any, by something that is no file; return what it is."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    name = rng.choice(list(PLACES))
    PLACES[name](path)
    return f"{name} in the place of a file"
