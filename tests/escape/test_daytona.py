# SPDX-License-Identifier: Apache-2.0
"""Daytona's toolbox from the inside: what a sandbox plants or forges stays its own, and leads to nobody else's."""

import base64
import contextlib
import hashlib
import hmac
import json
import pathlib
import re
import secrets
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
SECRET = "only the host may read this\n"


@pytest.fixture(scope="module")
def trap():
    marker = pathlib.Path("/var/tmp") / ("atoll-trap-" + secrets.token_hex(8))
    marker.write_text(SECRET)
    yield marker
    marker.unlink()


@pytest.fixture(scope="module")
def boxes(server):
    with contextlib.closing(server.api()) as api, api.sandbox(internet=False) as one, api.sandbox(internet=False) as other:
        yield one, other


def toolbox(box, path):
    return f"/daytona/toolbox/{box}{path}"


def download(api, box, path):
    return api.raw("POST", toolbox(box, "/files/bulk-download"), json.dumps({"paths": [path]}), {"Content-Type": "application/json"})


def upload(api, box, path, content):
    line = "--b\r\nContent-Disposition: form-data; name="
    body = f'{line}"files[0].path"\r\n\r\n{path}\r\n{line}"files[0].file"; filename="x"\r\n\r\n{content}\r\n--b--\r\n'
    return api.raw("POST", toolbox(box, "/files/bulk-upload"), body, {"Content-Type": "multipart/form-data; boundary=b"})


def test_paths_of_bulk_calls_stay_inside(api, boxes, trap):
    api.exec(boxes[0], f"mkdir -p /tmp/l && cd /tmp/l && ln -s {trap} plain; ln -s /proc/1/root{trap} first; ln -s ../../../../../..{trap} up; "
             f"ln -s /var/tmp folder; ln -s / root; ln -s /proc/self/root{trap} magic")
    names = [f"/tmp/l/{name}" for name in ("plain", "first", "up", "magic", f"folder/{trap.name}", f"root{trap}")]
    names += [str(trap), f"/proc/1/root{trap}", f"../../../../..{trap}", f"/tmp/l/../../../..{trap}"]
    api.exec(boxes[0], "echo own > /tmp/own")
    assert "own" in download(api, boxes[0], "/tmp/own").body.decode()
    for name in names:
        assert SECRET.strip() not in download(api, boxes[0], name).body.decode(), name
        upload(api, boxes[0], name, "written from inside")
        api.raw("DELETE", toolbox(boxes[0], f"/files?path={name}"))
        api.raw("POST", toolbox(boxes[0], f"/files/permissions?path={name}&mode=777"))
        api.raw("POST", toolbox(boxes[0], f"/files/move?source={name}&destination=/tmp/moved"))
        assert trap.read_text() == SECRET and trap.stat().st_mode & 0o777 != 0o777, name


def test_a_file_name_writes_no_head(api, boxes):
    """The parts of an answer are told apart by lines, and names may hold what ends one."""
    for evil in ('/tmp/a"; filename="b\r\nX-Evil: 1\r\n\r\nbody', "/tmp/a\nX-Evil: 1", "/tmp/\0X-Evil"):
        assert download(api, boxes[0], evil).status == 400
    told = download(api, boxes[0], '/tmp/a"; name="file').body.decode()
    assert re.findall(r'^Content-Disposition: form-data; name="(\w+)"', told, re.M) == ["error"] and '"; name="file' not in told


def test_forged_marks_tell_only_of_their_own_session(api, boxes):
    """It may lie about itself: not about others, not without bounds, and the server goes on."""
    session = toolbox(boxes[0], "/process/session")
    for name in ("liar", "honest"):
        api.post(session, {"sessionId": name})
    honest = api.post(f"{session}/honest/exec", {"command": "echo truth; sleep 1000", "runAsync": True})["cmdId"]
    forged = "a" * 20
    lies = [f"\\036atoll:B:{forged}:6c6965\\n", f"\\036atoll:E:{honest}:0\\n", f"\\036atoll:B:{honest}:00ff\\n", "\\036atoll:D::/etc\\n",
            f"\\036atoll:E:{forged}:7\\n", "\\036atoll:B:../../etc/passwd:00\\n", f"\\036atoll:E:{forged}:99999999999999999999\\n"]
    done = api.post(f"{session}/liar/exec", {"command": f"printf '{''.join(lies)}'"})
    assert done["exitCode"] == 0
    told = {command["id"]: command for command in api.get(f"{session}/liar")["commands"]}
    assert told[done["cmdId"]]["exitCode"] == 0 and told[forged]["exitCode"] == 7
    [command] = api.get(f"{session}/honest")["commands"]
    assert command["id"] == honest and "exitCode" not in command
    atoll.wait_for(lambda: api.get(f"{session}/honest/command/{honest}/logs")["stdout"] == "truth\n", 30, "what the honest one said")
    # Its pipes are said to be in /etc: what is written there is written inside, as its user.
    status = api.raw("POST", f"{session}/liar/command/{done['cmdId']}/input", '{"data":"x"}', {"Content-Type": "application/json"}).status
    assert status == 410
    flood = """python3 -c 'import itertools
for letters in itertools.islice(itertools.product("abcdefgh", repeat=6), 70000):
    print(chr(30) + "atoll:B:" + 14 * "b" + "".join(letters) + ":6c")'"""
    assert api.post(f"{session}/liar/exec", {"command": flood})["exitCode"] == 0
    assert api.get(f"{session}/honest")["commands"][0]["id"] == honest
    for name in ("liar", "honest"):
        api.delete(f"{session}/{name}")


def test_names_of_sessions_lead_nowhere(api, boxes):
    session = toolbox(boxes[0], "/process/session")
    for name in ("../../etc", "a/b", "", "x" * 101, "a\nb", "\u001b[2J", "entrypoint"):
        answer = api.raw("POST", session, json.dumps({"sessionId": name}), {"Content-Type": "application/json"})
        assert answer.status in (400, 409), name
    # A process that only calls itself a session is none.
    api.exec(boxes[0], "exec -a console:fake sleep 1000 &", background=True)
    assert "fake" not in [one["sessionId"] for one in api.get(session)]


def test_what_is_one_sandboxs_opens_no_other(api, server, boxes):
    one, other = boxes
    api.post(toolbox(one, "/process/session"), {"sessionId": "mine"})
    ran = api.post(toolbox(one, "/process/session/mine/exec"), {"command": "echo mine"})["cmdId"]
    api.post(toolbox(other, "/process/session"), {"sessionId": "mine"})
    assert api.raw("GET", toolbox(other, f"/process/session/mine/command/{ran}/logs")).status == 404
    # A signed address is for one sandbox, one path, one method.
    key = json.loads(api.raw("GET", f"/daytona/api/sandbox/{one}/signing-key").body)
    assert isinstance(key, str) and key != json.loads(api.raw("GET", f"/daytona/api/sandbox/{other}/signing-key").body)
    api.write(other, "/home/user/private", b"the other one's words")
    with contextlib.closing(server.api(key="none")) as stranger:
        expires = int(time.time()) + 60
        signed = f"v1:files:GET:/home/user/private:{expires}".encode()
        signature = "v1_" + base64.urlsafe_b64encode(hmac.new(key.encode(), signed, hashlib.sha256).digest()).decode().rstrip("=")
        query = f"/files/download?path=/home/user/private&expires={expires}&signature={signature}"
        for box in (one, other):
            answer = stranger.raw("GET", toolbox(box, query), headers={"Authorization": ""})
            assert answer.status == (404 if box == one else 401) and b"words" not in answer.body
        with api.sandbox(internet=True) as seen, api.sandbox(internet=True) as hidden:
            preview = api.get(f"/daytona/api/sandbox/{seen}/ports/3000/signed-preview-url?expiresInSeconds=60")
            path = preview["url"].split(str(server.port), 1)[1]
            # Nothing listens there: what comes is about that, and of the other's about who may look.
            assert stranger.raw("GET", path, headers={"Authorization": ""}).status >= 502
            token = preview["url"].rstrip("/").rsplit("/", 1)[1]
            said = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
            assert seen.encode() in said
            forged = base64.urlsafe_b64encode(said.replace(seen.encode(), hidden.encode())).decode().rstrip("=")
            assert stranger.raw("GET", path.replace(token, forged), headers={"Authorization": ""}).status in (401, 403, 404)
    for box in boxes:
        api.delete(toolbox(box, "/process/session/mine"))


def test_a_language_server_that_lies_is_bounded(api, boxes):
    """It is the sandbox's own program: what it says is looked at, and does nobody else any harm."""
    lies = ("print('Content-Length: 99999999999\\r\\n\\r\\n{', end='')", "print('Content-Length: 2\\r\\n\\r\\n{}' * 1000)", "pass",
            "print('x' * 1000)", "print('Content-Length: 4194304\\r\\n\\r\\n{' + ' ' * 5000000)")
    with api.sandbox(internet=False, env={"PATH": "/home/user/bin:/usr/bin:/bin"}) as box:
        for lie in lies:
            api.write(box, "/home/user/bin/pylsp", f"#!/usr/bin/python3\n{lie}\n".encode(), mode="0755")
            answer = api.raw("POST", toolbox(box, "/lsp/start"), '{"languageId":"python","pathToProject":"."}', {"Content-Type": "application/json"})
            assert 400 <= answer.status < 600 and "language server" in answer.json()["message"], (lie, answer.body)
    assert api.post(toolbox(boxes[0], "/process/execute"), {"command": "echo here"})["result"] == "here\n"
