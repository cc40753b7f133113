# SPDX-License-Identifier: Apache-2.0
"""Provider e2b: its account is another server of Atoll, which serves E2B's API. In between a proxy refuses what E2B's
specifications do not allow, and fails calls as a test says."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import random
import re
import time

import pytest

import atoll
import remote_proxy
import remote_snapshots
import remote_volumes
import specifications

pytestmark = [pytest.mark.providers, pytest.mark.needs_root]
PATH = "/api/sandbox/instances"
STEPS = ["created", "agent-uploaded", "rest-claimed", "rested", "woken", "removed"]


class Account(remote_proxy.Account):
    def options(self, **more):
        return super().options(e2b_api_url=self.proxy.url, e2b_sandbox_url=self.proxy.url, e2b_template="host", allow_weaker="true", **more)


def serve(account, environment=None, **more):
    return atoll.Server(environment={"E2B_API_KEY": account.server.key, **(environment or {})},
                        flags=["--providers", f"native,far=e2b:{account.options(**more)}"])


@pytest.fixture(scope="module")
def account():
    account = Account()
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


@pytest.fixture
def box(api):
    with api.sandbox(provider="far", internet=False) as made:
        yield made


def show(api, box):
    return api.get(f"{PATH}/{box}")


def refused(call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as caught:
        call(*arguments, **options)
    return caught.value


# ---- what works inside ----


@pytest.mark.smoke
def test_a_sandbox_is_made_in_the_account_and_removed_there(api, account):
    before = len(account.rows())
    made = api.create(provider="far", internet=False, labels={"a": "b"})
    assert (made["provider"], made["isolation"], made["state"]) == ("far", "remote", "started")
    assert made["place"]["object"] and made["place"]["node"] is None, made["place"]
    assert len(account.rows()) == before + 1
    assert account.rows()[0]["labels"]["atoll_id"] == made["id"]
    api.remove(made["id"])
    assert len(account.rows()) == before


@pytest.mark.smoke
def test_commands_have_input_output_and_status(api, box):
    said = api.exec(box, "cat; echo out; echo err >&2; exit 7", stdin="in\n")
    assert (said["stdout"], said["stderr"], said["exit_code"]) == ("in\nout\n", "err\n", 7)
    assert api.exec(box, "seq 200000 | tail -c 7")["stdout"] == "200000\n"
    assert api.exec(box, "id -un", user="root")["stdout"] == "root\n"


def test_files_of_some_megabytes_come_back_as_they_were(api, box):
    data = os.urandom(5 << 20)
    api.write(box, "data.bin", data)
    assert api.read(box, "data.bin") == data
    listed = api.get(f"{PATH}/{box}/files?path=.")
    assert "data.bin" in json.dumps(listed)


def test_a_server_inside_is_reached(api):
    with api.sandbox(provider="far", internet=True) as box:
        api.exec(box, "mkdir -p w && cd w && echo hello > index.html && (python3 -m http.server 8123 > /dev/null 2>&1 &)")
        atoll.wait_for(lambda: "8123" in json.dumps(api.get(f"{PATH}/{box}/ports")), 20, "a port")
        answer = api.raw("GET", f"{PATH}/{box}/preview/8123/index.html")
        assert (answer.status, answer.body) == (200, b"hello\n"), (answer.status, answer.body)


def test_processes_go_on_after_a_pause_and_files_after_a_stop(api, account, box):
    api.exec(box, "(while :; do date +%s%N > beat; sleep 0.1; done) > /dev/null 2>&1 &")
    assert api.post(f"{PATH}/{box}/pause")["state"] == "paused"
    assert [row["state"] for row in account.rows()] == ["paused"]
    first = api.exec(box, "cat beat")["stdout"]
    assert atoll.wait_for(lambda: api.exec(box, "cat beat")["stdout"] != first, 10, "a beat after the pause")
    assert api.post(f"{PATH}/{box}/stop")["state"] == "stopped"
    assert [row["state"] for row in account.rows()] == ["stopped"]
    assert api.post(f"{PATH}/{box}/start")["state"] == "started"
    kept = api.exec(box, "cat beat")["stdout"]
    time.sleep(0.5)
    assert kept and api.exec(box, "cat beat")["stdout"] == kept


@pytest.mark.parametrize("mode", ["ask", "watch"])
def test_modes_that_need_this_server_are_refused_before_the_create(api, account, mode):
    rules = {"allow": ["example.com"], "deny": ["0.0.0.0/0"], "mode": mode}
    failure = refused(api.create, provider="far", internet=True, egress=rules)
    assert failure.status == 501 and f"mode '{mode}'" in failure.message and account.rows() == [], failure


def test_rules_of_the_network_are_those_of_the_account(api, account):
    with api.sandbox(provider="far", internet=True, egress={"allow": ["1.1.1.1"], "deny": ["0.0.0.0/0"]}) as box:
        assert show(api, box)["network"] == "internet"
        far = account.rows()[0]
        assert far["egress"] == {"allow": ["1.1.1.1"], "deny": ["0.0.0.0/0"]}, far["egress"]


@pytest.mark.smoke
def test_what_the_service_lacks_is_refused_by_name(api, box):
    assert "keeps snapshots only for its first provider" in refused(api.post, f"{PATH}/{box}/snapshot", {}).message
    assert {"limit resources", "limit the disk", "make templates"} <= set(show(api, box)["unsupported"])


# ---- snapshots: the first provider of a server keeps them ----


def serve_alone(account):
    return atoll.Server(environment={"E2B_API_KEY": account.server.key}, flags=["--providers", f"e2b=e2b:{account.options()}"])


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
    remote_snapshots.check_lost_answer(alone, account, fault, "/snapshots")


def test_a_sandbox_is_forked_in_the_account(alone):
    remote_snapshots.check_forks(alone)


def test_an_existing_sandbox_gets_no_other_files(alone):
    remote_snapshots.check_reset_is_refused(alone)


# ---- volumes: the same ----


def test_a_volume_is_one_of_the_account(alone, account):
    remote_volumes.check_life(alone, account, has_subpaths=False)


@pytest.mark.parametrize("fault", ["cut", "lost"])
def test_a_volume_whose_answer_is_lost_leaves_nothing_in_the_account(alone, account, fault):
    remote_volumes.check_lost_answer(alone, account, fault)


def test_mounts_that_the_service_does_not_know_are_refused(alone, account):
    remote_volumes.check_refusals(alone, account)


def test_figures_come_from_the_account(api, box):
    shown = api.get(f"{PATH}/{box}/stats")
    assert shown["uptime_ms"] >= 0, shown


# ---- the specifications ----


def test_all_that_is_asked_is_as_specified():
    control = specifications.OpenApi(specifications.load("e2b/openapi.yml"))
    files = specifications.OpenApi(specifications.load("e2b/envd/envd.yaml"))
    calls = specifications.Protocol("e2b/envd/process/process.proto", "e2b/envd/filesystem/filesystem.proto")
    asked = set()

    def check(method, target, headers, body):
        path, _, query = target.partition("?")
        if headers.get("e2b-sandbox-port", "49983") != "49983":
            return None if headers.get("upgrade") == "websocket" else "an agent's port without WebSocket"
        try:
            if path in calls.methods:
                asks, asks_stream, _, tells_stream = calls.methods[path]
                assert headers["connect-protocol-version"] == "1"
                assert headers["content-type"] == ("application/connect+json" if asks_stream or tells_stream else "application/json")
                (calls.check_stream(body, asks, path, True) if tells_stream else calls.check(json.loads(body), asks, path))
                asked.add(path)
                return None
            of = files if "e2b-sandbox-id" in headers else control
            name, operation = of.find(method, path)
            of.check_query(operation, query, f"{method} {path}")
            content = of.resolve(operation.get("requestBody", {}))
            if content.get("required"):
                assert body, f"{method} {path} needs a body"
            if body:
                kind = content["content"][headers["content-type"]]
                if headers["content-type"] == "application/json":
                    of.check(json.loads(body), kind["schema"], f"{method} {path}")
            assert of is files or headers.get("x-api-key"), "no key"
            asked.add(f"{method} {name}")
        except (AssertionError, KeyError) as failure:
            return f"{method} {target}: {failure!r}"

    account = Account(check)
    server = serve(account, {"ATOLL_METRICS_EVERY": "1s"}).start()
    try:
        api = server.api()
        for options in ({"internet": False}, {"internet": True, "egress": {"allow": ["1.1.1.1"], "deny": ["0.0.0.0/0"]}}):
            with api.sandbox(provider="far", **options) as box:
                api.exec(box, "true")
                for verb in ("pause", "resume", "stop", "start", "pause", "stop"):
                    api.post(f"{PATH}/{box}/{verb}")
        remote_volumes.exercise(serve_alone(account))
        assert account.proxy.refused == []
        assert {"POST /volumes", "GET /volumes", "DELETE /volumes/{volumeID}"} <= asked, asked
        assert {"POST /sandboxes", "GET /sandboxes/{sandboxID}", "DELETE /sandboxes/{sandboxID}", "POST /sandboxes/{sandboxID}/pause",
                "POST /sandboxes/{sandboxID}/connect", "GET /v2/sandboxes", "POST /files", "/process.Process/Start"} <= asked, asked
    finally:
        server.remove_all()
        account.remove()


# ---- faults of the service ----


@pytest.mark.parametrize("fault, says", [("cut", "E2B"), ("half", "E2B"), ("lost", "E2B"), ("garbled", "E2B"), ((500, []), "500"), ((401, []), "e2b_api_key")])
def test_a_create_that_fails_leaves_nothing_in_the_account(api, account, fault, says):
    before = len(account.rows())
    account.proxy.fault = lambda method, target: fault if (method, target) == ("POST", "/sandboxes") else None
    failure = refused(api.create, provider="far", internet=False)
    assert failure.status == 503 and says in f"{failure.message} {failure.hint}", failure
    account.proxy.fault = None
    assert len(account.rows()) == before


@pytest.mark.parametrize("path", ["/files", "/process.Process/Start"])
def test_a_sandbox_without_its_agent_is_removed(api, account, path):
    before = len(account.rows())
    account.proxy.fault = lambda method, target: (500, []) if target.startswith(path) else None
    assert refused(api.create, provider="far", internet=False).status == 503
    account.proxy.fault = None
    assert len(account.rows()) == before


@pytest.mark.smoke
def test_a_limit_of_calls_is_obeyed(api, account):
    told = []

    def limit(method, target):
        if (method, target) == ("POST", "/sandboxes") and len(told) < 2:
            told.append(time.monotonic())
            return 429, [("Retry-After", "1")]
        return None
    account.proxy.fault = limit
    with api.sandbox(provider="far", internet=False):
        assert len(told) == 2
        pauses = [later - earlier for earlier, later in zip(told, [*told[1:], time.monotonic()])]
        assert min(pauses) >= 0.9, pauses


def test_a_long_limit_fails_the_create_with_the_time(account):
    server = serve(account).start()
    try:
        account.proxy.fault = lambda method, target: (429, [("Retry-After", "60")]) if (method, target) == ("POST", "/sandboxes") else None
        api = server.api()
        begun = time.monotonic()
        failure = refused(api.create, provider="far", internet=False)
        assert failure.status == 503 and time.monotonic() - begun < 10, failure
        account.proxy.fault = None
        # The pause holds for the whole account, and other providers go on.
        seen = len([1 for _, method, _ in account.proxy.seen if method == "POST"])
        assert "no more calls" in refused(api.create, provider="far", internet=False).message
        assert len([1 for _, method, _ in account.proxy.seen if method == "POST"]) == seen
        with api.sandbox(internet=False) as box:
            assert api.exec(box, "echo on")["stdout"] == "on\n"
    finally:
        account.proxy.fault = None
        server.remove_all()


def test_a_service_that_hangs_costs_only_its_own_sandboxes(account):
    server = serve(account, create_timeout="60s").start()
    account.proxy.released.clear()
    account.proxy.fault = lambda method, target: "hang" if method == "POST" else None
    try:
        def create(number):
            with contextlib.closing(server.api(timeout=120)) as api:
                try:
                    return api.create(provider="far", internet=False, name=f"hung-{number}")
                except atoll.ApiError as failure:
                    return failure
        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            hung = [pool.submit(create, number) for number in range(4)]
            time.sleep(6)
            late = [pool.submit(create, number) for number in range(10, 20)]
            with contextlib.closing(server.api(timeout=10)) as api:
                for _ in range(5):
                    begun = time.monotonic()
                    with api.sandbox(provider="native", internet=False) as box:
                        assert api.exec(box, "echo on")["stdout"] == "on\n"
                    assert time.monotonic() - begun < 5
            said = [call.result(timeout=30) for call in late]
            assert all(isinstance(one, atoll.ApiError) and one.status == 503 and "hangs" in one.message for one in said), said
            account.proxy.released.set()
            account.proxy.fault = None
            assert all(isinstance(call.result(timeout=90), atoll.ApiError) for call in hung)
    finally:
        account.proxy.released.set()
        account.proxy.fault = None
        server.remove_all()


def test_a_connection_that_breaks_costs_its_call_only(api, account, box):
    api.exec(box, "true")
    account.proxy.break_streams()
    time.sleep(0.5)  # a call that is under way when its connection breaks fails: it may have been run
    assert api.exec(box, "echo again")["stdout"] == "again\n"


def test_another_key_in_the_file_is_taken_without_a_restart(account, tmp_path):
    owner = account.server.api()
    os.chmod(tmp_path, 0o711)
    path = tmp_path / "key"
    first = owner.post("/api/sandbox/keys", {"name": "first"})
    path.write_text(first["key"] + "\n")
    path.chmod(0o644)
    for folder in list(tmp_path.parents)[:-2]:
        with contextlib.suppress(OSError):
            folder.chmod(folder.stat().st_mode | 0o011)
    server = serve(account, e2b_api_key=f"file:{path}").start()
    try:
        api = server.api()
        with api.sandbox(provider="far", internet=False) as box:
            owner.delete(f"/api/sandbox/keys/{first['id']}")
            path.write_text(owner.post("/api/sandbox/keys", {"name": "second"})["key"] + "\n")
            api.post(f"{PATH}/{box}/pause")
            assert api.exec(box, "echo on")["stdout"] == "on\n"
    finally:
        server.remove_all()


# ---- the end of the service's sandbox, and of this server ----


@pytest.mark.smoke
def test_a_sandbox_that_the_account_removes_is_lost_here(api, account):
    made = api.create(provider="far", internet=False)
    far = next(row for row in account.rows() if row["labels"]["atoll_id"] == made["id"])
    with contextlib.closing(account.server.api()) as owner:
        owner.remove(far["id"])
    atoll.wait_for(lambda: show(api, made["id"])["state"] not in ("started", "stopping"), 40, lambda: f"the end: {show(api, made['id'])}")
    api.remove(made["id"])


def test_sandboxes_outlive_a_killed_server(api, server, box):
    api.exec(box, "echo kept > file; (sleep 1234 > /dev/null 2>&1 &)")
    server.kill9("api")
    server.wait_ready()
    with contextlib.closing(server.api()) as again:
        assert again.exec(box, "cat file; ps ax | grep -c '[s]leep 1234'")["stdout"] == "kept\n1\n"


def test_the_account_keeps_what_is_not_this_servers(api, account):
    with contextlib.closing(account.server.api()) as owner:
        with owner.sandbox(internet=False) as other, owner.sandbox(internet=False, labels={"atoll_server": "a" * 20, "atoll_id": "b" * 20}) as foreign:
            with api.sandbox(provider="far", internet=False):
                pass
            time.sleep(1)
            assert {other, foreign} <= {row["id"] for row in account.rows()}


def run_until_killed(server, step, act):
    """Starts the server with the fault, and lets it do something in which it dies."""
    server.environment["ATOLL_FAULT"] = f"remote:{step}:kill"
    server.start()
    with contextlib.suppress(atoll.ApiError, OSError, http.client.HTTPException):
        with contextlib.closing(server.api(timeout=8)) as api:
            act(api)
    server.stop()
    del server.environment["ATOLL_FAULT"]
    server.start()


ACTS = {
    "created": lambda api, box: api.create(provider="far", internet=False),
    "agent-uploaded": lambda api, box: api.create(provider="far", internet=False),
    "rest-claimed": lambda api, box: api.post(f"{PATH}/{box}/pause"),
    "rested": lambda api, box: api.post(f"{PATH}/{box}/pause"),
    "woken": lambda api, box: (api.post(f"{PATH}/{box}/stop"), api.post(f"{PATH}/{box}/start")),
    "removed": lambda api, box: api.remove(box),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_server_that_dies_at_a_step_leaves_rows_and_account_in_agreement(account, step):
    server = serve(account, {"ATOLL_CREATE_TIMEOUT": "20s"}).start()
    try:
        with contextlib.closing(server.api()) as api:
            box = api.create(provider="far", internet=False)["id"]
            api.exec(box, "echo kept > file")
        server.stop()
        run_until_killed(server, step, lambda api: ACTS[step](api, box))
        api = server.api(timeout=90)

        def agree():
            ours = {row["id"] for row in server.rows(api) if row["provider"] == "far" and row["state"] in ("started", "paused", "stopped")}
            return ours == {row["labels"]["atoll_id"] for row in account.rows() if row["labels"].get("atoll_id")}
        atoll.wait_for(agree, 90, lambda: f"agreement: {server.rows(api)} and {account.rows()}\n{server.log_text()}")
        if step == "woken":
            api.post(f"{PATH}/{box}/start")
        if step != "removed":
            assert api.exec(box, "cat file")["stdout"] == "kept\n"
        for row in server.rows(api):
            api.remove(row["id"])
        atoll.wait_for(lambda: account.rows() == [], 30, lambda: f"an empty account: {account.rows()}")
    finally:
        server.remove_all()


def test_a_storm_of_faults_and_kills_leaves_nothing_in_the_account(account):
    """Creates, pauses and deletes, while every sixth call of the account fails and the server is killed twice."""
    chance, made = random.Random(7), []
    kinds = ["cut", "lost", "half", (500, []), (429, [("Retry-After", "0")]), (503, [])]
    server = serve(account, {"ATOLL_CREATE_TIMEOUT": "20s"}).start()
    account.proxy.fault = lambda method, target: chance.choice(kinds) if chance.random() < 1 / 6 else None

    def live(number):
        with contextlib.suppress(atoll.ApiError, OSError, http.client.HTTPException), contextlib.closing(server.api(timeout=40)) as api:
            box = api.create(provider="far", internet=False, name=f"storm-{number}")["id"]
            api.exec(box, "true")
            made.append(box)
            api.post(f"{PATH}/{box}/{chance.choice(['pause', 'stop'])}")
            if number % 2:
                api.remove(box)
    try:
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            lives = [pool.submit(live, number) for number in range(40)]
            for _ in range(2):
                time.sleep(1.5)
                server.kill9("api")
                server.wait_ready()
            for one in lives:
                one.result(timeout=120)
        account.proxy.fault = None
        assert len(made) >= 5, made
        api = server.api(timeout=60)

        def remove_rows():
            for row in server.rows(api):
                with contextlib.suppress(atoll.ApiError):
                    api.remove(row["id"])
            return not server.rows(api) and not account.rows()
        atoll.wait_for(remove_rows, 120, lambda: f"an empty account: {account.rows()}\n{server.log_text()}")
    finally:
        account.proxy.fault = None
        server.remove_all()


@pytest.mark.smoke
def test_the_key_is_shown_nowhere(server, account, api):
    secret = account.server.key
    assert secret not in json.dumps(api.get("/v1/providers")) and secret not in server.log_text()
    done = server.cli("config", "--data", server.data)
    assert secret.encode() not in done.stdout
    for line in server.descendants().values():
        assert secret not in line


def test_a_provider_is_added_while_the_server_runs(server, account):
    with contextlib.closing(server.api()) as api:
        done = server.cli("provider", "add", "more", "--kind", "e2b", "--set", f"e2b_api_key={account.server.key}", "--set", f"e2b_api_url={account.proxy.url}",
                          "--set", f"e2b_sandbox_url={account.proxy.url}", "--set", "e2b_template=host", "--set", "allow_weaker=true")
        assert done.returncode == 0, done.stderr
        with api.sandbox(provider="more", internet=False) as box:
            assert api.exec(box, "echo more")["stdout"] == "more\n"
        assert not re.search(account.server.key, server.cli("provider", "ls").stdout.decode())
        assert server.cli("provider", "check", "more").returncode == 0
        assert server.cli("provider", "rm", "more").returncode == 0


def test_another_key_of_an_added_provider_is_taken_without_a_restart(server, account):
    owner = account.server.api()
    first = owner.post("/api/sandbox/keys", {"name": "rotated"})
    with contextlib.closing(server.api()) as api:
        api.post("/v1/providers", {"name": "turn", "kind": "e2b", "settings": {
            "e2b_api_key": first["key"], "e2b_api_url": account.proxy.url, "e2b_sandbox_url": account.proxy.url, "e2b_template": "host",
            "allow_weaker": "true"}})
        with api.sandbox(provider="turn", internet=False) as box:
            owner.delete(f"/api/sandbox/keys/{first['id']}")
            assert "e2b_api_key" in str(refused(api.create, provider="turn", internet=False).body)
            api.call("PATCH", "/v1/providers/turn", {"settings": {"e2b_api_key": account.server.key}})
            assert api.exec(box, "echo on")["stdout"] == "on\n"
            with api.sandbox(provider="turn", internet=False) as other:
                assert api.exec(other, "echo new")["stdout"] == "new\n"
        failure = refused(api.call, "PATCH", "/v1/providers/turn", {"settings": {"e2b_api_url": "http://127.0.0.1:1"}})
        assert failure.status == 501 and "e2b_api_url" in failure.message, failure
        assert "blank" in refused(api.call, "PATCH", "/v1/providers/turn", {"settings": {"e2b_api_key": "a blank"}}).message
