# SPDX-License-Identifier: Apache-2.0
"""Atoll speaks TLS itself: E2B's SDK at hosts below a domain, streams of every kind, certificates that change."""

import contextlib
import functools
import hashlib
import http.client
import json
import os
import signal
import socket
import ssl
import stat
import struct
import subprocess
import time

import pytest

import atoll
import clients
import test_envd as envd

pytestmark = pytest.mark.needs_root


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tls")
    subprocess.run([atoll.ATOLL, "tls", "init", "--out", path], check=True, capture_output=True)
    return path


@pytest.fixture(scope="module")
def secure(folder):
    port = atoll.free_port()
    running = atoll.Server(flags=["--tls-listen", f"127.0.0.1:{port}", "--tls-cert", folder / "server.pem",
                                  "--tls-key", folder / "server.key", "--preview-domain", f"e2b.localhost:{port}",
                                  "--default-template", "host"])
    running.tls_port, running.folder = port, folder
    running.start()
    with contextlib.closing(running.api()) as api:
        running.e2b_key = api.post("/api/sandbox/keys", {"name": "e2b"})["e2b_key"]
    yield running
    running.remove_all()


def trusting(folder, **options):
    context = ssl.create_default_context(cafile=folder / "ca.pem")
    for name, value in options.items():
        setattr(context, name, value)
    return context


def connect(server, name="localhost", context=None):
    return (context or trusting(server.folder)).wrap_socket(socket.create_connection(("127.0.0.1", server.tls_port), timeout=20),
                                                            server_hostname=name)


class Secure(atoll.Api):
    def __init__(self, server):
        super().__init__("127.0.0.1", server.tls_port, server.key)
        self.connection = http.client.HTTPSConnection("localhost", server.tls_port, timeout=60, context=trusting(server.folder))
        self.connection.sock = connect(server)


@pytest.fixture(scope="module")
def made(secure):
    with contextlib.closing(secure.api()) as api:
        yield api.call("POST", "/v2/sandboxes", envd.MADE)


# ---- E2B's SDK ----


PROGRAMS = {"e2b.mjs": "e2b", "envd.mjs": "e2b", "interpreter.mjs": "@e2b/code-interpreter"}
# Of each program what goes over the connection in a way of its own: streams of both directions, large bodies, many at once, refusals.
# test_e2b, test_envd and test_interpreter have all of them, without TLS; ./dev test newest has all of them with TLS, too.
CHECKS = {
    "e2b.mjs": ["create", "create: a key that is not valid", "list: in pages, newest first", "volumes: their files",
                "pause: true once, then false; connect resumes", "templates: built with files, tagged, used, deleted"],
    "envd.mjs": ["isRunning", "commands.run: callbacks, UTF-8 and much output", "commands.sendStdin and closeStdin", "commands.run: 20 at once",
                 "pty: create, sendInput, resize, kill", "files.write: an empty file, and one of 20 MB", "files.write: several at once, gzip, metadata",
                 "files.watchDir: what happens, and its entries", "files: signed addresses", "requests without a token, or with another"],
    "interpreter.mjs": ["create: the default template", "runCode: the last expression is the text", "runCode: output comes while the code runs",
                        "contexts: at once", "by a client of its own"],
}


def checks(program):
    known = clients.checks(program)
    assert set(CHECKS[program]) <= set(known)
    return known if clients.NEWEST else CHECKS[program]


@pytest.fixture(scope="module")
def outcomes(secure, made):
    """Asked for by a program's name; with the domain and the key alone, as E2B's own customers have them."""
    @functools.cache
    def run(program):
        arguments = [made["sandboxID"], made["envdAccessToken"]] if program == "envd.mjs" else []
        return clients.outcomes(program, *arguments, packages=(PROGRAMS[program],), E2B_DOMAIN=f"e2b.localhost:{secure.tls_port}", E2B_API_KEY=secure.e2b_key,
                                ATOLL_CHECKS="\n".join(checks(program)), NODE_EXTRA_CA_CERTS=str(secure.folder / "ca.pem"), NODE_OPTIONS=f"--require {clients.FOLDER / 'localhost.cjs'}")
    return run


@pytest.mark.parametrize(("program", "check"), [(program, check) for program in PROGRAMS for check in checks(program)])
def test_the_sdk_at_hosts_of_its_own(outcomes, program, check):
    clients.succeeded(outcomes(program)[check])


def test_code_runs_at_the_interpreters_own_host(secure, made):
    host = f"49999-{made['sandboxID']}.e2b.localhost"
    connection = http.client.HTTPSConnection(host, secure.tls_port, timeout=60, context=trusting(secure.folder))
    connection.sock = connect(secure, host)
    with contextlib.closing(connection):
        connection.request("GET", "/health")
        assert connection.getresponse().read() in (b"OK", b'"OK"')
        block = json.dumps({"code": "echo by TLS", "language": "bash"})
        connection.request("POST", "/execute", block, {"Content-Type": "application/json"})
        refused = connection.getresponse()
        assert refused.status == 401 and refused.read()
        connection.request("POST", "/execute", block, {"Content-Type": "application/json", "X-Access-Token": made["envdAccessToken"]})
        told = [json.loads(line) for line in connection.getresponse().read().splitlines()]
    assert "".join(line["text"] for line in told if line["type"] == "stdout") == "by TLS\n"
    assert told[-1]["type"] == "end_of_execution"


# ---- all that HTTP carries ----


def test_large_bodies_go_both_ways(secure, made):
    api, data = Secure(secure), os.urandom(30_000_000)
    api.write(made["sandboxID"], "/tmp/big", data)
    assert hashlib.sha256(api.read(made["sandboxID"], "/tmp/big")).digest() == hashlib.sha256(data).digest()
    api.close()


def test_so_many_uploads_at_once_that_each_has_less_than_a_record(secure):
    """Each reads a share of what an iteration of the loop moves, and at least a whole record: the server once ended itself here."""
    body = json.dumps({"command": "true", "env": {"A": "x" * 40_000}}).encode()
    head = (f"POST /api/sandbox/instances/none/exec HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secure.key}\r\n"
            f"Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n").encode()
    server = secure.pid_of("api")
    with contextlib.ExitStack() as stack:
        uploads = [stack.enter_context(connect(secure)) for _ in range(160)]
        for sock in uploads:
            sock.sendall(head)
            assert b"100 Continue" in sock.recv(4096)
        os.kill(server, signal.SIGSTOP)
        try:
            for sock in uploads:
                sock.sendall(body[:20_000])
        finally:
            os.kill(server, signal.SIGCONT)
        for sock in uploads:
            sock.sendall(body[20_000:])
        for sock in uploads:
            assert b"404 Not Found" in sock.recv(4096)
    assert secure.pid_of("api") == server


def test_a_slow_reader_gets_all_of_it(secure, made):
    with connect(secure) as sock:
        sock.sendall(f"POST /api/sandbox/instances/{made['sandboxID']}/exec?stream=text HTTP/1.1\r\nHost: localhost\r\n"
                     f"Authorization: Bearer {secure.key}\r\nContent-Type: application/json\r\nConnection: close\r\n".encode())
        body = json.dumps({"command": "head -c 8000000 /dev/zero | tr '\\0' x"}).encode()
        sock.sendall(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        time.sleep(1)  # buffers fill up on the way
        got = bytearray()
        while piece := sock.recv(65536):
            got += piece
    assert got.count(b"x") >= 8_000_000 and got.endswith(b"0\r\n\r\n")


def test_requests_in_one_record_are_answered_in_turn(secure):
    with connect(secure) as sock:
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 300)
        got = b""
        while got.count(b"HTTP/1.1 200") < 300:
            piece = sock.recv(65536)
            assert piece, got[-200:]
            got += piece


def test_a_websocket_and_a_preview(secure, made):
    api = Secure(secure)
    opened = api.post(f"/api/sandbox/instances/{made['sandboxID']}/terminal", {})
    path = f"/api/sandbox/terminal/{opened['sessionId']}/browser"
    with connect(secure) as sock:
        sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                     f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer {secure.key}\r\n\r\n".encode())
        got = b""
        def until(word):
            nonlocal got
            while word not in got:
                piece = sock.recv(65536)
                assert piece, got
                got += piece
        until(b"101 Switching")
        message = b"echo $((6 * 7))-$((40 + 2))\n"
        sock.sendall(b"\x82" + struct.pack("B", 0x80 | len(message)) + b"\0\0\0\0" + message)
        until(b"42-42")
    if os.path.exists("/usr/bin/python3"):
        with api.sandbox(internet=True) as box:
            api.exec(box, "cd /tmp && echo inside > page && (setsid python3 -m http.server 8000 >/dev/null 2>&1 </dev/null &) ; "
                     "for i in $(seq 600); do grep -q ':1F40 .* 0A' /proc/net/tcp && exit; sleep 0.05; done; exit 1")
            answer = api.raw("GET", "/page", headers={"Host": f"8000-{box}.e2b.localhost:{secure.tls_port}"})
            assert (answer.status, answer.body) == (200, b"inside\n"), answer.body
    api.close()


# ---- the handshake ----


def test_old_versions_and_other_protocols_are_refused(secure):
    old = trusting(secure.folder)
    old.set_ciphers("DEFAULT@SECLEVEL=0")
    with pytest.warns(DeprecationWarning):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, OSError)):
        connect(secure, context=old)
    for offered, chosen in ((["h2", "http/1.1"], "http/1.1"), (["http/1.1"], "http/1.1"), ([], None)):
        context = trusting(secure.folder)
        if offered:
            context.set_alpn_protocols(offered)
        with connect(secure, context=context) as sock:
            assert sock.selected_alpn_protocol() == chosen and sock.version() == "TLSv1.3"
    only_h2 = trusting(secure.folder)
    only_h2.set_alpn_protocols(["h2"])
    with pytest.raises((ssl.SSLError, OSError)):
        connect(secure, context=only_h2)
    with connect(secure, context=trusting(secure.folder, maximum_version=ssl.TLSVersion.TLSv1_2)) as sock:
        assert sock.version() == "TLSv1.2"


def test_who_speaks_no_tls_is_not_answered(secure):
    for hello in (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"\0" * 100, os.urandom(500)):
        with socket.create_connection(("127.0.0.1", secure.tls_port), timeout=20) as sock:
            with contextlib.suppress(ConnectionResetError):
                sock.sendall(hello)
                assert b"HTTP/" not in sock.recv(4096)


def test_unfinished_handshakes_end_and_stop_nobody(secure):
    begun = time.monotonic()
    waiting = [socket.create_connection(("127.0.0.1", secure.tls_port), timeout=30) for _ in range(100)]
    waiting[0].sendall(b"\x16")
    with connect(secure) as sock:
        sock.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert b"200" in sock.recv(4096)
    assert waiting[0].recv(1) == b"" and time.monotonic() - begun < 30  # 10 s
    for sock in waiting:
        sock.close()


def test_the_name_in_the_handshake_chooses_nothing(secure, made):
    api = Secure(secure)
    api.connection.sock = connect(secure, name=f"49983-{made['sandboxID']}.e2b.localhost")
    assert api.raw("GET", "/healthz", headers={"Host": "localhost"}).status == 200
    assert api.raw("GET", "/health", headers={"Host": "evil.example"}).status == 421
    api.close()


# ---- certificates ----


def serial(server):
    with connect(server) as sock:
        return sock.getpeercert()["serialNumber"]


def test_a_renewed_certificate_is_taken_up(secure):
    with connect(secure) as old:
        first = old.getpeercert()["serialNumber"]
        subprocess.run([atoll.ATOLL, "tls", "renew", "--out", secure.folder], check=True, capture_output=True)
        atoll.wait_for(lambda: serial(secure) != first, 30, "the files are looked at")
        second = serial(secure)
        subprocess.run([atoll.ATOLL, "tls", "renew", "--out", secure.folder], check=True, capture_output=True)
        secure.process.send_signal(signal.SIGHUP)
        atoll.wait_for(lambda: serial(secure) != second, 2, "a signal asks for it")
        old.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert b"200" in old.recv(4096)


def test_a_certificate_that_is_not_right_changes_nothing(secure):
    before, good = serial(secure), (secure.folder / "server.pem").read_bytes()
    (secure.folder / "server.pem").write_text("not a certificate")
    secure.process.send_signal(signal.SIGHUP)
    atoll.wait_for(lambda: "the old one stays in use" in secure.log_text(), 30, "a warning")
    assert serial(secure) == before
    (secure.folder / "server.pem").write_bytes(good)
    secure.process.send_signal(signal.SIGHUP)
    pid = secure.kill9("api")
    atoll.wait_for(lambda: secure.pid_of("api") not in (None, pid), 30, "another api process")
    secure.wait_ready()
    assert serial(secure) == before


def test_a_server_without_its_certificate_says_what_to_do(tmp_path):
    done = subprocess.run([atoll.ATOLL, "serve", "--data", tmp_path, "--provider", "null", "--listen", f"127.0.0.1:{atoll.free_port()}",
                           "--tls-listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "atoll tls init" in done.stderr


def test_init_makes_private_keys_and_replaces_nothing(folder, tmp_path):
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {"ca.pem": 0o644, "ca.key": 0o600, "server.pem": 0o644, "server.key": 0o600}
    def init(*options):
        return subprocess.run([atoll.ATOLL, "tls", "init", "--out", tmp_path / "new", *options], capture_output=True, text=True)
    assert init("--domain", "box.example.com", "--name", "10.0.0.5").returncode == 0
    before = (tmp_path / "new/ca.pem").read_bytes()
    again = init()
    assert again.returncode != 0 and "exists" in again.stderr and (tmp_path / "new/ca.pem").read_bytes() == before
    assert init("--force", "--json").returncode == 0 and (tmp_path / "new/ca.pem").read_bytes() != before
    assert init("--force", "--name", "not a name").returncode != 0
    fresh = {**os.environ, "ATOLL_DATA": str(tmp_path / "data")}
    assert subprocess.run([atoll.ATOLL, "tls", "init"], env=fresh, capture_output=True).returncode == 0
    named = tmp_path / "named"
    assert subprocess.run([atoll.ATOLL, "tls", "init", "--data", named], env=fresh, capture_output=True).returncode == 0
    assert (named / "tls" / "server.key").stat().st_mode & 0o777 == 0o600
    both = subprocess.run([atoll.ATOLL, "tls", "renew", "--data", named, "--out", named], capture_output=True, text=True)
    assert both.returncode != 0 and "--out and --data exclude each other" in both.stderr
    assert stat.S_IMODE((tmp_path / "data/tls/server.key").stat().st_mode) == 0o600
    shown = subprocess.run(["openssl", "x509", "-in", folder / "server.pem", "-noout", "-text"], capture_output=True, text=True)
    if shown.returncode == 0:
        assert "DNS:*.e2b.localhost" in shown.stdout and "prime256v1" in shown.stdout and "CA:FALSE" in shown.stdout
