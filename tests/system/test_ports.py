# SPDX-License-Identifier: Apache-2.0
"""Ports that programs inside listen on: found with their processes, without waking or using the sandbox."""

import concurrent.futures
import contextlib
import json
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
LISTEN = """
import os, socket, sys, time
for family, address, port in ((socket.AF_INET, "0.0.0.0", 8000), (socket.AF_INET, "127.0.0.1", 8001),
                              (socket.AF_INET6, "::1", 8002), (socket.AF_INET, "127.0.0.5", 8003),
                              (socket.AF_INET, "0.0.0.0", 80)):
    s = socket.socket(family)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, port))
    s.listen()
    os.dup(s.detach())
open("/tmp/listens", "w").close()
time.sleep(1000)
"""


def ports_of(api, box):
    return api.get(f"{PATH}/{box}/ports")


@pytest.fixture(scope="module")
def box(server):
    api = server.api()
    with api.sandbox(internet=True) as made:
        api.write(made, "/tmp/listen.py", LISTEN.encode())
        api.exec(made, "exec python3 /tmp/listen.py", background=True)
        atoll.wait_for(lambda: api.exec(made, "test -e /tmp/listens")["exit_code"] == 0, 30, "the sockets")
        yield made


def test_each_port_has_its_address_process_and_preview(api, box):
    found = {p["port"]: p for p in ports_of(api, box)["items"]}
    assert {port: p["address"] for port, p in found.items()} == {
        80: "0.0.0.0", 8000: "0.0.0.0", 8001: "127.0.0.1", 8002: "::1", 8003: "127.0.0.5"}
    assert {port: p["preview"] for port, p in found.items()} == {80: False, 8000: True, 8001: True, 8002: True, 8003: False}
    processes = api.get(f"{PATH}/{box}/processes")["items"]
    server = next(p for p in processes if "listen.py" in " ".join(p["args"]))
    for port in found.values():
        assert port["command"] == "python3 /tmp/listen.py" and port["process"] == server["process"], port
        assert api.exec(box, f"tr '\\0' ' ' </proc/{port['pid']}/cmdline")["stdout"] == "python3 /tmp/listen.py "
    assert not ports_of(api, box)["truncated"]


def test_a_program_of_another_user_is_found_too(api, box):
    line = ("python3 -c 'import socket,time; s=socket.create_server((\"127.0.0.1\", 9000)); open(\"/tmp/there\",\"w\"); "
            "time.sleep(1000)'")
    api.exec(box, line, background=True, user="nobody")
    atoll.wait_for(lambda: api.exec(box, "test -e /tmp/there")["exit_code"] == 0, 30, "the socket")
    port = next(p for p in ports_of(api, box)["items"] if p["port"] == 9000)
    assert port["pid"] > 1 and port["command"].startswith("python3 -c import socket")


def test_looking_neither_wakes_a_sandbox_nor_is_a_use(api):
    with api.sandbox(internet=False) as made:
        used = api.get(f"{PATH}/{made}")["last_activity_at"]
        time.sleep(1.2)  # the store notes a use once a second
        assert ports_of(api, made)["items"] == []
        assert api.get(f"{PATH}/{made}")["last_activity_at"] == used
        api.post(f"{PATH}/{made}/pause")
        with pytest.raises(atoll.ApiError) as caught:
            ports_of(api, made)
        assert caught.value.status == 409 and "resume" in caught.value.hint, caught.value
        assert api.get(f"{PATH}/{made}")["state"] == "paused"
        api.post(f"{PATH}/{made}/stop")
        with pytest.raises(atoll.ApiError) as caught:
            ports_of(api, made)
        assert caught.value.status == 409 and "start it" in caught.value.hint, caught.value


def test_many_sockets_are_cut_and_nothing_breaks(api):
    many = ("import socket,resource,time\nresource.setrlimit(resource.RLIMIT_NOFILE,(2000,2000))\n"
            "k=[socket.create_server(('127.0.0.1',10000+i)) for i in range(700)]\nopen('/tmp/there','w')\ntime.sleep(1000)\n")
    with api.sandbox(internet=False) as made:
        api.write(made, "/tmp/many.py", many.encode())
        api.exec(made, "ulimit -n 2000; exec python3 /tmp/many.py", background=True)
        atoll.wait_for(lambda: api.exec(made, "test -e /tmp/there")["exit_code"] == 0, 60, "the sockets")
        answer = ports_of(api, made)
        assert answer["truncated"] and len(answer["items"]) == 512
        assert api.exec(made, "echo still here")["stdout"] == "still here\n"


def test_another_projects_sandbox_does_not_exist(api, server, box):
    project = api.post("/v1/projects", {"name": f"ports-{time.time_ns()}"})["id"]
    key = api.call("POST", "/api/sandbox/keys", {"name": "k", "scopes": ["sandbox:read"]}, {"X-Atoll-Project": project})["key"]
    try:
        with pytest.raises(atoll.ApiError) as caught:
            ports_of(server.api(key=key), box)
        assert caught.value.status == 404
    finally:
        api.delete(f"/v1/projects/{project}?force=true")


def test_the_command_line_lists_them(server, box):
    listed = server.cli("ports", "--json", box)
    assert listed.returncode == 0, listed.stderr
    assert {p["port"] for p in json.loads(listed.stdout)} >= {8000, 8001}
    assert b"8000  0.0.0.0" in server.cli("ports", box).stdout


def test_a_request_waits_for_the_ports_to_change_and_ends_with_its_access(server, api):
    key = api.post("/api/sandbox/keys", {"name": "waits", "scopes": ["sandbox:read"]})
    with api.sandbox(internet=False) as box, contextlib.closing(server.api()) as other:
        path = f"/api/sandbox/instances/{box}/ports"
        first = api.get(path)
        assert api.get(f"{path}?changed_from=x")["version"] == first["version"]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            waiting = pool.submit(other.get, f"{path}?changed_from={first['version']}")
            lost = pool.submit(server.api(key["key"]).raw, "GET", f"{path}?changed_from={first['version']}")
            atoll.wait_for(lambda: "atoll_requests_parked 2" in api.raw("GET", "/metrics").body.decode(), 10, "parked requests")
            api.delete(f"/api/sandbox/keys/{key['id']}")
            assert lost.result(5).status == 401
            assert not waiting.done()
            api.exec(box, "setsid python3 -m http.server 8123 >/dev/null 2>&1 </dev/null & "
                          "for i in $(seq 200); do grep -q ':1FBB .* 0A' /proc/net/tcp && exit; sleep 0.05; done; exit 1")
            since = time.monotonic()
            found = waiting.result(5)
            assert time.monotonic() - since < 3
        assert [port["port"] for port in found["items"]] == [8123] and found["version"] != first["version"]
        with pytest.raises(atoll.ApiError) as refused:
            api.get(f"{path}?changed_from={'0' * 17}")
        assert refused.value.status == 400
