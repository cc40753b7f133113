# SPDX-License-Identifier: Apache-2.0
"""A router and machines beyond the host, by IPv6: a network namespace behind the uplink of the test's own network (far.own_network). It
answers at a few addresses, and tells who came. No packet leaves this machine."""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import threading

import atoll
import far

HOST, ROUTER, ROUTER4 = "2600:ffff::2", "2600:ffff::1", "192.0.2.1"
# Some that a sandbox may reach, some that none may: private, documentation, NAT64 and 6to4 of 10.0.0.1.
FIRST, SECOND = "2600:aaaa::1", "2600:bbbb::1"
PRIVATE = "fd00:beef::1"
REFUSED = [PRIVATE, "2001:db8::1", "64:ff9b::a00:1", "2002:a00:1::1", "2001::1", "3fff::1", "5000::1"]
TCP, UDP = 8080, 5300
NOTES = {4: pathlib.Path("/run/atoll/uplinks4"), 6: pathlib.Path("/run/atoll/uplinks6")}
SO_NETNS_COOKIE = 71
SERVE = f"""
import ipaddress, socket, struct, sys, threading, time
def tell(*words):
    sys.stdout.write(" ".join(words) + "\\n"); sys.stdout.flush()
def each(port, serve):
    server = socket.socket(socket.AF_INET6); server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("::", port)); server.listen(64)
    def accept():
        while True:
            peer, _ = server.accept()
            threading.Thread(target=serve, args=(peer, peer.getsockname()[0], peer.getpeername()[0]), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
def talk(peer, own, who):
    tell("tcp", own, who)
    peer.sendall(f"hello {{who}}\\n".encode())
    try:
        while data := peer.recv(4096):
            peer.sendall(data)
    except OSError:
        pass
def http(peer, own, who):
    head = peer.recv(4096).decode()
    tell("http", own, who)
    body = f"hello of {{own}} to {{who}}".encode()
    peer.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\nConnection: close\\r\\n\\r\\n" % len(body) + body); peer.close()
def datagrams(own):
    server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); server.bind((own, {UDP}))
    while True:
        data, peer = server.recvfrom(65536)
        tell("udp", own, peer[0], str(len(data)))
        server.sendto(b"pong", peer)
        if data == b"stream":
            threading.Thread(target=stream, args=(server, peer), daemon=True).start()
def stream(server, peer):
    while True:
        try:
            server.sendto(b"more", peer)
        except OSError:
            pass
        time.sleep(0.05)
NAMES = {{b"six": {{28: ipaddress.ip_address("{FIRST}").packed}}, b"private6": {{28: ipaddress.ip_address("{PRIVATE}").packed}}}}
def answer_names():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); server.bind(("{ROUTER4}", 53))
    while True:
        data, peer = server.recvfrom(4096)
        label = data[13:13 + data[12]].lower()
        end = data.index(0, 12) + 5
        kind = struct.unpack("!H", data[end - 4:end - 2])[0]
        tell("asked", label.decode(), str(kind))
        address = NAMES.get(label, {{}}).get(kind)
        flags = 0x8180 if label in NAMES else 0x8183
        reply = data[:2] + struct.pack("!HHHHH", flags, 1, 1 if address else 0, 0, 0) + data[12:end]
        if address:
            reply += struct.pack("!HHHIH", 0xc00c, kind, 1, 60, len(address)) + address
        server.sendto(reply, peer)
sys.stdin.readline()
each({TCP}, talk); each(80, http)
for own in sys.argv[1:]:
    threading.Thread(target=datagrams, args=(own,), daemon=True).start()
threading.Thread(target=answer_names, daemon=True).start()
tell("ready")
threading.Event().wait()
"""


def ip(*words, inside=()):
    subprocess.run([*inside, "ip", *words], check=True, capture_output=True)


class Far6:
    def __init__(self):
        self.came = []
        self.addresses = [FIRST, SECOND, *REFUSED]
        self.process = subprocess.Popen(["unshare", "-n", sys.executable, "-c", SERVE, *self.addresses], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        try:
            self.connect()
        except Exception:
            self.close()
            raise

    def connect(self):
        pid = str(self.process.pid)
        atoll.wait_for(lambda: os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/thread-self/ns/net"), 15, "a network namespace")
        inside = ["nsenter", "-t", pid, "-n"]
        ip("link", "set", "beyond", "netns", pid)
        for words in (["link", "set", "lo", "up"], ["link", "set", "beyond", "up"], ["addr", "add", f"{ROUTER4}/24", "dev", "beyond"],
                      ["addr", "add", f"{ROUTER}/64", "dev", "beyond", "nodad"],
                      *(["addr", "add", f"{address}/128", "dev", "lo", "nodad"] for address in self.addresses)):
            ip(*words, inside=inside)
        ip("addr", "add", f"{HOST}/64", "dev", "uplink", "nodad")
        ip("-6", "route", "add", "default", "via", ROUTER)
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
        for note in notes():
            note.unlink()


def note_path(link="uplink", family=6):
    """Exists while this interface of this thread's network forwards because of Atoll. The network ends with the test, the file does not."""
    with socket.socket() as s:
        cookie = int.from_bytes(s.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8), "little")
    return NOTES[family] / f"{cookie}.{link}"


def notes():
    return [note for folder in NOTES.values() for note in folder.glob(note_path("*").name)]


def flows_of(address):
    """How many connections, and other exchanges, of an IPv6 address of a sandbox the kernel still knows."""
    known = subprocess.run(["cat", "/proc/thread-self/net/nf_conntrack"], capture_output=True, text=True, check=True).stdout
    return known.count(f"src={address} ")


def sysctl(name):
    """Of this thread's network."""
    return subprocess.run(["cat", f"/proc/sys/net/ipv6/conf/{name}"], capture_output=True, text=True).stdout.strip()


def obstacle():
    """Why this host cannot give sandboxes IPv6; None: it can."""
    if not os.path.exists("/proc/sys/net/ipv6/conf/all/forwarding"):
        return "needs a kernel with IPv6"
    if not os.path.exists("/proc/sys/net/ipv6/conf/all/force_forwarding"):
        return "needs a kernel that forwards IPv6 for single interfaces (6.17)"
    return None


# Words before a server's command. It then sees the counters of links in the network of the test, because /sys shows those of the network that
# it was mounted in, and asks the nameserver beyond for sandboxes, too.
OWN_VIEW = ["unshare", "-m", "sh", "-c", "mount --make-rprivate / && kept=$(mktemp -d) && mount --rbind /sys/fs/cgroup $kept && mount -t sysfs sysfs /sys && "
            "mount --move $kept /sys/fs/cgroup && rmdir $kept && "
            f"servers=$(mktemp) && chmod 644 $servers && echo nameserver {ROUTER4} > $servers && mount --bind $servers /etc/resolv.conf && rm $servers && "
            'exec "$@"', "sh"]


@contextlib.contextmanager
def running(*flags, provider="native", before=()):
    """The world beyond and a server, in a network of their own."""
    with far.own_network(), contextlib.closing(Far6()) as there:
        server = atoll.Server(flags=["--network-nameservers", ROUTER4, *flags], provider=provider, before=before)
        try:
            yield there, server.start()
        finally:
            server.remove_all()


# In a sandbox: a line "ADDRESS WORD" for each, with how it came out and after which time.
TRY = f"""
import contextlib, errno, socket, sys, time
for address in sys.argv[1:]:
    for kind, port in ((socket.SOCK_STREAM, {TCP}), (socket.SOCK_DGRAM, {UDP})):
        begun, word = time.monotonic(), "no"
        try:
            to = socket.getaddrinfo(address, port, socket.AF_INET6, kind, 0, socket.AI_NUMERICHOST)[0][4]
            with socket.socket(socket.AF_INET6, kind) as s:
                s.settimeout(3)
                s.connect(to)
                for _ in range(6):  # the kernel says only so often that it is prohibited
                    if kind == socket.SOCK_DGRAM:
                        s.settimeout(1)
                        s.send(b"ping")
                    with contextlib.suppress(TimeoutError):
                        word = s.recv(99).decode().strip().replace(" ", "_")
                        break
                    word = "silence"
        except TimeoutError:
            word = "silence"
        except OSError as failure:
            word = errno.errorcode.get(failure.errno, str(failure.errno))
        print(address, word, "late" if kind == socket.SOCK_STREAM and time.monotonic() - begun > 2 else "")
"""


def reached(api, sandbox, *addresses):
    """{address: [how TCP came out, how UDP did]}: the errno, or what was said."""
    result = api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", TRY, *addresses], timeout_ms=120000)
    found = {}
    for line in result["stdout"].splitlines():
        address, *words = line.split()
        found.setdefault(address, []).append(" ".join(words))
    assert len(found) == len(addresses), result
    return found


OPEN = [f"hello_{HOST}", "pong"]
CLOSED = ["ECONNREFUSED", "EACCES"]


def own_address(api, sandbox):
    """The IPv6 address of the sandbox's link; None without one."""
    lines = api.exec(sandbox, "cat /proc/net/if_inet6")["stdout"].splitlines()
    links = [line.split() for line in lines if not line.endswith(" lo")]
    assert len(links) <= 1, lines
    if not links:
        return None
    digits = links[0][0]
    return ":".join(digits[at:at + 4] for at in range(0, 32, 4))
