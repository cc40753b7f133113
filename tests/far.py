# SPDX-License-Identifier: Apache-2.0
"""Machines beyond the host, for what a sandbox may reach: a network namespace with a few addresses of a range
that no sandbox is kept from, and servers that tell who came to which of them. No packet leaves this machine."""

import contextlib
import ctypes
import os
import pathlib
import secrets
import socket
import struct
import subprocess
import sys
import threading

import atoll

CLONE_NEWNET = 0x40000000
TCP, UDP = 8080, 53
SERVE = f"""
import socket, sys, threading, time
def tell(*words):
    sys.stdout.write(" ".join(words) + "\\n"); sys.stdout.flush()
def talk(peer, own):
    peer.sendall(b"hello\\n")
    while data := peer.recv(4096):
        tell("said", own); peer.sendall(data)
def accept(server):
    while True:
        peer, _ = server.accept()
        own = peer.getsockname()[0]
        tell("tcp", own)
        threading.Thread(target=lambda: talk(peer, own), daemon=True).start()
def datagrams(own):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); server.bind((own, {UDP}))
    while True:
        data, peer = server.recvfrom(65536)
        tell("udp", own, str(len(data)))
        if data == b"stream":
            threading.Thread(target=stream, args=(server, peer), daemon=True).start()
        server.sendto(b"pong", peer)
def stream(server, peer):
    # For as long as it is let in, whether or not anybody answers.
    while True:
        try:
            server.sendto(b"more", peer)
        except OSError:
            pass
        time.sleep(0.05)
sys.stdin.readline()
server = socket.socket(); server.bind(("0.0.0.0", {TCP})); server.listen(64)
for own in sys.argv[1:]:
    threading.Thread(target=datagrams, args=(own,), daemon=True).start()
tell("ready")
accept(server)
"""


def free_network():
    """Of a range that is for such tests, and that other runs use, too."""
    while True:
        network = f"198.{secrets.choice((18, 19))}.{secrets.randbelow(256)}"
        if not subprocess.run(["ip", "route", "show", f"{network}.0/24"], capture_output=True, check=True).stdout:
            return network


UPLINK = ["link set lo up", "link add uplink type veth peer name beyond", "addr add 192.0.2.2/24 dev uplink", "link set uplink up", "link set beyond up",
          "route add default via 192.0.2.1"]


@contextlib.contextmanager
def own_network():
    """What this thread opens and starts is in a network namespace of its own, servers, too: what others do to the host's rules is not seen there."""
    library = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        assert library.unshare(CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        for command in UPLINK:
            subprocess.run(["ip", *command.split()], check=True)
        yield
    finally:
        assert library.setns(before, CLONE_NEWNET) == 0
        os.close(before)


class Far:
    serve = SERVE

    def __init__(self):
        network = free_network()
        self.near, *self.addresses = [f"{network}.{last}" for last in (1, 2, 3, 4)]
        # The kernel takes its time with one that has gone.
        self.link = "far" + secrets.token_hex(5)
        self.came = []
        self.process = subprocess.Popen(["unshare", "-n", sys.executable, "-c", self.serve, *self.arguments()], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.connect()
        except Exception:
            self.close()
            raise

    def arguments(self):
        return self.addresses

    def connect(self):
        def is_apart():
            return os.readlink(f"/proc/{self.process.pid}/ns/net") != os.readlink("/proc/self/ns/net")
        atoll.wait_for(is_apart, 15, "a network namespace")
        inside = ["nsenter", "-t", str(self.process.pid), "-n", "ip"]
        for command in (
                ["ip", "link", "add", self.link, "type", "veth", "peer", "eth0", "netns", str(self.process.pid)],
                ["ip", "addr", "add", f"{self.near}/24", "dev", self.link], ["ip", "link", "set", self.link, "up"],
                *(inside + ["addr", "add", f"{address}/24", "dev", "eth0"] for address in self.addresses),
                inside + ["link", "set", "eth0", "up"], inside + ["link", "set", "lo", "up"]):
            subprocess.run(command, check=True, capture_output=True)
        pathlib.Path(f"/proc/sys/net/ipv4/conf/{self.link}/forwarding").write_text("1")
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        threading.Thread(target=self.listen, daemon=True).start()
        atoll.wait_for(lambda: "ready" in self.came, 15, "servers far away")

    def listen(self):
        for line in self.process.stdout:
            self.came.append(line.strip())

    def close(self):
        self.process.kill()
        self.process.wait()
        # A connection that was cut keeps the namespace for a minute or two, while it waits for its peer's last word.
        subprocess.run(["ip", "link", "del", self.link], capture_output=True)


# In a sandbox: "WORD ADDRESS" lines of what can be reached.
TRY = f"""
import socket, sys
for address in sys.argv[1:]:
    s = socket.socket(); s.settimeout(10)
    try:
        s.connect((address, {TCP})); print("tcp" if s.recv(6) == b"hello\\n" else "odd", address)
    except OSError:
        print("no", address)
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.settimeout(1)
    word = "no"
    try:
        u.connect((address, {UDP}))
        for _ in range(6):  # the kernel says only so often that it is prohibited, and who answers may be slow
            u.send(b"ping")
            try:
                word = "udp" if u.recv(9) == b"pong" else "odd"
                break
            except TimeoutError:
                continue
    except OSError:
        pass
    print(word, address)
"""


def reached(api, sandbox, *addresses):
    """{address: "tcp udp"}, or "no no" for one that is out of reach."""
    result = api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", TRY, *addresses], timeout_ms=60000)
    lines = [line.split() for line in result["stdout"].splitlines()]
    assert len(lines) == 2 * len(addresses), result
    return {address: " ".join(word for word, own in lines if own == address) for address in addresses}


def slot_of(api, sandbox):
    """What all of its names on the host derive from. gVisor shows no map of ids, but the address."""
    first = int(api.exec(sandbox, "cat /proc/self/uid_map")["stdout"].split()[1])
    return (first - (1 << 24)) // 65536 if first else slot_of_address(address_of(api, sandbox))


def address_of(api, sandbox):
    return api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
                                                           "s.connect(('192.0.2.7', 9)); print(s.getsockname()[0])"])["stdout"].strip()


def slot_of_address(address):
    return struct.unpack("!I", socket.inet_aton(address))[0] - struct.unpack("!I", socket.inet_aton("10.213.0.2"))[0]


def slots_with_rules():
    """Of all servers on this host. Without such rules there may be no map of them, or no table."""
    result = subprocess.run(["nft", "list", "map", "inet", "atoll", "egress"], capture_output=True, text=True)
    assert result.returncode == 0 or "No such file or directory" in result.stderr, result.stderr
    return {int(word.strip('",')[5:]) for word in result.stdout.split() if word.startswith('"atoll')}


def flows_of(address):
    """How many connections, and other exchanges, of an address of a sandbox the host's kernel still knows."""
    def attribute(kind, data):
        return struct.pack("HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)
    nested, source = 1 << 15, attribute(1, socket.inet_aton(address))
    body = struct.pack("BBH", socket.AF_INET, 0, 0)
    body += attribute(1 | nested, attribute(1 | nested, source)) + attribute(25 | nested, attribute(1, struct.pack("I", 1)))
    count = 0
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as s:
        s.send(struct.pack("IHHII", 16 + len(body), 0x101, 0x301, 0, 0) + body)
        while True:
            data = s.recv(65536)
            at = 0
            while at < len(data):
                size, kind = struct.unpack_from("IH", data, at)
                assert kind != 2, os.strerror(-struct.unpack_from("i", data, at + 16)[0])
                if kind == 3:
                    return count
                count += source in data[at:at + size]
                at += size + -size % 4
