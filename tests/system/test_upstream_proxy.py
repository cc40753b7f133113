# SPDX-License-Identifier: Apache-2.0
"""Connections of sandboxes that leave through an HTTP proxy: docs/operate/network.md."""

import contextlib
import pathlib
import shutil
import socket
import subprocess
import time

import pytest

import atoll
import far
import named

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl"))), reason="needs ip, nft and openssl")]
PATH = "/api/sandbox/instances"
PORT, REAL_PORT = 3128, 8888
LOGIN = "atoll:pass-word:with-colon"

# A proxy that does as it is told by its standard input: "open" is the one that works.
SERVE = r"""
import base64, select, socket, sys, threading
mode, login = "open", sys.argv[1]
def tell(*words):
    sys.stdout.write(" ".join(words) + "\n"); sys.stdout.flush()
def carry(a, b):
    while True:
        for one in select.select([a, b], [], [])[0]:
            data = one.recv(65536)
            if not data:
                return
            (b if one is a else a).sendall(data)
def serve(peer):
    text = b""
    while b"\r\n\r\n" not in text:
        data = peer.recv(65536)
        if not data:
            return
        text += data
    head, rest = text.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    sent = [line.split(": ", 1)[1] for line in lines if line.lower().startswith("proxy-authorization: ")]
    tell("asked", mode, lines[0].replace(" ", "_"), str(len(rest)), "login" if sent == [
        "Basic " + base64.b64encode(login.encode()).decode()] else "nobody")
    if mode == "silent":
        while peer.recv(65536):
            pass
        return tell("left")
    says = {"half": b"HTTP/1.1 200 Conn", "garbage": b"SSH-2.0-x\r\n\r\n", "empty": b"", "long": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 4000,
            "endless": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200000, "strange": b"HTTP/1.1 2000 OK\r\n\r\n", "interim": b"HTTP/1.1 100 Continue\r\n\r\n",
            "407": b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
            "403": b"HTTP/1.0 403 Forbidden\r\n\r\nno", "503": b"HTTP/1.1 503 Service Unavailable\r\n\r\n"}.get(mode)
    if says is not None:
        return peer.sendall(says)
    host, port = lines[0].split(" ")[1].split(":")
    with socket.create_connection((host, int(port)), 5) as there:
        if mode == "pieces":
            for byte in b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n":
                peer.sendall(bytes([byte])); select.select([], [], [], 0.005)
        else:
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
        carry(peer, there)
def run(peer):
    with peer:
        try:
            serve(peer)
        except OSError:
            pass
sys.stdin.readline()
server = socket.socket(); server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); server.bind(("0.0.0.0", 3128)); server.listen(64)
def accept():
    while True:
        peer, _ = server.accept()
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=run, args=(peer,), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
tell("ready")
for line in sys.stdin:
    mode = line.strip()
    tell("mode", mode)
"""


class Proxy(far.Far):
    """A machine of its own, which reaches the far machines by way of the host."""
    serve = SERVE

    def arguments(self):
        return [LOGIN]

    def inside(self, *command, **options):
        return subprocess.run(["nsenter", "-t", str(self.process.pid), "-n", *command], check=True, **options)

    def lead_to(self, there):
        self.inside("ip", "route", "add", "default", "via", self.near)
        for command in (["ip", "route", "add", "default", "via", there.near], ["nft", "add", "table", "inet", "own"],
                        ["nft", "add", "chain", "inet", "own", "input", "{ type filter hook input priority 0; }"],
                        # Nobody comes from the host itself but with questions for names.
                        ["nft", "add", "rule", "inet", "own", "input", "ip", "saddr", there.near, "meta", "l4proto", "tcp", "drop"]):
            subprocess.run(["nsenter", "-t", str(there.process.pid), "-n", *command], check=True)

    def be(self, mode):
        self.came.clear()
        self.process.stdin.write(mode + "\n")
        self.process.stdin.flush()
        atoll.wait_for(lambda: f"mode {mode}" in self.came, 10, self.came)

    def asked(self):
        return [line for line in self.came if line.startswith("asked")]


@contextlib.contextmanager
def network():
    with far.own_network(), contextlib.closing(named.Named()) as there, contextlib.closing(Proxy()) as proxy:
        proxy.lead_to(there)
        # A range that the host has as a whole, and not each address of it.
        subprocess.run(["ip", "addr", "add", "198.51.100.1/24", "dev", "lo"], check=True)
        yield there, proxy


@contextlib.contextmanager
def serving(there, proxy, tmp_path, port=PORT, user=LOGIN):
    login = pathlib.Path(tmp_path) / "login"
    login.write_text(user + "\n")
    login.chmod(0o600)
    server = atoll.Server(flags=["--network-nameservers", there.addresses[0], "--network-proxy", f"http://{proxy.addresses[0]}:{port}",
                                 "--network-proxy-login-file", login]).start()
    try:
        yield server
    finally:
        server.remove_all()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with network() as (there, proxy), serving(there, proxy, tmp_path_factory.mktemp("proxy")) as server:
        yield there, server, proxy


@pytest.fixture(scope="module")
def there(world):
    return world[0]


@pytest.fixture(scope="module")
def server(world):
    return world[1]


@pytest.fixture
def proxy(world):
    world[2].be("open")
    yield world[2]
    world[2].be("open")


def run(api, sandbox, code, *args, timeout_ms=60000):
    return api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", named.CLIENT + code, *args], timeout_ms=timeout_ms)


def log_of(api, sandbox):
    return api.get(f"{PATH}/{sandbox}/egress/log")["items"]


# The rules of a sandbox, and whether a name, another name, and a question for a name come through.
RULES = {
    "none": ({}, True, True),
    "a name": (named.only("allowed.test"), True, False),
    "all but a range": ({"deny": ["OTHER/32"]}, True, False),
    "nothing": ({"deny": ["0.0.0.0/0"]}, False, False),
    "an address, and no nameserver": ({"allow": ["ALLOWED"], "deny": ["0.0.0.0/0"]}, False, False),
    "an address, and the nameserver": ({"allow": ["ALLOWED", "NAMES"], "deny": ["0.0.0.0/0"]}, True, False),
    "watched": ({"deny": ["0.0.0.0/0"], "mode": "watch"}, True, True),
    "a range, watched": ({"deny": ["OTHER/32"], "mode": "watch"}, True, True),
}


@pytest.mark.parametrize("kind", RULES)
def test_names_go_through_the_proxy_as_the_rules_say(api, there, proxy, kind):
    rules, first, second = RULES[kind]
    names, allowed, other = there.addresses
    rules = {key: value if key == "mode" else [one.replace("OTHER", other).replace("ALLOWED", allowed).replace("NAMES", names) for one in value]
             for key, value in rules.items()}
    with api.sandbox(internet=True, egress=rules) as sandbox:
        result = run(api, sandbox, f"""
print(http("allowed.test", "{allowed}", body=b"with a body"))
print(https("allowed.test", "{allowed}"))
print(http("other.test", "{other}"))
print(https("other.test", "{other}"))
""")
        out = result["stdout"]
        assert out.count(f"hello of {allowed}") == 2 * first and out.count(f"hello of {other}") == 2 * second, result
        assert ("with a body" in out) == first
        assert out.count("403 Refused by sandbox network rules") == (not first) + (not second), out
        # The proxy hears addresses alone.
        asked = {line.split()[2] for line in proxy.asked()}
        assert asked == {f"CONNECT_{address}:{port}_HTTP/1.1" for address, comes in ((allowed, first), (other, second)) if comes
                         for port in (80, 443)}, asked
        assert all(line.split()[3:] == ["0", "login"] for line in proxy.asked())
        atoll.wait_for(lambda: len(log_of(api, sandbox)) >= 4, 20, lambda: log_of(api, sandbox))
        watched = kind == "watched"
        for host, address, comes in (("allowed.test", allowed, first), ("other.test", other, second)):
            rows = [row for row in log_of(api, sandbox) if row["host"] == host and row["protocol"] != "dns"]
            wanted = ("allowed" if not watched and not (kind == "a range, watched" and host == "other.test") else "watched") if comes else "denied"
            assert {row["decision"] for row in rows} == {wanted} and len(rows) == 2, rows
            assert not comes or {row["address"] for row in rows} == {address}


def test_a_name_that_no_rule_allows_is_not_asked_of_a_nameserver(api, there):
    with api.sandbox(internet=True, egress={"allow": [there.addresses[1]], "deny": ["0.0.0.0/0"]}) as sandbox:
        run(api, sandbox, f'http("carried-out.test", "{there.addresses[1]}"); look_up("carried-out.test")')
    assert "asked carried-out.test" not in there.came


DIRECT = r"""
def datagram(address, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2); s.connect((address, port))
    try:
        s.send(b"x"); s.recv(9); return "came"
    except OSError as failure:
        return type(failure).__name__
print(raw(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", sys.argv[1], 8080), datagram(sys.argv[1], 9999), datagram(sys.argv[1], 443))
print(raw(b"GET / HTTP/1.1\r\nHost: " + sys.argv[2].encode() + b"\r\nConnection: close\r\n\r\n", sys.argv[2], int(sys.argv[3])))
"""


@pytest.mark.parametrize("rules", [{}, {"deny": ["9.9.9.9"], "mode": "watch"}, {"allow": ["OTHER", "PROXY"], "deny": ["0.0.0.0/0"]}])
def test_nothing_leaves_beside_the_proxy_and_the_proxy_is_not_reached(api, there, proxy, rules):
    other, own = there.addresses[2], proxy.addresses[0]
    rules = {key: value if key == "mode" else [one.replace("OTHER", other).replace("PROXY", own) for one in value] for key, value in rules.items()}
    with api.sandbox(internet=True, egress=rules) as sandbox:
        result = run(api, sandbox, DIRECT, other, own, str(PORT))
        assert "hello" not in result["stdout"] and "came" not in result["stdout"], result
        assert result["stdout"].count("failed") == 2, result
        codes = {(row["port"], row["code"]) for row in result["network"]}
        assert {(8080, "direct-refused"), (9999, "direct-refused"), (443, "direct-refused"), (PORT, "direct-refused")} <= codes, result
        assert any("this server sends all through a proxy" in row["message"] for row in result["network"])
    assert not proxy.asked()


def test_addresses_that_no_sandbox_may_reach_are_not_asked_of_the_proxy(api, there, proxy):
    names = ["loop.test", "zero.test", "metadata.test", "private.test", "host.test", "gateway.test", "range.test"]
    with api.sandbox(internet=True) as sandbox:
        result = run(api, sandbox, f'for name in {names!r}: print(http(name, "203.0.113.1").split("\\r\\n")[0])')
        assert result["stdout"].count("403 Refused") == len(names), result
        assert {row["code"] for row in result["network"]} == {"range-refused"}, result
        assert not proxy.asked()
        # One of two addresses is fine; a name that turns is asked for once.
        result = run(api, sandbox, 'print(http("two.test", "203.0.113.1")); print(http("turns.test", "203.0.113.1"))')
        assert result["stdout"].count("hello") == 2, result
    assert {line.split()[2] for line in proxy.asked()} == {f"CONNECT_{there.addresses[1]}:80_HTTP/1.1"}


# What the proxy does, the code of the decision, and a word of the answer.
FAULTS = {
    "407": ("upstream-proxy-login", "does not accept the server's login"),
    "403": ("upstream-proxy-refused", "the proxy of this server refuses it"),
    "503": ("upstream-unreachable", "the host does not answer"),
    **{mode: ("upstream-proxy-unreachable", "the proxy of this server does not answer")
       for mode in ("half", "garbage", "empty", "long", "endless", "strange", "interim")},
}


@pytest.mark.parametrize("mode", FAULTS)
def test_a_fault_of_the_proxy_costs_that_connection_and_says_so(api, proxy, mode):
    code, said = FAULTS[mode]
    with api.sandbox(internet=True) as sandbox:
        proxy.be(mode)
        result = run(api, sandbox, 'print(http("allowed.test", "203.0.113.1")); print(https("allowed.test", "203.0.113.1"))')
        assert "502 " in result["stdout"] and said in result["stdout"] and code in result["stdout"], result
        assert "INTERNAL_ERROR" in result["stdout"], result
        assert {row["code"] for row in result["network"]} == {code}, result
        assert all("[network] unreachable: allowed.test" in row["message"] for row in result["network"])
        proxy.be("pieces")
        assert "hello" in run(api, sandbox, 'print(http("allowed.test", "203.0.113.1"))')["stdout"]


def test_a_silent_proxy_is_given_up_after_a_time_and_delays_no_other_connection(api, server, proxy):
    with api.sandbox(internet=True) as sandbox, api.sandbox(internet=True) as neighbour:
        proxy.be("silent")
        begun = time.monotonic()
        process = api.post(f"{PATH}/{sandbox}/exec", {"cmd": "/usr/bin/python3", "background": True, "args": [
            "-c", named.CLIENT.replace("s.settimeout(15)", "s.settimeout(60)") + 'print(http("allowed.test", "203.0.113.1"))']})["process"]
        atoll.wait_for(proxy.asked, 15, "the silent proxy to be asked")
        proxy.process.stdin.write("open\n")
        proxy.process.stdin.flush()
        assert "hello" in run(api, neighbour, 'print(http("allowed.test", "203.0.113.1"))')["stdout"]
        assert time.monotonic() - begun < 15

        def told():
            return api.raw("GET", f"{PATH}/{sandbox}/logs?process={process}").body.decode()
        atoll.wait_for(lambda: "502 " in told(), 40, told)
        assert "upstream-proxy-unreachable" in told() and time.monotonic() - begun > 15
        atoll.wait_for(lambda: "left" in proxy.came, 10, "the end of the connection at the proxy")


def test_a_proxy_that_is_down_is_a_refusal_at_once_and_works_when_it_is_back(api, there, proxy):
    with api.sandbox(internet=True) as sandbox:
        proxy.inside("nft", "add table inet own; add chain inet own input { type filter hook input priority 0; }; "
                     f"add rule inet own input tcp dport {PORT} reject with tcp reset")
        try:
            result = run(api, sandbox, 'print(http("allowed.test", "203.0.113.1"))')
            assert "502 Proxy of this server unreachable" in result["stdout"], result
        finally:
            proxy.inside("nft", "delete table inet own")
        assert f"hello of {there.addresses[1]}" in run(api, sandbox, 'print(http("allowed.test", "203.0.113.1"))')["stdout"]


def test_the_login_is_in_no_command_line_no_environment_no_answer_and_no_log(api, server, proxy):
    with api.sandbox(internet=True) as sandbox:
        run(api, sandbox, 'print(http("allowed.test", "203.0.113.1"))')
    secret = LOGIN.split(":", 1)[1]
    for pid, line in server.descendants().items():
        assert secret not in line
        with contextlib.suppress(OSError):
            assert secret.encode() not in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    assert secret not in server.log_text()
    assert secret not in api.raw("GET", "/metrics").body.decode()
    metrics = api.raw("GET", "/metrics").body.decode()
    assert "atoll_egress_proxy_failures_total" in metrics


def test_rules_hold_after_each_process_is_killed_and_the_server_starts_again(api, there, server, proxy):
    allowed, other = there.addresses[1:]
    with api.sandbox(internet=True, persistent=True) as sandbox, api.sandbox(internet=True, persistent=True, egress=named.only("allowed.test")) as ruled:
        def check():
            assert f"hello of {allowed}" in run(api, sandbox, 'print(http("allowed.test", "203.0.113.1"))')["stdout"]
            result = run(api, sandbox, DIRECT, other, proxy.addresses[0], str(PORT))
            assert result["stdout"].count("failed") == 2 and "came" not in result["stdout"], result
            assert "403 Refused" in run(api, ruled, 'print(http("other.test", "203.0.113.1"))')["stdout"]
        check()
        for role in ("names", "broker", "api"):
            server.kill9(role)
            server.wait_ready()
            check()
        subprocess.run(["nft", "flush", "ruleset"], check=True)
        atoll.wait_for(lambda: "chunk" in subprocess.run(["nft", "list", "ruleset"], capture_output=True, text=True).stdout, 10, "the rules")
        check()
        server.stop()
        server.start()
        check()
        api.call("PUT", f"{PATH}/{sandbox}/egress", named.only("other.test"))
        assert f"hello of {other}" in run(api, sandbox, 'print(http("other.test", "203.0.113.1"))')["stdout"]
        api.call("PUT", f"{PATH}/{sandbox}/egress", {})
        check()
        # A server that is started without its proxy has direct connections again, and the other way round.
        flags = list(server.flags)
        at = server.flags.index("--network-proxy")
        del server.flags[at:at + 2]
        server.stop()
        server.start()
        subprocess.run(["nsenter", "-t", str(there.process.pid), "-n", "nft", "flush", "table", "inet", "own"], check=True)
        try:
            assert f"hello of {other}" in run(api, sandbox, f'print(http("any", "{other}"))')["stdout"]
        finally:
            subprocess.run(["nsenter", "-t", str(there.process.pid), "-n", "nft", "add", "rule", "inet", "own", "input", "ip", "saddr",
                            there.near, "meta", "l4proto", "tcp", "drop"], check=True)
            server.flags[:] = flags
            server.stop()
            server.start()
        check()


@pytest.mark.parametrize("flag, value, said", [
    ("--network-proxy", "https://proxy.test:1", "does not begin with http://"),
    ("--network-proxy", "http://proxy.test", "has no port"),
    ("--network-proxy", "http://10.0.0.0/8:3128", "has neither a host name nor an IPv4 address"),
    ("--network-proxy", "http://[::1]:3128", "the URL of the proxy"),
    ("--network-proxy", "http://user:hidden-word@proxy.test:3128", "network_proxy_login_file"),
    ("--network-proxy-login-file", "/nonexistent/login", "network_proxy_login_file '/nonexistent/login'"),
])
def test_a_wrong_flag_is_refused_with_what_is_right(flag, value, said, tmp_path):
    result = subprocess.run([atoll.BUILD / "atolld", "--data", tmp_path / "data", "--listen", "127.0.0.1:0", flag, value],
                            capture_output=True, text=True, timeout=60)
    text = result.stdout + result.stderr
    assert result.returncode != 0 and said in text and "hidden-word" not in text, text


def test_a_login_file_of_two_lines_or_without_a_user_is_refused(tmp_path):
    for text in ("secret-word", "a:secret-word\nb:c\n", "a:secret-word\x01", ":secret-word", "a:" + "secret-word" * 60):
        (tmp_path / "login").write_text(text)
        result = subprocess.run([atoll.BUILD / "atolld", "--data", tmp_path / "data", "--listen", "127.0.0.1:0",
                                 "--network-proxy-login-file", tmp_path / "login"], capture_output=True, text=True, timeout=60)
        said = result.stdout + result.stderr
        assert result.returncode != 0 and "network_proxy_login_file" in said and "secret-word" not in said, (text, said)


TINYPROXY = """
Port {port}
Timeout 60
MaxClients 50
BasicAuth {user} {password}
ConnectPort 80
ConnectPort 443
Filter "{filter}"
FilterType ere
LogFile "{log}"
LogLevel Connect
"""


@pytest.mark.skipif(not shutil.which("tinyproxy"), reason="needs tinyproxy")
def test_tinyproxy_with_a_login_and_a_filter(tmp_path):
    tmp_path.chmod(0o755)
    with network() as (there, proxy):
        allowed, other = there.addresses[1:]
        (tmp_path / "filter").write_text(other.replace(".", "\\.") + "\n")
        config = tmp_path / "tinyproxy.conf"
        config.write_text(TINYPROXY.format(port=REAL_PORT, user="atoll", password="another", filter=tmp_path / "filter", log=tmp_path / "log"))

        def start():
            process = subprocess.Popen(["nsenter", "-t", str(proxy.process.pid), "-n", "tinyproxy", "-d", "-c", config],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

            def listens():
                with contextlib.suppress(OSError), socket.create_connection((proxy.addresses[0], REAL_PORT), 1):
                    return True
                return False
            atoll.wait_for(listens, 15, "tinyproxy")
            return process

        process = start()
        try:
            with serving(there, proxy, tmp_path, REAL_PORT, "atoll:real-word") as server:
                api = server.api()
                with api.sandbox(internet=True) as sandbox:
                    result = run(api, sandbox, 'print(http("allowed.test", "203.0.113.1"))')
                    assert "upstream-proxy-login" in result["stdout"], result
                    process.terminate()
                    process.wait()
                    config.write_text(config.read_text().replace("another", "real-word"))
                    process = start()
                    result = run(api, sandbox, 'print(http("allowed.test", body=b"y" * 100000)[-50:]); print(https("allowed.test"))')
                    assert "y" * 50 in result["stdout"] and f"hello of {allowed}" in result["stdout"], (result, (tmp_path / "log").read_text())
                    result = run(api, sandbox, 'print(http("other.test"))')
                    assert "upstream-proxy-refused" in result["stdout"], result
        finally:
            process.terminate()
            process.wait()
