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
import small_root
import specifications

pytestmark = [pytest.mark.providers, pytest.mark.needs_root]
PATH = "/api/sandbox/instances"
API = "/daytona/api"


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
    assert {"stats", "keep a sandbox from addresses"} <= set(api.get(f"{PATH}/{box}")["unsupported"])
    api.remove(box)
    assert account.rows() == []


# ---- snapshots: the first provider of a server keeps them ----


@pytest.fixture(scope="module")
def alone(account):
    server = atoll.Server(environment={"DAYTONA_API_KEY": account.server.key}, flags=["--providers", f"daytona=daytona:{account.options()}"]).start()
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
        assert account.proxy.refused == []
        assert {"POST /sandbox", "GET /sandbox", "DELETE /sandbox/{sandboxIdOrName}", "/process/execute", "/files/bulk-upload"} <= asked, asked
    finally:
        server.remove_all()
        account.remove()
