# SPDX-License-Identifier: Apache-2.0
"""Code inside against the rules of its own network: what it sends to an address that it must not reach never comes
there. Whether it did, the other side says."""

import errno
import shutil

import pytest

import atoll
import far

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not shutil.which("ip") or not shutil.which("nft"), reason="needs ip and nft")]

# Each line is tried by itself; what raises was held.
ATTEMPTS = f"""
import contextlib, os, socket, struct, sys
allowed, denied, near = sys.argv[1:]
U, T = (socket.AF_INET, socket.SOCK_DGRAM), (socket.AF_INET, socket.SOCK_STREAM)
def udp(data, address=denied, port={far.UDP}, *options):
    with socket.socket(*U) as s:
        for option in options: s.setsockopt(*option)
        s.sendto(data, (address, port))
def tcp(*options, address=denied, bind=None):
    with socket.socket(*T) as s:
        s.settimeout(2)
        for option in options: s.setsockopt(*option)
        if bind: s.bind(bind)
        s.connect((address, {far.TCP})); print("came through" if address == denied else "is allowed"); s.sendall(b"x")
def mapped():
    with socket.socket(socket.AF_INET6) as s:
        s.settimeout(2); s.connect(("::ffff:" + denied, {far.TCP})); print("came through")
def six():
    with socket.socket(socket.AF_INET6) as s:
        s.settimeout(2); s.connect(("2001:db8::1", {far.TCP})); print("came through")
def fast_open():
    with socket.socket(*T) as s:
        s.settimeout(2); s.sendto(b"x", 0x20000000, (denied, {far.TCP})); print("came through")
def raw():
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP) as s:
        s.sendto(struct.pack("!HHHH", 9, {far.UDP}, 9, 0) + b"x", (denied, 0))
def source_route(kind):
    # By way of an address that is allowed.
    return (socket.IPPROTO_IP, socket.IP_OPTIONS, bytes([kind, 7, 4]) + socket.inet_aton(denied) + b"\\0")
SPOOF = [(socket.IPPROTO_IP, 15, 1), (socket.IPPROTO_IP, 19, 1)] # IP_FREEBIND, IP_TRANSPARENT
def spoofed(option):
    with socket.socket(*U) as s:
        s.setsockopt(*option); s.bind(("10.213.0.9", 0)); s.sendto(b"spoofed", (denied, {far.UDP}))
tries = [lambda: udp(b"x"), lambda: udp(b"x" * 9000), lambda: udp(b"x" * 60000), tcp, mapped, six, fast_open, raw,
         lambda: udp(b"x", denied, {far.UDP}, (socket.IPPROTO_IP, 10, 0)), # no discovery of the path: fragments
         lambda: udp(b"x", allowed, {far.UDP}, source_route(0x83)), lambda: udp(b"x", allowed, {far.UDP}, source_route(0x89)),
         lambda: tcp(source_route(0x83), address=allowed), *(lambda o=o: spoofed(o) for o in SPOOF),
         lambda: tcp((socket.IPPROTO_IP, 8, 1)), lambda: udp(b"x", denied, {far.UDP}, (socket.SOL_SOCKET, socket.SO_MARK, 1)),
         lambda: udp(b"x", denied, {far.UDP}, (socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0"))]
for number, attempt in enumerate(tries):
    try:
        attempt(); print(number, "sent")
    except OSError as failure:
        print(number, "held", failure.errno)
udp(b"the end", allowed)
"""


@pytest.fixture(scope="module")
def world():
    there = far.Far()
    yield there
    there.close()


@pytest.mark.parametrize("user, is_late", [("root", False), ("user", True)])
def test_nothing_comes_to_an_address_that_is_denied(api, world, user, is_late):
    allowed, denied = world.addresses[:2] if user == "root" else world.addresses[1:]
    rules = {"allow": [allowed], "deny": ["0.0.0.0/0"]}
    world.came.clear()
    with api.sandbox(internet=True, egress={} if is_late else rules) as sandbox:
        if is_late:
            api.call("PUT", f"/api/sandbox/instances/{sandbox}/egress", rules)
        result = api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", ATTEMPTS, allowed, denied, world.near],
                          user=user, timeout_ms=60000)
        assert result["exit_code"] == 0, result
        atoll.wait_for(lambda: f"udp {allowed} 7" in world.came, 15, f"the last word: {result}")
        assert "came through" not in result["stdout"], result
        assert not [line for line in world.came if f" {denied}" in line], (world.came, result)


def test_names_are_not_asked_for_when_all_is_denied(api, world):
    """A nameserver is an address like any other: data could leave by way of it."""
    allowed = world.addresses[0]
    # The kernel says "prohibited" only so often a second: to all sandboxes, and to those of other runs.
    ask = ("import socket,time\nend=time.monotonic()+60\nu=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); u.settimeout(1)\n"
           "for line in open('/etc/resolv.conf'):\n"
           "    if line.startswith('nameserver'):\n"
           "        u.connect((line.split()[1], 53)); word = ''\n"
           "        while time.monotonic() < end:\n"
           "            try: u.send(bytes(12)); u.recv(99); word = 'answered'\n"
           "            except TimeoutError: continue\n"
           "            except OSError as failure: word = str(failure.errno)\n"
           "            break\n"
           "        print(word)\n")
    with api.sandbox(internet=True, egress={"allow": [allowed], "deny": ["0.0.0.0/0"]}) as sandbox:
        result = api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", ask], timeout_ms=90000)
        # Refused by the host, and not only unanswered.
        assert set(result["stdout"].split()) == {str(errno.EHOSTUNREACH)}, result
