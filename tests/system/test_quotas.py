# SPDX-License-Identifier: Apache-2.0
"""Quotas: what a project, a key and an organisation may use, who is refused, and that many at once never pass a limit."""

import concurrent.futures
import contextlib
import json
import shutil
import time

import pytest

import atoll
import postgres
import test_mcp

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


def end_server(server):
    """Its sandboxes are rows only."""
    server.stop()
    shutil.rmtree(server.data, ignore_errors=True)


@pytest.fixture(scope="module")
def own():
    running = atoll.Server(provider="null").start()
    yield running
    end_server(running)


@pytest.fixture(scope="module")
def admin(own):
    return own.api()


@pytest.fixture
def project(own, admin):
    made = admin.post("/v1/projects", {"name": f"p{time.time_ns()}"})
    key = admin.call("POST", "/api/sandbox/keys", {"name": "k", "scopes": ["sandbox:read", "sandbox:write"]},
                     {"X-Atoll-Project": made["id"]})
    api = own.api(key["key"])
    api.project, api.key_id = made["id"], key["id"]
    yield api
    for box in api.get(PATH)["items"]:
        with contextlib.suppress(atoll.ApiError):
            api.remove(box["id"])


def limit(admin, scope, subject, **values):
    return rows(admin.call("PATCH", f"/v1/quotas/{scope}/{subject}", values))


def rows(answer):
    return {(row["scope"], row["name"]): row for row in answer["items"]}


def refused(call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as why:
        call(*arguments, **options)
    assert why.value.status == 429 and why.value.code == "limit_exceeded", why.value
    return why.value.body["error"]


def test_a_create_above_a_limit_is_refused_and_leaves_nothing(admin, project):
    limit(admin, "project", project.project, sandboxes_running=2)
    first, _ = project.create(name="a"), project.create(name="b")
    error = refused(project.create, name="c")
    assert error["quota"] == {"name": "sandboxes_running", "scope": "project", "limit": 2, "used": 2, "reset_at": None}
    assert project.project in error["message"] and "2 of 2 sandboxes" in error["message"] and error["hint"]
    assert {box["name"] for box in project.get(PATH)["items"]} == {"a", "b"}
    project.remove(first["id"])
    project.create(name="c")
    assert rows(project.get("/v1/quotas"))["project", "sandboxes_running"]["used"] == 2


@pytest.mark.parametrize("scope", ["project", "key", "organization"])
def test_each_scope_has_limits(admin, project, scope):
    subject = {"project": project.project, "key": project.key_id, "organization": "default"}[scope]
    used = rows(admin.get(f"/v1/quotas/{scope}/{subject}"))[scope, "memory_mb"]["used"]
    limit(admin, scope, subject, memory_mb=used + 300)
    try:
        project.create(resources={"memory_mb": 200})
        assert refused(project.create, resources={"memory_mb": 200})["quota"]["used"] == used + 200
        project.create(resources={"memory_mb": 100})
        assert rows(project.get("/v1/quotas"))[scope, "memory_mb"] | {"about": ""} == {
            "scope": scope, "subject": subject, "name": "memory_mb", "unit": "MB", "about": "", "limit": used + 300, "used": used + 300,
            "reset_at": None}
    finally:
        limit(admin, scope, subject, memory_mb=0)
    project.create(resources={"memory_mb": 200})


def test_cpu_and_disk_are_sums(admin, project):
    limit(admin, "key", project.key_id, cpu=1.5, disk_mb=1000)
    project.create(resources={"cpu": 1, "disk_mb": 400})
    assert refused(project.create, resources={"cpu": 1, "disk_mb": 100})["quota"]["name"] == "cpu"
    assert refused(project.create, resources={"cpu": 0.5, "disk_mb": 700})["quota"] == {
        "name": "disk_mb", "scope": "key", "limit": 1000, "used": 400, "reset_at": None}
    project.create(resources={"cpu": 0.5, "disk_mb": 600})


def test_a_stop_frees_what_runs_and_a_start_is_checked(admin, project):
    limit(admin, "project", project.project, sandboxes_running=1)
    one = project.create()["id"]
    project.post(f"{PATH}/{one}/stop")
    two = project.create()["id"]
    assert refused(project.post, f"{PATH}/{one}/start")["quota"]["used"] == 1
    assert project.get(f"{PATH}/{one}")["state"] == "stopped"
    project.remove(two)
    project.post(f"{PATH}/{one}/start")


def test_as_many_stopped_ones_refuse_a_create_and_never_a_stop(admin, project):
    limit(admin, "project", project.project, sandboxes_stopped=1)
    for _ in range(2):
        one = project.create()["id"]
        if _ == 0:
            two = project.create()["id"]
            project.post(f"{PATH}/{one}/stop")
            assert refused(project.create)["quota"]["name"] == "sandboxes_stopped"
            project.post(f"{PATH}/{two}/stop")
            assert rows(project.get("/v1/quotas"))["project", "sandboxes_stopped"]["used"] == 2
            project.remove(one)
            project.remove(two)


def test_new_limits_of_a_sandbox_are_checked():
    with contextlib.ExitStack() as stack:
        own = atoll.Server()
        stack.callback(own.remove_all)
        own.start()
        check_new_limits(own.api())


def check_new_limits(api):
    project = api.get("/v1/projects/me")["id"]
    box = api.create(resources={"memory_mb": 200}, internet=False)["id"]
    limit(api, "project", project, memory_mb=300)
    error = refused(api.post, f"{PATH}/{box}/resize", {"memory_mb": 400})
    assert error["quota"]["used"] == 200
    assert api.get(f"{PATH}/{box}")["resources"]["memory_mb"] == 200
    api.post(f"{PATH}/{box}/resize", {"memory_mb": 300})
    limit(api, "project", project, memory_mb=100)
    api.post(f"{PATH}/{box}/resize", {"memory_mb": 250})  # less is allowed above a lowered limit


def test_an_undelete_takes_its_place_of_the_quotas():
    """Sandboxes in the trash use nothing; bringing them back is no way around a limit."""
    with contextlib.ExitStack() as stack:
        own = atoll.Server()
        stack.callback(own.remove_all)
        own.start()
        check_undelete(own.api())


def check_undelete(api):
    kept = api.create(resources={"disk_mb": 400}, internet=False)["id"]
    api.post(f"{PATH}/{kept}/stop")
    api.delete(f"{PATH}/{kept}?keep=true")
    limit(api, "project", "default", disk_mb=1000, sandboxes_stopped=1)
    other = api.create(resources={"disk_mb": 700}, internet=False)["id"]
    assert refused(api.post, f"{PATH}/{kept}/undelete")["quota"] == {
        "name": "disk_mb", "scope": "project", "limit": 1000, "used": 700, "reset_at": None}
    limit(api, "project", "default", disk_mb=0)
    api.post(f"{PATH}/{other}/stop")
    assert refused(api.post, f"{PATH}/{kept}/undelete")["quota"] == {
        "name": "sandboxes_stopped", "scope": "project", "limit": 1, "used": 1, "reset_at": None}
    api.remove(other)
    assert api.post(f"{PATH}/{kept}/undelete")["state"] == "stopped"
    api.remove(kept)


def in_one_minute(check):
    """Again, when the minute of the clock ends meanwhile."""
    while True:
        minute = time.time() // 60
        try:
            return check()
        except (AssertionError, pytest.fail.Exception):
            if time.time() // 60 == minute:
                raise


def test_creates_per_minute_say_when_again(admin, project):
    def check():
        limit(admin, "project", project.project, creates_per_minute=0)
        limit(admin, "project", project.project, creates_per_minute=2)
        for _ in range(2):
            project.remove(project.create()["id"])
        answer = project.raw("POST", PATH, json.dumps({"template": "host"}), {"Content-Type": "application/json"})
        assert answer.status == 429
        quota = answer.json()["error"]["quota"]
        assert quota["name"] == "creates_per_minute" and quota["used"] == quota["limit"] == 2 and quota["reset_at"].endswith(":00.000Z")
        assert 1 <= int(answer.headers["Retry-After"]) <= 60

    in_one_minute(check)


def test_a_refused_create_uses_nothing_of_the_minute(admin, project):
    limit(admin, "project", project.project, creates_per_minute=30, sandboxes_running=1)

    def check():
        before = rows(project.get("/v1/quotas"))["project", "creates_per_minute"]["used"]
        made = project.create()["id"]
        for _ in range(3):
            assert refused(project.create)["quota"]["name"] == "sandboxes_running"
        project.remove(made)
        assert rows(project.get("/v1/quotas"))["project", "creates_per_minute"]["used"] == before + 1

    in_one_minute(check)


def test_requests_per_second_are_limited(own, admin, project):
    limit(admin, "key", project.key_id, requests_per_second=5)
    answers = [project.raw("GET", PATH) for _ in range(40)]
    late = [answer for answer in answers if answer.status == 429]
    assert late and len(answers) - len(late) >= 5
    error = late[0].json()["error"]
    assert error["quota"]["name"] == "requests_per_second" and int(late[0].headers["Retry-After"]) >= 1
    assert admin.raw("GET", PATH).status == 200
    limit(admin, "key", project.key_id, requests_per_second=0)
    assert all(project.raw("GET", PATH).status == 200 for _ in range(20))
    refusals = admin.raw("GET", "/metrics").body.decode()
    assert f'atoll_quota_refusals_total{{limit="requests_per_second"}} {len(late)}\n' in refusals


def test_every_surface_answers_with_the_same_reason(admin, project):
    limit(admin, "project", project.project, sandboxes_running=0.5)
    said = refused(project.create)["message"]
    headers = {"Content-Type": "application/json", "X-API-Key": project.key}
    e2b = project.raw("POST", "/sandboxes", json.dumps({"templateID": "host"}), headers)
    daytona = project.raw("POST", "/daytona/api/sandbox", json.dumps({"snapshot": "host"}), headers)
    for answer in (e2b, daytona):
        assert answer.status == 429 and said in answer.json()["message"], answer.body
    mcp = test_mcp.Mcp(project)
    mcp.initialize()
    told = mcp.old("tools/call", {"name": "create_sandbox", "arguments": {}})["result"]
    assert told["isError"] and said in told["content"][0]["text"], told


def test_who_is_no_admin_sets_no_limit_and_sees_his_own(admin, project):
    for call in (lambda: project.call("PATCH", f"/v1/quotas/project/{project.project}", {"cpu": 0}),
                 lambda: project.get("/v1/quotas/organization/default")):
        with pytest.raises(atoll.ApiError) as why:
            call()
        assert why.value.status == 403
    assert len(project.get("/v1/quotas")["items"]) == 24
    for path, status in (("/v1/quotas/project/none", 404), ("/v1/quotas/key/none", 404), ("/v1/quotas/organization/none", 404),
                         ("/v1/quotas/sandbox/x", 400)):
        with pytest.raises(atoll.ApiError) as why:
            admin.get(path)
        assert why.value.status == status, path
    with pytest.raises(atoll.ApiError) as why:
        admin.call("PATCH", f"/v1/quotas/project/{project.project}", {"gpus": 1})
    assert why.value.status == 400


def test_the_command_line_sets_and_shows(own, project):
    wanted = {"sandboxes_running": 1, "sandboxes_stopped": 2, "cpu": 2.5, "memory_mb": 4, "disk_mb": 5, "creates_per_minute": 7,
              "requests_per_second": 1000, "egress_mb_per_day": 0.5}
    options = [word for name, value in wanted.items() for word in ("--" + name.replace("_", "-"), value)]
    done = own.cli("quota", "set", "project", project.project, *options)
    assert done.returncode == 0, done.stderr
    shown = own.cli("quota", "show", "project", project.project, "--json")
    found = {row["name"]: row["limit"] for row in json.loads(shown.stdout)}
    assert found == wanted
    assert own.cli("quota", "set", "project", project.project, "--cpu", "0").returncode == 0
    assert rows(project.get("/v1/quotas"))["project", "cpu"]["limit"] == 0
    assert b"sandboxes_running" in own.cli("quota", "ls").stdout


def race(apis, count, **options):
    """As many creates at once, over the servers in turn: how many were made."""
    def create(number):
        api = apis[number % len(apis)].clone()
        try:
            api.create(**options)
            return 1
        except atoll.ApiError as why:
            assert why.status == 429, why
            return 0
        finally:
            api.close()

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        return sum(pool.map(create, range(count)))


def test_creates_at_once_never_pass_a_limit(admin, project):
    limit(admin, "project", project.project, sandboxes_running=5)
    limit(admin, "key", project.key_id, memory_mb=700)
    assert race([project], 40, resources={"memory_mb": 100}) == 5
    limit(admin, "project", project.project, sandboxes_running=50)
    assert race([project], 40, resources={"memory_mb": 100}) == 2
    assert len(project.get(PATH)["items"]) == 7


def test_a_limit_holds_for_two_servers_on_one_database():
    if not postgres.programs():
        pytest.skip("Debian's package postgresql is not installed")
    database = postgres.Postgres()
    servers = [atoll.Server(provider="null", flags=["--store", database.dsn]) for _ in range(2)]
    try:
        for server in servers:
            server.start()
        admin = servers[0].api()
        key = admin.post("/api/sandbox/keys", {"name": "k", "scopes": ["sandbox:read", "sandbox:write"]})
        apis = [server.api(key["key"]) for server in servers]
        limit(admin, "key", key["id"], sandboxes_running=6, creates_per_minute=1000)
        assert race(apis, 40) == 6
        use = rows(apis[1].get("/v1/quotas"))
        assert use["key", "sandboxes_running"]["used"] == 6
        assert use["key", "creates_per_minute"]["used"] in (0, 6)  # 0: the minute has ended meanwhile
    finally:
        for server in servers:
            end_server(server)
        database.remove()
