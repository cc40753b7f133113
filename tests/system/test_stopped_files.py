# SPDX-License-Identifier: Apache-2.0
"""Files of a stopped sandbox are listed and read without starting it, and lead nowhere else."""

import urllib.parse

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


def files(api, box, what="", **query):
    return api.get(f"{PATH}/{box}/files{what}?" + urllib.parse.urlencode(query))


def content(api, box, name, headers=None, **query):
    return api.raw("GET", f"{PATH}/{box}/files/content?" + urllib.parse.urlencode({"path": name, **query}), None, headers)


@pytest.fixture(scope="module")
def box(server):
    api = server.api()
    made = api.create(internet=False, persistent=True)["id"]
    api.exec(made, "mkdir -p /home/user/t/sub && cd /home/user/t && echo one > a && echo two > b && echo three > sub/c && rm -f /etc/motd && "
                   "ln -s /etc/shadow absolute && ln -s ../../../../../../etc/shadow relative && ln -s a near && mkfifo pipe && "
                   "head -c 17000000 /dev/zero > large")
    api.post(f"{PATH}/{made}/stop")
    yield made
    api.remove(made)


def state(api, box):
    return api.get(f"{PATH}/{box}")["state"]


def test_a_stopped_sandbox_is_listed_and_read_and_stays_stopped(api, box):
    found = files(api, box, path="/home/user/t", depth=3)["items"]
    assert [f["path"] for f in found] == ["a", "absolute", "b", "large", "near", "pipe", "relative", "sub", "sub/c"]
    page = files(api, box, path="/home/user/t", depth=3, limit=2, after="b")
    assert [f["path"] for f in page["items"]] == ["large", "near"] and page["next_after"] == "near"
    assert files(api, box, "/stat", path="/home/user/t/a")["size"] == 4 and files(api, box, "/stat", path="/home/user/t/a")["path"] == "/home/user/t/a"
    answer = content(api, box, "/home/user/t/sub/c")
    assert (answer.status, answer.body) == (200, b"three\n") and answer.headers["X-Content-Type-Options"] == "nosniff"
    answer = content(api, box, "/home/user/t/sub/c", {"Range": "bytes=1-3"})
    assert (answer.status, answer.body, answer.headers["Content-Range"]) == (206, b"hre", "bytes 1-3/6")
    assert content(api, box, "/etc/passwd").body.startswith(b"root:")  # of the template
    assert content(api, box, "/etc/motd").status == 404  # deleted inside
    assert files(api, box, path="/home/user/t", passive="true")["items"]
    assert state(api, box) == "stopped"


def test_links_and_paths_do_not_lead_out(api, box):
    for name in ("/home/user/t/absolute", "/home/user/t/relative"):
        answer = content(api, box, name)
        assert answer.status >= 400 and b"root:" not in answer.body, name
    assert content(api, box, "/home/user/t/near").body == b"one\n"
    assert content(api, box, "/../../../../etc/shadow").status == 400
    assert content(api, box, "/review/now/home/user/t/a").status == 404
    assert content(api, box, "/home/user/t/pipe").status >= 400
    assert content(api, box, "/home/user/t").status == 409


def test_too_much_is_refused_and_ranges_are_read(api, box):
    answer = content(api, box, "/home/user/t/large")
    assert answer.status == 413 and b"range" in answer.body
    assert len(content(api, box, "/home/user/t/large", {"Range": "bytes=16500000-16500099"}).body) == 100


def test_nothing_is_written(api, box):
    for call in (lambda: api.write(box, "/home/user/t/new", b"x"), lambda: api.delete(f"{PATH}/{box}/files?path=/home/user/t/a"),
                 lambda: api.post(f"{PATH}/{box}/files/mkdir", {"path": "/home/user/t/d"})):
        with pytest.raises(atoll.ApiError) as caught:
            call()
        assert caught.value.status == 409 and "start it" in caught.value.hint
    assert state(api, box) == "stopped"


def test_a_sandbox_that_was_stopped_for_idleness_is_not_started_by_a_passive_call(api):
    with api.sandbox(internet=False, persistent=True, autoStopMs=1000) as made:
        api.write(made, "/home/user/kept", b"kept")
        atoll.wait_for(lambda: state(api, made) == "stopped", 60, "the stop")
        assert content(api, made, "/home/user/kept", passive="true").body == b"kept"
        assert state(api, made) == "stopped"
        assert content(api, made, "/home/user/kept").body == b"kept" and state(api, made) == "started"


def test_no_helper_is_left(api, server, box):
    for _ in range(3):
        files(api, box, path="/")
    atoll.wait_for(lambda: not [d for d in (server.data / "run" / "sandboxes").iterdir() if d.name == box], 30, "the folder")
    assert files(api, box, path="/")["items"]
