#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What terminals cost: from a key to its echo over a WebSocket, and the memory of many idle ones.

    tests/bench/terminals.py [--keys 2000] [--sockets 5000] [--windows 50]

Starts a server of its own. --sockets are attached to --windows windows, each in a sandbox of its own (an
agent serves at most 512 connections). Prints one line for each number.
"""

import argparse
import os
import pathlib
import resource
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import atoll  # noqa: E402

PATH = "/api/sandbox/instances"


def attach(server, path):
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                       "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(4096)
    if b" 101 " not in head.split(b"\r\n")[0]:
        raise SystemExit(f"no WebSocket: {head!r}")
    return connection, head.partition(b"\r\n\r\n")[2]


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def keys(server, api, count):
    """`cat` with a raw terminal: a key comes back as soon as a program has had it."""
    with api.sandbox(internet=False) as sandbox:
        opened = api.post(f"{PATH}/{sandbox}/terminal", {"name": "keys", "command": "stty raw -echo; printf ready; exec cat"})
        connection, seen = attach(server, opened["path"])
        while b"ready" not in seen:
            seen += connection.recv(4096)
        took = []
        for _ in range(count):
            begun = time.perf_counter()
            connection.sendall(b"\x82\x81\0\0\0\0k")
            while b"k" not in connection.recv(64):
                pass
            took.append((time.perf_counter() - begun) * 1e6)
            time.sleep(0.0005)
        connection.close()
    print(f"key to echo: p50 {percentile(took, .5):.0f} us, p99 {percentile(took, .99):.0f} us, {count} keys")


def memory_of(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(("Private_Clean", "Private_Dirty")))


def sockets(server, api, count, windows):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, count + 500), hard))
    made, held = [], []
    try:
        paths = []
        for _ in range(windows):
            sandbox = api.create(internet=False)["id"]
            made.append(sandbox)
            paths.append((sandbox, api.post(f"{PATH}/{sandbox}/terminal", {"name": "idle"})["sessionId"]))
        time.sleep(1)
        before = memory_of(server.pid_of("api"))
        begun = time.perf_counter()
        for i in range(count):
            sandbox, session = paths[i % windows]
            held.append(attach(server, api.post(f"{PATH}/{sandbox}/terminal", {"session": session})["path"])[0])
        took = time.perf_counter() - begun
        time.sleep(2)
        after = memory_of(server.pid_of("api"))
        print(f"{count} idle WebSockets on {windows} windows: {(after - before) / 1024:.1f} MiB more in atolld, "
              f"{(after - before) * 1024 / count:.0f} bytes each, {after / 1024:.1f} MiB in all; attached in {took:.1f} s")
    finally:
        for connection in held:
            connection.close()
        for sandbox in made:
            api.remove(sandbox)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=2000)
    parser.add_argument("--sockets", type=int, default=5000)
    parser.add_argument("--windows", type=int, default=50)
    given = parser.parse_args()
    server = atoll.Server(flags=["--requests-per-key-max", str(given.sockets + 100)]).start()
    try:
        api = server.api()
        keys(server, api, given.keys)
        sockets(server, api, given.sockets, given.windows)
    finally:
        server.remove_all()


if __name__ == "__main__":
    main()
