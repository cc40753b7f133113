# SPDX-License-Identifier: Apache-2.0
"""What a sandbox shows to people and programs outside: previews, screens, recordings, logs, staged skills, artifacts."""

import contextlib
import http.client
import json
import os
import pathlib
import time
import urllib.parse

import pytest

import atoll

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="the host's /usr has no python3")]
PATH = "/api/sandbox/instances"

# A server without manners: what has no end by path, else the bytes of the query as they are.
SERVER = rb'''
import socket, threading, urllib.parse
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
LINE = b"X-A: " + b"a" * 1000 + b"\r\n"
ENDLESS = {
    "/fields": (HEAD, LINE), "/field": (HEAD + b"X-A: ", b"a" * 4096), "/status": (b"HTTP/1.1 200 ", b"a" * 4096),
    "/chunk-size": (CHUNKED, b"0" * 4096), "/extension": (CHUNKED + b"1;a=", b"a" * 4096),
    "/trailers": (CHUNKED + b"2\r\nok\r\n0\r\n", LINE), "/trailer": (CHUNKED + b"2\r\nok\r\n0\r\nX-A: ", b"a" * 4096),
    "/interim": (b"", b"HTTP/1.1 102 Processing\r\nX-A: b\r\n\r\n"), "/blank": (b"", b"\r\n" * 100),
}
def serve(sock):
    data = b""
    while b"\r\n\r\n" not in data:
        data += sock.recv(65536) or b"\r\n\r\n"
    path, _, query = data.split(b" ")[1].decode().partition("?")
    first, more = ENDLESS.get(path, (urllib.parse.unquote_to_bytes(query), b""))
    try:
        sock.sendall(first)
        while more:
            sock.sendall(more)
    except OSError:
        pass
    sock.close()
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", 8000))
listener.listen(64)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
'''
WAIT = "for i in $(seq 600); do grep -q ':1F40 .* 0A' /proc/net/tcp && exit; sleep 0.05; done; exit 1"


@pytest.fixture(scope="module")
def rude(server):
    """A sandbox in which the server runs."""
    api = server.api()
    with api.sandbox(internet=True) as box:
        api.write(box, "/tmp/server.py", SERVER)
        assert api.exec(box, f"setsid python3 /tmp/server.py >/tmp/log 2>&1 </dev/null & {WAIT}")["exit_code"] == 0
        yield box
    api.close()


def says(api, box, *lines, status="200 OK"):
    """The answer that comes out when the server inside sends these lines."""
    raw = "\r\n".join([f"HTTP/1.1 {status}", *lines, "Content-Length: 0", "", ""])
    return api.raw("GET", f"{PATH}/{box}/preview/8000/?" + urllib.parse.quote(raw, safe=""))


@pytest.mark.parametrize("path", ["fields", "field", "status", "chunk-size", "extension", "trailers", "trailer", "interim", "blank"])
def test_what_has_no_end_is_cut_and_costs_nothing(api, server, rude, path):
    memory = pathlib.Path(f"/proc/{server.pid_of('api')}/status")

    def used_kib():
        return int(memory.read_text().split("VmRSS:")[1].split()[0])
    before, start = used_kib(), time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", f"{PATH}/{rude}/preview/8000/{path}", headers={"Authorization": f"Bearer {api.key}"})
        with contextlib.suppress(ConnectionError, http.client.HTTPException):
            response = connection.getresponse()
            response.read()
            assert response.status == 502
    assert time.monotonic() - start < 40 and used_kib() - before < 8 << 10
    assert says(api, rude).status == 200


@pytest.mark.parametrize("cookie", [
    "a=1; Path=/", "a=1; Path = /", "a=1;\tpath\t=\t/", "a=1; Path=/; Path=/", "a=1; PATH=/;Domain=127.0.0.1",
    "a=1; Domain = localhost; Path=/api", "a=1; Path=/x; domain", "a=1; Path=/../../../..", "a=1"])
def test_a_cookie_is_of_its_preview_alone(api, rude, cookie):
    [given] = says(api, rude, f"Set-Cookie: {cookie}").headers.get_all("Set-Cookie")
    for attribute in given.split(";")[1:]:
        name, _, value = (word.strip() for word in attribute.partition("="))
        assert name.lower() != "domain", given
        assert name.lower() != "path" or value.startswith(f"{PATH}/{rude}/preview/8000/"), given


@pytest.mark.parametrize("cookie", ["atoll_preview=x; Path=/", "atoll_preview", "=atoll_preview=x", " \t=\t= atoll_session=x"])
def test_no_cookie_looks_like_one_of_ours(api, rude, cookie):
    assert says(api, rude, f"Set-Cookie: {cookie}").headers.get_all("Set-Cookie") is None


def test_nothing_speaks_for_the_whole_origin(api, rude):
    answer = says(api, rude, "Clear-Site-Data: \"*\"", "Service-Worker-Allowed: /", "Strict-Transport-Security: max-age=1",
                  "Alt-Svc: h3=\":443\"", "WWW-Authenticate: Basic realm=\"your password\"", "Report-To: {}",
                  "Access-Control-Allow-Credentials: true", "Content-Security-Policy: sandbox allow-same-origin",
                  status="401 Unauthorized")
    assert answer.status == 401
    for name in ("Clear-Site-Data", "Service-Worker-Allowed", "Strict-Transport-Security", "Alt-Svc", "WWW-Authenticate",
                 "Report-To", "Access-Control-Allow-Credentials"):
        assert answer.headers.get(name) is None, name
    # Several policies hold at once: none takes ours away.
    ours = answer.headers.get_all("Content-Security-Policy")[-1]
    assert ours.startswith("sandbox") and "allow-same-origin" not in ours


@pytest.mark.parametrize("place, led_to", [
    ("/x", "OWN/x"), ("http://localhost:8000/x", "OWN/x"), ("//LOCALHOST:8000", "OWN/"),
    # These are other hosts, and stay so: none of them is taken for a path of ours.
    ("//evil/x", None), ("/\\evil", None), ("http://localhost:8000@evil/", None), ("http://localhost:8000.evil/", None)])
def test_an_address_leads_to_the_preview_or_away(api, rude, place, led_to):
    own = f"{PATH}/{rude}/preview/8000"
    answer = says(api, rude, f"Location: {place}", status="302 Found")
    assert answer.headers["Location"] == (led_to.replace("OWN", own) if led_to else place)


def test_a_base_of_the_pages_own_is_below_the_preview_too(api, rude):
    page = "<base href=/x/><base href='/y'><p><img src=/z>"
    raw = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\n\r\n{page}"
    got = api.raw("GET", f"{PATH}/{rude}/preview/8000/?" + urllib.parse.quote(raw, safe="")).body.decode()
    own = f"{PATH}/{rude}/preview/8000"
    assert f"<base href={own}/x/>" in got and f"<base href='{own}/y'>" in got and f"<img src={own}/z>" in got


# ---- folders that lead elsewhere ----


def test_a_skill_is_not_staged_through_a_link(api, server):
    name = f"skill-{os.getpid()}"
    api.call("PUT", f"/v1/skills/{name}", {"files": [{"path": "SKILL.md", "content": "eA=="},
                                                      {"path": "sub/run.sh", "content": "eA=="}]})
    for plant in ("ln -s /etc .claude", "mkdir .claude && ln -s /etc .claude/skills",
                  f"mkdir -p .claude/skills && ln -s /etc .claude/skills/{name}",
                  f"mkdir -p .claude/skills/{name} && ln -s /etc .claude/skills/{name}/sub"):
        with api.sandbox(internet=False) as box:
            assert api.exec(box, plant)["exit_code"] == 0
            with pytest.raises(atoll.ApiError) as refused:
                api.post("/v1/tools/load_skill", {"sandboxId": box, "input": {"name": name}})
            assert refused.value.status in (403, 404, 409), (plant, refused.value)
            seen = api.exec(box, "ls /etc/run.sh /etc/SKILL.md /etc/skills", user="root")["stdout"]
            assert seen == "", plant
    # A link in the place of a file is replaced, and what it leads to stays as it is.
    with api.sandbox(internet=False) as box:
        api.exec(box, f"echo mine > ../target && mkdir -p .claude/skills/{name} && ln -s ../../../../target .claude/skills/{name}/SKILL.md")
        with contextlib.suppress(atoll.ApiError):
            api.post("/v1/tools/load_skill", {"sandboxId": box, "input": {"name": name}})
        assert api.exec(box, "cat ../target")["stdout"] == "mine\n"
    api.delete(f"/v1/skills/{name}")


@pytest.fixture
def trap(tmp_path):
    """A file of the host that everybody on it may read."""
    secret = tmp_path / "secret"
    secret.write_text("the host's own")
    for folder in (tmp_path, *tmp_path.parents):
        if str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    return secret


def test_an_artifact_is_of_the_sandbox_wherever_its_path_leads(api, box, trap):
    api.exec(box, f"ln -sf {trap} leads-out; ln -sfn /proc/1/root up; mkfifo -m 666 pipe; mkdir -p folder")
    for path in ("leads-out", f"up{trap}", "pipe", "folder", "/proc/1/mem", "/dev/zero", f"../../../../../..{trap}"):
        with pytest.raises(atoll.ApiError) as refused:
            api.post(f"{PATH}/{box}/artifacts", {"path": path})
        assert refused.value.status < 500, (path, refused.value)
    # One that is swapped while it is read is refused or whole, and never the host's.
    api.exec(box, "i=0; while [ $i -lt 400 ]; do echo mine > swap; ln -sf " + str(trap) + " swap2; mv -f swap2 swap; rm -f swap; i=$((i+1)); done",
             background=True)
    for _ in range(20):
        with contextlib.suppress(atoll.ApiError):
            made = api.post(f"{PATH}/{box}/artifacts", {"path": "swap"})
            assert api.raw("GET", f"/api/sandbox/artifacts/{made['id']}/content").body in (b"mine\n", b"")
            api.delete(f"/api/sandbox/artifacts/{made['id']}")


# ---- text that is meant for somebody's terminal ----

# Asks the terminal, writes its clipboard and title, turns its mouse on, prints.
ATTACK = r"printf 'before\033[6n\033[c\033]52;c;ZXZpbA==\007\033]0;title\033\\\033[21t\033P$qm\033\\\033[?1000h\033[5i\302\2336n\033[31mafter\033[0m\n'"
HARMLESS = {b"\x1b[31m", b"\x1b[0m"}


def sequences(data):
    """Each ESC and what follows up to the letter that ends it."""
    found = set()
    for piece in data.split(b"\x1b")[1:]:
        end = next((i for i, byte in enumerate(piece) if i and chr(byte).isalpha()), len(piece))
        found.add(b"\x1b" + piece[:end + 1])
    return found


def test_a_recording_only_draws(api, server):
    with api.sandbox(internet=False) as box:
        api.post(f"{PATH}/{box}/terminal", {"name": "film", "record": True, "command": f"{ATTACK}; sleep 0.2"})
        recording, = atoll.wait_for(lambda: [r for r in api.get("/api/sandbox/recordings")["items"]
                                             if r["sandbox_id"] == box and r["size_bytes"] > 100], 30, "the recording")
    played = server.cli("replay", "--speed", "100", recording["id"]).stdout
    assert b"before" in played and b"after" in played and b"\xc2\x9b" not in played
    assert sequences(played) <= HARMLESS, sequences(played)
    api.delete(f"/api/sandbox/recordings/{recording['id']}")


def test_what_is_printed_of_a_window_is_text(api, server):
    with api.sandbox(internet=False) as box:
        for words in (("run", box, "w", "--", "sh", "-c", ATTACK), ("run", box, "w", ATTACK), ("screen", box, "w"),
                      ("ls", box), ("keys", box, "w", "Enter")):
            done = server.cli("terminal", *words)
            assert b"\x1b" not in done.stdout + done.stderr and b"\xc2\x9b" not in done.stdout, (words, done.stdout)


def test_tables_hold_no_escapes(api, server):
    with api.sandbox(internet=False) as box:
        job = api.exec(box, ATTACK.replace("printf", "echo") + "; exit 3", background=True)["resultId"]
        atoll.wait_for(lambda: api.get(f"/v1/jobs/{job}")["status"] != "running", 30, "its end")
        api.exec(box, cmd="bash", args=["-c", "exec -a $'\\033[2J\\033]52;c;eA==\\a' sleep 30"], background=True)
        for words in (("job", "ls"), ("job", "status", job), ("ps", box), ("events", "--limit", "50")):
            done = server.cli(*words)
            assert b"\x1b" not in done.stdout + done.stderr, (words, done.stdout)
