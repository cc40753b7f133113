# SPDX-License-Identifier: Apache-2.0
"""Credentials in the environment of terminal windows: only of the conversation that a person allowed it for, masked, and ended with the consent."""

import contextlib
import datetime
import os
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

import atoll
import secured

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl", "curl"))), reason="needs ip, nft, openssl and curl")]
PASSWORD = "pw-0123456789-abcdefghijk"
OTHER = "pw-another-value-of-the-name"


@pytest.fixture(scope="module")
def server():
    with secured.running() as (_, server):
        yield server


@pytest.fixture
def person(api):
    other = api.clone(api.post("/api/sandbox/keys", {"name": "person"})["key"])
    yield other
    other.close()


@pytest.fixture
def db(api):
    body = {"name": "db", "kind": "basic", "hosts": ["db.test"], "fields": {"username": "application", "password": PASSWORD},
            "environment": {"PGPASSWORD": "password"}}
    assert api.post("/v1/credentials", body)["environment"] == {"PGPASSWORD": "password"}
    yield body
    api.delete("/v1/credentials/db")


def call(api, sandbox, tool, conversation="c1", **data):
    body = {"sandboxId": sandbox, "approvalWaitMs": 0, "input": data, **({"conversationId": conversation} if conversation else {})}
    answer = api.raw("POST", f"/v1/tools/{tool}", body)
    if answer.status >= 400:
        raise atoll.ApiError(answer.status, answer.json())
    return answer.json()["structuredContent"]


def activate(api, person, sandbox, conversation="c1"):
    waiting = call(api, sandbox, "activate_credential", conversation, name="db", why="to migrate")
    assert waiting["state"] == "waiting", waiting
    shown = api.get(f"/v1/approvals/{waiting['approvalId']}")["inputObject"]
    assert "can read" in shown["environment"] and "PGPASSWORD" in shown["environment"] and PASSWORD not in str(shown)
    assert person.post(f"/v1/approvals/{waiting['approvalId']}/approve", {})["state"] == "used"
    assert call(api, sandbox, "activate_credential", conversation, name="db")["state"] == "active"


def run(api, sandbox, command, window, conversation="c1"):
    return call(api, sandbox, "execute_command", conversation, command=command, window=window)["output"]


SIZE = "echo size ${#PGPASSWORD}"
WITH, WITHOUT = f"size {len(PASSWORD)}", "size 0"


def windows(api, sandbox):
    return {item["name"] for item in api.get(f"/api/sandbox/instances/{sandbox}/windows")["items"]}


def refused(code, word, call, *arguments):
    with pytest.raises(atoll.ApiError) as failure:
        call(*arguments)
    assert failure.value.code == code and word in str(failure.value), failure.value


def places_with(server, value):
    done = subprocess.run(["grep", "-rlsaF", "--devices=skip", "-e", value, str(server.data)], capture_output=True, text=True)
    return done.stdout.split()


def test_only_new_windows_of_the_conversation_have_it(api, server, person, db):
    intruder = api.clone(api.post("/api/sandbox/keys", {"name": "intruder"})["key"])
    with api.sandbox() as sandbox:
        listed = call(api, sandbox, "list_credentials")["credentials"]
        assert [(c["name"], c["forms"]) for c in listed] == [("db", ["environment"])] and "consent" in listed[0]["state"]
        assert WITHOUT in run(api, sandbox, SIZE, "before")
        activate(api, person, sandbox)
        assert WITH in run(api, sandbox, SIZE, "mine")
        assert WITHOUT in run(api, sandbox, SIZE, "before")
        # Another conversation, another key with the same conversation, none at all.
        assert WITHOUT in run(api, sandbox, SIZE, "w2", "c2")
        assert WITHOUT in run(intruder, sandbox, SIZE, "w3")
        assert WITHOUT in run(api, sandbox, SIZE, "w4", None)
        for who, conversation in ((api, "c2"), (intruder, "c1"), (api, None)):
            refused("conflict", "another conversation", run, who, sandbox, SIZE, "mine", conversation)
            refused("conflict", "another conversation", lambda: call(who, sandbox, "terminal_operator", conversation, window="mine"))
        assert call(api, sandbox, "list_credentials", "c2")["credentials"][0]["state"] != "active"
        # Neither other ways to run something, nor another sandbox.
        assert WITHOUT in api.exec(sandbox, SIZE)["stdout"]
        assert WITHOUT in call(api, sandbox, "bash", command=SIZE)["stdout"]
        with api.sandbox() as second:
            assert WITHOUT in run(api, second, SIZE, "mine")
    intruder.close()


def test_its_value_is_masked_and_rests_nowhere(api, server, person, db):
    with api.sandbox() as sandbox:
        activate(api, person, sandbox)
        assert server.cli("settings", "set", "--record-terminals", "on").returncode == 0
        try:
            said = run(api, sandbox, "echo a${PGPASSWORD}b; for i in $(seq ${#PGPASSWORD}); do printf %s \"${PGPASSWORD:i-1:1}\"; sleep 0.01; done; echo", "main")
        finally:
            assert server.cli("settings", "set", "--record-terminals", "off").returncode == 0
        assert "a" + "*" * len(PASSWORD) + "b" in said and PASSWORD not in said and PASSWORD[4:] not in said
        assert PASSWORD not in str(api.get(f"/api/sandbox/instances/{sandbox}/windows/main/screen"))
        assert PASSWORD not in str(api.get(f"/api/sandbox/instances/{sandbox}/processes"))
        api.delete(f"/api/sandbox/instances/{sandbox}/windows/main")
        for path in ("/v1/events?limit=1000", "/v1/activity?limit=1000", "/v1/audit?limit=1000", "/v1/consents", "/v1/approvals", "/v1/credentials", f"/api/sandbox/instances/{sandbox}"):
            answer = api.raw("GET", path)
            assert answer.status == 200 and PASSWORD not in answer.body.decode(), path
        recordings = atoll.wait_for(lambda: api.get(f"/api/sandbox/recordings?sandbox={sandbox}")["items"], 20, "a recording")
        body = api.raw("GET", f"/api/sandbox/recordings/{recordings[0]['id']}").body
        assert b"*" * len(PASSWORD) in body and PASSWORD.encode() not in body
        assert places_with(server, PASSWORD) == []


def memory_has(pid, value):
    """Whether it is in memory that the process can write: heap, stacks, data."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            begin, end = (int(part, 16) for part in span.split("-"))
            for at in range(begin, end, 1 << 24) if rights.startswith("rw") else ():
                with contextlib.suppress(OSError, ValueError):
                    memory.seek(at)
                    if value in memory.read(min(end - at, (1 << 24) + len(value))):
                        return True
    return False


def atoll_processes():
    """{pid: name} of the servers of this host, and of the agents of their sandboxes."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            name = open(f"/proc/{pid}/comm").read().strip()
            if name.startswith("atoll"):
                found[int(pid)] = name
    return found


def test_no_process_keeps_the_value_after_the_windows_end(api, server, person):
    """Windows that work, one that no process of which can be started, the tools that ask who may use it: each has a copy for a moment."""
    value = "pw-in-memory-" + os.urandom(8).hex()
    api.post("/v1/credentials", {"name": "db", "kind": "basic", "hosts": ["db.test"], "fields": {"username": "application", "password": value},
                                 "environment": {"PGPASSWORD": "password"}})
    try:
        with api.sandbox() as sandbox:
            activate(api, person, sandbox)
            server.kill9("api") # which was told the value
            server.wait_ready()
            others = [pid for pid in atoll_processes() if memory_has(pid, value.encode())]
            assert not others, others
            for name in ("one", "two", "three"):
                assert f"size {len(value)}" in run(api, sandbox, SIZE, name)
            assert call(api, sandbox, "list_credentials")["credentials"][0]["state"] == "active"
            assert call(api, sandbox, "activate_credential", name="db")["state"] == "active"
            names = set(atoll_processes().values())
            # The search finds what is there: the agent masks the windows' output.
            assert [name for pid, name in atoll_processes().items() if memory_has(pid, value.encode())], names
            assert api.post("/v1/conversations/c1/credentials/db/revoke", {})["revoked"] >= 1
            atoll.wait_for(lambda: not windows(api, sandbox), 20, "the windows' end")
            left = {pid: name for pid, name in atoll_processes().items() if memory_has(pid, value.encode())}
            assert not left, left
    finally:
        api.raw("DELETE", "/v1/credentials/db")


@pytest.mark.parametrize("end", ["revoke", "variables", "values", "delete", "expiry", "hour"])
def test_a_window_ends_with_its_consent(api, server, person, end):
    api.post("/v1/credentials", {"name": "db", "kind": "basic", "hosts": ["db.test"], "fields": {"username": "application", "password": PASSWORD},
                                 "environment": {"PGPASSWORD": "password"}})
    try:
        with api.sandbox() as sandbox:
            run(api, sandbox, SIZE, "other")
            activate(api, person, sandbox)
            run(api, sandbox, SIZE, "mine")
            assert windows(api, sandbox) == {"mine", "other"}
            if end == "revoke":
                assert api.post("/v1/conversations/c1/credentials/db/revoke", {})["revoked"] >= 1
            elif end == "variables":
                api.call("PATCH", "/v1/credentials/db", {"environment": {}})
            elif end == "delete":
                api.delete("/v1/credentials/db")
            elif end == "values":
                api.call("PATCH", "/v1/credentials/db", {"fields": {"username": "application", "password": OTHER}})
            elif end == "expiry":
                soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=2)
                api.call("PATCH", "/v1/credentials/db", {"expires_at": soon.strftime("%Y-%m-%dT%H:%M:%SZ")})
            else:
                with contextlib.closing(sqlite3.connect(server.data / "store/atoll.db", timeout=20)) as store, store:
                    assert store.execute("UPDATE consents SET expires_at = 1 WHERE sandbox_id = ?", (sandbox,)).rowcount == 1
            atoll.wait_for(lambda: windows(api, sandbox) == {"other"}, 20, lambda: f"the end of one of {windows(api, sandbox)}")
            assert WITHOUT in run(api, sandbox, SIZE, "mine")
    finally:
        api.raw("DELETE", "/v1/credentials/db")


def test_a_window_opened_anew_belongs_to_its_own_conversation(api, person, db):
    with api.sandbox() as sandbox:
        activate(api, person, sandbox)
        activate(api, person, sandbox, "c2")
        assert WITHOUT not in run(api, sandbox, SIZE, "mine")
        call(api, sandbox, "execute_command", command="exit", window="mine")
        atoll.wait_for(lambda: "mine" not in windows(api, sandbox), 20, "the end of the shell")
        for _ in range(2):  # the first opens the window, the second finds it
            assert WITHOUT not in run(api, sandbox, SIZE, "mine", "c2")
        assert api.post("/v1/conversations/c1/credentials/db/revoke", {})["revoked"] >= 1
        time.sleep(3)  # two rounds
        assert windows(api, sandbox) == {"mine"}
        assert WITHOUT not in run(api, sandbox, SIZE, "mine", "c2")


def test_a_killed_server_still_ends_the_window(api, server, person, db):
    with api.sandbox() as sandbox:
        activate(api, person, sandbox)
        run(api, sandbox, SIZE, "mine")
        server.kill9("api")
        server.wait_ready()
        atoll.wait_for(lambda: "mine" in windows(api, sandbox), 20, "the window")
        refused("conflict", "another conversation", run, api, sandbox, SIZE, "mine", "c2")
        api.post("/v1/conversations/c1/credentials/db/revoke", {})
        atoll.wait_for(lambda: "mine" not in windows(api, sandbox), 20, "the window's end")


def test_the_approval_says_that_a_rule_sends_the_value_without_tls(api, person, db):
    rule = {"host": "db.test", "scheme": "http", "action": "inject", "inject": [{"kind": "basic", "username": "${credential.db.username}", "password": "${credential.db.password}"}]}
    for more, word in ((rule, "db.test"), ({**rule, "scheme": "https"}, None)):
        with api.sandbox(internet=True, egress={"allow": ["db.test"], "deny": ["0.0.0.0/0"], "rules": [more]}) as sandbox:
            waiting = call(api, sandbox, "activate_credential", name="db", why="to migrate")
            shown = api.get(f"/v1/approvals/{waiting['approvalId']}")["inputObject"]
            assert (word in shown["unencrypted"] and "without TLS" in shown["unencrypted"]) if word else "unencrypted" not in shown, shown


def test_a_window_whose_row_is_lost_is_closed_to_all(api, server, person, db):
    with api.sandbox() as sandbox:
        activate(api, person, sandbox)
        assert WITH in run(api, sandbox, SIZE, "mine")
        with contextlib.closing(sqlite3.connect(server.data / "store/atoll.db", timeout=20)) as store, store:
            assert store.execute("DELETE FROM secret_windows WHERE sandbox_id = ?", (sandbox,)).rowcount == 1
        for conversation in ("c1", "c2", None):
            refused("conflict", "not known", run, api, sandbox, SIZE, "mine", conversation)
            refused("conflict", "not known", lambda: call(api, sandbox, "terminal_operator", conversation, window="mine"))
            refused("conflict", "not known", lambda: call(api, sandbox, "execute_command", conversation, window="mine"))
        # The next round of the thread ends it, because another window has a row.
        assert WITH in run(api, sandbox, SIZE, "second")
        atoll.wait_for(lambda: windows(api, sandbox) == {"second"}, 20, "the end of the window without a row")


def test_a_value_under_another_key_is_told_and_opens_no_window(api, server, person, db):
    with api.sandbox() as sandbox:
        activate(api, person, sandbox)
        with contextlib.closing(sqlite3.connect(server.data / "store/atoll.db", timeout=20)) as store, store:
            text, = store.execute("SELECT fields_json FROM credentials WHERE name = 'db'").fetchone()
            assert PASSWORD not in text
            middle = len(text) // 2
            changed = text[:middle] + ("A" if text[middle] != "A" else "B") + text[middle + 1:]
            store.execute("UPDATE credentials SET fields_json = ? WHERE name = 'db'", (changed,))
        refused("unavailable", "sealed with a key", run, api, sandbox, SIZE, "mine")
        assert windows(api, sandbox) == set()


@contextlib.contextmanager
def silent(api, count, person):
    """Sandboxes with a window whose agents do not answer, and whose consent then ends."""
    with contextlib.ExitStack() as stack:
        sandboxes = [stack.enter_context(api.sandbox()) for _ in range(count)]
        for sandbox in sandboxes:
            activate(api, person, sandbox, "hostile")
            assert WITH in run(api, sandbox, SIZE, "mine", "hostile")
        markers = [f"sleep 3{time.monotonic_ns()}" for _ in sandboxes]
        for sandbox, marker in zip(sandboxes, markers):
            api.exec(sandbox, marker, background=True)
        pids = [atoll.wait_for(lambda: atoll.first_process(marker), 15, "a process of the sandbox") for marker in markers]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield sandboxes
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
        for sandbox in sandboxes:
            atoll.wait_for(lambda: "mine" not in windows(api, sandbox), 70, "the end of the window of a sandbox that answers again")


def test_silent_sandboxes_do_not_delay_the_end_elsewhere(api, person, db):
    with api.sandbox() as honest:
        activate(api, person, honest, "honest")
        with silent(api, 12, person):
            api.post("/v1/conversations/hostile/credentials/db/revoke", {})
            time.sleep(1)  # the thread is among the silent ones
            for _ in range(2):
                assert WITH in run(api, honest, SIZE, "mine", "honest")
                api.post("/v1/conversations/honest/credentials/db/revoke", {})
                began = time.monotonic()
                atoll.wait_for(lambda: "mine" not in windows(api, honest), 30, "the window's end")
                assert time.monotonic() - began < 8
                activate(api, person, honest, "honest")


@pytest.mark.parametrize("change, word", [
    ({"environment": {"PATH": "password"}}, "PATH"), ({"environment": {"LD_PRELOAD": "password"}}, "LD_PRELOAD"), ({"environment": {"LESSOPEN": "password"}}, "LESSOPEN"), ({"environment": {"SSL_CERT_FILE": "password"}}, "SSL"),
    ({"environment": {"HTTPS_PROXY": "password"}}, "PROXY"), ({"environment": {"lower": "password"}}, "lower"), ({"environment": {"A B": "password"}}, "variable"),
    ({"environment": {"PGPASSWORD": "nothing"}}, "nothing"), ({"environment": {f"A{i}": "password" for i in range(5)}}, "environment"),
    ({"environment": {"PGPASSWORD": "password"}, "consent": "project"}, "conversation"), ({"environment": {"PGPASSWORD": "password"}, "consent": "sandbox"}, "conversation"),
    ({"environment": {"PGPASSWORD": "password"}, "fields": {"username": "u", "password": "short"}}, "masked")])
def test_a_bad_environment_is_refused(api, change, word):
    body = {"name": "bad", "kind": "basic", "hosts": ["db.test"], "fields": {"username": "application", "password": PASSWORD}, **change}
    refused("invalid_request", word, api.post, "/v1/credentials", body)


def test_only_who_knows_the_values_can_show_them(api):
    api.post("/v1/credentials", {"name": "shy", "kind": "basic", "hosts": ["db.test"], "fields": {"username": "application", "password": PASSWORD}})
    try:
        refused("forbidden", "variables", api.call, "PATCH", "/v1/credentials/shy", {"environment": {"PGPASSWORD": "password"}})
        changed = api.call("PATCH", "/v1/credentials/shy", {"environment": {"PGPASSWORD": "password"}, "fields": {"username": "application", "password": PASSWORD}})
        assert changed["environment"] == {"PGPASSWORD": "password"} and changed["version"] == 2
        refused("invalid_request", "conversation", api.call, "PATCH", "/v1/credentials/shy", {"consent": "project", "fields": {"username": "application", "password": PASSWORD}})
        assert api.call("PATCH", "/v1/credentials/shy", {"environment": {}})["version"] == 3
    finally:
        api.delete("/v1/credentials/shy")


def test_the_command_line_stores_it(api, server):
    server.cli("credential", "add", "told", "--kind", "basic", "--host", "db.test", "--field", "username=application", "--field", f"password={PASSWORD}", "--environment",
               "PGPASSWORD=password")
    assert api.get("/v1/credentials/told")["environment"] == {"PGPASSWORD": "password"}
    api.delete("/v1/credentials/told")
