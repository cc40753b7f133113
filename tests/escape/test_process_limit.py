# SPDX-License-Identifier: Apache-2.0
"""A fork bomb has all processes of a sandbox: its owner still lists, reads and writes files, sees the bomb and ends it."""

import concurrent.futures
import json

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
LIMIT = 40
# All of them try all the time: a process that ends is replaced within milliseconds.
BOMB = "import os, time\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        time.sleep(0.003)\n"


def is_full(api, box):
    stats = api.get(f"{PATH}/{box}/stats")
    return stats["pids"] >= stats["pids_limit"] == LIMIT


def explode(api, box, **options):
    """The process of the bomb, once it has all processes."""
    made = api.exec(box, cmd="/usr/bin/python3", args=["-Sc", BOMB], background=True, **options)
    atoll.wait_for(lambda: is_full(api, box), 30, "all processes are taken")
    return made["process"]


@pytest.fixture
def box(api):
    with api.sandbox(internet=False, resources={"pids": LIMIT}) as made:
        api.exec(made, "mkdir /tmp/there; echo before > /tmp/there/file; echo secret > /tmp/there/roots; "
                 "chmod 600 /tmp/there/roots; chown -R user /tmp/there/file", user="root")
        yield made


def list_names(api, box, path):
    return {row["path"].rsplit("/", 1)[-1] for row in api.get(f"{PATH}/{box}/files?path={path}")["items"]}


def test_files_are_listed_read_and_written(api, box):
    explode(api, box)
    for i in range(5):
        assert list_names(api, box, "/tmp/there") == {"file", "roots"}
        assert api.read(box, "/tmp/there/file") == b"before\n"
        api.write(box, f"/home/user/new{i}", b"x" * 300000)
        assert api.read(box, f"/home/user/new{i}") == b"x" * 300000
        assert api.get(f"{PATH}/{box}/files/stat?path=/home/user/new{i}")["size"] == 300000
    assert api.raw("GET", f"{PATH}/{box}/files/tar?path=/home/user").status == 200
    api.post(f"{PATH}/{box}/files/mkdir", {"path": "/home/user/folder"})
    api.post(f"{PATH}/{box}/files/remove", {"path": "/home/user/new0"})
    assert list_names(api, box, "/home/user") >= {"folder", "new1"} and "new0" not in list_names(api, box, "/home/user")
    assert is_full(api, box)


def test_each_call_is_of_its_own_user(api, box):
    """One process serves all of them in turn: it becomes the user of a call, and root again after it."""
    explode(api, box)
    for _ in range(3):
        refused = api.raw("GET", f"{PATH}/{box}/files/content?path=/tmp/there/roots&user=user")
        assert refused.status == 403, refused.body
        assert api.raw("GET", f"{PATH}/{box}/files/content?path=/tmp/there/roots&user=root").body == b"secret\n"
    for user, uid in (("user", 1000), ("root", 0), ("nobody", 65534)):
        answer = api.raw("PUT", f"{PATH}/{box}/files/content?path=/tmp/of-{user}&user={user}", b"x", {"Content-Type": "application/octet-stream"})
        assert answer.status in (200, 201), answer.body
        assert api.get(f"{PATH}/{box}/files/stat?path=/tmp/of-{user}")["uid"] == uid
    assert is_full(api, box)


def test_many_calls_at_once_take_turns(server, api, box):
    explode(api, box)

    def read(i):
        own = server.api()
        status = own.raw("GET", f"{PATH}/{box}/files{'/content' if i % 2 else ''}?path=/tmp/there{'/file' if i % 2 else ''}").status
        own.close()
        return status
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert set(pool.map(read, range(16))) == {200}
    assert is_full(api, box)


def test_a_call_that_holds_the_only_worker_costs_the_others_a_clear_error(server, api, box):
    api.exec(box, "head -c 30M /dev/zero > /home/user/large")
    explode(api, box)
    slow = server.api()
    stream = slow.open("GET", f"{PATH}/{box}/files/content?path=/home/user/large")
    stream.read(1000)
    refused = api.raw("GET", f"{PATH}/{box}/files?path=/tmp/there")
    assert refused.status == 503 and "limit of processes" in refused.body.decode() and "pids" in refused.body.decode(), refused.body
    # The client that does not read leaves: the worker is free.
    slow.close()
    stream.close()
    assert atoll.wait_for(lambda: api.raw("GET", f"{PATH}/{box}/files?path=/tmp/there").status == 200, 20, "the worker")
    assert is_full(api, box)


def test_what_needs_a_process_says_so_and_what_to_do(api, box):
    explode(api, box)
    for method, path, body in (("POST", "exec", {"command": "true"}), ("GET", "files/watch?path=/tmp/there", None)):
        refused = api.raw(method, f"{PATH}/{box}/{path}", body)
        assert refused.status == 503, refused.body
        error = json.dumps(refused.json())
        assert "limit of processes" in error and "'pids'" in error, error


def test_the_bomb_is_seen_and_ended(api, box):
    process = explode(api, box)
    [row] = [row for row in api.get(f"{PATH}/{box}/processes")["items"] if row["process"] == process]
    assert row["state"] == "running" and BOMB in row["args"]
    api.delete(f"{PATH}/{box}/processes/{process}")
    assert not [row for row in api.get(f"{PATH}/{box}/processes")["items"] if row["process"] == process]
    assert api.exec(box, "echo well")["stdout"] == "well\n"
    assert list_names(api, box, "/tmp/there") == {"file", "roots"}
    # The next one is met as the first was.
    explode(api, box)
    assert list_names(api, box, "/tmp/there") == {"file", "roots"}


def test_root_inside_may_stop_or_end_the_standby_and_gets_it_back(api, box):
    find = "cd /proc && grep -l '^atoll-standby$' [0-9]*/comm | cut -d/ -f1"
    first = api.exec(box, find, user="root")["stdout"].split()
    assert len(first) == 1
    api.exec(box, f"kill -9 {first[0]}", user="root")
    second = atoll.wait_for(lambda: api.exec(box, find, user="root")["stdout"].split(), 20, "another one")
    assert len(second) == 1 and second != first
    api.exec(box, f"kill -STOP {second[0]}", user="root")
    explode(api, box)
    assert list_names(api, box, "/tmp/there") == {"file", "roots"}


def test_a_sandbox_stops_at_once_at_its_limit(api, box):
    explode(api, box)
    api.post(f"{PATH}/{box}/stop")
    assert atoll.wait_for(lambda: api.get(f"{PATH}/{box}")["state"] == "stopped", 20, "its end")
