# SPDX-License-Identifier: Apache-2.0
"""Code inside against the names in the rules of its network. Whom it reached, the other side says."""

import pathlib
import shutil
import socket
import stat

import pytest

import atoll
import named

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl"))), reason="needs ip, nft and openssl")]


@pytest.fixture(scope="module")
def world():
    with named.running() as both:
        yield both


@pytest.fixture(scope="module")
def there(world):
    return world[0]


@pytest.fixture(scope="module")
def server(world):
    return world[1]


# What raises was held. Whatever comes to the other's address, or by another's name, is an escape.
ATTEMPTS = r"""
names, allowed, other, http_port, tls_port, dns_port = sys.argv[1:7]
U = (socket.AF_INET, socket.SOCK_DGRAM)
def request(text, port=80, piece=None, address=other):
    return raw(text.replace("\n", "\r\n").encode("latin-1"), address, port, piece)
def udp(data, address, port, *options, bind=None):
    with socket.socket(*U) as s:
        s.settimeout(1)
        for option in options: s.setsockopt(*option)
        if bind: s.bind((bind, 0))
        s.sendto(data, (address, port))
        return s.recv(999)
def question(name, kind):
    return b"\x12\x34\1\0\0\1" + bytes(6) + b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\0\0" + bytes([kind]) + b"\0\1"
def six():
    with socket.socket(socket.AF_INET6) as s:
        s.settimeout(2); s.connect(("::ffff:" + other, 80)); s.sendall(b"GET /six HTTP/1.1\r\nHost: other.test\r\n\r\n"); return answer(s)
def later():
    # A second request of another Host, when the first was answered.
    with connect(other, 80) as s:
        s.sendall(b"GET /first HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        got = s.recv(65536)
        s.sendall(b"GET /later HTTP/1.1\r\nHost: other.test\r\n\r\n")
        return got.decode() + answer(s)
A, O = "Host: allowed.test\n", "Host: other.test\n"
records = hello("other.test")
body = records[5:]
pieces = b"".join(b"\x16\3\1\0\1" + body[i:i + 1] for i in range(len(body)))
tries = {
    "two hosts": lambda: request("GET /a HTTP/1.1\n" + A + O + "\n"),
    "two hosts, the other first": lambda: request("GET /a HTTP/1.1\n" + O + A + "\n"),
    "a host in another case": lambda: request("GET /a HTTP/1.1\n" + A + "hOsT: other.test\n\n"),
    "a space before the colon": lambda: request("GET /a HTTP/1.1\nHost : other.test\n" + A + "\n"),
    "a folded field": lambda: request("GET /a HTTP/1.1\nX: a\n Host: other.test\n" + A + "\n"),
    "a lonely line feed": lambda: raw(b"GET /a HTTP/1.1\r\nX: a\nHost: other.test\r\nHost: allowed.test\r\n\r\n", other),
    "absolute form": lambda: request("GET http://other.test/a HTTP/1.1\n" + A + "\n"),
    "CONNECT": lambda: request("CONNECT other.test:443 HTTP/1.1\n" + A + "\n"),
    "user and host": lambda: request("GET /a HTTP/1.1\nHost: allowed.test@other.test\n\n"),
    "another port": lambda: request("GET /a HTTP/1.1\nHost: allowed.test:8080\n\n"),
    "an address": lambda: request(f"GET /a HTTP/1.1\nHost: {other}\n\n"),
    "a name before it": lambda: request("GET /a HTTP/1.1\nHost: notallowed.test\n\n"),
    "a name behind it": lambda: request("GET /a HTTP/1.1\nHost: allowed.test.other.test\n\n"),
    "a dot": lambda: request("GET /a HTTP/1.1\nHost: allowed.test.\n\n"),
    "no host": lambda: request("GET /a HTTP/1.0\n\n"),
    "HTTP/2": lambda: raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", other),
    "nothing of HTTP": lambda: raw(b"SSH-2.0-x\r\n\r\n", other),
    "both lengths": lambda: request("POST /a HTTP/1.1\n" + A + "Content-Length: 4\nTransfer-Encoding: chunked\n\n0\n\nGET /smuggled HTTP/1.1\n" + O + "\n"),
    "two lengths": lambda: request("POST /a HTTP/1.1\n" + A + "Content-Length: 0\nContent-Length: 44\n\nGET /smuggled HTTP/1.1\n" + O + "\n"),
    "another coding": lambda: request("POST /a HTTP/1.1\n" + A + "Transfer-Encoding: xchunked\n\n0\n\nGET /smuggled HTTP/1.1\n" + O + "\n"),
    "a pipeline": lambda: request("GET /first HTTP/1.1\n" + A + "\nGET /second HTTP/1.1\n" + O + "\n"),
    "behind a body": lambda: request("POST /first HTTP/1.1\n" + A + "Content-Length: 3\n\nabcGET /second HTTP/1.1\n" + O + "\n", piece=1),
    "behind chunks": lambda: request("POST /chunks HTTP/1.1\n" + A + "Transfer-Encoding: chunked\n\n1\na\n0\n\nGET /second HTTP/1.1\n" + O + "\n"),
    "later": later,
    "upgrade": lambda: request("GET /upgrade HTTP/1.1\n" + A + "Connection: Upgrade\nUpgrade: h2c\n\nGET /second HTTP/1.1\n" + O + "\n"),
    "TLS of another name": lambda: raw(records, other, 443),
    "the same in single bytes": lambda: raw(records, other, 443, 1),
    "the same in records of one byte": lambda: raw(pieces, other, 443),
    "TLS without a name": lambda: raw(hello(None), other, 443),
    "HTTP where TLS is": lambda: request("GET /a HTTP/1.1\n" + A + "\n", 443),
    "TLS where HTTP is": lambda: raw(hello("allowed.test"), other, 80),
    "the gateway's own ports": lambda: request("GET /direct HTTP/1.1\n" + A + "\n", int(http_port), address="169.254.1.1"),
    "and that of TLS": lambda: raw(hello("allowed.test"), "169.254.1.1", int(tls_port)),
    "and that of names": lambda: udp(question("allowed.test", 1), "169.254.1.1", int(dns_port)),
    "IPv6": six,
    "names by TCP": lambda: raw(b"\0\x1e" + question("leak.other.test", 1), names, 53),
    "a name that is not allowed": lambda: udp(question("leak.other.test", 1), names, 53),
    "data for the nameserver": lambda: udp(question("leak.allowed.test", 16), names, 53),
    "QUIC": lambda: udp(bytes(1200), other, 443),
    "a neighbour's address": lambda: udp(question("leak.test", 1), names, 53, (0, 15, 1), bind="10.213.0.9"),
}
for what, attempt in tries.items():
    try:
        print(what + ":", repr(attempt())[:300], flush=True)
    except OSError as failure:
        print(what + ": held", failure.errno, flush=True)
print("forged:", https("allowed.test", other), flush=True)
"""


def ports_of(server):
    line = next(line for line in server.descendants().values() if "--gateway" in line)
    return line.split("--gateway ")[1].split()[0].split(",")


@pytest.mark.parametrize("user", ["root", "user"])
def test_nothing_comes_to_another_host(api, there, server, user):
    names, allowed, other = there.addresses
    there.came.clear()
    with api.sandbox(internet=True, egress=named.only("allowed.test", "bad.test")) as sandbox:
        out = named.said(api, sandbox, ATTEMPTS, names, allowed, other, *ports_of(server), user=user)
    # A name that is forged leads to who has it, wherever the packet was going.
    assert f"hello of {allowed}" in out.partition("forged:")[2], out
    wrong = [line for line in there.came if other in line or "other.test" in line or "leak" in line
             or line.split()[:1] == ["http"] and line.split()[2:3] != ["allowed.test"]
             or any(word in line for word in ("smuggled", "second", "later", "direct", "_/a_"))]
    assert not wrong, (wrong, out)
    # The honest part of what was tried came through: it was understood, and not only broken.
    assert sum("/first" in line for line in there.came) == 3 and any("/chunks" in line for line in there.came), (there.came, out)


def test_a_name_of_an_address_that_no_sandbox_may_reach_leads_nowhere(api, there):
    bad = ["loop.test", "zero.test", "metadata.test", "private.test", "host.test", "gateway.test", "range.test"]
    with api.sandbox(internet=True, egress=named.only("turns.test", "two.test", *bad)) as sandbox:
        out = named.said(api, sandbox, f"""
for name in {bad}: print(repr(http(name, "203.0.113.9")))
print("first", look_up("turns.test"), "then", repr(http("turns.test", "203.0.113.9")))
print("two", repr(http("two.test", "203.0.113.9")))
""").splitlines()
    for name, line in zip(bad, out):
        assert "403 Refused" in line and "no sandbox may reach" in line, (name, line)
    # Who is asked twice answers twice: what was looked at is what is connected to.
    assert out[len(bad)].startswith(f"first {there.addresses[1]} then") and "403 Refused" in out[len(bad)], out
    assert f"hello of {there.addresses[1]}" in out[len(bad) + 1], out


def test_the_gateway_is_nobody_who_has_nothing(api, server):
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox:
        named.said(api, sandbox, 'look_up("allowed.test")')
        process = pathlib.Path(f"/proc/{server.pid_of('names')}")
        status = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines() if ":\t" in line)
        assert "0" not in status["Uid"].split() and "0" not in status["Gid"].split() and not status["Groups"].strip()
        assert (int(status["CapEff"], 16), int(status["CapBnd"], 16), status["NoNewPrivs"], status["Seccomp"]) == (0, 0, "1", "2")
        assert (process / "root").resolve() == (server.data / "run/names").resolve()


def readable_by(pid):
    """All that a process has: its environment, what of its descriptors can be read, and what it wrote to memory."""
    process = pathlib.Path(f"/proc/{pid}")
    held = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
    for link in (process / "fd").iterdir():
        if stat.S_ISREG(link.stat().st_mode):
            held += link.read_bytes()
    with open(process / "mem", "rb", buffering=0) as memory:
        for line in (process / "maps").read_text().splitlines():
            ends, rights = line.split()[:2]
            if rights.startswith("rw"):
                first, last = (int(end, 16) for end in ends.split("-"))
                memory.seek(first)
                held += memory.read(last - first) or b""
    return held


def test_the_gateway_is_told_no_secret(api, server):
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox:
        named.said(api, sandbox, 'look_up("allowed.test")')
        held = readable_by(server.pid_of("names"))
        assert b"network_subnet: " in held and named.SECRET.encode() not in held and b"\npreview_secret: " not in held
    # The search finds it where it is.
    config = [fd for fd in pathlib.Path(f"/proc/{server.pid_of('api')}/fd").iterdir() if "memfd:atoll.yaml" in str(fd.readlink())]
    assert any(named.SECRET.encode() in fd.read_bytes() for fd in config)


LISTEN = """
s = socket.create_server(("", 9000)); u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.connect(("203.0.113.1", 9))
print("listens at", u.getsockname()[0], "end", flush=True)
s.accept()[0].sendall(b"hello"); time.sleep(60)
"""


def test_the_host_opens_no_connection_to_a_sandbox(api, server):
    """As the gateway could, once it was taken over: it is in the host's network."""
    with api.sandbox(internet=True) as sandbox:
        process = api.post(f"/api/sandbox/instances/{sandbox}/exec", {
            "cmd": "/usr/bin/python3", "args": ["-c", named.CLIENT + LISTEN], "background": True})["process"]

        def told():
            return api.raw("GET", f"/api/sandbox/instances/{sandbox}/logs?process={process}").body.decode()
        atoll.wait_for(lambda: "end" in told(), 15, told)
        address = told().split("listens at ")[1].split()[0]
        with pytest.raises(OSError):
            socket.create_connection((address, 9000), 5)


FLOOD = r"""
import itertools, os, select
names, other = sys.argv[1:3]
for _ in range(3): os.fork()
held, u = [], socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print("floods", flush=True)
for i in itertools.count():
    s = socket.socket(); s.setblocking(False); s.connect_ex((other, 443 if i % 2 else 80)); held.append(s)
    if len(held) == 200: held.pop(0).close()
    for kind in (1, 16):
        try:
            u.sendto(b"\x12\x34\1\0\0\1" + bytes(6) + b"\4leak\4test\0\0" + bytes([kind]) + b"\0\1", (names, 53))
        except OSError:
            pass
"""


def test_a_flood_of_one_sandbox_does_not_keep_another_from_what_it_may(api, there):
    names, allowed, other = there.addresses
    rules = named.only("allowed.test")
    with api.sandbox(internet=True, egress=rules) as loud, api.sandbox(internet=True, egress=rules) as quiet:
        process = api.post(f"/api/sandbox/instances/{loud}/exec", {
            "cmd": "/usr/bin/python3", "args": ["-c", named.CLIENT + FLOOD, names, other], "background": True})["process"]
        atoll.wait_for(lambda: b"floods" in api.raw("GET", f"/api/sandbox/instances/{loud}/logs?process={process}").body, 15, "a flood")
        out = named.said(api, quiet, """
for _ in range(5): print(look_up("allowed.test"), http("allowed.test"), https("allowed.test"))
""")
        assert out.count(f"hello of {allowed}") == 10 and out.count(f"\n{allowed} ") == 4, out
    assert not [line for line in there.came if "leak" in line], there.came
