"""The smallest agent that passes `assay agent check`, around the Apache Pulsar Python client."""

import base64, collections, concurrent.futures, contextlib, hashlib, json, os, struct, sys, threading, time, zlib

OUT = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # Whatever the client prints goes to stderr: stdout is for events alone.
import pulsar

LOCK, OPEN, DELIVERED = threading.Lock(), {}, collections.defaultdict(list)
WORKERS = collections.defaultdict(lambda: concurrent.futures.ThreadPoolExecutor(1))
SURELY_NOT = (KeyError, IndexError, pulsar.AlreadyClosed, pulsar.MessageTooBig)  # All else may have happened.

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

def send(c, message):
    data = base64.b64decode(message["data"]) if "data" in message else generate(**message["payload"])
    return {"message_id": place(OPEN[c["producer"]].send(data))}

def receive(c):
    got, end = DELIVERED[c["consumer"]], time.monotonic() + c["timeout_ms"] / 1000
    before = len(got)
    with contextlib.suppress(pulsar.Timeout):
        while len(got) < before + c["count"]:
            got.append(OPEN[c["consumer"]].receive(max(1, int((end - time.monotonic()) * 1000))))
            data = got[-1].data()
            say("received", consumer=c["consumer"], delivery=len(got), message_id=place(got[-1].message_id()),
                size=len(data), digest=zlib.crc32(data), data=base64.b64encode(data).decode(),
                identity=struct.unpack(">IIQ", data[:16]) if len(data) >= 16 else None)
    return {"count": len(got) - before}

def acknowledge(c):
    for message in [DELIVERED[c["consumer"]][number - 1] for number in c["messages"]]:
        OPEN[c["consumer"]].acknowledge(message)

VERBS = {  # verb -> what to do; what it returns goes into the answer
    "open_client": lambda c: OPEN.update({c["handle"]: pulsar.Client(c["service_url"])}),
    "open_producer": lambda c: OPEN.update({c["handle"]: OPEN[c["client"]].create_producer(c["topic"])}),
    "open_consumer": lambda c: OPEN.update({c["handle"]: OPEN[c["client"]].subscribe(c["topics"], c["subscription"])}),
    "send": send, "receive": receive, "ack": acknowledge, "close": lambda c: OPEN[c["handle"]].close(),
    "clock": lambda _: None, "exit": lambda _: os._exit(0), "crash": lambda _: os._exit(0),
}

def serve(c):
    op, verb = c["id"], c["verb"]
    if verb == "hello" and c.get("min", "1.0") <= "1.0":
        return say("hello", id=op, schema="1.0", agent="example/tiny", client="pulsar-client", language="python",
                   client_version=pulsar.__version__, capabilities=["producer", "consumer"])
    if verb not in VERBS:
        return say("fail" if verb == "hello" else "unsupported", id=op, error="other", text=verb)
    # One thread a handle keeps its commands in order, what opens it first; a receive goes on from there in a thread of
    # its own, so that acks pass it.
    number = c.get("handle") or c.get("producer") or c.get("consumer")
    passed_on = [WORKERS[number, verb].submit] if verb == "receive" else []
    for offset, part in enumerate([(c, message) for message in c["messages"]] if verb == "send" else [(c,)]):
        WORKERS[number].submit(*passed_on, answer, op + offset, VERBS[verb], *part)

for line in sys.stdin.buffer:
    with contextlib.suppress(ValueError, TypeError, KeyError):  # What is no command is passed over.
        serve(json.loads(line))
os._exit(0)
