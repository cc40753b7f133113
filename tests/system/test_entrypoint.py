# SPDX-License-Identifier: Apache-2.0
"""What a template starts in its sandboxes: when, as whom, what becomes of its output and of its end."""

import contextlib
import json
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
TEMPLATES = "/api/sandbox/templates"
INSTANCES = "/api/sandbox/instances"
SERVER = ["/usr/bin/python3", "-u", "-m", "http.server", "--bind", "127.0.0.1", "8086"]
ASK = """import time, urllib.request
for _ in range(200):
    try:
        print(urllib.request.urlopen("http://127.0.0.1:8086/", timeout=5).status)
        break
    except OSError:
        time.sleep(0.05)"""


@pytest.fixture
def template(api):
    """Makes templates on `host`; they are gone after the test, as are sandboxes by then."""
    names = []

    def make(entrypoint, **recipe):
        name = f"entry-{len(names)}"
        api.post(TEMPLATES, {"name": name, "from": "host", "entrypoint": entrypoint, **recipe})
        names.append(name)
        return name
    yield make
    for name in names:
        with contextlib.suppress(atoll.ApiError):
            api.delete(f"{TEMPLATES}/{name}")


def processes(api, sandbox):
    return api.get(f"{INSTANCES}/{sandbox}/processes")["items"]


def logs(api, sandbox, query=""):
    answer = api.raw("GET", f"{INSTANCES}/{sandbox}/logs{query}")
    assert answer.status == 200, answer.body
    return answer.body.decode()


def ask(api, sandbox):
    return api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", ASK])["stdout"].strip()


def refusal(call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as failure:
        call(*arguments, **options)
    return failure.value


def test_a_server_answers_and_every_start_starts_it(api, template):
    with api.sandbox(template=template(SERVER), internet=False, persistent=True) as sandbox:
        first = processes(api, sandbox)
        assert [(p["label"], p["args"], p["state"]) for p in first] == [("entrypoint", SERVER, "running")]
        assert ask(api, sandbox) == "200"
        atoll.wait_for(lambda: "GET / HTTP/1.1" in logs(api, sandbox, "?process=1"), 30, "its log")
        api.post(f"{INSTANCES}/{sandbox}/stop")
        api.post(f"{INSTANCES}/{sandbox}/start")
        again = [p for p in processes(api, sandbox) if p["label"] == "entrypoint"]
        assert len(again) == 1 and again[0]["state"] == "running"
        assert again[0]["started_at"] > first[0]["started_at"]
        assert ask(api, sandbox) == "200"


def test_it_has_the_users_folder_and_variables_of_a_command(api, template):
    name = template(["/bin/sh", "-c", "echo $MODE $MINE; pwd; id -u; cat"], env={"MODE": "template", "MINE": "no"},
                    user="1000", workdir="/tmp")
    with api.sandbox(template=name, internet=False, env={"MINE": "yes"}) as sandbox:
        done = api.get(f"{INSTANCES}/{sandbox}/processes/1/wait?timeout_ms=30000")
        assert done["exit_code"] == 0 and done["stdout"] == "template yes\n/tmp\n1000\n"
        shown = processes(api, sandbox)[0]
        assert shown["user"] == "1000" and shown["cwd"] == "/tmp"


def test_its_words_are_no_shell_line(api, template):
    with api.sandbox(template=template(["echo", "$HOME; false", "a  b"]), internet=False) as sandbox:
        done = api.get(f"{INSTANCES}/{sandbox}/processes/1/wait?timeout_ms=30000")
        assert done["exit_code"] == 0 and done["stdout"] == "$HOME; false a  b\n"


def test_its_end_does_not_end_the_sandbox(server, api, template):
    with api.sandbox(template=template(["/bin/sh", "-c", "echo going; echo why >&2; exit 3"]),
                     internet=False) as sandbox:
        done = api.get(f"{INSTANCES}/{sandbox}/processes/1/wait?timeout_ms=30000")
        assert done["exit_code"] == 3
        ended = processes(api, sandbox)[0]
        assert ended["state"] != "running" and ended["exit_code"] == 3 and ended["label"] == "entrypoint"
        assert "going\n" in logs(api, sandbox)
        shown = server.cli("logs", sandbox)
        assert shown.returncode == 0 and b"going\n" in shown.stdout, shown
        assert api.get(f"{INSTANCES}/{sandbox}")["state"] == "started"
        assert api.exec(sandbox, "echo alive")["stdout"] == "alive\n"


def test_a_shell_that_finds_nobody_ends_and_does_no_harm(api, template):
    with api.sandbox(template=template(["/bin/sh"]), internet=False) as sandbox:
        assert api.get(f"{INSTANCES}/{sandbox}/processes/1/wait?timeout_ms=30000")["exit_code"] == 0
        assert api.exec(sandbox, "echo alive")["stdout"] == "alive\n"


@pytest.mark.parametrize("entrypoint, recipe, words", [
    (["/no/such-program"], {}, ("command not found",)),
    (["no-such-program", "x"], {}, ("command not found",)),
    (["/etc/passwd"], {}, ("run '/etc/passwd'",)),
    (["/bin/true"], {"workdir": "/no/such/folder"}, ("working folder '/no/such/folder'",)),
    (["/bin/true"], {"user": "nobody-of-that-name"}, ("nobody-of-that-name",))])
def test_one_that_cannot_be_started_is_refused_by_name(server, api, template, entrypoint, recipe, words):
    name = template(entrypoint, **recipe)
    failure = refusal(api.create, template=name, name="refused", internet=False)
    assert failure.status == 409 and name in failure.hint
    for word in (f"entrypoint '{entrypoint[0]}'", *words):
        assert word in failure.message, failure
    row = api.get(f"{INSTANCES}/refused")
    assert row["state"] == "failed" and f"entrypoint '{entrypoint[0]}'" in json.dumps(row)
    host = atoll.Host(server.data)
    atoll.wait_for(lambda: row["id"] not in host.files() + host.runs()
                   and not any(row["id"] in mount for mount in host.mounts()), 30, "nothing is left")
    api.remove("refused")


def test_a_change_is_for_the_next_start_and_can_mend_it(api, template):
    name = template(["/bin/sleep", "1000"])
    with api.sandbox(template=name, internet=False, persistent=True) as sandbox:
        api.call("PATCH", f"{TEMPLATES}/{name}", {"entrypoint": ["no-such-program"]})
        assert processes(api, sandbox)[0]["args"] == ["/bin/sleep", "1000"]
        api.post(f"{INSTANCES}/{sandbox}/stop")
        failure = refusal(api.post, f"{INSTANCES}/{sandbox}/start")
        assert failure.status == 409 and "entrypoint 'no-such-program'" in failure.message
        assert api.get(f"{INSTANCES}/{sandbox}")["state"] == "stopped"
        api.call("PATCH", f"{TEMPLATES}/{name}", {"entrypoint": []})
        api.post(f"{INSTANCES}/{sandbox}/start")
        assert processes(api, sandbox) == []


def test_the_command_line_shows_it(server, template):
    name = template(SERVER)
    shown = server.cli("template", "inspect", name, "--json")
    assert shown.returncode == 0, shown
    assert json.loads(shown.stdout)["entrypoint"] == SERVER


def test_it_alone_does_not_hold_off_the_reaper(private_server):
    private_server.start()
    api = private_server.api()
    api.post(TEMPLATES, {"name": "sleeper", "from": "host", "entrypoint": ["/bin/sleep", "1000"]})
    begun = time.monotonic()
    idle = api.create(template="sleeper", internet=False, idle_reap_ms=3000)["id"]
    busy = api.create(template="sleeper", internet=False, idle_reap_ms=3000)["id"]
    api.exec(busy, "sleep 1000", background=True)

    def is_gone():
        rows = {row["id"]: row["state"] for row in api.get(f"{INSTANCES}?limit=100")["items"]}
        assert rows[busy] == "started"
        return rows.get(idle, "deleted") == "deleted"
    atoll.wait_for(is_gone, 30, "the idle one is removed")
    assert time.monotonic() - begun >= 2.9
    api.close()


def test_a_server_that_comes_back_does_not_start_it_again(private_server):
    private_server.start()
    api = private_server.api()
    api.post(TEMPLATES, {"name": "sleeper", "from": "host", "entrypoint": ["/bin/sleep", "1000"]})
    sandbox = api.create(template="sleeper", internet=False)["id"]
    before = processes(api, sandbox)
    private_server.stop()
    private_server.start()
    api = private_server.api()
    after = processes(api, sandbox)
    assert [p["pid"] for p in after] == [p["pid"] for p in before] and len(after) == 1
    assert after[0]["state"] == "running"
    api.close()


@pytest.mark.parametrize("provider", ["host", "null"])
def test_other_providers_start_it_as_they_run_commands(provider):
    server = atoll.Server(provider=provider)
    try:
        server.start()
        api = server.api()
        api.post(TEMPLATES, {"name": "speaker", "from": "host", "entrypoint": ["/bin/sh", "-c", "echo here"]})
        with api.sandbox(template="speaker") as sandbox:
            assert api.get(f"{INSTANCES}/{sandbox}")["state"] == "started"
            if provider == "host":
                done = api.get(f"{INSTANCES}/{sandbox}/processes/1/wait?timeout_ms=30000")
                assert done["exit_code"] == 0 and done["stdout"] == "here\n"
            else:
                assert processes(api, sandbox) == []
        api.close()
    finally:
        server.remove_all()
