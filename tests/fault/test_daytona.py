# SPDX-License-Identifier: Apache-2.0
"""kill -9 of atolld while one of Daytona's clients is at it: nothing is left over, and what runs inside goes on."""

import socket
import urllib.parse

import pytest

import atoll

pytestmark = pytest.mark.needs_root
BOUNDARY = "x-boundary"


def part(name, more=""):
    return f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'.encode()


def begin_upload(server, box, files):
    """A bulk upload whose last file does not end; the open connection."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    connection.sendall((f"POST /daytona/toolbox/{box}/files/bulk-upload HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.key}\r\n"
                        f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: 100000000\r\n\r\n").encode())
    for i, (path, content) in enumerate(files):
        connection.sendall(part(f"files[{i}].path") + path.encode() + b"\r\n" + part(f"files[{i}].file", '; filename="f"') + content)
        if i + 1 < len(files):
            connection.sendall(b"\r\n")
    return connection


def test_an_upload_and_a_command_outlive_atolld(private_server):
    server = private_server
    server.start()
    api = server.api()
    box = api.create(persistent=True)["id"]
    session = f"/daytona/toolbox/{box}/process/session"
    api.exec(box, "echo before > half")
    api.post(session, {"sessionId": "work"})
    first = api.post(f"{session}/work/exec", {"command": "cd /tmp; A=kept; echo begun; read -r line; echo got $line", "runAsync": True})["cmdId"]
    second = api.post(f"{session}/work/exec", {"command": "echo second", "runAsync": True})["cmdId"]
    waits = api.post("/daytona/api/sandbox", {"networkBlockAll": True, "buildInfo": {"dockerfileContent": "FROM host\nRUN sleep 2\n"}})["id"]
    preview = urllib.parse.urlsplit(api.get(f"/daytona/api/sandbox/{box}/ports/3000/signed-preview-url")["url"]).path
    assert api.raw("GET", preview).status == 502, "nobody listens at the port"
    upload = begin_upload(server, box, [("/home/user/project/whole", b"whole"), ("/home/user/project/half", b"h" * 300000)])
    # The second file has begun when the first is there.
    atoll.wait_for(lambda: api.exec(box, "cat whole 2>/dev/null; true")["stdout"] == "whole", 15, "the first file is there")
    server.kill9("api")
    upload.close()
    server.wait_ready()
    api = server.api()
    [known] = api.get(f"{session}/work")["commands"]
    assert known["id"] == first and "exitCode" not in known
    assert api.raw("GET", preview).status == 502, "its token outlives the process"
    # Nobody but the process that has ended knew what waits.
    assert api.raw("GET", f"{session}/work/command/{second}").status == 404
    assert api.raw("GET", f"/daytona/api/sandbox/{waits}").status == 404
    assert api.raw("POST", f"{session}/work/command/{first}/input", '{"data":"a line\\n"}', {"Content-Type": "application/json"}).status == 204
    atoll.wait_for(lambda: api.get(f"{session}/work/command/{first}").get("exitCode") == 0, 15, "the command goes on")
    assert api.get(f"{session}/work/command/{first}/logs")["stdout"] == "begun\ngot a line\n"
    atoll.wait_for(lambda: api.raw("GET", f"{session}/work/command/{second}").json().get("exitCode") == 0, 15, "the second one's turn")
    assert api.post(f"{session}/work/exec", {"command": "echo $A; pwd"})["stdout"] == "kept\n/tmp\n"
    # What was cut short replaces nothing, and leaves nothing.
    left = api.exec(box, "cat half; ls -A")["stdout"].split()
    assert left[0] == "before" and sorted(left[1:]) == ["half", "whole"], left
    api.remove(box)
    atoll.Host(server.data).wait_clean()
