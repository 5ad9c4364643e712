"""Network namespaces and TUN devices, as the kernel's calls have them: unshare(2), netdevice(7), tun.

Nothing here outlives the process: a namespace without a name ends with the last thread and socket in it, and a TUN
device with its descriptor. So there is nothing to note in the ledger and nothing to clean, not even after SIGKILL.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path
from typing import Final

from assay_conformance.model.errors import UnavailableError

_TUN: Final = Path("/dev/net/tun")
_CLONE_NEWNET: Final = 0x40000000
_TUNSETIFF: Final = 0x400454CA
_IFF_TUN, _IFF_NO_PI, _IFF_UP = 0x1, 0x1000, 0x1
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_SIOCSIFADDR, _SIOCSIFNETMASK, _SIOCSIFMTU, _SIOCSIFTXQLEN = 0x8916, 0x891C, 0x8922, 0x8943
_NAMED: Final = "16s"
_REQUEST_BYTES: Final = 40
_QUEUE_PACKETS: Final = 5_000
_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21

MTU_BYTES: Final = 1_500
NETMASK: Final = "255.255.255.252"
"""A network of two hosts."""


def lacking() -> str:
    """Return why there can be no network of our own here, or an empty string when there can. Changes nothing."""
    if not _TUN.exists():
        return f"there is no {_TUN}: expected a kernel with CONFIG_TUN, and the device in this container"
    try:
        status = Path("/proc/self/status").read_text()
        held = int(next(line for line in status.splitlines() if line.startswith("CapEff")).split()[1], 16)
    except (OSError, StopIteration):
        return "there is no /proc/self/status: expected Linux"
    if not (held >> _CAP_NET_ADMIN & 1 and held >> _CAP_SYS_ADMIN & 1):
        return "CAP_NET_ADMIN and CAP_SYS_ADMIN are not held: expected root, or a container with both"
    return ""


def require() -> None:
    """Raise UnavailableError with what this machine lacks, if anything."""
    if reason := lacking():
        raise UnavailableError(f"no network namespaces: {reason}")


def enter_new_namespace() -> None:
    """Move this thread, and what it starts from here on, into a new network namespace.

    Raise OSError when the kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET):
        error = ctypes.get_errno()
        raise OSError(error, f"unshare(CLONE_NEWNET): {os.strerror(error)}")


def open_tun(address: str) -> int:
    """Open a TUN device in this thread's namespace and return its descriptor.

    The device has this address and is up; the descriptor does not block.
    """
    tun = os.open(_TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        # The kernel chooses the name.
        asked = struct.pack(f"{_NAMED}H22x", b"assay%d", _IFF_TUN | _IFF_NO_PI)
        name = fcntl.ioctl(tun, _TUNSETIFF, asked)[:16].rstrip(b"\0")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            _set_address(control, _SIOCSIFADDR, name, address)
            _set_address(control, _SIOCSIFNETMASK, name, NETMASK)
            _set_number(control, _SIOCSIFMTU, name, MTU_BYTES)
            _set_number(control, _SIOCSIFTXQLEN, name, _QUEUE_PACKETS)
            _bring_up(control, name)
    except OSError:
        os.close(tun)
        raise
    return tun


def _set_address(control: socket.socket, request: int, name: bytes, address: str) -> None:
    packed = struct.pack(f"{_NAMED}HH4s8x", name, socket.AF_INET, 0, socket.inet_aton(address))
    fcntl.ioctl(control, request, packed.ljust(_REQUEST_BYTES, b"\0"))


def _set_number(control: socket.socket, request: int, name: bytes, number: int) -> None:
    fcntl.ioctl(control, request, struct.pack(f"{_NAMED}i", name, number).ljust(_REQUEST_BYTES, b"\0"))


def _bring_up(control: socket.socket, name: bytes) -> None:
    asked = struct.pack(f"{_NAMED}H", name, 0).ljust(_REQUEST_BYTES, b"\0")
    flags: int = struct.unpack_from("H", fcntl.ioctl(control, _SIOCGIFFLAGS, asked), 16)[0]
    fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack(f"{_NAMED}H", name, flags | _IFF_UP).ljust(_REQUEST_BYTES, b"\0"))
