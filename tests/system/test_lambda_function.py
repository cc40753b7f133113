# SPDX-License-Identifier: Apache-2.0
"""The program of deploy/lambda against a Runtime API that judges it: one environment, in which invocations of hostile
callers follow one another."""

import base64
import contextlib
import hashlib
import json
import os
import subprocess
import time

import pytest

import atoll
import lambda_service

pytestmark = pytest.mark.needs_root


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    service = lambda_service.Service(tmp_path_factory.mktemp("lambda"), names=("plain", "mount"))
    yield service
    assert service.mistakes() == []
    service.close()


@pytest.fixture(scope="module")
def run(service):
    def run(*args, function="plain", raw=False, **more):
        payload = {"args": args if len(args) > 1 else ["bash", "-c", args[0]], **more}
        invocation = service.functions[function].invoke(json.dumps(payload).encode())
        if raw:
            return invocation
        assert invocation.failure is None, invocation.said
        return invocation.said
    return run


@contextlib.contextmanager
def one_environment(service):
    """All of it happens in one warm environment, as it does at Lambda."""
    before = len(service.functions["plain"].all)
    yield
    assert len(service.functions["plain"].all) == max(before, 1)


def test_an_answer_has_the_members_of_the_contract(run):
    said = run("echo out; echo err >&2; exit 7")
    assert said.pop("duration_ms") >= 0
    assert said == {"ok": False, "runtime": "bash", "exit_code": 7, "timed_out": False, "stdout": "out\n", "stderr": "err\n",
                    "stdout_bytes": 4, "stderr_bytes": 4}
    assert run("true")["ok"] is True


@pytest.mark.parametrize("args, runtime, out", [(("python3", "-c", "print(6*7)"), "python", "42\n"), (("sh", "-c", "echo sh"), "bash", "sh\n"),
                                                (("cat", "/proc/self/comm"), "program", "cat\n")])
def test_programs_run(run, args, runtime, out):
    said = run(*args)
    assert (said["runtime"], said["stdout"], said["ok"]) == (runtime, out, True), said


def test_input_comes_to_the_command_and_a_command_may_ignore_it(run):
    data = os.urandom(1 << 20)
    said = run("sha256sum", "-", stdin=base64.b64encode(data).decode())
    assert said["stdout"].split()[0] == hashlib.sha256(data).hexdigest()
    assert run("true", stdin=base64.b64encode(data).decode())["ok"]


def test_the_keys_of_the_role_are_out_of_sight(run):
    for hunt in ("env", "cat /proc/[0-9]*/environ 2>&1", "cat /proc/1/mem 2>&1 | head -c 1000", "strings -a /proc/1/environ 2>/dev/null; set"):
        said = run(hunt)
        assert "role" not in said["stdout"] + said["stderr"], hunt
        assert "AWS_" not in said["stdout"], hunt
    said = run("python3", "-c", "import os; print(sorted(os.environ))", env=["A=b"])
    assert said["stdout"] == "['A', 'HOME', 'LANG', 'PATH', 'TMPDIR']\n" or "LC_CTYPE" in said["stdout"]


def test_a_process_cannot_be_traced_and_its_memory_not_read(run):
    said = run("python3", "-c", "open('/proc/1/maps').read()")
    assert "Permission" in said["stderr"]


def test_the_time_limit_ends_everything(run):
    begun = time.monotonic()
    said = run("setsid sleep 600 & sleep 600 & echo before; sleep 600", timeout_ms=700)
    assert time.monotonic() - begun < 5
    assert (said["timed_out"], said["ok"], said["stdout"], said["signal"], said["exit_code"]) == (True, False, "before\n", 9, 137)
    assert run("pgrep -c sleep; true")["stdout"].strip() in ("0", "")


def test_the_deadline_of_the_service_is_earlier(service, run):
    function = service.functions["plain"]
    environment = function.idle[-1]
    environment.timeout = 3
    try:
        said = run("sleep 60", timeout_ms=60000)
        assert said["timed_out"] and said["duration_ms"] < 2500
    finally:
        environment.timeout = function.timeout


def test_output_is_cut_and_counted(run):
    said = run("head -c 1000000 /dev/zero | tr '\\0' x; echo e >&2")
    assert said["stdout"] == "x" * (256 * 1024) and said["stdout_bytes"] == 1000000 and said["stderr"] == "e\n"
    assert run("echo abcdef", output_max=3)["stdout"] == "abc"


def test_bytes_that_are_no_text_come_as_they_are(run):
    said = run("printf 'a\\377\\0b'; echo text >&2")
    assert said["encoding"] == "base64" and base64.b64decode(said["stdout"]) == b"a\xff\0b" and base64.b64decode(said["stderr"]) == b"text\n"
    # A cut within a character leaves text.
    said = run("head -c 999999 /dev/zero | tr '\\0' x; true", output_max=4)
    assert "encoding" not in said
    assert "encoding" not in run("python3 -c 'print(\"ä\" * 10, end=\"\")'", output_max=5)


def test_nothing_survives_an_invocation(service, run):
    with one_environment(service):
        run("""echo secret > /tmp/file; mkdir -p /tmp/a/b/c && echo s > /tmp/a/b/c/d; ln -s /etc /tmp/link; mkfifo /tmp/pipe
               mkdir -m 000 /tmp/locked; echo s > /dev/shm/file; mkdir -m 0 /tmp/a/b/locked
               python3 - <<'E'
import ctypes, os
libc = ctypes.CDLL(None)
libc.shmget(7, 4096, 0o1666); libc.semget(7, 1, 0o1666); libc.msgget(7, 0o1666)
path = "/tmp/deep"
os.mkdir(path)
for _ in range(3000):
    os.chdir(path); path = "d"; os.mkdir(path)
E
               nohup setsid sh -c 'while :; do sleep 0.05; echo x >> /tmp/beat; done' > /dev/null 2>&1 &
               (setsid setsid python3 -c 'import os,time
if os.fork() == 0: time.sleep(600)' &)
               true""")
        said = run("ls -A /tmp /dev/shm; ps -eo comm= | sort | uniq -c; awk 'FNR>1' /proc/sysvipc/*")
    lines = [line.strip() for line in said["stdout"].splitlines()]
    # A part of the pipeline is bash before it is its program.
    assert [line for line in lines if line and not line.startswith(("/", "1 ", "call-")) and not line.endswith(" bash")] == [], said
    assert {line.split()[1] for line in lines if line.startswith("1 ")} | {"bash", "sort", "uniq"} == {"atoll-lambda", "bash", "ps", "sort", "uniq"}, said


def test_a_bomb_of_processes_ends_with_its_call(run):
    run("f() { f | f & }; f; sleep 0.5", timeout_ms=2000)
    assert run("echo on")["stdout"] == "on\n"


def test_each_call_has_a_fresh_folder_of_its_own(run):
    first, second = (run("pwd; ls -A; echo x > file; stat -c %a .") for _ in range(2))
    assert first["stdout"].startswith("/tmp/call-") and first["stdout"] != second["stdout"]
    assert first["stdout"].splitlines()[1:] == ["700"]


def test_a_workspace_stays_and_is_only_that_of_its_name(run):
    run("echo kept > notes", function="mount", workspace="/mnt/workspaces/one")
    assert run("cat notes; pwd", function="mount", workspace="/mnt/workspaces/one")["stdout"] == "kept\n/mnt/workspaces/one\n"
    assert run("ls", function="mount", workspace="/mnt/workspaces/two")["stdout"] == ""
    run("ln -s /etc /mnt/workspaces/link", function="mount", workspace="/mnt/workspaces/one")
    for name in ("/mnt/workspaces/../etc", "/etc", "/mnt/workspaces/", "/mnt/workspaces/.x", "/mnt/workspaces/a/b", "/mnt/workspaces/link"):
        invocation = run("true", function="mount", raw=True, workspace=name)
        assert invocation.failure == "Unhandled" and "workspace" in invocation.said["errorMessage"], (name, invocation.said)
    assert "no file system" in run("true", raw=True, workspace="/mnt/workspaces/one").said["errorMessage"]


def test_what_is_wrong_is_said(run):
    assert run("no-such-program", "x")["missing_program"] == "no-such-program"
    assert run("true", cwd="/nowhere", raw=True).said["errorMessage"].startswith("enter folder '/nowhere'")
    assert "Permission denied" in run("/etc/passwd", "x", raw=True).said["errorMessage"]


@pytest.mark.parametrize("payload", ["{}", '{"args": []}', '{"args": ["true"], "surprise": 1}', '{"args": ["true"], "timeout_ms": 300001}',
                                     '{"args": ["true"], "output_max": 262145}', "not json", '{"args": ["true"], "stdin": "%"}'])
def test_a_bad_payload_is_refused_and_the_next_call_works(service, run, payload):
    invocation = service.functions["plain"].invoke(payload.encode())
    assert invocation.failure == "Unhandled" and invocation.said["errorType"] == "Atoll.Failed", invocation.said
    assert run("true")["ok"]


def test_the_runtime_api_is_of_no_use_to_a_command(service, run):
    function = service.functions["plain"]
    port = function.idle[-1].listener.server_address[1]
    said = run("python3", "-c", f"""
import urllib.request, urllib.error
for path, data in (('invocation/next', None), ('invocation/x/response', b'{{}}')):
    try: print(urllib.request.urlopen('http://127.0.0.1:{port}/2018-06-01/runtime/' + path, data, timeout=5).status)
    except urllib.error.HTTPError as failure: print(failure.code)
""")
    assert said["stdout"] == "403\n400\n", said
    for environment in function.all:
        environment.mistakes.clear()


@pytest.mark.parametrize("variables", [{}, {"AWS_LAMBDA_RUNTIME_API": "127.0.0.1:1"}])
def test_outside_of_lambda_it_removes_nothing(tmp_path, variables):
    kept = tmp_path / "kept"
    kept.write_text("kept")
    done = subprocess.run([atoll.BUILD / "atoll-lambda"], env=variables, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "not set" in done.stderr, done.stderr
    assert kept.read_text() == "kept"
