# SPDX-License-Identifier: Apache-2.0
"""Code inside against IPv6 of its network: what no sandbox may reach, what its rules refuse, and what is another's. Whether something
came, the other side says."""

import contextlib
import shutil
import socket
import subprocess
import sys

import pytest

import atoll
import far6

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not shutil.which("ip") or not shutil.which("nft"), reason="needs ip and nft"),
              pytest.mark.skipif(bool(far6.obstacle()), reason=far6.obstacle() or "")]

HOST_SERVES = f"""
import socket, sys
u = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); u.bind(("::", {far6.UDP}))
t = socket.socket(socket.AF_INET6); t.bind(("::", {far6.TCP})); t.listen()
print("ready", flush=True)
import threading
def datagrams():
    while True:
        print("udp", u.recvfrom(99)[1][0], flush=True)
threading.Thread(target=datagrams, daemon=True).start()
while True:
    print("tcp", t.accept()[1][0], flush=True)
"""

# Each line is tried by itself; what raises was held.
ATTEMPTS = f"""
import contextlib, socket, struct, sys
allowed, denied, neighbour, host, gateway = sys.argv[1:]
V6 = socket.IPPROTO_IPV6
FREEBIND, TRANSPARENT = 78, 75
def udp(data, address=denied, *options, bind=None, port={far6.UDP}, scope=0):
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        for option in options: s.setsockopt(*option)
        if bind: s.bind((bind, 0))
        s.sendto(data, (address, port, 0, scope))
def tcp(address=denied, *options, bind=None, scope=0):
    with socket.socket(socket.AF_INET6) as s:
        s.settimeout(2)
        for option in options: s.setsockopt(*option)
        if bind: s.bind((bind, 0))
        s.connect((address, {far6.TCP}, 0, scope)); print("came through", address); s.sendall(b"x")
def header(kind, *addresses):
    # A routing header of type 0, 2 (mobile IP) or 4 (segments; the last one first), by way of an address that is allowed.
    body = b"".join(socket.inet_pton(socket.AF_INET6, a) for a in addresses)
    left, last = (len(addresses) - 1, len(addresses) - 1) if kind == 4 else (len(addresses), 0)
    return (V6, socket.IPV6_RTHDR, struct.pack("BBBBBBH", 0, len(body) // 8, kind, left, last, 0, 0) + body)
def raw(protocol, data, address):
    with socket.socket(socket.AF_INET6, socket.SOCK_RAW, protocol) as s:
        s.sendto(data, (address, 0, 0, 2))
def send_segment_route(address):
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.sendmsg([b"x"], [(V6, socket.IPV6_RTHDR, header(4, denied, address)[2])], 0, (address, {far6.UDP}, 0, 0))
def packet_info(source):
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.setsockopt(V6, FREEBIND, 1)
        s.sendmsg([b"in another name"], [(V6, socket.IPV6_PKTINFO, socket.inet_pton(socket.AF_INET6, source) + struct.pack("i", 0))], 0, (allowed, {far6.UDP}, 0, 0))
def many(size, address):
    udp(b"x" * size, address)
embedded = ["::ffff:10.0.0.1", "::10.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::a00:1", "2002:a00:1::1", "2001::1", "::ffff:0:a00:1"]
local = ["::1", "fe80::1", "ff02::1", "ff02::2", "ff02::16", "ff05::1:3", "ff0e::1", "fec0::1", "fd00:beef::1", "2001:db8::1", neighbour, host, gateway]
tries = [*(lambda a=a: tcp(a) for a in [denied, *embedded, *local]), *(lambda a=a: udp(b"x", a) for a in [denied, *embedded, *local]),
         *(lambda a=a: udp(b"x", a, scope=2) for a in ("fe80::1", "ff02::1", "ff02::2")), lambda: tcp("fe80::1", scope=2),
         lambda: many(9000, denied), lambda: many(60000, denied), lambda: many(60000, neighbour), lambda: many(60000, host),
         lambda: udp(b"x", allowed, header(0, denied)), lambda: udp(b"x", allowed, header(2, denied)),
         lambda: udp(b"x", allowed, header(4, denied, allowed)), lambda: udp(b"x", allowed, header(4, denied, denied)),
         lambda: send_segment_route(allowed), lambda: tcp(allowed, header(2, denied)),
         *(lambda n=n: udp(b"x", denied, (V6, n, bytes([0, 0, 1, 4, 0, 0, 0, 0]))) for n in (socket.IPV6_HOPOPTS, socket.IPV6_DSTOPTS)),
         *(lambda o=o, b=b: udp(b"in another name", allowed, (V6, o, 1), bind=b) for o in (FREEBIND, TRANSPARENT) for b in (neighbour, host, "2600:cccc::1", "fe80::2")),
         *(lambda b=b: tcp(allowed, (V6, FREEBIND, 1), bind=b) for b in (neighbour, host)),
         lambda: packet_info(neighbour), lambda: packet_info(host),
         # An advertisement of a router, a redirect, and a claim of the neighbour's address.
         *(lambda t=t, a=a: raw(socket.IPPROTO_ICMPV6, bytes([t, 0, 0, 0]) + bytes(28), a) for t in (134, 137, 136) for a in ("ff02::1", host)),
         lambda: raw(socket.IPPROTO_RAW, bytes(60), denied),
         lambda: udp(b"x", denied, (socket.SOL_SOCKET, socket.SO_MARK, 1)),
         lambda: udp(b"x", denied, (socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0"))]
for number, attempt in enumerate(tries):
    try:
        attempt(); print(number, "sent")
    except OSError as failure:
        print(number, "held", failure.errno)
udp(b"the end", allowed)
"""


@pytest.fixture(scope="module")
def world():
    with far6.running() as both:
        yield both


@pytest.fixture(scope="module")
def there(world):
    return world[0]


@pytest.fixture(scope="module")
def server(world):
    return world[1]


@contextlib.contextmanager
def host_that_listens():
    """Who comes to the host itself, in the network of the test."""
    with subprocess.Popen([sys.executable, "-c", HOST_SERVES], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        came = []
        try:
            yield came
        finally:
            process.kill()
            came += process.stdout.read().splitlines()


LISTEN = f"""
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.bind(("::", {far6.UDP})); s.settimeout(120)
t = socket.create_server(("::", {far6.TCP}), family=socket.AF_INET6)
print("listens", flush=True); print("heard", s.recvfrom(99)[0], flush=True)
"""


def of_the_host(routes):
    """Those of sandboxes come and go. While a link ends, `ip` has no name for it."""
    return {line for line in routes.splitlines() if not line.startswith("fd61:746f:6c6c::")}


@pytest.mark.parametrize("user, rules", [("root", {}), ("user", {"allow": [far6.FIRST], "deny": ["0.0.0.0/0"]}),
                                         ("root", {"allow": [far6.FIRST, "six.test"], "deny": ["0.0.0.0/0"], "mode": "watch"})])
def test_nothing_comes_to_where_a_sandbox_must_not_go(api, there, user, rules):
    # Without rules, what rules deny is what no sandbox may reach.
    denied = far6.SECOND if rules else far6.PRIVATE
    there.came.clear()
    before = far6.sysctl("uplink/forwarding"), far6.sysctl("all/forwarding")
    routes = subprocess.run(["ip", "-6", "route"], capture_output=True, text=True, check=True).stdout
    with api.sandbox(internet=True, egress=rules) as sandbox, api.sandbox(internet=True) as other, host_that_listens() as came:
        neighbour = far6.own_address(api, other)
        process = api.post(f"/api/sandbox/instances/{other}/exec", {"cmd": "/usr/bin/python3", "args": ["-c", LISTEN], "background": True})["process"]

        def said():
            return api.raw("GET", f"/api/sandbox/instances/{other}/logs?process={process}").body.decode()
        atoll.wait_for(lambda: "listens" in said(), 15, said)
        result = api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", ATTEMPTS, far6.FIRST, denied, neighbour, far6.HOST, "fe80::1"],
                          user=user, timeout_ms=120000)
        assert result["exit_code"] == 0, result
        atoll.wait_for(lambda: f"udp {far6.FIRST} {far6.HOST} 7" in there.came, 15, lambda: f"the last word: {there.came} {result}")
        assert "came through" not in result["stdout"], result
        assert "heard" not in said()
        now = subprocess.run(["ip", "-6", "route"], capture_output=True, text=True, check=True).stdout
        assert of_the_host(now) == of_the_host(routes)
        # All neighbours that links of sandboxes have are fixed.
        neighbours = subprocess.run(["ip", "-6", "neigh"], capture_output=True, text=True, check=True).stdout
        assert not [line for line in neighbours.splitlines() if "dev atoll" in line and "PERMANENT" not in line], neighbours
    # Also nothing with another one's address, which would arrive with that of the host, and nothing that has further destinations.
    assert [line for line in there.came if line.split()[0] in ("tcp", "udp", "http")] == [f"udp {far6.FIRST} {far6.HOST} 7"], (there.came, result)
    assert came == [], came
    assert (far6.sysctl("uplink/forwarding"), far6.sysctl("all/forwarding")) == before


def test_no_connection_comes_in_from_outside(api, there):
    """The router beyond sends to the sandbox's own address by way of the host."""
    with api.sandbox(internet=True) as sandbox:
        own = far6.own_address(api, sandbox)
        process = api.post(f"/api/sandbox/instances/{sandbox}/exec", {"cmd": "/usr/bin/python3", "args": ["-c", LISTEN], "background": True})["process"]

        def said():
            return api.raw("GET", f"/api/sandbox/instances/{sandbox}/logs?process={process}").body.decode()
        atoll.wait_for(lambda: "listens" in said(), 15, said)
        inside = ["nsenter", "-t", str(there.process.pid), "-n"]
        far6.ip("-6", "route", "replace", "fd61:746f:6c6c::/64", "via", far6.HOST, inside=inside)
        code = (f"import socket\nu = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); u.sendto(b'in', ('{own}', {far6.UDP}))\n"
                f"s = socket.socket(socket.AF_INET6); s.settimeout(2)\ntry: s.connect(('{own}', {far6.TCP})); print('came in')\nexcept OSError: print('held')\n")
        result = subprocess.run([*inside, sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert result.stdout == "held\n", result
        # Nor from the host itself.
        with socket.socket(socket.AF_INET6) as s:
            s.settimeout(2)
            with pytest.raises(OSError):
                s.connect((own, far6.TCP))
        assert "heard" not in said()
