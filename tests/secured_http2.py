# SPDX-License-Identifier: Apache-2.0
"""Far machines that speak HTTP/2: api.test both versions, other.test HTTP/1.1 alone. A client of HTTP/2 that sends frames by hand."""

import contextlib
import importlib.util
import pathlib

import pytest

import atoll
import secured

NEEDS_HPACK = pytest.mark.skipif(not importlib.util.find_spec("hpack"), reason="needs python3-hpack")

SERVE = secured.SERVE.replace("for thread in (threading.Thread(target=nameserver, daemon=True), accept(443, tls)):", """
import subprocess
programs = [subprocess.Popen(["node", sys.argv[6], good, address, protocols]) for address, protocols in ((allowed, sys.argv[7]), (other, "http/1.1"))]
for thread in (threading.Thread(target=nameserver, daemon=True),):""").replace(
    "threading.Event().wait()", "sys.stdin.read()\nfor one in programs:\n    one.kill()\n    one.wait()")


class Secured(secured.Secured):
    serve = SERVE
    protocols = "h2,http/1.1"

    def arguments(self):
        return super().arguments() + [str(pathlib.Path(__file__).parent / "node/far_http2.mjs"), self.protocols]

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)
        super().close()


@contextlib.contextmanager
def running(*flags, protocols="h2,http/1.1"):
    before, secured.Secured = secured.Secured, type("Spoken", (Secured,), {"protocols": protocols})
    try:
        with secured.running(*flags) as (there, server):
            atoll.wait_for(lambda: sum(line.startswith("listening") for line in there.came) == 2, 20, lambda: there.came)
            yield there, server
    finally:
        secured.Secured = before


# In a sandbox, after secured.CLIENT: HTTP/2 by hand.
CLIENT = r"""
import hpack
DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
class Two:
    def __init__(self, host="api.test", settings=b""):
        context = trusting(); context.set_alpn_protocols(["h2"])
        self.s = connect(host, context=context); self.host = host
        assert self.s.selected_alpn_protocol() == "h2"
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder()
        self.data, self.next, self.streams, self.away, self.ended = b"", 1, {}, None, False
        self.window = 65535 # of the connection, for what is sent
        self.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, settings))
        self.step(); self.step() # the windows of streams, which are for bodies of up to 300,000 bytes
    def send(self, data):
        try:
            self.s.sendall(data)
        except OSError:
            self.ended = True
    def fields(self, path="/", method="GET", authority=None, more=()):
        return [(":method", method), (":scheme", "https"), (":authority", authority or self.host), (":path", path), *more]
    def ask(self, fields, body=None, end=True):
        stream = self.next; self.next += 2
        self.streams[stream] = {"head": {}, "heads": [], "body": b"", "trailers": None, "reset": None, "ended": False}
        self.send(frame(HEADERS, 4 | (1 if body is None and end else 0), stream, self.encoder.encode(fields)))
        if body is not None:
            for at in range(0, len(body) or 1, 16384):
                piece = body[at:at + 16384]
                while self.window < len(piece) and self.step():
                    pass
                self.window -= len(piece)
                self.send(frame(DATA, 1 if end and at + 16384 >= len(body) else 0, stream, piece))
        return stream
    def step(self):
        while len(self.data) < 9 or len(self.data) < 9 + int.from_bytes(self.data[:3], "big"):
            try:
                more = self.s.recv(65536)
            except TimeoutError:
                return False
            except OSError:
                more = b""
            if not more:
                self.ended = True
                return False
            self.data += more
        size = int.from_bytes(self.data[:3], "big"); kind, flags = self.data[3], self.data[4]
        stream, payload = int.from_bytes(self.data[5:9], "big"), self.data[9:9 + size]
        self.data = self.data[9 + size:]
        x = self.streams.get(stream, {})
        if kind == SETTINGS and not flags & 1:
            self.send(frame(SETTINGS, 1, 0))
        elif kind == HEADERS:
            head = dict(self.decoder.decode(payload))
            if ":status" in head:
                x["head"] = head; x["heads"].append(head[":status"])
            else:
                x["trailers"] = head
        elif kind == DATA:
            x["body"] += payload
            if payload:
                self.send(frame(WINDOW, 0, 0, size.to_bytes(4, "big")) + (b"" if flags & 1 else frame(WINDOW, 0, stream, size.to_bytes(4, "big"))))
        elif kind == RESET:
            x["reset"] = int.from_bytes(payload, "big"); x["ended"] = True
        elif kind == WINDOW and stream == 0:
            self.window += int.from_bytes(payload, "big")
        elif kind == GOAWAY:
            self.away = int.from_bytes(payload[4:8], "big")
        if kind in (HEADERS, DATA) and flags & 1:
            x["ended"] = True
        return True
    def answer(self, stream):
        while not self.streams[stream]["ended"] and self.step():
            pass
        return self.streams[stream]
    def rest(self):
        while self.step():
            pass
        return self.away
def short(x):
    return x["head"].get(":status", "none"), x["reset"], x["head"].get("x-atoll-refused")
def two(path="/", **more):
    body = more.pop("body", None)
    c = Two(more.pop("host", "api.test"))
    return c.answer(c.ask(c.fields(path, **more), body))
"""


def said(api, sandbox, code, *args):
    return secured.said(api, sandbox, CLIENT + code, *args)
