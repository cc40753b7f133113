# SPDX-License-Identifier: Apache-2.0
"""Looking at files: pages of big folders, search, passive calls, and links that need no key."""

import io
import time
import urllib.parse
import zipfile

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


def files(api, box, what="", **query):
    return api.get(f"{PATH}/{box}/files{what}?" + urllib.parse.urlencode(query))


@pytest.fixture(scope="module")
def box(server):
    api = server.api()
    with api.sandbox(internet=False) as made:
        api.exec(made, "mkdir -p /tmp/t/src/deep /tmp/t/a /tmp/t/a.d && cd /tmp/t && echo 'needle (one)' > src/deep/file.py && "
                       "echo 'no match' > src/other.txt && echo x > Needle.md && echo y > .needle-hidden && echo z > a/z && "
                       "echo z > a.d/z && seq 5000 | sed 's/^/line needle /' > src/many.txt")
        yield made


def refused(status, call, *words):
    with pytest.raises(atoll.ApiError) as caught:
        call()
    assert caught.value.status == status, caught.value
    for word in words:
        assert word in f"{caught.value.message} {caught.value.hint}", caught.value


def test_pages_give_each_entry_once_and_in_order(api, box):
    for depth in (1, 5):
        whole = [f["path"] for f in files(api, box, path="/tmp/t", depth=depth)["items"]]
        found, after = [], ""
        while after is not None:
            page = files(api, box, path="/tmp/t", depth=depth, limit=2, **({"after": after} if after else {}))
            assert len(page["items"]) <= 2
            found += [f["path"] for f in page["items"]]
            after = page["next_after"]
        assert found == whole and len(whole) >= (5 if depth == 1 else 10)
    assert files(api, box, path="/tmp/t", after="zzz")["items"] == []
    assert [f["path"] for f in files(api, box, path="/tmp/t", depth=5, after="src/deep")["items"]][0] == "src/deep/file.py"


def test_a_search_finds_names_and_lines(api, box):
    found = files(api, box, "/search", q="needle", path="/tmp/t", glob="*.py")
    assert {n["path"] for n in found["names"]} == {"Needle.md", ".needle-hidden"}
    assert [(m["path"].removeprefix("./"), m["line"], m["text"]) for m in found["matches"]] == [("src/deep/file.py", 1, "needle (one)")]
    assert files(api, box, "/search", q="needle (one)", path="/tmp/t")["matches"][0]["line"] == 1
    assert files(api, box, "/search", q="NEEDLE (", path="/tmp/t", match_case="true")["matches"] == []
    assert files(api, box, "/search", q="need.e .one", path="/tmp/t", regex="true")["matches"]
    assert files(api, box, "/search", q="z", path="/tmp/t", **{"in": "names"})["matches"] == []
    cut = files(api, box, "/search", q="needle", path="/tmp/t", limit=10)
    assert cut["truncated"] and len(cut["matches"]) == 10
    refused(400, lambda: files(api, box, "/search", q="x" * 1000, path="/tmp/t"))


def test_a_search_does_not_run_what_it_searches_for(api, box):
    for text in ("--pre=touch /tmp/ran", "$(touch /tmp/ran)", "'; touch /tmp/ran; '", "-f/etc/passwd", "*?[{a,b}\\"):
        assert files(api, box, "/search", q=text, path="/tmp/t")["matches"] == []
    assert api.exec(box, "test -e /tmp/ran")["exit_code"] == 1


def test_passive_calls_neither_wake_nor_use(api):
    with api.sandbox(internet=False) as made:
        used = api.get(f"{PATH}/{made}")["last_activity_at"]
        time.sleep(1.2)  # the store notes a use once a second
        assert files(api, made, path="/etc", passive="true")["items"]
        assert files(api, made, "/stat", path="/etc/passwd", passive="true")["type"] == "file"
        assert api.get(f"{PATH}/{made}")["last_activity_at"] == used
        api.post(f"{PATH}/{made}/pause")
        for what, query in (("", {"path": "/etc"}), ("/stat", {"path": "/etc/passwd"}), ("/watch", {"path": "/tmp"})):
            refused(409, lambda w=what, q=query: files(api, made, w, passive="true", **q), "paused", "resume")
        assert api.get(f"{PATH}/{made}")["state"] == "paused"
        assert files(api, made, path="/etc")["items"]
        assert api.get(f"{PATH}/{made}")["state"] == "started"


def test_a_passive_watch_does_not_keep_awake(server, api):
    with api.sandbox(internet=False, autoPauseMs=1500) as made:
        watcher = server.api(timeout=60)
        watcher.open("GET", f"{PATH}/{made}/files/watch?path=/tmp&passive=true&stream=ndjson")
        atoll.wait_for(lambda: api.get(f"{PATH}/{made}")["state"] == "paused", 30, "the pause")
        watcher.close()


def test_a_window_can_be_looked_at_passively(api):
    with api.sandbox(internet=False) as made:
        api.post(f"{PATH}/{made}/terminal", {"name": "w"})
        assert "text" in api.get(f"{PATH}/{made}/windows/w/screen?passive=true")
        api.post(f"{PATH}/{made}/pause")
        refused(409, lambda: api.get(f"{PATH}/{made}/windows/w/screen?passive=true"), "resume")
        assert api.get(f"{PATH}/{made}")["state"] == "paused"


def test_a_link_downloads_one_file_without_a_key(server, api, box):
    api.write(box, "/tmp/t/b c&d.txt", b"content")
    link = api.post(f"{PATH}/{box}/files/link", {"path": "/tmp/t/b c&d.txt", "expires_in_s": 60})
    stranger = server.api(key="atoll_none")
    answer = stranger.raw("GET", link["path"])
    assert (answer.status, answer.body) == (200, b"content")
    assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["Content-Disposition"].startswith("attachment")
    assert link["url"].endswith(link["path"])
    split = urllib.parse.urlsplit(link["path"])
    query = dict(urllib.parse.parse_qsl(split.query))

    def status(**change):
        return stranger.raw("GET", split.path + "?" + urllib.parse.urlencode({**query, **change})).status

    assert status() == 200
    assert status(path="/etc/passwd") == 401
    assert status(user="root") == 401 or query["user"] == "root"
    assert status(expires=int(query["expires"]) + 1) == 401
    assert status(signature="A" * 43) == 401 and status(signature="x") == 401
    assert stranger.raw("GET", link["path"].replace(box, "0" * len(box))).status == 401
    with api.sandbox(internet=False) as other:
        assert stranger.raw("GET", link["path"].replace(box, other)).status == 401
    refused(400, lambda: api.post(f"{PATH}/{box}/files/link", {"path": "/x", "expires_in_s": 3601}))
    missing = api.post(f"{PATH}/{box}/files/link", {"path": "/no/such"})
    assert stranger.raw("GET", missing["path"]).status == 404


def test_a_link_ends(server, api, box):
    link = api.post(f"{PATH}/{box}/files/link", {"path": "/etc/passwd", "expires_in_s": 1})
    atoll.wait_for(lambda: server.api(key="atoll_none").raw("GET", link["path"]).status == 401, 10, "the end of the link")


def test_a_folder_comes_as_a_zip(api, box):
    api.exec(box, "rm -rf /tmp/z && mkdir -p /tmp/z/sub/empty && cd /tmp/z && head -c 300000 /dev/urandom > sub/big && : > none && "
                  "printf hi > 'ü name' && ln -s /etc/passwd link && mkfifo pipe && chmod 750 sub/big")
    answer = api.raw("GET", f"{PATH}/{box}/files/zip?path=/tmp/z")
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/zip"
    archive = zipfile.ZipFile(io.BytesIO(answer.body))
    assert archive.testzip() is None
    assert set(archive.namelist()) == {"sub/", "sub/empty/", "sub/big", "none", "ü name", "link"}
    assert archive.read("sub/big") == api.read(box, "/tmp/z/sub/big") and archive.read("ü name") == b"hi"
    assert archive.read("link") == b"/etc/passwd" and archive.getinfo("link").external_attr >> 28 == 0o12
    assert archive.getinfo("sub/big").external_attr >> 16 & 0o777 == 0o750
    single = zipfile.ZipFile(io.BytesIO(api.raw("GET", f"{PATH}/{box}/files/zip?path=/tmp/z/none").body))
    assert single.namelist() == ["none"]
    assert zipfile.ZipFile(io.BytesIO(api.raw("GET", f"{PATH}/{box}/files/zip?path=/tmp/z/sub/empty").body)).namelist() == []
    assert api.raw("GET", f"{PATH}/{box}/files/zip?path=/no/such").status == 404


def test_a_zip_of_many_files_has_all_of_them(api, box):
    api.exec(box, "mkdir -p /tmp/many && cd /tmp/many && seq 70000 | xargs touch")
    archive = zipfile.ZipFile(io.BytesIO(api.raw("GET", f"{PATH}/{box}/files/zip?path=/tmp/many").body))
    assert len(archive.namelist()) == 70000
    api.exec(box, "rm -rf /tmp/many")
