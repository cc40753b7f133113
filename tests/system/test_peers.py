# SPDX-License-Identifier: Apache-2.0
"""Two servers on one PostgreSQL that reach each other: each serves what the other has."""

import contextlib
import hashlib
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import threading

import pytest

import atoll
import postgres
from web_socket import Socket
import test_mcp as protocol

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
DOMAIN = "preview.localhost"


def node_of(server):
    return (server.data / "node.id").read_text().strip()


@pytest.fixture(scope="module")
def database():
    if not postgres.programs():
        pytest.skip("Debian's package postgresql is not installed")
    running = postgres.Postgres()
    yield running
    running.remove()


@pytest.fixture(scope="module")
def servers(database):
    """The first is reached by http, the second by https."""
    folder = pathlib.Path(database.folder, "tls")
    subprocess.run([atoll.ATOLL, "tls", "init", "--out", folder], check=True, capture_output=True)
    os.chmod(folder, 0o755)
    os.chmod(folder / "ca.pem", 0o644)
    made, tls_port = [], atoll.free_port()
    for number in range(2):
        server = atoll.Server(flags=["--store", database.dsn, "--network-subnet", f"10.{237 + number}.0.0/16", "--cells", "1",
                                     "--preview-domain", DOMAIN, "--peer-ca", folder / "ca.pem"])
        if number == 0:
            server.flags += ["--peer-url", f"http://127.0.0.1:{server.port}"]
        else:
            server.flags += ["--tls-listen", f"127.0.0.1:{tls_port}", "--tls-cert", folder / "server.pem",
                             "--tls-key", folder / "server.key", "--peer-url", f"https://localhost:{tls_port}"]
        made.append(server)
    with contextlib.ExitStack() as stack:
        for server in made:
            stack.callback(server.remove_all)
            server.start()
            if server is made[0]:  # what is sealed in the database is sealed for both
                subprocess.run(["cp", "-a", server.data / "keys", made[1].data], check=True)
        key = made[0].key
        for server in made:
            server.known = server.api(key)
        yield made
        for row in made[0].known.get(f"{PATH}?limit=1000")["items"]:
            made[0].known.remove(row["id"])


@pytest.fixture(scope="module", params=["http", "https"])
def pair(request, servers):
    """Who is asked, who has the sandbox, and the sandbox."""
    here, there = servers if request.param == "https" else servers[::-1]
    made = there.known.create(internet=True)
    assert made["node"] == node_of(there) if "node" in made else True
    yield here, there, made["id"]
    with contextlib.suppress(atoll.ApiError):
        there.known.remove(made["id"])


def test_commands_streams_and_files_of_the_others_sandbox(pair):
    here, _, box = pair
    api = here.known
    answer = api.raw("POST", f"{PATH}/{box}/exec", json.dumps({"command": "echo over there; exit 3"}),
                     {"Content-Type": "application/json", "X-Request-Id": "one.and-the-same"})
    assert answer.status == 200 and answer.headers["X-Request-Id"] == "one.and-the-same"
    assert (answer.json()["stdout"], answer.json()["exit_code"]) == ("over there\n", 3)
    assert len(answer.headers.get_all("Date")) == len(answer.headers.get_all("X-Request-Id")) == 1
    # Lines come one by one.
    response = api.open("POST", f"{PATH}/{box}/exec?stream=ndjson", {"command": "echo first; sleep 600; echo last"})
    assert response.status == 200 and "ndjson" in response.headers["Content-Type"]
    while b"first" not in response.readline():
        pass
    api.close()
    data = os.urandom(5 << 20)
    api.write(box, "/tmp/large", data)
    assert api.read(box, "/tmp/large") == data
    assert api.exec(box, "sha256sum < /tmp/large")["stdout"].split()[0] == hashlib.sha256(data).hexdigest()
    # A body whose length nobody says before.
    api.call("PUT", f"{PATH}/{box}/files/content?path=/tmp/pieces", iter([b"one ", b"two ", b"three"]),
             {"Content-Type": "application/octet-stream"})
    assert api.read(box, "/tmp/pieces") == b"one two three"
    assert api.raw("HEAD", f"{PATH}/{box}/files/content?path=/tmp/pieces").status in (200, 405)
    with pytest.raises(atoll.ApiError) as refused:
        api.read(box, "/tmp/missing")
    assert refused.value.status == 404
    result = api.post(f"{PATH}/{box}/code", {"language": "python", "code": "print(6 * 7)"})
    assert "42" in json.dumps(result)


def test_a_terminal_and_its_ticket(pair):
    here, _, box = pair
    opened = here.known.post(f"{PATH}/{box}/terminal", {})
    browser = Socket(here, opened["path"])
    assert browser.status == 101
    browser.send(b"echo $((41 + 1))\n")
    while b"42" not in browser.output:
        browser.receive()
    browser.close()
    # A ticket is for one use, and no key opens nothing.
    for path in (opened["path"], opened["path"].split("?")[0]):
        refused = Socket(here, path)
        assert refused.status == 401
        refused.close()


def test_previews_by_path_by_host_and_by_a_link_of_either(pair):
    here, there, box = pair
    api = here.known
    api.exec(box, "cd /tmp && mkdir -p www && echo hello > www/note && cd www && (setsid python3 -m http.server 8000 >/dev/null 2>&1 </dev/null &)"
                  "; for i in $(seq 200); do grep -q ':1F40 .* 0A' /proc/net/tcp /proc/net/tcp6 && exit; sleep 0.05; done; exit 1")
    assert api.raw("GET", f"{PATH}/{box}/preview/8000/note").body == b"hello\n"
    answer = api.raw("GET", "/note", headers={"Host": f"8000-{box}.{DOMAIN}:{here.port}"})
    assert (answer.status, answer.body) == (200, b"hello\n")
    assert api.raw("GET", f"{PATH}/{box}/preview/8000/missing").status == 404
    api.call("PATCH", f"{PATH}/{box}/preview", {"public": True})
    for private in (True, False):
        path = here.known.post(f"{PATH}/{box}/preview-tokens", {"port": 8000, "private": private})["path"]
        for server in (here, there):
            with contextlib.closing(atoll.Api("127.0.0.1", server.port)) as stranger:
                assert stranger.raw("GET", path + "note").body == b"hello\n"


def ask_marked(server, box, node):
    return server.known.raw("POST", f"{PATH}/{box}/exec", json.dumps({"command": "true"}),
                            {"Content-Type": "application/json", "Atoll-Hop": node})


def test_a_marked_request_goes_no_further(pair):
    here, there, box = pair
    answer = ask_marked(here, box, node_of(here))
    assert answer.status == 409 and node_of(there) in answer.json()["error"]["message"]
    assert ask_marked(there, box, node_of(there)).status == 200
    # It is for another one than whoever gets it.
    for server, node in ((here, node_of(there)), (there, node_of(here)), (there, "anything"), (there, "")):
        answer = ask_marked(server, box, node)
        assert answer.status == 421 and answer.json()["error"]["code"] == "misdirected"
    # Whoever is nobody there is nobody here.
    stranger = here.api("atk_" + "0" * 40)
    with pytest.raises(atoll.ApiError) as refused:
        stranger.exec(box, "true")
    assert refused.value.status == 401
    stranger.close()


def test_tools_over_mcp(pair):
    here, there, box = pair
    new = protocol.Mcp(here.known, f"/mcp?sandbox={box}")
    assert new.call("bash", command="echo over there | tee by-mcp")["structuredContent"]["stdout"] == "over there\n"
    assert new.new("resources/read", {"uri": f"atoll://sandbox/{box}/files/by-mcp"})["result"]["contents"][0]["text"] == "over there\n"
    assert new.call("bash", command="exit 3")["structuredContent"]["exit_code"] == 3
    # A session is one server's, and a lease's sandbox may be another's.
    lease = there.known.post("/v1/leases/acquire", {"key": f"mcp-{box}", "internet": False})
    old = protocol.Mcp(here.known, f"/mcp?lease=mcp-{box}")
    old.initialize()
    connection, response = protocol.open_call(old, 1, "bash", "a token", command="echo begun > begun; sleep 1.2; cat begun")
    *told, last = protocol.events(response)
    assert last["result"]["structuredContent"]["stdout"] == "begun\n" and told[0]["params"]["progressToken"] == "a token"
    connection.close()
    # Cancelled through the server that was asked, by whoever began it.
    body, headers = protocol.tool_call(old, 2, "bash", None, command="sleep 31.41")
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(old.api.clone().raw("POST", old.path, body, headers)))
    waiting.start()
    runs = lambda: protocol.runs(there.known, lease["sandbox_id"], "sleep 31.41")
    atoll.wait_for(runs, what="the command runs")
    stranger = protocol.Mcp(here.known.clone(), old.path)
    stranger.initialize()
    protocol.cancel(stranger, 2)
    assert runs() and not answers
    protocol.cancel(old, 2)
    waiting.join(20)
    assert answers[0].json()["error"]["code"] == -32800
    there.known.delete(f"/v1/leases/mcp-{box}")
    forged = {"Atoll_Hop": node_of(here), "Mcp_Session_Id": "x" * 2000}
    assert old.post({"jsonrpc": "2.0", "id": 3, "method": "ping"}, **forged).status == 404
    # Marked, it stays; and what is wrong is said in the protocol's words.
    marked = new.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "bash", "arguments": {"command": "true", "sandbox": box}, "_meta": {
            protocol.META + "protocolVersion": protocol.MODERN, protocol.META + "clientCapabilities": {}}}},
        MCP_Protocol_Version=protocol.MODERN, Mcp_Method="tools/call", Mcp_Name="bash", Atoll_Hop=node_of(here))
    assert marked.status == 200 and marked.json()["result"]["isError"] and node_of(there) in marked.body.decode()


def test_a_name_of_one_machine_is_good_for_the_others_sandbox(pair):
    here, there, box = pair
    here.known.write(box, "/tmp/named", b"by name")
    target = f"{PATH}/{box}/files/content?path=/tmp/named"
    answer = here.known.raw("GET", target, headers={"Host": f"{socket.gethostname()}:{here.port}"})
    assert (answer.status, answer.body) == (200, b"by name")
    assert here.known.raw("GET", target, headers={"Host": "rebound.example.com"}).status == 421


def test_the_life_of_the_others_sandbox(servers, database):
    here, there = servers
    made = there.known.create(internet=False, name="moved")["id"]
    api = here.known
    api.post(f"{PATH}/moved/stop")
    assert database.rows(f"SELECT actual FROM sandboxes WHERE id = '{made}'") == ["stopped"]
    api.post(f"{PATH}/{made}/start")
    assert api.exec(made, "echo again")["stdout"] == "again\n"
    api.remove(made)
    assert database.rows(f"SELECT actual FROM sandboxes WHERE id = '{made}'") == ["deleted"]


def test_one_sandbox_of_a_lease_whoever_is_asked(servers, database):
    here, there = (server.known for server in servers)
    acquire = "/v1/leases/acquire"
    ask = {"key": "shared", "internet": False}
    made = there.post(acquire, ask)
    assert made["created"] and made["node"] == node_of(servers[1])
    box = made["sandbox_id"]
    assert here.post("/v1/leases/shared/exec", {"command": "echo kept > note; cat note"})["stdout"] == "kept\n"
    # Made new by its own server, which answers when it is so: there are never two.
    again = here.post(acquire, {**ask, "continue": False})
    assert again["sandbox_id"] == box and again["reset"]
    assert here.exec(box, "ls note")["exit_code"] != 0
    other = here.post(acquire, {**ask, "continue": False, "env": {"A": "b"}})
    assert other["created"] and other["node"] == made["node"] and other["sandbox_id"] != box
    assert database.rows(f"SELECT actual FROM sandboxes WHERE id = '{box}'") == ["deleted"]
    box = other["sandbox_id"]
    # Asleep and stopped, it is woken by whoever wants it.
    assert here.post("/v1/leases/shared/pause")["paused"]
    assert not here.post(acquire, ask)["paused"]
    here.post(f"{PATH}/{box}/stop")
    assert here.post(acquire, ask)["sandbox_id"] == box
    assert here.post("/v1/leases/shared/keepalive", {"timeoutMs": 60000})["keep_until"]
    assert here.post("/v1/leases/shared/release")["keep_until"] is None
    here.delete("/v1/leases/shared")
    assert database.rows(f"SELECT actual FROM sandboxes WHERE id = '{box}'") == ["deleted"]


def test_all_leases_of_a_workspace_go_with_their_sandboxes(servers, database):
    here, there = (server.known for server in servers)
    made = [server.post("/v1/leases/acquire", {"key": f"workspace:7:{number}", "internet": False})
            for number, server in enumerate((here, there, there))]
    assert {lease["node"] for lease in made} == {node_of(server) for server in servers}
    kept = there.post("/v1/leases/acquire", {"key": "workspace:77", "internet": False})
    assert here.delete("/v1/leases?prefix=workspace:7:")["deleted"] == 3
    ids = ", ".join(f"'{lease['sandbox_id']}'" for lease in made)
    assert database.rows(f"SELECT DISTINCT actual FROM sandboxes WHERE id IN ({ids})") == ["deleted"]
    assert here.get("/v1/leases?prefix=workspace:7")["items"][0]["sandbox_id"] == kept["sandbox_id"]
    assert here.delete("/v1/leases?prefix=workspace:7:")["deleted"] == 0
    there.delete("/v1/leases/workspace:77")


def test_a_backup_in_the_others_folder(servers):
    """Its file is there: so whoever is asked, it is fetched, imported and removed there."""
    here, there = (server.known for server in servers)
    with here.sandbox(internet=False) as box:
        here.exec(box, "echo kept > note")
        made = here.post(f"{PATH}/{box}/snapshot", {"backup": True})
    backup = f"/api/sandbox/backups/{made['backups'][0]['id']}"
    found = atoll.wait_for(lambda: (row := there.get(backup))["state"] != "making" and row, what="the backup")
    here.delete(f"/api/sandbox/snapshots/{made['id']}")
    assert hashlib.sha256(there.raw("GET", f"{backup}/content").body).hexdigest() == found["sha256"]
    taken = there.post("/api/sandbox/snapshots/import", {"backup": found["id"]})["id"]
    with there.sandbox(snapshot=taken, internet=False) as box:
        assert there.exec(box, "cat note")["stdout"] == "kept\n"
    there.delete(f"/api/sandbox/snapshots/{taken}")
    file = servers[0].data / "blobs" / found["blob"]
    assert file.exists()
    there.delete(backup)
    assert not file.exists()


def test_the_other_surfaces_pass_on_as_well(servers):
    here, there = (server.known for server in servers)
    session = {"tenant_id": "acme", "session_id": "one"}
    there.post("/v1/sandbox/write", {**session, "path": "a.txt", "content": "of a session"})
    assert here.post("/v1/sandbox/bash", {**session, "command": "cat a.txt"})["stdout"] == "of a session"
    here.delete("/v1/sandbox/sessions/acme/one")
    made = there.call("POST", "/v2/sandboxes", {"templateID": "host", "timeout": 600, "allow_internet_access": False})
    box = made["sandboxID"]
    inside = {"E2b-Sandbox-Id": box, "E2b-Sandbox-Port": "49983", "X-Access-Token": made["envdAccessToken"], "Authorization": ""}
    written = here.raw("POST", "/files?path=/tmp/note&username=root", b"by envd", {**inside, "Content-Type": "application/octet-stream"})
    assert written.status == 200, written.body
    assert here.raw("GET", "/files?path=/tmp/note&username=root", headers=inside).body == b"by envd"
    assert here.raw("GET", "/files?path=/tmp/note&username=root", headers={**inside, "X-Access-Token": "x"}).status == 401
    done = here.post(f"/daytona/toolbox/{box}/process/execute", {"command": "cat /tmp/note"})
    assert done["result"] == "by envd"
    assert here.post("/v1/tools/bash", {"sandboxId": box, "input": {"command": "cat /tmp/note"}})["content"][0]["text"] == "by envd\n"
    here.post(f"/sandboxes/{box}/pause")
    here.delete(f"/sandboxes/{box}")


@contextlib.contextmanager
def stranger(database):
    """Listens with TLS, and says which port."""
    folder = pathlib.Path(database.folder, "stranger")
    subprocess.run([atoll.ATOLL, "tls", "init", "--out", folder], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")

    def answer():
        with contextlib.suppress(OSError), context.wrap_socket(listening.accept()[0], server_side=True) as peer:
            peer.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(20)
        thread = threading.Thread(target=answer)
        thread.start()
        yield listening.getsockname()[1]
        thread.join(20)


def test_a_peer_that_is_down_is_named_and_nothing_is_lost(servers, database):
    here, there = servers
    box = there.known.create(internet=False, persistent=True)["id"]
    ticket = there.known.post(f"{PATH}/{box}/terminal", {})["path"]
    victims = [there.process.pid, there.pid_of("api"), there.pid_of("broker")]
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    there.process.wait()
    there.known.close()
    with pytest.raises(atoll.ApiError) as refused:
        here.known.exec(box, "true")
    assert refused.value.status == 503 and node_of(there) in refused.value.message
    # Only for a ticket that it has given is it asked.
    made_up = ticket[:-1] + ("1" if ticket[-1] == "0" else "0")
    for path, status in ((ticket, 503), (made_up, 401), (ticket.rsplit(".", 3)[0], 401)):
        asked = Socket(here, path)
        assert asked.status == status
        asked.close()
    # Somebody else in its place, with a certificate of another authority.
    with stranger(database) as port:
        database.rows(f"UPDATE peers SET url = 'https://localhost:{port}' WHERE node = '{node_of(there)}'")
        with pytest.raises(atoll.ApiError) as refused:
            here.known.exec(box, "true")
        assert refused.value.status == 503 and "certificate" in refused.value.message
    # Or another server of ours: it says that it is not meant.
    database.rows(f"UPDATE peers SET url = 'http://127.0.0.1:{here.port}' WHERE node = '{node_of(there)}'")
    with pytest.raises(atoll.ApiError) as refused:
        here.known.exec(box, "true")
    assert refused.value.status == 421 and "is not the one" in refused.value.message
    # One that has said nothing for long is not waited for.
    database.rows(f"UPDATE peers SET seen_at = seen_at - 600000 WHERE node = '{node_of(there)}'")
    with pytest.raises(atoll.ApiError) as refused:
        here.known.exec(box, "true")
    assert refused.value.status == 503 and "not been heard of" in refused.value.message
    # Without an address it is as it was before there were any.
    database.rows(f"DELETE FROM peers WHERE node = '{node_of(there)}'")
    with pytest.raises(atoll.ApiError) as refused:
        here.known.exec(box, "true")
    assert refused.value.status == 409 and node_of(there) in refused.value.message
    there.start()
    assert here.known.exec(box, "echo back")["stdout"] == "back\n"
    here.known.remove(box)


@pytest.mark.parametrize("flags, said", [
    (["--peer-url", "10.0.0.2:7777"], "no address of a server"),
    (["--peer-url", "http://user@10.0.0.2"], "no address of a server"),
    (["--peer-url", "http://10.0.0.2/path"], "no address of a server"),
    (["--peer-url", "http://0.0.0.0:7777"], "no address of a server"),
    (["--peer-ca", "/missing/ca.pem"], "peer_ca"),
])
def test_a_wrong_address_ends_the_start(flags, said):
    server = atoll.Server(flags=flags, provider="null")
    server.start(wait=False)
    assert server.process.wait(20) != 0
    assert said in server.log_text()
    server.process = None
    server.remove_all()
