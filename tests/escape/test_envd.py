# SPDX-License-Identifier: Apache-2.0
"""E2B's file calls are root's work: whatever a sandbox plants, they stay inside, and one sandbox's token opens nothing else."""

import contextlib
import http.client
import json
import os
import pathlib
import secrets
import urllib.parse

import pytest

pytestmark = pytest.mark.needs_root
MADE = {"templateID": "host", "timeout": 600, "allow_internet_access": False}


@pytest.fixture(scope="module")
def trap():
    marker = pathlib.Path("/var/tmp") / ("atoll-trap-" + secrets.token_hex(8))
    marker.write_text("only the host may read this\n")
    yield marker
    marker.unlink()


@pytest.fixture(scope="module")
def boxes(server):
    with contextlib.closing(server.api()) as api:
        made = [api.call("POST", "/v2/sandboxes", MADE) for _ in range(2)]
        yield made
        for one in made:
            api.raw("DELETE", f"/sandboxes/{one['sandboxID']}")


@pytest.fixture(scope="module")
def links(server, boxes, trap):
    """Names inside that lead, or seem to lead, to the host's file."""
    with contextlib.closing(server.api()) as api:
        done = api.exec(boxes[0]["sandboxID"], f"mkdir -p /tmp/l && cd /tmp/l && ln -s {trap} plain; ln -s /proc/1/root{trap} first; "
                        f"ln -s ../../../../../../..{trap} up; ln -s /proc/self/root{trap} magic; ln -s /proc/self/cwd{trap} cwd; "
                        "ln -s /var/tmp folder; ln -s / root; ln -s loop loop; for fd in 0 1 2 3 4 5 6 7 8 9; do ln -s /proc/self/fd/$fd fd$fd; done")
        assert done["exit_code"] == 0, done["stderr"]
    names = ["plain", "first", "up", "magic", "cwd", "loop"] + [f"fd{fd}" for fd in range(10)]
    return [f"/tmp/l/{name}" for name in names] + [f"/tmp/l/folder/{trap.name}", f"/tmp/l/root{trap}", str(trap), f"/proc/1/root{trap}",
                                                   f"/proc/self/root{trap}", f"/proc/1/cwd{trap}", f"/../..{trap}"]


def call(server, made, method, path, body=None, kind="application/json", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request(method, path, body, {"E2b-Sandbox-Id": made["sandboxID"], "E2b-Sandbox-Port": "49983",
                                            "X-Access-Token": made["envdAccessToken"], "Content-Type": kind, **headers})
    answer = connection.getresponse()
    with contextlib.closing(connection):
        return answer.status, answer.read()


def check(trap):
    assert trap.read_text() == "only the host may read this\n"
    assert os.listxattr(trap) == [] and trap.stat().st_uid == 0 and trap.stat().st_mode & 0o777 in (0o644, 0o600, 0o640)


def test_no_read_leads_out(server, boxes, links, trap):
    for path in links:
        status, body = call(server, boxes[0], "GET", "/files?" + urllib.parse.urlencode({"path": path, "username": "root"}))
        assert b"only the host" not in body, path
        for name in ("Stat", "ListDir"):
            status, body = call(server, boxes[0], "POST", f"/filesystem.Filesystem/{name}", json.dumps({"path": path, "depth": 3}))
            assert status in (200, 400, 403, 404), (path, status, body)
    status, body = call(server, boxes[0], "POST", "/filesystem.Filesystem/ListDir", json.dumps({"path": "/tmp/l/folder", "depth": 1}))
    assert trap.name not in body.decode()
    check(trap)


def test_no_write_leads_out(server, boxes, links, trap):
    put = {"X-Metadata-Trap": "x"}
    for path in links:
        call(server, boxes[0], "POST", "/files?" + urllib.parse.urlencode({"path": path, "username": "root"}), b"overwritten", "application/octet-stream", **put)
        check(trap)
        call(server, boxes[0], "POST", "/files/compose", json.dumps({"source_paths": ["/etc/hostname"], "destination": path, "username": "root"}))
        call(server, boxes[0], "POST", "/files/compose", json.dumps({"source_paths": [path], "destination": "/tmp/taken", "username": "root"}))
        status, body = call(server, boxes[0], "GET", "/files?path=/tmp/taken")
        assert b"only the host" not in body, path
        call(server, boxes[0], "POST", "/filesystem.Filesystem/Move", json.dumps({"source": path, "destination": "/tmp/moved"}))
        call(server, boxes[0], "POST", "/filesystem.Filesystem/MakeDir", json.dumps({"path": path + "/below"}))
        call(server, boxes[0], "POST", "/filesystem.Filesystem/Remove", json.dumps({"path": path}))
        check(trap)
    assert [entry for entry in os.listdir("/var/tmp") if entry.startswith(trap.name) and entry != trap.name] == []


def test_a_token_opens_its_sandbox_alone(server, boxes):
    stolen = {**boxes[1], "envdAccessToken": boxes[0]["envdAccessToken"]}
    for method, path in (("GET", "/files?path=/etc/hostname"), ("GET", "/envs"), ("POST", "/process.Process/List"),
                         ("POST", "/filesystem.Filesystem/Stat"), ("GET", "/metrics")):
        assert call(server, stolen, method, path, "{}")[0] == 401, path
    # Nor anything of the API.
    for path in ("/v2/sandboxes", f"/sandboxes/{boxes[0]['sandboxID']}", "/api/sandbox/instances"):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("GET", path, headers={"X-API-KEY": boxes[0]["envdAccessToken"], "X-Access-Token": boxes[0]["envdAccessToken"]})
        assert connection.getresponse().status == 401
        connection.close()


def test_what_a_file_says_of_itself_breaks_no_answer(server, boxes):
    """Attributes and names that are no texts, owners without names, and a passwd that lies."""
    plant = r"""
import os
os.makedirs('/tmp/odd', exist_ok=True)
for i, name in enumerate([b'\xff\xfe', b'new\nline', b'"quoted"', b'x' * 255]):
    path = b'/tmp/odd/' + name
    open(path, 'wb').close()
    os.setxattr(path, 'user.e2b.k"', b'\xff\x00\n"' if i else b'v"')
    os.chown(path, 12345 + i, 54321)
open('/etc/passwd', 'a').write('\nbad"\n:x:12345:1:::\nname"with\x01:x:12346:1:::\n')
"""
    with contextlib.closing(server.api()) as api:
        api.write(boxes[0]["sandboxID"], "/tmp/plant.py", plant.encode())
        done = api.exec(boxes[0]["sandboxID"], "python3 /tmp/plant.py", user="root")
        if done["exit_code"] == 127:
            pytest.skip("the host's /usr has no python3")
    status, body = call(server, boxes[0], "POST", "/filesystem.Filesystem/ListDir", json.dumps({"path": "/tmp/odd", "depth": 1}))
    assert status == 200, body
    entries = json.loads(body)["entries"]
    assert len(entries) == 4 and all(entry["owner"] and "\x00" not in json.dumps(entry) for entry in entries)
    assert any(entry.get("metadata") == {'k"': 'v"'} for entry in entries)
