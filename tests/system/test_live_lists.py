# SPDX-License-Identifier: Apache-2.0
"""Lists, counts and figures for a live view: conditions, orders, pages of many rows, chosen members, compression."""

import contextlib
import gzip
import http.client
import json
import pathlib
import sqlite3
import subprocess
import time
import uuid

import pytest

import atoll

PATH = "/api/sandbox/instances"
MANY = 10000


@pytest.fixture(scope="module")
def quiet():
    """A server without real sandboxes."""
    server = atoll.Server(provider="null").start()
    yield server
    server.stop()


@pytest.fixture
def project(quiet):
    """Another project, and its own caller."""
    name = f"p{uuid.uuid4().hex[:10]}"
    admin = quiet.api()
    admin.post("/v1/projects", {"id": name, "name": name})
    key = admin.call("POST", "/api/sandbox/keys", {"name": "own", "scopes": ["sandbox:read", "sandbox:write"]},
                     {"X-Atoll-Project": name})["key"]
    yield quiet.api(key)


def make(api, **options):
    return api.post(PATH, {"template": "host", **options})


def names(answer):
    return [item["name"] for item in answer["items"]]


def every_page(api, query):
    found, page = [], ""
    while True:
        answer = api.get(f"{PATH}?{query}{page}")
        found += answer["items"]
        if not answer["next_page"]:
            return found
        page = f"&page={answer['next_page']}"


@pytest.fixture
def five(project):
    rows = [make(project, name=name, labels={"team": team, "App": "Shop"}, region=region)
            for name, team, region in (("b.one", "red", "eu"), ("a-two", "red", "us"), ("Cat-9", "blue", "eu"),
                                       ("dog-1", "blue", "us"), ("dog-2", "green", "eu"))]
    for row in rows[1], rows[3]:
        project.post(f"{PATH}/{row['id']}/stop")
    yield project, rows
    for row in rows:
        project.remove(row["id"])


def test_conditions_are_met_together(five):
    api, rows = five

    def find(query):
        return sorted(names(api.get(f"{PATH}?{query}")))

    assert find("state=stopped") == ["a-two", "dog-1"]
    assert len(find("state=stopped,started")) == 5 == len(find("state=stopped&state=started"))
    assert find("q=DOG-") == ["dog-1", "dog-2"] and find("q=cat-") == ["Cat-9"]
    assert find(f"q={rows[0]['id'][3:12]}") == ["b.one"]
    assert find("q=team%3Dred") == ["a-two", "b.one"] and len(find("q=shop")) == 5
    assert find("q=%25") == [] and find("q=%22") == [], "no pattern, and nothing of the JSON text"
    assert find("label=team%3Dred") == ["a-two", "b.one"]
    assert find("label=team%3Dred&label=App%3DShop&state=stopped") == ["a-two"]
    assert find("label=team%3Dred&label=team%3Dblue") == []
    assert find("region=eu") == ["Cat-9", "b.one", "dog-2"] and find("region=eu&q=dog-") == ["dog-2"]
    assert len(find("template=host&provider=null&isolation=nothing+runs")) == 5
    assert find("provider=native") == find("isolation=namespaces") == []
    key = rows[0]["created_by"]["key"]
    assert key and len(find(f"created_by={key}")) == 5 == len(find("created_by=me"))
    assert find("created_by=nobody") == []
    assert api.get(f"{PATH}?limit=2&state=started")["total"] == 3


def test_orders_and_pages(five):
    api, rows = five
    by_age = [row["name"] for row in sorted(rows, key=lambda row: (row["created_at"], row["id"]))]
    made = [row["name"] for row in rows]
    for sort, want in (("created", by_age), ("-created", by_age[::-1]), ("name", sorted(made)),
                       ("-name", sorted(made, reverse=True))):
        assert names(api.get(f"{PATH}?sort={sort}")) == want
        assert [item["name"] for item in every_page(api, f"sort={sort}&limit=2")] == want, sort
    states = [item["state"] for item in every_page(api, "sort=state&limit=2")]
    assert states == sorted(states) and len(states) == 5
    assert [item["state"] for item in every_page(api, "sort=-state&limit=2")] == states[::-1]
    for sort in "last_activity", "-last_activity":
        assert len({item["id"] for item in every_page(api, f"sort={sort}&limit=2")}) == 5
    page = api.get(f"{PATH}?sort=name&limit=2")["next_page"]
    for other in "created", "state", "last_activity":
        with pytest.raises(atoll.ApiError) as failure:
            api.get(f"{PATH}?sort={other}&page={page}")
        assert failure.value.status == 400


def test_chosen_members_and_bad_queries(five):
    api, _ = five
    items = api.get(f"{PATH}?fields=id,name,state,version,created_by")["items"]
    assert all(set(item) == {"id", "name", "state", "version", "created_by"} for item in items)
    assert set(api.get(f"{PATH}?fields=lastActivityAt")["items"][0]) == {"last_activity_at"}
    for query, text in (("fields=idd", "id"), ("fields=,", "member"), ("state=sleeping", "sleeping"), ("sort=size", "sort"),
                        ("label=x", "="), ("q=" + "x" * 200, "q"), ("state=" + "x" * 5000, "state"), ("page=1-2", "page"),
                        ("sort=name&page=name.x-y", "page")):
        with pytest.raises(atoll.ApiError) as failure:
            api.get(f"{PATH}?{query}")
        assert failure.value.status == 400 and text in str(failure.value), query


def test_the_version_grows_with_each_change(project):
    row = make(project)
    seen = [row["version"]]
    for step in (lambda: project.post(f"{PATH}/{row['id']}/stop"), lambda: project.post(f"{PATH}/{row['id']}/start"),
                 lambda: project.post(f"{PATH}/{row['id']}/keepalive", {"timeoutMs": 60000})):
        seen.append(step()["version"])
    assert seen == sorted(set(seen))
    assert project.get(f"{PATH}/{row['id']}")["version"] == seen[-1]
    project.remove(row["id"])


def test_the_summary_counts_only_the_own_project(five, quiet):
    api, _ = five
    admin = quiet.api()
    other = make(admin, name="elsewhere")
    summary = api.get("/v1/summary")
    assert summary["sandboxes"] == {**dict.fromkeys(summary["sandboxes"], 0), "started": 3, "stopped": 2, "total": 5}
    assert summary["currency"] == "USD" and summary["cost_today"] >= 0 and summary["templates"] >= 1
    assert summary["approvals_pending"] == summary["jobs_running"] == summary["volumes"] == summary["snapshots"] == 0
    admin.remove(other["id"])


def test_figures_come_for_all_in_one_call_and_never_of_others(five, quiet):
    api, rows = five
    admin = quiet.api()
    other = make(admin, name="not-yours")
    running = {row["id"] for row in rows if row["name"] not in ("a-two", "dog-1")}
    answer = api.get("/v1/stats")
    assert {item["sandbox"] for item in answer["items"]} == running and answer["next_page"] is None
    assert set(api.get(f"{PATH}/{rows[0]['id']}/stats")) <= set(answer["items"][0])
    assert {item["sandbox"] for item in api.get(f"/v1/stats?ids={rows[0]['id']},Cat-9,{other['id']}")["items"]} == \
        {rows[0]["id"], rows[2]["id"]}
    first = api.get("/v1/stats?limit=2")
    second = api.get(f"/v1/stats?limit=2&page={first['next_page']}")
    assert {item["sandbox"] for item in first["items"] + second["items"]} == running
    with contextlib.closing(stream(api, f"/v1/stats?stream=sse&ids={rows[0]['id']},{other['id']}")) as events:
        got = [next(events) for _ in range(2)]
    assert all([item["sandbox"] for item in data["items"]] == [rows[0]["id"]] for _, data in got)
    admin.remove(other["id"])


def stream(api, path):
    connection = http.client.HTTPConnection(api.host, api.port, timeout=20)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {api.key}", "Accept-Encoding": "gzip"})
        response = connection.getresponse()
        assert response.status == 200, response.read()
        assert not response.headers["Content-Encoding"], "a stream is not held back by a compressor"
        event = None
        while True:
            line = response.readline().decode().rstrip("\n")
            if line.startswith("event: "):
                event = line[7:]
            elif line.startswith("data: "):
                yield event, json.loads(line[6:])
    finally:
        connection.close()


def test_a_sample_is_shared_and_touches_no_sandbox(project):
    row = make(project)
    before = project.get(f"{PATH}/{row['id']}")
    times = {project.get("/v1/stats")["items"][0]["sampled_at"] for _ in range(5)}
    assert len(times) <= 2, "clients that ask at once get the same sample"
    with contextlib.closing(stream(project, "/v1/stats?stream=sse")) as events:
        kind, data = next(events)
        assert kind == "stats" and [item["sandbox"] for item in data["items"]] == [row["id"]]
        began = time.monotonic()
        next(events)
        assert time.monotonic() - began > 1.5
    after = project.get(f"{PATH}/{row['id']}")
    assert after["last_activity_at"] == before["last_activity_at"] and after["version"] == before["version"]
    with pytest.raises(atoll.ApiError) as failure:
        project.get("/v1/stats?stream=sse&interval_ms=100")
    assert failure.value.status == 400
    project.remove(row["id"])


def test_long_json_is_compressed_for_those_who_accept_it(five):
    api, _ = five
    plain = api.raw("GET", PATH)
    assert not plain.headers["Content-Encoding"] and plain.headers["Vary"] and len(plain.body) > 1024
    packed = api.raw("GET", PATH, headers={"Accept-Encoding": "br, gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    want = json.loads(plain.body)
    got = json.loads(gzip.decompress(packed.body))
    for item in want["items"] + got["items"]:
        item.pop("uptime_ms")
    assert got == want and len(packed.body) < len(plain.body) / 2
    head = api.raw("HEAD", PATH, headers={"Accept-Encoding": "gzip"})
    assert head.headers["Content-Encoding"] == "gzip" and not head.body
    for accept, coding in (("gzip;q=0", None), ("identity", None), ("zstd", "zstd"), ("gzip, zstd", "zstd"),
                           ("gzip;q=1, zstd;q=0.5", "gzip"), ("zstd;q=0, *", "gzip"), ("x" * 500, None)):
        answer = api.raw("GET", PATH, headers={"Accept-Encoding": accept})
        assert answer.headers["Content-Encoding"] == coding, accept
    short = api.raw("GET", f"{PATH}?limit=1&fields=id", headers={"Accept-Encoding": "gzip"})
    assert not short.headers["Content-Encoding"] and json.loads(short.body)["total"] == 5


def test_events_have_their_sandbox_beside_them_when_asked(project):
    after = project.get("/v1/events?last=1")["items"]
    after = after[0]["sequence"] if after else 0
    with contextlib.closing(stream(project, f"/v1/events?stream=sse&after={after}&with=object")) as events, \
            contextlib.closing(stream(project, f"/v1/events?stream=sse&after={after}")) as plain:
        row = make(project, name="told", labels={"a": "b"}, env={"SECRET": "hidden-value"})
        versions = []
        for kind, data in events:
            got = data["object"]
            assert got["id"] == row["id"] and got["labels"] == {"a": "b"} and got["env_names"] == ["SECRET"]
            assert "hidden-value" not in json.dumps(data)
            versions.append(got["version"])
            if kind == "sandbox.started":
                break
        assert versions == sorted(versions)
        assert got["state"] == "started" and got["version"] == row["version"] and got["created_by"] == row["created_by"]
        assert "object" not in next(plain)[1]
        project.remove(row["id"])
        for kind, data in events:
            if kind == "sandbox.deleted":
                assert data["object"]["state"] == "deleted" and data["object"]["version"] > row["version"]
                break
    page = project.get(f"/v1/events?after={after}&with=object")["items"]
    assert {item["kind"] for item in page} >= {"sandbox.created", "sandbox.started", "sandbox.deleted"}
    assert all(item["object"]["version"] >= row["version"] for item in page), "what is read later is as new as the read"
    with pytest.raises(atoll.ApiError):
        project.get("/v1/events?with=everything")


def command(server, caller, *arguments):
    done = subprocess.run([atoll.ATOLL, *arguments], env={**server.cli_environment(), "ATOLL_API_KEY": caller.key},
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_line_lists_by_conditions(five, quiet):
    api, _ = five

    def found(*options):
        return command(quiet, api, "ps", "--names", *options).split()

    assert found("--state", "stopped", "--sort", "name") == ["a-two", "dog-1"]
    assert found("--all", "--sort", "-name") == ["dog-2", "dog-1", "b.one", "a-two", "Cat-9"]
    assert found("--label", "team=red", "--all", "--sort", "name") == ["a-two", "b.one"]
    assert sorted(found("-q", "TEAM=blue", "--all")) == ["Cat-9", "dog-1"] and found("--region", "us") == []


def test_settings_are_changed_in_place_and_told(project, quiet):
    row, other = make(project, name="before", labels={"a": "1", "b": "2"}), make(project, name="taken")
    path = f"{PATH}/{row['id']}"
    changed = project.call("PATCH", path, {"name": "after", "labels": {"c": "3"}, "persistent": True, "autoPauseMs": 60000,
                                           "idle_reap_ms": 0, "timeout_ms": 3600000, "version": row["version"]})
    assert changed["name"] == "after" and changed["labels"] == {"c": "3"} and changed["persistent"]
    assert changed["autoPauseMs"] == 60000 and changed["idle_reap_ms"] == 0 and changed["timeout_at"]
    assert changed["version"] > row["version"] and project.get(f"{PATH}/after")["id"] == row["id"]
    with pytest.raises(atoll.ApiError) as failure:
        project.get(f"{PATH}/before")
    assert failure.value.status == 404

    def refused(status, body, headers=None, caller=project, at=path):
        with pytest.raises(atoll.ApiError) as failure:
            caller.call("PATCH", at, body, headers)
        assert failure.value.status == status, failure.value
        return str(failure.value)

    assert str(changed["version"]) in refused(409, {"name": "late", "version": row["version"]})
    refused(409, {"name": "late"}, {"If-Match": f'"{row["version"]}"'})
    refused(400, {"name": "late"}, {"If-Match": "yesterday"})
    refused(409, {"name": "taken"})
    for body in {}, {"name": ""}, {"name": "a b"}, {"labels": {"": "x"}}, {"autoPauseMs": -5}, {"state": "stopped"}, {"version": 1}:
        refused(400, body)
    assert project.get(path)["version"] == changed["version"], "what is refused changes nothing"
    assert project.call("PATCH", path, {"labels": {}}, {"If-Match": f'W/"{changed["version"]}"'})["labels"] == {}
    assert project.call("PATCH", path, {"persistent": False}, {"If-Match": "*"})["persistent"] is False
    refused(404, {"name": "mine"}, caller=quiet.api(), at=path)
    reader = quiet.api(quiet.api().call("POST", "/api/sandbox/keys", {"name": "reader", "scopes": ["sandbox:read"]},
                                        {"X-Atoll-Project": row["project"]})["key"])
    refused(403, {"name": "mine"}, caller=reader)
    admin, in_project = quiet.api(), {"X-Atoll-Project": row["project"]}
    for user, role in ("boss@example.com", "admin"), ("eve@example.com", "viewer"):
        admin.post(f"/v1/projects/{row['project']}/members", {"user": user, "role": role})
    viewer = quiet.api(admin.call("POST", "/api/sandbox/keys", {"name": "eves", "member": "eve@example.com"}, in_project)["key"])
    assert viewer.get(path)["version"] and viewer.get("/v1/summary") and viewer.get("/v1/stats")
    refused(403, {"name": "mine"}, caller=viewer)
    told = project.get(f"/v1/events?kind=sandbox.updated&sandbox={row['id']}&with=object")["items"]
    assert len(told) == 3 and all(item["text"] == "settings" for item in told)
    command(quiet, project, "set", row["id"], "--label", "x=1", "--label", "y=2", "--name", "by-cli", "--idle-pause", "5m")
    command(quiet, project, "set", row["id"], "--unlabel", "x", "--label", "y=3", "--idle-pause", "never")
    now = project.get(path)
    assert now["name"] == "by-cli" and now["labels"] == {"y": "3"} and now["autoPauseMs"] == 0
    project.remove(row["id"])
    project.remove(other["id"])


def multiply(server, api):
    """MANY rows in the database, by copies of one; each tenth is failed. Faster than as many creations."""
    row = make(api, name="seed", labels={"n": "0"}, persistent=True)
    api.post(f"{PATH}/{row['id']}/stop")
    with contextlib.closing(sqlite3.connect(pathlib.Path(server.data, "store", "atoll.db"), timeout=30)) as db:
        columns = [column[1] for column in db.execute("PRAGMA table_info(sandboxes)")]
        own = {"id": "'a' || substr('abcdefghij', n / 10000 + 1, 1) || substr('abcdefghij', n / 1000 % 10 + 1, 1)"
                     " || substr('abcdefghij', n / 100 % 10 + 1, 1) || substr('abcdefghij', n / 10 % 10 + 1, 1)"
                     " || substr('abcdefghij', n % 10 + 1, 1) || '22222222222222'",
               "name": "'box-' || n", "labels_json": "'{\"n\":\"' || (n % 7) || '\"}'", "created_at": "created_at - n % 50",
               "last_activity_at": "last_activity_at - n * 7919 % 10007",
               "actual": "CASE WHEN n % 10 = 0 THEN 'failed' ELSE actual END"}
        picked = ", ".join(own.get(column, column) for column in columns)
        db.execute(f"WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {MANY - 1}) "
                   f"INSERT INTO sandboxes ({', '.join(columns)}) SELECT {picked} FROM sandboxes, numbers WHERE id = ?",
                   (row["id"],))
        db.commit()


@pytest.mark.slow
def test_ten_thousand_rows_are_listed_sorted_and_searched_in_bounded_time():
    server = atoll.Server(provider="null").start()
    try:
        multiply(server, server.api())
        api = server.api()
        took = {}

        def timed(query):
            began = time.monotonic()
            answer = api.get(f"{PATH}?{query}")
            took[query] = time.monotonic() - began
            return answer

        assert timed("limit=100")["total"] == MANY
        for sort, key in (("name", "name"), ("-name", "name"), ("state", "state"), ("-last_activity", "last_activity_at"),
                          ("created", "created_at")):
            items = timed(f"sort={sort}&limit=1000&fields={key},id")["items"]
            values = [(item[key], item["id"]) for item in items]
            assert values == sorted(values, reverse=sort[0] == "-") and len(values) == 1000, sort
        assert timed("q=box-999&limit=100")["total"] == 11
        assert timed("q=nothing-like-it")["total"] == 0
        assert timed("label=n%3D3&state=failed&limit=10")["total"] == len([n for n in range(0, MANY, 10) if n and n % 7 == 3])
        for sort in "-created", "name", "state", "last_activity":
            ids = [item["id"] for item in every_page(api, f"sort={sort}&limit=1000&fields=id")]
            assert len(ids) == len(set(ids)) == MANY, sort
        summary = api.get("/v1/summary")
        assert summary["sandboxes"]["total"] == MANY
        assert max(took.values()) < 2, took
    finally:
        server.stop()
