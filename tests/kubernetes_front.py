# SPDX-License-Identifier: Apache-2.0
"""Stands between a provider and the API server: shows what is asked, cuts connections, and gives answers of its own."""

import contextlib
import json
import pathlib
import random
import re
import socket
import socketserver
import ssl
import threading
import time


def answer(status, reason, message, *headers):
    """An answer as the API server gives it to a call that fails."""
    body = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": reason, "message": message})
    return "\r\n".join((f"HTTP/1.1 {status} {reason}", "Content-Type: application/json", f"Content-Length: {len(body)}", "Connection: close",
                        *headers, "", body)).encode()


BUSY = answer(429, "TooManyRequests", "too many requests, please try again later", "Retry-After: 1")
MET = answer(409, "Conflict", "Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version")


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        lines = []
        with contextlib.suppress(OSError):
            while (line := self.rfile.readline(65536)) not in (b"\r\n", b"\n", b""):
                lines.append(line)
        if lines:
            with contextlib.suppress(OSError):
                self.serve(lines[0].decode(), lines)

    def serve(self, first, lines):
        front = self.server.front
        front.seen.append((time.monotonic(), first.split(" HTTP")[0]))
        made_up = front.fault_of(first)
        if made_up:
            self.wfile.write(made_up)
            return
        # Each connection carries one request, so that a fault meets every one of them.
        is_upgrade = any(line.lower().startswith(b"upgrade:") for line in lines)
        kept = lines if is_upgrade else [line for line in lines if not line.lower().startswith(b"connection:")] + [b"Connection: close\r\n"]
        head = b"".join(kept) + b"\r\n"
        body = self.rfile.read(int((re.search(rb"(?i)content-length: *(\d+)", head) or [0, 0])[1]))
        with socket.create_connection(("127.0.0.1", front.cluster.port)) as plain, front.context.wrap_socket(plain, server_hostname="127.0.0.1") as far:
            with front.entered(first, self.connection):
                far.sendall(head + body)
                if is_upgrade:
                    threading.Thread(target=self.send_on, args=(far,), daemon=True).start()
                if front.loses(first):
                    far.recv(65536)  # it is done, and the caller does not learn of it
                    return
                while data := far.recv(65536):
                    self.wfile.write(data)

    def send_on(self, far):
        with contextlib.suppress(OSError, ValueError):
            while data := self.rfile.read1(65536):
                far.sendall(data)
            far.shutdown(socket.SHUT_RDWR)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128


class Front:
    """`faults`: (pattern of a request's first line, answers that are given instead); `storm`: parts of all changes that are answered 429
    or 409, or whose answer is lost."""

    def __init__(self, cluster, folder=None, storm=None, seed=20):
        self.cluster, self.seen, self.faults = cluster, [], []
        self.storm, self.chooser, self.counts = storm or {}, random.Random(seed), {"429": 0, "409": 0, "lost": 0, "cut": 0}
        self.open, self.lock = [], threading.Lock()
        self.context = ssl.create_default_context(cafile=cluster.pki / "ca.crt")
        self.context.load_cert_chain(cluster.pki / "admin.crt", cluster.pki / "admin.key")
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.front = self
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.config = pathlib.Path(folder or cluster.dir) / "front.conf"
        self.config.write_text(f"""clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{self.server.server_address[1]}"}}}}]
users: [{{name: u, user: {{}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
""")
        self.config.chmod(0o644)

    def fault_of(self, first):
        for pattern, answers in self.faults:
            if answers and re.match(pattern, first):
                return answers.pop(0)
        if self.strikes("429", first, " "):
            return BUSY
        return MET if self.strikes("409", first, "(POST|PUT|PATCH|DELETE) ") else None

    def loses(self, first):
        return self.strikes("lost", first, "(POST|DELETE) ")

    def strikes(self, name, first, words):
        with self.lock:
            hit = re.search(words, first) and "portforward" not in first and self.chooser.random() < self.storm.get(name, 0)
            self.counts[name] += bool(hit)
            return hit

    @contextlib.contextmanager
    def entered(self, first, connection):
        entry = (first, connection)
        with self.lock:
            self.open.append(entry)
        try:
            yield
        finally:
            with self.lock:
                self.open.remove(entry)

    def cut_watches(self):
        with self.lock:
            watches = [connection for first, connection in self.open if "watch=true" in first]
        for connection in watches:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.counts["cut"] += len(watches)

    def asked(self, words):
        return [target for _, target in self.seen if re.search(words, target)]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
