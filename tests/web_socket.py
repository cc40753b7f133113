# SPDX-License-Identifier: Apache-2.0
"""A WebSocket client that keeps what it received: events of text messages, bytes of binary messages."""

import json
import os
import socket
import struct


class Socket:
    """A connection that asked for an upgrade; `status` is the answer, 101 when it was accepted."""

    def __init__(self, server, path, key=None):
        self.connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        authorization = f"Authorization: Bearer {key}\r\n" if key else ""
        self.connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{authorization}\r\n".encode())
        self.held = b""
        while b"\r\n\r\n" not in self.held:
            got = self.connection.recv(4096)
            if not got:
                break
            self.held += got
        head, _, self.held = self.held.partition(b"\r\n\r\n")
        self.status = int(head.split()[1])
        self.output, self.events = b"", []

    def close(self):
        self.connection.close()

    def take(self, size):
        while len(self.held) < size:
            got = self.connection.recv(65536)
            if not got:
                raise EOFError
            self.held += got
        taken, self.held = self.held[:size], self.held[size:]
        return taken

    def receive(self):
        first, size = self.take(2)
        if size == 126:
            size, = struct.unpack(">H", self.take(2))
        elif size == 127:
            size, = struct.unpack(">Q", self.take(8))
        body = self.take(size)
        kind = first & 15
        if kind == 8:
            raise EOFError(body)
        if kind == 1:
            self.events.append(json.loads(body))
        elif kind == 2:
            self.output += body

    def send(self, data, kind=2, mask=True):
        head = bytes([0x80 | kind])
        bit = 0x80 if mask else 0
        if len(data) < 126:
            head += bytes([bit | len(data)])
        elif len(data) < 65536:
            head += bytes([bit | 126]) + struct.pack(">H", len(data))
        else:
            head += bytes([bit | 127]) + struct.pack(">Q", len(data))
        key = os.urandom(4) if mask else b""
        self.connection.sendall(head + key + (bytes(b ^ key[i % 4] for i, b in enumerate(data)) if mask else data))

    def until(self, condition):
        while not condition(self):
            self.receive()
        return self

    def event(self, kind):
        self.until(lambda s: any(e["type"] == kind for e in s.events))
        return next(e for e in self.events if e["type"] == kind)
