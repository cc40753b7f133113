# SPDX-License-Identifier: Apache-2.0
"""A proxy in front of another server of Atoll that stands for a service: it fails calls as a test says, and refuses
what a check of the test refuses. WebSockets pass as they are."""

import contextlib
import http.client
import socket
import socketserver
import threading
import time

import atoll


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        with contextlib.suppress(ConnectionError):  # of a client that was killed
            while self.serve_one():
                pass

    def read_head(self):
        lines = []
        while line := self.rfile.readline(65536):
            if line in (b"\r\n", b"\n"):
                return lines
            lines.append(line.decode("latin1").strip())
        return []

    def answer(self, status, body, headers=()):
        head = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in headers), f"Content-Length: {len(body)}"]
        self.wfile.write("\r\n".join([*head, "", ""]).encode() + body)

    def read_body(self, headers):
        """What came in chunks is passed on in one piece."""
        if headers.pop("transfer-encoding", "") != "chunked":
            return self.rfile.read(int(headers.get("content-length") or 0))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline() not in (b"\r\n", b""):
            pass
        return b"".join(pieces)

    def serve_one(self):
        proxy = self.server.proxy
        lines = self.read_head()
        if not lines:
            return False
        method, target, _ = lines[0].split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        body = self.read_body(headers)
        fault = proxy.take_fault(method, target)
        proxy.seen.append((time.monotonic(), method, target))
        if fault == "cut":
            return False
        if fault == "hang":
            proxy.released.wait(120)
            return False
        if isinstance(fault, tuple):
            status, extra = fault
            self.answer(status, b'{"code":%d,"message":"as the test says"}' % status, [("Content-Type", "application/json"), *extra])
            return True
        refusal = proxy.check and proxy.check(method, target, headers, body)
        if refusal:
            proxy.refused.append(refusal)
            self.answer(400, b'{"code":400,"message":"not as specified"}', [("Content-Type", "application/json")])
            return True
        if headers.get("upgrade"):
            self.pass_stream(lines)
            return False
        return self.forward(method, target, headers, body, fault)

    def forward(self, method, target, headers, body, fault):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.proxy.target, timeout=120)
        passed = {name: value for name, value in headers.items() if name not in ("connection", "content-length")}
        connection.request(method, target, body or (b"" if method in ("POST", "PUT") else None), passed)
        said = connection.getresponse()
        text = said.read()
        connection.close()
        kept = [(name, value) for name, value in said.getheaders() if name.lower() not in ("content-length", "transfer-encoding", "connection")]
        if fault == "half":
            head = [f"HTTP/1.1 {said.status} Half", *(f"{name}: {value}" for name, value in kept), f"Content-Length: {len(text) + 10}", "", ""]
            self.wfile.write("\r\n".join(head).encode() + text[:len(text) // 2])
            return False
        if fault == "lost":  # it was done, and the answer did not arrive
            return False
        if fault == "garbled":
            text = text[:len(text) // 2]
        self.answer(said.status, b"" if said.status == 204 else text, kept)
        return True

    def pass_stream(self, lines):
        with socket.create_connection(("127.0.0.1", self.server.proxy.target)) as far:
            far.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            self.server.proxy.streams.append((self.connection, far))

            def copy(source, sink):
                try:
                    while piece := source.recv(65536):
                        sink.sendall(piece)
                except OSError:
                    pass
                for end in (source, sink):
                    try:
                        end.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
            other = threading.Thread(target=copy, args=(far, self.connection), daemon=True)
            other.start()
            copy(self.connection, far)
            other.join()


class Listener(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 128


class Proxy:
    """fault(method, target) says what becomes of a call: None, "cut", "hang", "half", "lost", "garbled", or a status and headers.
    check(method, target, headers, body) gives the reason of a refusal, or None."""

    def __init__(self, port, check=None):
        self.target, self.check, self.fault = port, check, None
        self.seen, self.refused, self.streams = [], [], []
        self.released = threading.Event()
        self.listener = Listener(("127.0.0.1", 0), Handler)
        self.listener.proxy = self
        self.port = self.listener.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()

    def take_fault(self, method, target):
        return self.fault(method, target) if self.fault else None

    def break_streams(self):
        for ends in self.streams:
            for end in ends:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.streams.clear()

    def close(self):
        self.released.set()
        self.break_streams()
        self.listener.shutdown()
        self.listener.server_close()


class Account:
    """A server that has the sandboxes, and a proxy to it."""

    def __init__(self, check=None):
        self.server = atoll.Server().start()
        self.proxy = Proxy(self.server.port, check)

    def rows(self):
        with contextlib.closing(self.server.api()) as api:
            return [row for row in self.server.rows(api) if row["state"] != "failed"]

    def snapshots(self):
        with contextlib.closing(self.server.api()) as api:
            return [row["name"] for row in api.get("/api/sandbox/snapshots")["items"]]

    def volumes(self):
        with contextlib.closing(self.server.api()) as api:
            return [row["name"] for row in api.get("/api/sandbox/volumes")["items"]]

    def options(self, **options):
        return ";".join(f"{name}={value}" for name, value in options.items())

    def remove(self):
        self.proxy.close()
        self.server.remove_all()
