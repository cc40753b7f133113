# SPDX-License-Identifier: Apache-2.0
"""What is metered is what was used: over stops, restarts and kill -9; budgets end what they should."""

import contextlib
import csv
import io
import os
import signal
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
PRICES = ("--usage-flush", "1s", "--price-vcpu-second", "1", "--price-memory-gib-second", "0.5")


@pytest.fixture
def metered():
    server = atoll.Server(flags=PRICES).start()
    yield server
    if server.process is None or server.process.poll() is not None:
        server.start()
    server.remove_all()


def usage(api, group_by="total", **query):
    """{group: item}"""
    query = "".join(f"&{name}={value}" for name, value in query.items())
    return {item["group"]: item for item in api.get(f"/v1/usage?group_by={group_by}{query}")["items"]}


def seconds(api, sandbox):
    return usage(api, "sandbox", sandbox=sandbox).get(sandbox, {"seconds": 0})["seconds"]


def use_for(api, sandbox, least):
    """At work for so long."""
    api.exec(sandbox, f"sleep {least}")


class Wall:
    """What a sandbox has been active for by our clock: at least between the answer that it is and the request that
    ends it, at most between the request that begins it and the answer that it has ended."""
    least = most = 0

    @contextlib.contextmanager
    def stretch(self):
        self.asked = self.begun = time.time()
        yield self
        self.most += time.time() - self.asked

    def is_active(self):
        self.begun = time.time()

    def ends(self):
        self.least += time.time() - self.begun

    def agrees(self, counted):
        return self.least - 0.1 <= counted <= self.most + 0.1


def test_sums_agree_with_the_wall_over_stops_and_kill_9(metered):
    api = metered.api()
    wall = Wall()
    with wall.stretch():
        made = api.create(internet=False, persistent=True, resources={"cpu": 1, "memory_mb": 1024})["id"]
        wall.is_active()
        use_for(api, made, 1.5)
        wall.ends()
        api.post(f"{PATH}/{made}/stop")
    atoll.wait_for(lambda: wall.agrees(seconds(api, made)), 15, "the first stretch")
    resting = time.time()
    while time.time() - resting < 2:  # stopped time is free
        assert wall.agrees(seconds(api, made))
    with wall.stretch():
        api.post(f"{PATH}/{made}/start")
        wall.is_active()
        use_for(api, made, 1)
        old = metered.kill9("api")
        atoll.wait_for(lambda: metered.pid_of("api") not in (None, old), 15, "a new process")
        metered.wait_ready()
        use_for(api, made, 1)
        wall.ends()
        api.remove(made)
    atoll.wait_for(lambda: wall.agrees(seconds(api, made)), 15, "both stretches")
    item = usage(api, "sandbox", sandbox=made)[made]
    assert item["usd"] == pytest.approx(item["seconds"] * 1.5, abs=0.000002)
    assert item["vcpu_seconds"] == pytest.approx(item["seconds"], abs=0.01)
    # Nothing comes after the end.
    again = usage(api, "sandbox", sandbox=made)[made]
    assert again == item
    assert sum(i["usd_micro"] for i in usage(api, "reason").values()) == usage(api)[""]["usd_micro"]


def kill_all(server):
    """As a power cut would, but that the sandboxes go on."""
    for pid in filter(None, [server.process.pid, server.pid_of("api"), server.pid_of("broker")]):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    server.process.wait()


def test_kills_while_it_is_metered_count_nothing_twice_and_lose_nothing(metered):
    """What is active is part of the sandbox's row: it is lost with nothing but that."""
    api = metered.api()
    begun = time.time()
    made = api.create(internet=False, persistent=True, resources={"cpu": 1, "memory_mb": 1024})["id"]
    started = time.time()
    for victim in ("api", "broker", "all", "api", "all"):
        time.sleep(1.1)  # active time that must be counted
        if victim == "all":
            kill_all(metered)
            metered.start()
        else:
            old = metered.kill9(victim)
            atoll.wait_for(lambda: metered.pid_of(victim) not in (None, old), 15, "a new process")
            metered.wait_ready()
        assert seconds(metered.api(), made) <= time.time() - begun + 0.1
    api = metered.api()
    least = time.time() - started
    api.remove(made)
    most = time.time() - begun
    atoll.wait_for(lambda: seconds(api, made) > least - 0.1, 15, lambda: f"{least} seconds, not {seconds(api, made)}")
    item = usage(api, "sandbox", sandbox=made)[made]
    assert item["seconds"] <= most + 0.1
    assert item["usd"] == pytest.approx(item["seconds"] * 1.5, abs=0.00001)
    assert api.get("/v1/balance")["spent_usd"] == pytest.approx(item["usd"], abs=0.00001)


@pytest.mark.parametrize("step", ["collected", "written", "warned"])
def test_a_budget_ends_its_sandbox_though_the_server_dies_on_the_way(metered, step):
    api = metered.api()
    begun = time.time()
    made = api.create(internet=False, persistent=True, resources={"cpu": 1, "memory_mb": 1024})["id"]
    budget = api.post("/v1/budgets", {"limit_usd": 2, "window": "total", "warn_at": 0.5})["id"]
    kill_all(metered)
    log = metered.data / "serve.log"
    size = log.stat().st_size
    metered.environment["ATOLL_FAULT"] = f"usage:{step}:kill"
    with contextlib.suppress(Exception):  # it dies again and again, each time at that step
        metered.start()
    atoll.wait_for(lambda: log.read_bytes()[size:].count(b"process killed") >= 2, 15, "its death at that step")
    kill_all(metered)
    metered.environment.pop("ATOLL_FAULT")
    metered.start()
    api = metered.api()
    row = atoll.wait_for(lambda: (r := api.get(f"{PATH}/{made}"))["state"] == "stopped" and r, 15, "its end")
    assert row["reason"] == "budget"
    warnings = api.get("/v1/events?kind=budget.warned")["items"]
    assert len(warnings) == 1 and budget in warnings[0]["text"]
    assert seconds(api, made) <= time.time() - begun + 0.1
    api.delete(f"/v1/budgets/{budget}")
    api.remove(made)


def test_time_is_told_by_run_reason_and_key(metered):
    api = metered.api()
    with api.sandbox(internet=False) as box:
        begun = time.time()
        answer = api.call("POST", f"{PATH}/{box}/exec", {"command": "sleep 1.2"}, {"Atoll-Run": "run-7"})
        assert answer["exit_code"] == 0
        runs = atoll.wait_for(lambda: "run-7" in usage(api, "run") and usage(api, "run"), 30, "the run")
        assert 0.5 < runs["run-7"]["seconds"] <= time.time() - begun + 0.1
        assert "agent_run" in usage(api, "reason")
        atoll.wait_for(lambda: "idle" in usage(api, "reason"), 30, "idle time")
        api.write(box, "x", b"1")
        atoll.wait_for(lambda: "file_ops" in usage(api, "reason"), 30, "file operations")
        # A tool counts as what it does, whichever surface calls it.
        api.post("/v1/tools/run_code", {"sandboxId": box, "input": {"language": "bash", "code": "sleep 0.3"}})
        atoll.wait_for(lambda: "code" in usage(api, "reason"), 15, "the tool's time as code")
        assert len(usage(api, "key")) == 1
        assert len(usage(api, "day")) in (1, 2)
    with pytest.raises(atoll.ApiError) as refused:
        api.call("POST", f"{PATH}/none/exec", {"command": "true"}, {"Atoll-Run": "=1+1"})
    assert refused.value.status == 400


def test_cpu_time_is_sampled(metered):
    api = metered.api()
    with api.sandbox(internet=False, resources={"cpu": 1}) as box:
        api.exec(box, cmd="/usr/bin/python3", args=["-c", "import time\nwhile time.process_time() < 1: pass"])
        atoll.wait_for(lambda: usage(api, "sandbox", sandbox=box)[box]["cpu_seconds"] > 0.9, 15, "cpu time")


def test_usage_is_grouped_by_the_values_of_a_label(metered):
    api = metered.api()
    with api.sandbox(internet=False, labels={"team": "a b", "other": "x"}) as labelled, api.sandbox(internet=False) as plain:
        for box in (labelled, plain):
            use_for(api, box, 0.5)
        atoll.wait_for(lambda: {"a b", ""} <= set(usage(api, "label", label="team")), 30, "both groups")
        assert usage(api, "label", label="team", sandbox=labelled).keys() == {"a b"}
        assert usage(api, "label", label="absent").keys() == {""}
        shown = metered.cli("usage", "--by", "label", "--label", "team")
        assert b"a b" in shown.stdout and shown.returncode == 0, shown
    for bad in ("group_by=label", "group_by=run&label=team", "label=team", "group_by=label&label=", "group_by=label&label=" + 129 * "x"):
        with pytest.raises(atoll.ApiError) as refused:
            api.get(f"/v1/usage?{bad}")
        assert refused.value.status == 400 and "label" in refused.value.message, bad


def test_csv_is_what_a_csv_reader_reads(metered):
    api = metered.api()
    with api.sandbox(internet=False) as box:
        for run in ("-1", "@SUM(A1)".replace("(", "_").replace(")", "_"), "plain"):
            api.call("POST", f"{PATH}/{box}/exec", {"command": "true"}, {"Atoll-Run": run})
        atoll.wait_for(lambda: "plain" in usage(api, "run"), 30, "the runs")
        answer = api.raw("GET", "/v1/usage?group_by=run&format=csv")
    assert answer.headers["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.body.decode(), newline="")))
    assert {"'-1", "'@SUM_A1_", "plain"} <= {row["run"] for row in rows}
    for row in rows:
        assert float(row["usd"]) >= 0 and float(row["seconds"]) >= 0
    first = api.raw("GET", "/v1/usage?group_by=run&format=csv&limit=1")
    assert len(first.body.splitlines()) == 2 and first.headers["Atoll-Next-Page"]


def test_a_budget_warns_stops_and_refuses(metered):
    api = metered.api()
    made = api.create(internet=False, resources={"cpu": 1})["id"]
    budget = api.post("/v1/budgets", {"limit_usd": 2, "window": "total", "warn_at": 0.5})
    assert budget["level"] in ("fine", "warned")
    atoll.wait_for(lambda: api.get(f"{PATH}/{made}")["state"] == "stopped", 30, "the end of the money")
    row = api.get(f"{PATH}/{made}")
    assert row["reason"] == "budget"
    warnings = api.get("/v1/events?kind=budget.warned")["items"]
    assert len(warnings) == 1 and budget["id"] in warnings[0]["text"]
    assert "a budget comes to its end" in metered.log_text()
    for call in (lambda: api.create(internet=False), lambda: api.post(f"{PATH}/{made}/start")):
        with pytest.raises(atoll.ApiError) as refused:
            call()
        assert (refused.value.status, refused.value.code) == (402, "budget_exceeded")
        quota = refused.value.body["error"]["quota"]
        assert (quota["name"], quota["scope"], quota["limit"], quota["reset_at"]) == ("budget", "project", 2, None) and quota["used"] >= 2
        assert budget["id"] in refused.value.message
    # It holds over a restart, as well.
    old = metered.kill9("api")
    atoll.wait_for(lambda: metered.pid_of("api") not in (None, old), 15, "a new process")
    metered.wait_ready()

    def refuses():
        try:
            api.remove(api.create(internet=False)["id"])
        except atoll.ApiError as error:
            return error.status == 402
        return False
    atoll.wait_for(refuses, 30, "a refusal after the restart")
    listed = api.get("/v1/budgets")["items"]
    assert [(b["id"], b["level"]) for b in listed] == [(budget["id"], "exceeded")]
    # More money, and it goes on.
    for body in ({}, {"limit_usd": 0}, {"limit_usd": -1}, {"warn_at": 2}, {"limit_usd": 5, "window": "day"}):
        with pytest.raises(atoll.ApiError) as refused:
            api.call("PATCH", f"/v1/budgets/{budget['id']}", body)
        assert refused.value.status == 400
    raised = api.call("PATCH", f"/v1/budgets/{budget['id']}", {"limit_usd": 1000})
    assert (raised["limit_usd"], raised["warn_at"], raised["level"]) == (1000, 0.5, "fine")
    assert api.post(f"{PATH}/{made}/start")["state"] == "started"
    assert metered.cli("budget", "set", "--warn-at", "0.25", budget["id"]).returncode == 0
    assert api.get("/v1/budgets")["items"][0]["warn_at"] == 0.25
    api.delete(f"/v1/budgets/{budget['id']}")
    told = [(e["kind"], budget["id"] in e["text"]) for e in api.get("/v1/events?kind=budget.*")["items"]]
    assert told == [(f"budget.{kind}", True) for kind in ("created", "warned", "exceeded", "updated", "updated", "deleted")]


def test_a_deposit_is_booked_once_and_the_balance_falls(metered):
    api = metered.api()
    for _ in range(2):
        api.post("/v1/balance/deposits", {"id": "invoice-1", "usd": 10})
    assert api.get("/v1/balance")["deposited_usd"] == 10
    with api.sandbox(internet=False, resources={"cpu": 1}):
        atoll.wait_for(lambda: api.get("/v1/balance")["balance_usd"] < 10, 30, "spending")
    balance = api.get("/v1/balance")
    assert balance["balance_usd"] == pytest.approx(10 - balance["spent_usd"])


def test_the_command_line_shows_it(metered):
    api = metered.api()
    with api.sandbox(internet=False):
        atoll.wait_for(lambda: usage(api), 30, "usage")
        shown = metered.cli("usage", "--by", "sandbox")
        assert shown.returncode == 0 and b"USD" in shown.stdout
        assert metered.cli("usage", "--csv").stdout.startswith(b'"day","seconds"')
        made = metered.cli("budget", "create", "--limit", "1000", "--window", "day").stdout.decode().strip()
        assert made in metered.cli("budget", "ls").stdout.decode()
        assert metered.cli("budget", "rm", made).returncode == 0
    printed = metered.cli("config", "--price-vcpu-second", "0.000014").stdout.decode()
    assert "price_vcpu_second: 1.4e-05" in printed


# ---- budgets of a run, a label and a conversation ----


def spend(api, box, least, **headers):
    """A command of so many seconds; its answer, or the refusal."""
    try:
        return api.call("POST", f"{PATH}/{box}/exec", {"command": f"sleep {least}"}, headers)
    except atoll.ApiError as error:
        return error


def is_refused(answer, scope, subject):
    if not isinstance(answer, atoll.ApiError):
        return False
    assert (answer.status, answer.code) == (402, "budget_exceeded"), answer
    assert f"of {scope} '{subject}' is spent" in answer.message
    assert answer.body["error"]["quota"]["scope"] == scope and answer.body["error"]["quota"]["used"] > 0
    return True


@pytest.mark.parametrize(("scope", "header"), [("run", "Atoll-Run"), ("conversation", "Atoll-Conversation")])
def test_calls_of_what_has_spent_its_budget_are_refused_and_no_others(metered, scope, header):
    api = metered.api()
    mine, theirs = {header: "r/1"}, {header: "r/2"}
    with api.sandbox(internet=False, resources={"cpu": 1}) as box:
        made = api.post("/v1/budgets", {"scope": scope, "subject": "r/1", "limit_usd": 2, "window": "day", "warn_at": 0.5})
        assert made["subject"] == "r/1" and made["scope"] == scope
        refused = atoll.wait_for(lambda: is_refused(answer := spend(api, box, 0.5, **mine), scope, "r/1") and answer, 30, "a refusal")
        assert refused.body["error"]["quota"]["reset_at"] > time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
        raw = api.raw("POST", f"{PATH}/{box}/exec", {"command": "true"}, mine)
        assert raw.status == 402 and 0 < int(raw.headers["Retry-After"]) <= 24 * 3600 + 1
        assert spend(api, box, 0, **theirs)["exit_code"] == 0 and spend(api, box, 0)["exit_code"] == 0
        snapshot = api.post(f"{PATH}/{box}/snapshot", {})["id"]
        # Other ways to spend are closed, too; reading and ending are not.
        for method, path, body in (("POST", PATH, {"internet": False}), ("POST", "/v1/tools/bash", {"sandboxId": box, "input": {"command": "true"}}),
                                   ("POST", f"{PATH}/{box}/start", None), ("POST", f"{PATH}/{box}/windows/main/run", {"command": "true"}),
                                   ("POST", f"{PATH}/{box}/fork", {}), ("POST", "/v1/tools/create_sandbox", {"input": {"internet": False}}),
                                   ("POST", f"/api/sandbox/snapshots/{snapshot}/restore", {"new": True}), ("POST", f"{PATH}/{box}/reset", None)):
            with pytest.raises(atoll.ApiError) as error:
                api.call(method, path, body, mine)
            assert is_refused(error.value, scope, "r/1"), path
        assert api.call("GET", f"{PATH}/{box}", None, mine)["state"] == "started"
        if scope == "conversation":
            with pytest.raises(atoll.ApiError) as error:
                api.post("/v1/tools/bash", {"sandboxId": box, "conversationId": "r/1", "input": {"command": "true"}})
            assert is_refused(error.value, scope, "r/1")
            with pytest.raises(atoll.ApiError) as error:
                api.post(f"{PATH}/{box}/exec", {"command": "true", "conversation": "r/1"})
            assert is_refused(error.value, scope, "r/1")
        # Over a kill, and the budget's own events are told once.
        old = metered.kill9("api")
        atoll.wait_for(lambda: metered.pid_of("api") not in (None, old), 15, "a new process")
        metered.wait_ready()
        assert is_refused(atoll.wait_for(lambda: isinstance(answer := spend(api, box, 0, **mine), atoll.ApiError) and answer, 20, "a refusal after the kill"), scope, "r/1")
        told = [e["kind"] for e in api.get("/v1/events?kind=budget.*")["items"]]
        assert told == ["budget.created", "budget.warned", "budget.exceeded"]
        counted = [line for line in api.raw("GET", "/metrics").body.decode().splitlines() if line.startswith(f'atoll_budget_refusals_total{{scope="{scope}"}} ')]
        assert int(counted[0].split()[1]) >= 1
        api.call("PATCH", f"/v1/budgets/{made['id']}", {"limit_usd": 1000})
        assert spend(api, box, 0, **mine)["exit_code"] == 0
        spend(api, box, 0.3, **theirs)
        atoll.wait_for(lambda: usage(api, scope).keys() >= {"r/1", "r/2", ""}, 20, lambda: f"all in {usage(api, scope)}")
        assert usage(api, scope, **{scope: "r/2"}).keys() == {"r/2"}


def test_a_call_that_runs_is_cut_off_when_its_run_has_spent_its_budget(metered):
    api = metered.api()
    with api.sandbox(internet=False, resources={"cpu": 1}) as box:
        api.post("/v1/budgets", {"scope": "run", "subject": "long", "limit_usd": 2, "window": "total"})
        begun = time.time()
        answer = spend(api, box, 120, **{"Atoll-Run": "long"})
        assert time.time() - begun < 60
        assert is_refused(answer, "run", "long"), answer
        assert api.get(f"{PATH}/{box}")["state"] == "started"
        # The command itself goes on, as after any broken connection, and its time is no longer the run's.
        spent = usage(api, "run", run="long")["long"]["seconds"]
        atoll.wait_for(lambda: seconds(api, box) > spent + 3, 30, "time that is not the run's")
        assert usage(api, "run", run="long")["long"]["seconds"] <= spent + 1.5


def test_a_budget_of_a_label_stops_its_sandboxes(metered):
    api = metered.api()
    labelled = api.create(internet=False, labels={"team": "a b"}, resources={"cpu": 1})["id"]
    other = api.create(internet=False, labels={"team": "c"}, resources={"cpu": 1})["id"]
    made = metered.cli("budget", "create", "--limit", "2", "--window", "total", "--label", "team=a b")
    assert made.returncode == 0, made
    assert b"team=a b" in metered.cli("budget", "ls").stdout
    row = atoll.wait_for(lambda: (r := api.get(f"{PATH}/{labelled}"))["state"] == "stopped" and r, 30, "its end")
    assert row["reason"] == "budget"
    assert api.get(f"{PATH}/{other}")["state"] == "started"
    for call in (lambda: api.post(f"{PATH}/{labelled}/start"), lambda: api.create(internet=False, labels={"team": "a b"})):
        with pytest.raises(atoll.ApiError) as error:
            call()
        assert is_refused(error.value, "label", "team=a b")
    api.remove(labelled)
    api.remove(other)


def test_budgets_about_nothing_are_refused(metered):
    api = metered.api()
    for body, text in (({"scope": "run"}, "which run"), ({"scope": "run", "subject": "a b"}, "a run's name"),
                       ({"scope": "label", "subject": "team"}, "no NAME=VALUE"), ({"scope": "label", "subject": "=x"}, "label"),
                       ({"scope": "conversation", "subject": "a b"}, "conversation"), ({"scope": "conversation"}, "which conversation"),
                       ({"scope": "project", "subject": "r1"}, "a project's budget"), ({"scope": "agent", "subject": "x"}, "scope"),
                       ({"subject": "r1"}, "a project's budget"), ({"scope": "label", "subject": 386 * "x"}, "subject")):
        with pytest.raises(atoll.ApiError) as refused:
            api.post("/v1/budgets", {"limit_usd": 1, **body})
        assert refused.value.status == 400 and text in refused.value.message, (body, refused.value.message)
    both = metered.cli("budget", "create", "--limit", "1", "--run", "a", "--label", "b=c")
    assert both.returncode != 0 and b"not both" in both.stderr
