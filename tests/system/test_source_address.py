# SPDX-License-Identifier: Apache-2.0
"""The address by which connections of a project's sandboxes leave: docs/operate/network.md."""

import contextlib
import os
import shlex
import shutil
import subprocess

import pytest

import atoll
import far
import named

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl"))), reason="needs ip, nft and openssl")]
PATH = "/api/sandbox/instances"

# Says who came, by which address: for TCP, for datagrams, and for HTTP by the gateway.
SERVE = named.SERVE.replace('''tell(kind, own, ",".join(hosts), lines[0].replace(" ", "_"))''',
                            '''tell(kind, own, ",".join(hosts), peer.getpeername()[0])''').replace(
    '''tell("ready")''', r'''
def echo():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); server.bind((other, 9999))
    while True:
        data, peer = server.recvfrom(4096)
        tell("datagram", peer[0]); server.sendto(b"pong", peer)
threading.Thread(target=echo, daemon=True).start()
tell("ready")''')


class There(named.Named):
    serve = SERVE


@contextlib.contextmanager
def serving(*flags):
    """The far machines, a server, and two addresses of the host for source addresses."""
    with far.own_network(), contextlib.closing(There()) as there:
        there.own = [there.near.rsplit(".", 1)[0] + f".{last}" for last in (51, 52)]
        for address in there.own:
            subprocess.run(["ip", "addr", "add", f"{address}/24", "dev", there.link], check=True)
        server = atoll.Server(flags=["--network-nameservers", there.addresses[0], *flags]).start()
        try:
            yield there, server
        finally:
            server.remove_all()


@pytest.fixture(scope="module")
def world():
    with serving() as both:
        yield both


@pytest.fixture(scope="module")
def there(world):
    return world[0]


@pytest.fixture(scope="module")
def server(world):
    return world[1]


@pytest.fixture
def project(api):
    """A project of its own, and a client of it."""
    made = api.post("/v1/projects", {"name": "p-" + os.urandom(4).hex()})
    key = api.call("POST", "/api/sandbox/keys", {"name": "k"}, headers={"X-Atoll-Project": made["id"]})
    yield made["id"], key["key"]
    api.call("DELETE", f"/v1/projects/{made['id']}?force=true")


ALL = r"""
def datagram(address):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3); s.connect((address, 9999))
    try:
        s.send(b"x"); return s.recv(9).decode()
    except OSError:
        return "no datagram"
other = sys.argv[1]
print(raw(b"GET / HTTP/1.1\r\nHost: direct\r\nConnection: close\r\n\r\n", other, 8080)[-40:].replace("\r\n", " "), datagram(other))
"""
QUICK = named.CLIENT.replace("socket.create_connection((address, port), 10)", "socket.create_connection((address, port), 4)")


def run(api, sandbox, code, *args):
    return api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", QUICK + code, *args], timeout_ms=60000)


def who_came(there, api, sandbox, code=ALL):
    del there.came[:]
    result = run(api, sandbox, code, there.addresses[2])
    return {line.split()[-1] for line in there.came if line.split()[0] in ("http", "https", "datagram")}, result


def set_source(api, project, address):
    return api.call("PATCH", f"/v1/projects/{project}", {"source_address": address})


def test_direct_connections_and_those_by_name_leave_by_the_address_of_their_project(api, there, server, project):
    name, key = project
    own = server.api(key=key)
    assert set_source(api, name, there.own[0])["source_address"] == there.own[0]
    with own.sandbox(internet=True) as plain, own.sandbox(internet=True, egress=named.only("*.test")) as ruled, \
            api.sandbox(internet=True) as other:
        came, result = who_came(there, own, plain)
        assert came == {there.own[0]} and "pong" in result["stdout"], (came, result)
        came, result = who_came(there, own, ruled, 'print(http("allowed.test")); print(https("allowed.test"))')
        assert came == {there.own[0]} and result["stdout"].count("hello") == 2, (came, result)
        assert own.get(f"{PATH}/{ruled}")["egress"] == named.only("*.test")
        came, _ = who_came(there, api, other)
        assert came == {there.near}, came
        # Root inside changes nothing, with whatever source it sends.
        spoof = f'''
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    s.bind(("{there.own[1]}", 0)); print("bound")
except OSError as failure:
    print("not bound", failure.errno)
try:
    r = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    import struct
    def packet(source):
        udp = struct.pack("!HHHH", 4000, 9999, 9, 0) + b"x"
        return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 7, 0, 64, 17, 0, socket.inet_aton(source), socket.inet_aton(sys.argv[1])) + udp
    for source in ("{there.own[0]}", "{there.own[1]}", "{there.near}", "10.213.0.9", "127.0.0.1"):
        r.sendto(packet(source), (sys.argv[1], 0))
    print("sent")
except OSError as failure:
    print("no raw socket", failure.errno)
time.sleep(0.5)
'''
        came, result = who_came(there, own, plain, spoof)
        assert not came and "not bound" in result["stdout"], (came, result)


def test_a_change_holds_for_sandboxes_that_run_and_ends_what_left_by_the_address_before(api, there, server, project):
    name, key = project
    own = server.api(key=key)
    with own.sandbox(internet=True) as sandbox:
        assert who_came(there, own, sandbox)[0] == {there.near}
        for address in (there.own[0], there.own[1]):
            set_source(api, name, address)
            atoll.wait_for(lambda: who_came(there, own, sandbox)[0] == {address}, 20, there.came)
        for role in ("broker", "api"):
            server.kill9(role)
            server.wait_ready()
            assert who_came(there, own, sandbox)[0] == {there.own[1]}, role
        subprocess.run(["nft", "flush", "ruleset"], check=True)
        atoll.wait_for(lambda: "snat ip to" in rules(), 15, "the rules")
        assert who_came(there, own, sandbox)[0] == {there.own[1]}
        set_source(api, name, "")
        atoll.wait_for(lambda: who_came(there, own, sandbox)[0] == {there.near}, 20, there.came)
        assert "snat ip to" not in rules()
        set_source(api, name, there.own[0])
        atoll.wait_for(lambda: "snat ip to" in rules(), 15, "the rules")
    atoll.wait_for(lambda: "snat ip to" not in rules(), 15, "the end of the rules")


def rules():
    return subprocess.run(["nft", "list", "table", "inet", "atoll"], capture_output=True, text=True).stdout


def test_without_the_address_nothing_leaves_and_it_works_when_it_is_back(api, there, server, project):
    name, key = project
    own = server.api(key=key)
    set_source(api, name, there.own[0])
    with own.sandbox(internet=True) as plain, own.sandbox(internet=True, egress=named.only("*.test")) as ruled:
        assert who_came(there, own, plain)[0] == {there.own[0]}
        subprocess.run(["ip", "addr", "del", f"{there.own[0]}/24", "dev", there.link], check=True)
        try:
            came, result = who_came(there, own, plain)
            assert not came and "hello" not in result["stdout"] and "no datagram" in result["stdout"], (came, result)
            came, result = who_came(there, own, ruled, 'print(http("allowed.test"))')
            assert not came and "502 Source address of the project is missing" in result["stdout"], (came, result)
            assert {row["code"] for row in result["network"]} == {"source-address-missing"}, result
            with pytest.raises(atoll.ApiError) as refused:
                own.create(internet=True)
            assert refused.value.status == 409 and f"does not have the source address {there.own[0]}" in refused.value.message
        finally:
            subprocess.run(["ip", "addr", "add", f"{there.own[0]}/24", "dev", there.link], check=True)
        assert who_came(there, own, plain)[0] == {there.own[0]}
        assert who_came(there, own, ruled, 'print(http("allowed.test"))')[0] == {there.own[0]}


def test_what_is_no_address_of_the_host_or_of_another_project_is_refused(api, there, server, project):
    name, key = project
    for address, status, said in (("192.0.2.77", 409, "does not have the source address 192.0.2.77"), ("127.0.0.1", 400, "no IPv4 address"),
                                  ("0.0.0.0", 400, "no IPv4 address"), ("224.0.0.5", 400, "no IPv4 address"), ("255.255.255.255", 400, "no IPv4 address"),
                                  (there.near.rsplit(".", 1)[0] + ".255", 409, "does not have"), (there.addresses[2], 409, "does not have"), ("fd00::1", 400, "no IPv4 address"), ("x", 400, "no IPv4 address"),
                                  (there.own[0] + "/32", 400, "")):
        with pytest.raises(atoll.ApiError) as refused:
            set_source(api, name, address)
        assert refused.value.status == status and said in refused.value.message, refused.value
    with pytest.raises(atoll.ApiError) as refused:
        server.api(key=key).call("PATCH", f"/v1/projects/{name}", {"source_address": there.own[0]})
    assert refused.value.status == 403, refused.value
    other = api.post("/v1/projects", {"name": "q-" + os.urandom(4).hex(), "source_address": there.own[1]})["id"]
    try:
        with pytest.raises(atoll.ApiError) as refused:
            set_source(api, name, there.own[1])
        assert refused.value.status == 409 and "another project has the source address" in refused.value.message
    finally:
        api.call("DELETE", f"/v1/projects/{other}?force=true")
    # A rule of a sandbox cannot name one.
    with pytest.raises(atoll.ApiError):
        api.create(internet=True, egress={"allow": [f"@{there.own[0]}"]})


# Opens a connection and a stream of datagrams, and sends on both until it is told to end; says how the connection ended.
KEPT = r"""
import socket, sys, time
there, out = sys.argv[1], sys.argv[2]
tcp = socket.create_connection((there, 8080), 5); tcp.settimeout(0.3)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind(("", 4567)); udp.connect((there, 9999))
open(out, "w").write("open")
ended = ""
for turn in range(600):
    try:
        udp.send(b"x")
        if not ended:
            tcp.send(b"a")
            if tcp.recv(100) == b"":
                ended = "closed"
    except TimeoutError:
        pass
    except OSError as failure:
        ended = ended or str(failure.errno)
    if ended:
        open(out, "w").write("ended " + ended)
    time.sleep(0.1)
"""


def keep_open(there, own, sandbox, out):
    command = shlex.join(["/usr/bin/python3", "-c", KEPT, there.addresses[2], out])
    own.post(f"{PATH}/{sandbox}/exec", {"command": command, "background": True})
    atoll.wait_for(lambda: state_of(own, sandbox, out) == "open", 15, "a connection")


def state_of(own, sandbox, out):
    return own.exec(sandbox, cmd="/bin/cat", args=[out])["stdout"]


def datagrams_of(there):
    return {line.split()[1] for line in there.came if line.startswith("datagram")}


@pytest.mark.parametrize("then", ["another", "none"])
def test_open_connections_and_datagrams_end_when_their_address_changes(api, there, server, project, then):
    name, key = project
    own = server.api(key=key)
    next_address = there.own[1] if then == "another" else ""
    set_source(api, name, there.own[0])
    with own.sandbox(internet=True) as sandbox:
        keep_open(there, own, sandbox, "/tmp/kept")
        set_source(api, name, next_address)
        atoll.wait_for(lambda: state_of(own, sandbox, "/tmp/kept").startswith("ended"), 20, "the end of the connection")
        del there.came[:]
        atoll.wait_for(lambda: len(there.came) > 10, 15, "datagrams")
        assert datagrams_of(there) == {next_address or there.near}, there.came


def test_two_projects_leave_by_addresses_of_their_own_at_once(api, there, server, project):
    name, key = project
    set_source(api, name, there.own[0])
    second = api.post("/v1/projects", {"name": "q-" + os.urandom(4).hex(), "source_address": there.own[1]})
    other = server.api(key=api.call("POST", "/api/sandbox/keys", {"name": "k"}, headers={"X-Atoll-Project": second["id"]})["key"])
    own = server.api(key=key)
    try:
        with own.sandbox(internet=True) as a, other.sandbox(internet=True) as b:
            for _ in range(2):
                assert who_came(there, own, a)[0] == {there.own[0]}
                assert who_came(there, other, b)[0] == {there.own[1]}
            # The first project cannot take the address of the second by a rule of its sandbox.
            with pytest.raises(atoll.ApiError):
                own.call("PUT", f"{PATH}/{a}/egress", {"allow": [f"@{there.own[1]}"]})
    finally:
        api.call("DELETE", f"/v1/projects/{second['id']}?force=true")


def test_a_sandbox_that_was_paused_forked_or_restored_leaves_by_the_address_of_now(api, there, server, project):
    name, key = project
    own = server.api(key=key)
    set_source(api, name, there.own[0])
    with own.sandbox(internet=True) as sandbox:
        own.post(f"{PATH}/{sandbox}/pause")
        set_source(api, name, there.own[1])
        own.post(f"{PATH}/{sandbox}/resume")
        atoll.wait_for(lambda: who_came(there, own, sandbox)[0] == {there.own[1]}, 20, there.came)
        fork = own.post(f"{PATH}/{sandbox}/fork", {})
        fork = fork.get("id") or fork["items"][0]["id"]
        assert who_came(there, own, fork)[0] == {there.own[1]}
        own.call("DELETE", f"{PATH}/{fork}")
        own.post(f"{PATH}/{sandbox}/stop")
        set_source(api, name, there.own[0])
        own.post(f"{PATH}/{sandbox}/start")
        assert who_came(there, own, sandbox)[0] == {there.own[0]}


def test_a_server_with_an_upstream_proxy_refuses_a_source_address(api, there, server):
    second = atoll.Server(flags=["--network-nameservers", there.addresses[0], "--network-proxy", f"http://{there.addresses[2]}:3128"]).start()
    try:
        with pytest.raises(atoll.ApiError) as refused:
            second.api().post("/v1/projects", {"name": "proxied", "source_address": there.own[0]})
        assert refused.value.status == 409 and "network_proxy" in refused.value.message, refused.value
    finally:
        second.remove_all()
