"""The smallest agent that passes `assay agent check`, around the Apache Pulsar Python client."""

# ruff: noqa: E401, E402, I001
# fmt: off
import base64, contextlib, hashlib, json, os, struct, sys, threading, time, zlib
from concurrent.futures import ThreadPoolExecutor

OUT = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # Whatever the client prints goes to stderr: stdout is for events alone.
import pulsar

LOCK, HANDLES, DELIVERED, WORKERS = threading.Lock(), {}, {}, {}
SURELY_NOT = (KeyError, IndexError, pulsar.AlreadyClosed, pulsar.MessageTooBig)  # All else may have happened.
HELLO = {"schema": "1.0", "agent": "example/tiny", "client": "pulsar-client", "client_version": pulsar.__version__,
         "language": "python", "capabilities": ["producer", "consumer"]}

def say(event, **fields):
    with LOCK:  # Stamped inside the lock: the order of lines is the order of stamps.
        print(json.dumps({"event": event, "t_ns": time.monotonic_ns(), **fields}), file=OUT, flush=True)

def answer(op, call, *args):
    try:
        say("ok", id=op, **(call(*args) or {}))
    except Exception as error:
        never = isinstance(error, SURELY_NOT)
        say("fail" if never else "unknown", id=op, error="closed" if never else "other", text=repr(error))

def generate(size, seed=0, case=0, handle=0, number=0):
    head = struct.pack(">IIQ", case, handle, number) if size >= 16 else b""
    return (head + b"".join(hashlib.sha256(struct.pack(">QQ", seed, i)).digest() for i in range(size // 32 + 1)))[:size]

def place(id):
    return [id.ledger_id(), id.entry_id(), id.partition(), id.batch_index(), 0]

def subscribe(c):
    DELIVERED[c["handle"]] = []
    return HANDLES[c["client"]].subscribe(c["topics"], c["subscription"])

def send(c, message):
    data = base64.b64decode(message["data"]) if "data" in message else generate(**message["payload"])
    return {"message_id": place(HANDLES[c["producer"]].send(data))}

def receive(c):
    told, end = DELIVERED[c["consumer"]], time.monotonic() + c["timeout_ms"] / 1000
    wanted = range(len(told) + 1, len(told) + 1 + c["count"])
    with contextlib.suppress(pulsar.Timeout):
        for number in wanted:
            told.append(HANDLES[c["consumer"]].receive(max(1, int((end - time.monotonic()) * 1000))))
            data = told[-1].data()
            say("received", consumer=c["consumer"], delivery=number, message_id=place(told[-1].message_id()),
                size=len(data), digest=zlib.crc32(data), data=base64.b64encode(data).decode(),
                identity=struct.unpack(">IIQ", data[:16]) if len(data) >= 16 else None)
    return {"count": len(told) - wanted.start + 1}

def acknowledge(c):
    for message in [DELIVERED[c["consumer"]][number - 1] for number in c["messages"]]:
        HANDLES[c["consumer"]].acknowledge(message)

VERBS = {  # verb -> what to do; what it returns goes into the answer
    "open_client": lambda c: HANDLES.update({c["handle"]: pulsar.Client(c["service_url"])}),
    "open_producer": lambda c: HANDLES.update({c["handle"]: HANDLES[c["client"]].create_producer(c["topic"])}),
    "open_consumer": lambda c: HANDLES.update({c["handle"]: subscribe(c)}),
    "receive": receive, "ack": acknowledge, "close": lambda c: HANDLES[c["handle"]].close(),
}

for line in sys.stdin.buffer:
    try:
        c = json.loads(line)
        op, verb = c["id"], c["verb"]
    except (ValueError, TypeError, KeyError):
        continue
    # One thread a handle keeps its commands in order; receiving has its own, so that acks pass it.
    key = (verb == "receive", c.get("handle") or c.get("producer") or c.get("consumer"))
    submit = WORKERS.setdefault(key, ThreadPoolExecutor(1)).submit
    if verb in ("exit", "crash"):
        os._exit(0)
    elif verb == "hello":
        say("hello", id=op, **HELLO) if c.get("min", "1.0") <= "1.0" else say("fail", id=op, error="other")
    elif verb == "clock":
        say("ok", id=op)
    elif verb == "send":
        for offset, message in enumerate(c["messages"]):
            submit(answer, op + offset, send, c, message)
    elif verb in VERBS:
        submit(answer, op, VERBS[verb], c)
    else:
        say("unsupported", id=op, text=verb)
os._exit(0)
