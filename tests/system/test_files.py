# SPDX-License-Identifier: Apache-2.0
"""Files over the API: content, folders, trees as tar, multipart, watching, sizes, bad paths."""

import contextlib
import http.client
import io
import json
import pathlib
import socket
import tarfile
import threading
import urllib.parse

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


def files(box, operation="", **query):
    text = urllib.parse.urlencode(query)
    return f"{PATH}/{box}/files{'/' + operation if operation else ''}?{text}"


def test_content_goes_up_and_down(api, box):
    data = bytes(range(256)) * 5000
    api.write(box, "/home/user/a/b/c.bin", data)
    assert api.read(box, "/home/user/a/b/c.bin") == data
    assert api.exec(box, "stat -c '%s %U' /home/user/a/b/c.bin")["stdout"] == f"{len(data)} user\n"


def test_paths_are_relative_to_the_project(api, box):
    api.write(box, "notes.txt", b"here")
    assert api.exec(box, "cat /home/user/project/notes.txt")["stdout"] == "here"


def test_empty_files_and_odd_names(api, box):
    for name in ("empty", "mit leer zeichen", "ünïcödé-文件", "new\nline", "-dash", "quote'\"\\"):
        api.write(box, f"odd/{name}", b"")
        assert api.read(box, f"odd/{name}") == b""
    names = {row["name"] for row in api.get(files(box, path="odd"))["items"]}
    assert {"mit leer zeichen", "ünïcödé-文件", "new\nline"} <= names


def test_a_write_replaces_whole_or_not_at_all(api, box):
    api.write(box, "replaced", b"old")
    api.write(box, "replaced", b"new and longer")
    assert api.read(box, "replaced") == b"new and longer"
    assert api.exec(box, "ls -A /home/user/project | grep -c '^\\..*replaced' || true")["stdout"].strip() == "0"


def test_list_stat_mkdir_rename_copy_remove(api, box):
    api.post(files(box, "mkdir"), {"path": "tree/deep", "parents": True})
    api.write(box, "tree/one", b"1")
    listed = api.get(files(box, path="tree"))["items"]
    assert {(row["name"], row["type"]) for row in listed} == {("deep", "folder"), ("one", "file")} or \
        {(row["name"], row["type"]) for row in listed} == {("deep", "directory"), ("one", "file")}
    stat = api.get(files(box, "stat", path="tree/one"))
    assert stat["size"] == 1 and stat["type"] == "file" and stat["mode"]
    api.post(files(box, "rename"), {"path": "tree/one", "target": "tree/two"})
    api.post(files(box, "copy"), {"path": "tree/two", "target": "tree/three"})
    assert api.read(box, "tree/three") == b"1"
    api.delete(files(box, path="tree/two"))
    with pytest.raises(atoll.ApiError) as failure:
        api.read(box, "tree/two")
    assert failure.value.status == 404
    with pytest.raises(atoll.ApiError) as failure:
        api.delete(files(box, path="tree"))
    assert failure.value.status in (400, 409)
    api.delete(files(box, path="tree", recursive="true"))
    assert api.exec(box, "test -e /home/user/project/tree")["exit_code"] == 1


def test_a_removed_link_leaves_its_target(api, box):
    api.exec(box, "mkdir -p /home/user/target && echo x > /home/user/target/x && ln -sfn /home/user/target link")
    api.delete(files(box, path="link", recursive="true"))
    assert api.exec(box, "cat /home/user/target/x")["stdout"] == "x\n"


def test_trees_go_up_and_down_as_tar(api, box):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data, mode in (("src/main.py", b"print(1)", 0o644), ("bin/run", b"#!/bin/sh\n", 0o755),
                                 ("long/" + "d" * 90 + "/" + "f" * 120, b"deep", 0o600)):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
        link = tarfile.TarInfo("src/link")
        link.type, link.linkname = tarfile.SYMTYPE, "main.py"
        tar.addfile(link)
    api.call("POST", files(box, "tar", path="unpacked"), raw.getvalue(), {"Content-Type": "application/x-tar"})
    assert api.exec(box, "cat unpacked/src/link; test -x unpacked/bin/run && echo x")["stdout"] == "print(1)x\n"
    answer = api.raw("GET", files(box, "tar", path="unpacked"))
    assert answer.status == 200
    with tarfile.open(fileobj=io.BytesIO(answer.body)) as tar:
        names = {m.name.lstrip("./") for m in tar.getmembers()}
        assert any(name.endswith("f" * 120) for name in names)
        member = next(m for m in tar.getmembers() if m.name.endswith("bin/run"))
        assert member.mode & 0o111
        assert tar.extractfile(next(m for m in tar.getmembers() if m.name.endswith("main.py"))).read() == b"print(1)"


def test_multipart_upload(api, box):
    edge = "----atoll"
    body = (f"--{edge}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"first.txt\"\r\n"
            f"Content-Type: text/plain\r\n\r\nfirst\r\n--{edge}\r\n"
            f"Content-Disposition: form-data; name=\"file\"; filename=\"second.txt\"\r\n\r\nsec\r\nond\r\n--{edge}--\r\n")
    api.call("POST", files(box, "upload", path="up"), body.encode(),
             {"Content-Type": f"multipart/form-data; boundary={edge}"})
    assert api.read(box, "up/first.txt") == b"first"
    assert api.read(box, "up/second.txt") == b"sec\r\nond"


def test_watching_a_folder(server, api, box):
    api.exec(box, "mkdir -p /home/user/watched")
    own = server.api()
    response = own.open("GET", files(box, "watch", path="/home/user/watched", recursive="true"))
    assert response.status == 200
    threading.Timer(0.3, lambda: server.api().exec(box, "echo x > /home/user/watched/new; rm /home/user/watched/new")
                    ).start()
    seen = []
    while len(seen) < 2:
        line = response.readline().decode()
        assert line, "the stream ended"
        if line.startswith("data:"):
            event = json.loads(line[5:])
            if event.get("path", "").endswith("new"):
                seen.append(event["event"])
    assert "created" in seen
    response.close()
    own.close()


def test_a_large_file_streams_in_constant_memory(server, api):
    size = 600 << 20
    with api.sandbox(internet=False, resources={"memory_mb": 2048, "disk_mb": 2048}) as sandbox:
        process = pathlib.Path(f"/proc/{server.pid_of('api')}")

        def resident(name):
            return next(int(line.split()[1]) for line in (process / "status").read_text().splitlines() if line.startswith(name))

        (process / "clear_refs").write_text("5")  # the peak begins anew (proc(5))
        before = resident("VmRSS")
        own = server.api(timeout=120)

        class Zeros:
            left = size

            def read(self, count=-1):
                piece = min(self.left, 1 << 20)
                self.left -= piece
                return bytes(piece)

        own.call("PUT", files(sandbox, "content", path="/home/user/big"), Zeros(),
                 {"Content-Type": "application/octet-stream", "Content-Length": str(size)})
        response = own.open("GET", files(sandbox, "content", path="/home/user/big"))
        got = 0
        while piece := response.read(1 << 20):
            got += len(piece)
        assert got == size
        grown = resident("VmHWM") - before
        assert grown < 48 * 1024, f"{grown} KiB more resident at the peak"
        own.close()


def upload_raw(server, path, size):
    """Sends a body until nobody takes it any more, as curl does; the answer is what came back."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.key}\r\n"
                           f"Content-Type: application/octet-stream\r\nContent-Length: {size}\r\n\r\n".encode())
        with contextlib.suppress(OSError):
            for _ in range(size >> 16):
                connection.sendall(bytes(1 << 16))
        response = http.client.HTTPResponse(connection)
        response.begin()
        return response.status, json.loads(response.read())


def test_an_upload_that_cannot_be_written_says_why(server, api, box):
    api.write(box, "plain", b"text")
    api.post(files(box, "mkdir"), {"path": "a-folder"})
    for _ in range(10):
        status, body = upload_raw(server, files(box, "content", path="plain/inner"), 16 << 20)
        assert status == 400 and "Not a directory" in body["error"]["message"], body
        status, body = upload_raw(server, files(box, "content", path="a-folder"), 16 << 20)
        assert status == 409 and "is a folder" in body["error"]["message"], body


def test_a_broken_upload_leaves_no_half_file(server, api, box):
    import socket
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall((f"PUT {files(box, 'content', path='/home/user/half')} HTTP/1.1\r\nHost: localhost\r\n"
                     f"Authorization: Bearer {server.key}\r\nContent-Type: application/octet-stream\r\n"
                     "Content-Length: 1000000\r\n\r\n").encode() + b"x" * 5000)
    atoll.wait_for(lambda: api.exec(box, "ls -A /home/user | grep half; true")["stdout"] == "", 30, "no half file")


@pytest.mark.parametrize("path, status", [("/no/such/file", 404), ("/home/user", 409), ("", 409), ("a\0b", 400),
                                          ("/dev/zero", 409), ("x" * 5000, 400), ("/root/secret", 403)])
def test_bad_reads(api, box, path, status):
    with pytest.raises(atoll.ApiError) as failure:
        api.read(box, path)
    assert failure.value.status == status


def test_a_fifo_does_not_hang_a_read(api, box):
    api.exec(box, "mkfifo /home/user/fifo")
    with pytest.raises(atoll.ApiError) as failure:
        api.read(box, "/home/user/fifo")
    assert failure.value.status == 409


def test_the_user_decides_what_may_be_read(api, box):
    api.exec(box, "echo s > /root/secret; chmod 600 /root/secret", user="root")
    with pytest.raises(atoll.ApiError) as failure:
        api.read(box, "/root/secret")
    assert failure.value.status == 403
    answer = api.raw("GET", files(box, "content", path="/root/secret", user="root"))
    assert answer.body == b"s\n"


def test_a_range_of_a_file(api, box):
    api.write(box, "digits", b"0123456789")
    answer = api.raw("GET", files(box, "content", path="digits", offset=3, length=4))
    assert answer.body == b"3456"
