# SPDX-License-Identifier: Apache-2.0
"""Provider daytona: its account is another server of Atoll, which serves Daytona's API. In between a proxy refuses what
Daytona's specifications do not allow, and fails calls as a test says."""

import contextlib
import json
import time

import pytest

import atoll
import remote_proxy
import remote_snapshots
import remote_volumes
import small_root
import specifications

pytestmark = [pytest.mark.providers, pytest.mark.needs_root]
PATH = "/api/sandbox/instances"
API = "/daytona/api"
NOWHERE = "192.0.2.1/32"


class Account(remote_proxy.Account):
    """With a template whose commands run as root, as Daytona's may with sudo."""

    def __init__(self, folder, check=None):
        super().__init__(check)
        archive = small_root.as_tar(small_root.rooted(folder), folder / "root.tar").read_bytes()
        with contextlib.closing(self.server.api()) as api:
            api.call("POST", "/api/sandbox/templates/import?name=rooted&format=tar", archive)

    def options(self, **more):
        return super().options(daytona_api_url=self.proxy.url + API, daytona_snapshot="rooted", daytona_block_by_list="true", allow_weaker="true", **more)


def serve(account):
    return atoll.Server(environment={"DAYTONA_API_KEY": account.server.key}, flags=["--providers", f"native,far=daytona:{account.options()}"])


@pytest.fixture(scope="module")
def account(tmp_path_factory):
    account = Account(tmp_path_factory.mktemp("root"))
    yield account
    account.remove()


@pytest.fixture(scope="module")
def server(account):
    server = serve(account).start()
    yield server
    server.remove_all()


@pytest.fixture
def api(server, account):
    with contextlib.closing(server.api()) as connection:
        yield connection
    account.proxy.fault = None


def refused(call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as caught:
        call(*arguments, **options)
    return caught.value


@pytest.mark.smoke
def test_a_sandbox_lives_in_the_account(api, account):
    made = api.create(provider="far", internet=False)
    assert (made["provider"], made["isolation"], made["state"]) == ("far", "remote", "started")
    assert made["place"]["object"] and made["place"]["node"] is None, made["place"]
    box = made["id"]
    far = account.rows()
    assert [(row["name"], row["labels"]["atoll_id"]) for row in far] == [(f"atoll-{box}", box)]
    said = api.exec(box, "cat; echo err >&2; exit 7", stdin="in\n")
    assert (said["stdout"], said["stderr"], said["exit_code"]) == ("in\n", "err\n", 7)
    api.write(box, "data.bin", b"x" * 1000000)
    assert api.post(f"{PATH}/{box}/pause")["state"] == "paused"
    assert [row["state"] for row in account.rows()] == ["paused"]
    assert api.exec(box, "wc -c < data.bin")["stdout"].strip() == "1000000"
    assert api.post(f"{PATH}/{box}/stop")["state"] == "stopped"
    assert [row["state"] for row in account.rows()] == ["stopped"]
    assert api.post(f"{PATH}/{box}/start")["state"] == "started"
    assert api.exec(box, "wc -c < data.bin")["stdout"].strip() == "1000000"
    assert {"limit resources", "keep pools"} <= set(api.get(f"{PATH}/{box}")["unsupported"])
    api.remove(box)
    assert account.rows() == []


# ---- the network: the service has lists of what is allowed ----


def lists(account):
    """What the service was told to allow; None: everything."""
    (row,) = account.rows()
    assert row["egress"]["deny"] in ([], ["0.0.0.0/0"]), row["egress"]
    return row["egress"]["allow"] if row["egress"]["deny"] else None


@pytest.mark.parametrize("rules, allowed", [
    ({}, None), ({"allow": ["1.1.1.1"]}, None),
    ({"allow": ["1.1.1.1", "10.0.0.0/8"], "deny": ["0.0.0.0/0"]}, ["1.1.1.1/32", "10.0.0.0/8"]),
    ({"deny": ["0.0.0.0/1"]}, ["128.0.0.0/1"]),
    ({"deny": ["128.0.0.0/2"], "allow": ["160.0.0.0/3"]}, ["0.0.0.0/1", "160.0.0.0/3", "192.0.0.0/2"]),
    ({"allow": ["example.com", "*.example.org"], "deny": ["0.0.0.0/0"]}, [NOWHERE, "example.com", "*.example.org"]),
    ({"deny": ["0.0.0.0/0"]}, [NOWHERE])])
def test_rules_become_lists_of_the_service(api, account, rules, allowed):
    with api.sandbox(provider="far", internet=True, **({"egress": rules} if rules else {})):
        found = lists(account)
        assert found == allowed or sorted(found) == sorted(allowed), found


def test_rules_change_and_go_while_it_runs(api, account):
    with api.sandbox(provider="far", internet=True, egress={"allow": ["example.com"], "deny": ["0.0.0.0/0"]}) as box:
        assert sorted(lists(account)) == [NOWHERE, "example.com"]
        for rules, allowed in [({"allow": ["1.1.1.1"], "deny": ["0.0.0.0/0"]}, ["1.1.1.1/32"]), ({"deny": ["0.0.0.0/0"]}, [NOWHERE]),
                               ({}, ["0.0.0.0/0"])]:
            api.call("PUT", f"{PATH}/{box}/egress", rules)
            assert lists(account) == allowed
        assert api.exec(box, "echo on")["stdout"] == "on\n"


def test_a_change_that_the_service_refuses_leaves_the_rules(api, account):
    with api.sandbox(provider="far", internet=True, egress={"allow": ["1.1.1.1"], "deny": ["0.0.0.0/0"]}) as box:
        account.proxy.fault = lambda method, target: (400, []) if target.endswith("/network-settings") else None
        assert refused(api.call, "PUT", f"{PATH}/{box}/egress", {}).status >= 400
        account.proxy.fault = None
        assert api.get(f"{PATH}/{box}")["egress"] == {"allow": ["1.1.1.1"], "deny": ["0.0.0.0/0"]}
        assert lists(account) == ["1.1.1.1/32"]


@pytest.mark.parametrize("rules, says", [
    ({"deny": [f"10.0.{number}.1" for number in range(20)]}, "more than 100 ranges"),
    ({"deny": ["0.0.0.0/0"], "mode": "ask"}, "mode 'ask'"), ({"allow": ["example.com"], "deny": ["0.0.0.0/0"], "mode": "watch"}, "mode 'watch'")])
def test_rules_that_the_service_does_not_know_are_refused_before_the_create(api, account, rules, says):
    before = len(account.proxy.seen)
    failure = refused(api.create, provider="far", internet=True, egress=rules)
    assert failure.status == 501 and says in failure.message, failure
    assert [row for row in account.proxy.seen[before:] if row[1] == "POST"] == [] and account.rows() == []
    with api.sandbox(provider="far", internet=True) as box:
        failure = refused(api.call, "PUT", f"{PATH}/{box}/egress", rules)
        assert failure.status == 501 and says in failure.message, failure


# ---- figures ----


def test_figures_are_those_of_the_service(api):
    with api.sandbox(provider="far", internet=False) as box:
        api.exec(box, "head -c 3000000 /dev/zero > file")
        found = atoll.wait_for(lambda: (stats := api.get(f"{PATH}/{box}/stats")) and stats["memory_bytes"] and stats, 60, "figures")
        assert found["memory_limit_bytes"] >= found["memory_bytes"] > 0 and found["uptime_ms"] > 0, found


def test_figures_that_are_strange_are_none(api, account):
    with api.sandbox(provider="far", internet=False) as box:
        account.proxy.fault = lambda method, target: (500, []) if "/telemetry/" in target else None
        assert atoll.wait_for(lambda: [row for row in account.proxy.seen if "/telemetry/" in row[2]], 30, "a question for figures")
        assert api.get(f"{PATH}/{box}/stats")["uptime_ms"] >= 0
        assert api.exec(box, "echo on")["stdout"] == "on\n"


# ---- snapshots: the first provider of a server keeps them ----


def serve_alone(account):
    return atoll.Server(environment={"DAYTONA_API_KEY": account.server.key}, flags=["--providers", f"daytona=daytona:{account.options()}"])


@pytest.fixture(scope="module")
def alone(account):
    server = serve_alone(account).start()
    with contextlib.closing(server.api()) as connection:
        yield connection
    account.proxy.fault = None
    server.remove_all()


@pytest.mark.parametrize("state", ["started", "paused", "stopped"])
def test_a_sandbox_is_made_from_a_snapshot_of_the_account(alone, account, state):
    remote_snapshots.check_copy(alone, account, state)


@pytest.mark.parametrize("fault", ["cut", "lost"])
def test_a_snapshot_whose_answer_is_lost_leaves_nothing_in_the_account(alone, account, fault):
    remote_snapshots.check_lost_answer(alone, account, fault, "/snapshot")


def test_a_sandbox_is_forked_in_the_account(alone):
    remote_snapshots.check_forks(alone)


def test_an_existing_sandbox_gets_no_other_files(alone):
    remote_snapshots.check_reset_is_refused(alone)


# ---- volumes: the same ----


def test_a_volume_is_one_of_the_account(alone, account):
    remote_volumes.check_life(alone, account, has_subpaths=True)


@pytest.mark.parametrize("fault", ["cut", "lost"])
def test_a_volume_whose_answer_is_lost_leaves_nothing_in_the_account(alone, account, fault):
    remote_volumes.check_lost_answer(alone, account, fault)


def test_mounts_that_the_service_does_not_know_are_refused(alone, account):
    remote_volumes.check_refusals(alone, account)


@pytest.mark.parametrize("fault, says", [("cut", "Daytona"), ("half", "Daytona"), ("lost", "Daytona"), ((500, []), "500"), ((401, []), "daytona_api_key")])
def test_a_create_that_fails_leaves_nothing_in_the_account(api, account, fault, says):
    account.proxy.fault = lambda method, target: fault if (method, target) == ("POST", API + "/sandbox") else None
    failure = refused(api.create, provider="far", internet=False)
    assert failure.status == 503 and says in f"{failure.message} {failure.hint}", failure
    account.proxy.fault = None
    assert account.rows() == []


def test_a_list_that_is_behind_loses_no_sandbox(api, account):
    with api.sandbox(provider="far", internet=False) as box:
        lists = []

        def behind(method, target):
            if method == "GET" and "/sandbox?" in target and "labels" in target:
                lists.append(target)
                return 200, []
            return None
        # An answer without items is no list, and nothing is concluded from it.
        account.proxy.fault = behind
        atoll.wait_for(lambda: lists, 30, "a list")
        time.sleep(1)
        account.proxy.fault = None
        assert api.exec(box, "echo here")["stdout"] == "here\n"


@pytest.mark.smoke
def test_sandboxes_outlive_a_killed_server(api, server):
    with api.sandbox(provider="far", internet=False) as box:
        api.exec(box, "echo kept > file")
        server.kill9("api")
        server.wait_ready()
        with contextlib.closing(server.api()) as again:
            assert again.exec(box, "cat file")["stdout"] == "kept\n"


def test_all_that_is_asked_is_as_specified(tmp_path):
    def load(name):
        path = specifications.FOLDER / "daytona" / name
        if not path.exists():
            pytest.skip(f"{path} is not there")
        return json.loads(path.read_text())
    control = specifications.OpenApi(load("api.json"))
    toolbox = specifications.OpenApi(specifications.of_swagger(load("toolbox.json")))
    asked = set()

    def check(method, target, headers, body):
        path, _, query = target.partition("?")
        if headers.get("upgrade") or not headers.get("authorization", "").startswith("Bearer "):
            return None if headers.get("x-daytona-preview-token") else f"{method} {target}: neither key nor token"
        try:
            if not path.startswith(API):
                path = "/" + path.split("/", 4)[4] if path.startswith("/daytona/") else path
                name, _ = toolbox.find(method, path)
                asked.add(name)
                return None
            name, operation = control.find(method, path[len(API):])
            control.check_query(operation, query, f"{method} {path}")
            content = control.resolve(operation.get("requestBody", {})).get("content", {}).get("application/json")
            if body and content:
                control.check(json.loads(body), content["schema"], f"{method} {path}")
            asked.add(f"{method} {name}")
        except (AssertionError, KeyError, IndexError) as failure:
            return f"{method} {target}: {failure!r}"

    account = Account(tmp_path, check)
    server = serve(account).start()
    try:
        api = server.api()
        with api.sandbox(provider="far", internet=False) as box:
            api.exec(box, "true")
            for verb in ("pause", "resume", "stop", "start"):
                api.post(f"{PATH}/{box}/{verb}")
            atoll.wait_for(lambda: any("/telemetry/" in name for name in asked), 30, "a question for figures")
        with api.sandbox(provider="far", internet=True, egress={"allow": ["1.1.1.1", "example.com"], "deny": ["0.0.0.0/0"]}) as box:
            api.call("PUT", f"{PATH}/{box}/egress", {})
        remote_volumes.exercise(serve_alone(account))
        assert account.proxy.refused == []
        assert {"POST /volumes", "GET /volumes", "GET /volumes/by-name/{name}", "DELETE /volumes/{volumeId}"} <= asked, asked
        assert {"POST /sandbox", "GET /sandbox", "DELETE /sandbox/{sandboxIdOrName}", "/process/execute", "/files/bulk-upload"} <= asked, asked
    finally:
        server.remove_all()
        account.remove()
