# SPDX-License-Identifier: Apache-2.0
"""The host provider: a folder and a process group on the machine as it is, for one's own development."""

import contextlib
import json
import os
import pathlib
import re

import pytest

import atoll

SECRETS = {"DATABASE_URL": "postgres://secret", "JWT_SECRET": "s", "E2B_API_KEY": "s", "DAYTONA_API_KEY": "s",
           "AWS_SECRET_ACCESS_KEY": "s", "S3_SECRET_KEY": "s", "COMPOSIO_API_KEY": "s", "GITHUB_CLIENT_SECRET": "s",
           "ANY_OTHER": "s"}


@pytest.fixture(scope="module")
def host():
    server = atoll.Server(provider="host", environment=SECRETS).start()
    yield server
    server.remove_all()


@pytest.fixture
def api(host):
    connection = host.api()
    yield connection
    connection.close()


def folder_of(host, sandbox):
    return pathlib.Path(os.path.realpath(host.data)) / "host-files" / sandbox


def agents_of(host, sandbox):
    found = []
    for line in atoll.proc_files("cmdline"):
        try:
            if f"host-files/{sandbox}".encode() in line.read_bytes():
                found.append(line.parent.name)
        except OSError:
            pass
    return found


def test_the_start_warns_and_every_answer_says_that_nothing_is_isolated(host, api):
    assert "single-tenant development only" in host.log_text()
    with api.sandbox() as sandbox:
        shown = api.get(f"/api/sandbox/instances/{sandbox}")
        assert (shown["provider"], shown["isolation"]) == ("host", "none")
        assert shown["resources"]["disk_advisory"]


def test_a_command_runs_in_the_sandboxs_own_folder(host, api):
    with api.sandbox(env={"MINE": "kept"}) as sandbox:
        result = api.exec(sandbox, "pwd; echo $HOME; echo $ATOLL_PROJECT_DIR; echo $MINE; id -u")
        own = str(folder_of(host, sandbox))
        assert result["stdout"].split()[:4] == [own, own, own, "kept"], result
        assert result["stdout"].split()[4] != "0"
        assert api.exec(sandbox, "exit 7")["exit_code"] == 7


def test_nothing_of_the_servers_environment_is_seen(api):
    with api.sandbox() as sandbox:
        names = {line.split("=")[0] for line in api.exec(sandbox, "env")["stdout"].splitlines()}
        assert not names & set(SECRETS)
        agent = api.exec(sandbox, "cat /proc/$PPID/environ | tr '\\0' '\\n'")["stdout"]
        assert not re.search("|".join(SECRETS), agent)


def test_user_name_home_and_files_agree(host, api):
    """Every name of the user is that of the process, and the host's home of that user is not the sandbox's."""
    with api.sandbox() as sandbox:
        shown = api.exec(sandbox, "touch made; echo $USER; echo $LOGNAME; whoami; id -un; stat -c %U made; echo $HOME; echo ~; echo $SHELL",
                         )["stdout"].split()
        own = str(folder_of(host, sandbox))
        assert len(set(shown[:5])) == 1 and shown[0] != "root", shown
        assert shown[5:] == [own, own, "/bin/sh"], shown
        # A named user changes nothing: there are no users of a sandbox.
        assert api.exec(sandbox, "echo $USER; whoami", user="root")["stdout"].split() == shown[:2]


def test_no_process_of_the_server_shows_its_environment_to_the_sandbox(api):
    """They have the same user, so the kernel must refuse by itself."""
    with api.sandbox() as sandbox:
        seen = api.exec(sandbox, "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c -E '^(" + "|".join(SECRETS) + ")='")
        assert seen["stdout"].strip() == "0", seen


def test_files_are_relative_to_the_folder_and_known_by_its_own_path(host, api):
    with api.sandbox() as sandbox:
        api.write(sandbox, "one.txt", b"one")
        assert api.exec(sandbox, "cat one.txt")["stdout"] == "one"
        path = api.exec(sandbox, "echo -n two > two.txt; echo $PWD/two.txt")["stdout"].strip()
        assert api.read(sandbox, path) == api.read(sandbox, "two.txt") == api.read(sandbox, "/two.txt") == b"two"
        inner = f"{folder_of(host, sandbox)}/inner"
        api.write(sandbox, f"{inner}/three.txt", b"three")
        assert api.exec(sandbox, "cat three.txt", cwd=inner)["stdout"] == "three"
        with pytest.raises(atoll.ApiError) as refused:
            api.read(sandbox, "/etc/passwd")
        assert refused.value.status == 404


def test_sessions_work_too(api):
    answer = api.post("/v1/sandbox/bash", {"session_id": "host-one", "command": "echo hello > made.txt; pwd"})
    assert answer["exit_code"] == 0
    assert api.post("/v1/sandbox/read", {"session_id": "host-one", "path": "made.txt"})["content"].startswith("hello")
    for row in api.get("/api/sandbox/instances?builds=true")["items"]:
        api.remove(row["id"])


def test_what_is_stopped_keeps_its_files_and_starts_again(host, api):
    with api.sandbox(persistent=True) as sandbox:
        api.exec(sandbox, "echo kept > file")
        api.post(f"/api/sandbox/instances/{sandbox}/stop")
        atoll.wait_for(lambda: not agents_of(host, sandbox), what="end of the agent")
        api.post(f"/api/sandbox/instances/{sandbox}/start")
        assert api.exec(sandbox, "cat file")["stdout"] == "kept\n"


def runs(pid):
    """Whether the process is there and no zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def create_later(api):
    """The broker is being started again: a create whose connection breaks has made nothing."""
    made = []

    def create():
        with contextlib.suppress(atoll.ApiError):
            made.append(api.create()["id"])
        return made
    atoll.wait_for(create, 30, "a sandbox of the next broker")
    return made[0]


@pytest.mark.parametrize("keeps", [False, True])
def test_sandboxes_end_with_the_server_unless_they_are_kept(keeps):
    server = atoll.Server(provider="host", environment={"ATOLL_HOST_KEEP": str(keeps).lower()}).start()
    try:
        api = server.api()
        made = api.create(persistent=True)["id"]
        pid = int(api.exec(made, "echo kept > file; setsid -f sh -c 'echo $$ > pid; exec sleep 1000'; until [ -s pid ]; do sleep 0.05; done; cat pid")["stdout"])
        # A broker that dies is started again, and ends nothing.
        server.kill9("broker")
        fleeting = create_later(api)
        assert api.exec(made, "cat file")["stdout"] == "kept\n"
        api.close()
        server.stop()
        if keeps:
            assert runs(pid) and agents_of(server, made) and agents_of(server, fleeting)
        else:  # on a busy machine a killed process is there for a moment
            atoll.wait_for(lambda: not (runs(pid) or agents_of(server, made) or agents_of(server, fleeting)), 10, "the end of every process")
        server.start()
        api = server.api()
        shown = api.get(f"/api/sandbox/instances/{made}")
        assert shown["state"] == ("started" if keeps else "stopped"), shown
        if not keeps:
            api.post(f"/api/sandbox/instances/{made}/start")
        assert api.exec(made, "cat file")["stdout"] == "kept\n"
    finally:
        server.remove_all()


def test_delete_leaves_neither_files_nor_processes(host, api):
    with api.sandbox() as sandbox:
        api.exec(sandbox, "touch file; setsid -f sleep 1000")
        pid = int(api.exec(sandbox, "setsid -f sh -c 'echo $$ > pid; exec sleep 1000'; until [ -s pid ]; do sleep 0.05; done; cat pid")["stdout"])
        assert agents_of(host, sandbox)
    atoll.wait_for(lambda: not agents_of(host, sandbox), what="end of the agent")
    atoll.wait_for(lambda: not os.path.exists(f"/proc/{pid}"), what="end of what the command left")
    assert not folder_of(host, sandbox).exists()
    atoll.Host(host.data).wait_clean()


def test_the_command_line_uses_it_like_any_other(host):
    result = host.cli("run", "--json", "--", "sh", "-c", "echo out")
    assert result.returncode == 0, result.stderr
    assert "out" in (json.loads(result.stdout)["stdout"] if result.stdout.startswith(b"{") else result.stdout.decode())
