# SPDX-License-Identifier: Apache-2.0
"""The command line, as a person or a script uses it."""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root


def test_run_gives_output_and_exit_status(server):
    result = server.cli("run", "-t", "host", "--no-internet", "--", "sh", "-c", "echo out; echo err >&2; exit 5")
    assert (result.returncode, result.stdout, result.stderr) == (5, b"out\n", b"err\n")


def test_run_passes_stdin(server):
    result = server.cli("run", "-t", "host", "--no-internet", "-i", "--", "wc", "-c", input=b"x" * 100000)
    assert result.stdout.split() == [b"100000"]


def test_run_leaves_nothing_unless_kept(server, api):
    before = len(api.get("/api/sandbox/instances")["items"])
    server.cli("run", "-t", "host", "--no-internet", "--", "true")
    assert len(api.get("/api/sandbox/instances")["items"]) == before


def test_a_dry_run_prints_the_sandbox_and_makes_none(server):
    before = {box["id"] for box in server.api().get("/api/sandbox/instances")["items"]}
    shown = server.cli("run", "--dry-run", "-t", "host", "--no-internet", "--memory", "300m", "-e", "A=b")
    text = shown.stdout.decode()
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"^memory_mb\s+300\s+request", text, re.M) and re.search(r"^network\s+blocked\s+request", text, re.M), text
    assert re.search(r"^[\d.]+ USD an hour$", text, re.M), text
    plan = json.loads(server.cli("run", "--dry-run", "--json", "-t", "host", "--", "false").stdout)
    assert {"name": "template", "value": "host", "source": "request"} in plan["choices"]
    assert {box["id"] for box in server.api().get("/api/sandbox/instances")["items"]} == before
    for bad in (["-t", "nosuch"], ["--memory", "1z"], ["-t", "host", "-e", "=b"]):
        assert server.cli("run", "--dry-run", *bad).returncode != 0, bad


def test_who_keeps_a_nameless_sandbox_is_told_how_to_remove_it(server, api):
    kept = server.cli("run", "-t", "host", "--no-internet", "--keep", "--", "echo", "out")
    assert kept.returncode == 0 and kept.stdout == b"out\n"
    told = re.fullmatch(rb"kept: ([a-z0-9]+) \(atoll rm \1\)\n", kept.stderr)
    assert told, kept.stderr
    assert server.cli("rm", told[1].decode()).returncode == 0


def test_keep_exec_cp_ls_inspect_rm(server, tmp_path):
    kept = server.cli("run", "-t", "host", "--no-internet", "--keep", "--name", "cli-box", "--", "true")
    assert kept.returncode == 0 and kept.stderr == b""
    (tmp_path / "in.txt").write_text("from outside\n")
    assert server.cli("cp", tmp_path / "in.txt", "cli-box:in.txt").returncode == 0
    assert server.cli("exec", "cli-box", "--", "cat", "in.txt").stdout == b"from outside\n"
    assert b"in.txt" in server.cli("ls", "cli-box:.").stdout
    assert server.cli("exec", "cli-box", "--", "sh", "-c", "mkdir -p d/e; echo deep > d/e/f").returncode == 0
    assert server.cli("cp", "cli-box:d", tmp_path / "copied").returncode == 0
    assert (tmp_path / "copied" / "e" / "f").read_text() == "deep\n"
    assert server.cli("cp", tmp_path / "copied", "cli-box:back").returncode == 0
    assert server.cli("exec", "cli-box", "--", "cat", "back/e/f").stdout == b"deep\n"
    assert server.cli("exec", "cli-box", "--", "sh", "-c", "echo x > tool; chmod 4750 tool").returncode == 0
    assert server.cli("cp", "cli-box:tool", tmp_path / "tool").returncode == 0
    assert (tmp_path / "tool").stat().st_mode & 0o7777 == 0o750
    shown = json.loads(server.cli("inspect", "cli-box", "--json").stdout)
    assert shown["name"] == "cli-box" and shown["state"] == "started"
    assert server.cli("stats", "cli-box", "--json").returncode == 0
    assert server.cli("stop", "cli-box").returncode == 0
    assert server.cli("start", "cli-box").returncode == 0
    assert server.cli("rm", "cli-box").returncode == 0
    assert server.cli("inspect", "cli-box").returncode != 0


def test_ctrl_c_reaches_the_command(server):
    process = subprocess.Popen(
        [atoll.ATOLL, "run", "-t", "host", "--no-internet", "--", "sh", "-c",
         "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.05; done"],
        env=server.cli_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=15)
    assert out == b"caught\n" and process.returncode == 9


def read_until(fd, text, seconds=30):
    seen, end = b"", time.monotonic() + seconds
    while text not in seen:
        assert time.monotonic() < end, seen
        if select.select([fd], [], [], 0.1)[0]:
            try:
                seen += os.read(fd, 4096)
            except OSError:
                break
    return seen


def test_shell_is_a_real_terminal(server, api):
    with api.sandbox(internet=False) as sandbox:
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(atoll.ATOLL, ["atoll", "shell", sandbox], server.cli_environment())
        os.write(fd, b"tty; echo mark-$((40+2))\n")
        seen = read_until(fd, b"mark-42")
        assert b"/dev/pts/" in seen
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 132, 0, 0))
        os.write(fd, b"until [ \"$(stty size)\" = '50 132' ]; do sleep 0.1; done; echo size-$((1+1))\n")
        read_until(fd, b"size-2")
        os.write(fd, b"exit 3\n")
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 3


def test_shell_detaches_and_leaves_it_running(server, api):
    with api.sandbox(internet=False) as sandbox:
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(atoll.ATOLL, ["atoll", "shell", sandbox], server.cli_environment())
        os.write(fd, b"sleep 77.5 & echo go-$((1+1))\n")
        read_until(fd, b"go-2")
        os.write(fd, b"\x1c")
        read_until(fd, b"etached")
        os.waitpid(pid, 0)
        assert "77.5" in api.exec(sandbox, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")["stdout"]


@pytest.mark.parametrize("arguments", [[], ["--help"], ["run", "--help"], ["template", "--help"], ["version"],
                                       ["doctor"], ["doctor", "--json"], ["config"], ["plan"],
                                       ["completion", "bash"]])
def test_help_and_reports_need_no_server(arguments):
    environment = {**os.environ, "ATOLL_API_URL": "http://127.0.0.1:9", "ATOLL_API_KEY": "x"}
    result = subprocess.run([atoll.ATOLL, *arguments], env=environment, capture_output=True, timeout=30)
    assert result.returncode in ((0, 2) if not arguments else (0,)), result.stderr
    assert result.stdout or result.stderr


@pytest.mark.parametrize("arguments, word", [
    (["nonsense"], b"nonsense"), (["run"], b"--"), (["run", "--cpu", "x", "--", "true"], b"cpu"),
    (["cp", "a", "b"], b"SANDBOX:"), (["exec", "no-such", "--", "true"], b"no-such"), (["rm"], b"rm"),
])
def test_bad_use_says_what_is_right(server, arguments, word):
    result = server.cli(*arguments)
    assert result.returncode != 0 and word in result.stderr, result.stderr


@pytest.mark.parametrize("arguments, hint", [
    (["exce", "box"], "did you mean 'exec'?"), (["help", "exce"], "did you mean 'exec'?"),
    (["template", "creat"], "did you mean 'template create'?"), (["run", "--memroy", "2g"], "did you mean '--memory'?"),
    (["template", "create", "--form", "x"], "did you mean '--from'?"),
    (["delete", "box"], "did you mean 'rm'?"), (["template", "list"], "did you mean 'template ls'?"),
    (["template", "rm"], "usage: atoll template rm "), (["nonsense"], "see 'atoll help'"),
])
def test_a_slip_of_the_fingers_is_answered_with_the_right_word(arguments, hint):
    result = subprocess.run([atoll.ATOLL, *arguments], capture_output=True, text=True, timeout=30)
    assert result.returncode == 122 and f"\n  hint: {hint}" in result.stderr, result.stderr


def test_a_long_hint_is_whole(api):
    with pytest.raises(atoll.ApiError) as failure:
        api.post("/api/sandbox/instances", {"unheard_of": 1})
    schemas = json.loads((atoll.ROOT / "docs/api/openapi.json").read_text())["components"]["schemas"]
    known = failure.value.hint.removeprefix("known here: ").split(", ")
    assert set(known) >= set(schemas["SandboxCreate"]["properties"]), failure.value.hint


def test_a_long_name_in_an_error_is_whole(server):
    name = "n" * 300
    result = server.cli("volume", "inspect", name)
    assert result.returncode != 0 and name.encode() in result.stderr, result.stderr


@pytest.mark.parametrize("url, said", [
    ("http://127.0.0.1:9", "at http://127.0.0.1:9: Connection refused"),
    ("unix:/nonexistent/api.sock", "at unix:/nonexistent/api.sock: No such file or directory"),
    ("http://no-such.invalid:7777", "at http://no-such.invalid:7777: Could not resolve host"),
])
@pytest.mark.parametrize("terminal", [False, True])
def test_a_server_that_cannot_be_reached_is_named_with_a_cure(url, said, terminal):
    environment = {**os.environ, "ATOLL_API_URL": url, "ATOLL_API_KEY": "x"}
    if terminal:
        status, told = on_a_terminal([atoll.ATOLL, "ps"], env=environment)
    else:
        result = subprocess.run([atoll.ATOLL, "ps"], env=environment, capture_output=True, text=True, timeout=30)
        status, told = result.returncode, result.stderr
    assert status == 120 and f"cannot reach the server {said}" in told, told
    assert "\n  hint: start the server there ('atoll serve'), or set ATOLL_API_URL" in told


def test_a_failure_of_one_of_several_names_keeps_its_hint():
    environment = {**os.environ, "ATOLL_API_URL": "http://127.0.0.1:9", "ATOLL_API_KEY": "x"}
    result = subprocess.run([atoll.ATOLL, "stop", "one"], env=environment, capture_output=True, text=True, timeout=30)
    assert result.returncode == 120 and re.match(r"atoll: one: .*cannot reach the server .*\n  hint: start the server there", result.stderr), result


@pytest.mark.parametrize("command", [["ps"], ["serve"], ["run", "--", "true"]])
def test_an_installation_without_a_server_says_what_to_set(free_folder, command):
    shutil.copy(atoll.ATOLL, free_folder)
    environment = {"PATH": os.environ["PATH"], "ATOLL_DATA": f"{free_folder}/data"}
    for user in ("root", "nobody"):
        result = subprocess.run([f"{free_folder}/atoll", *command], env=environment, user=user, cwd="/", capture_output=True, text=True,
                                timeout=30)
        assert result.returncode == 120 and "this installation has no server" in result.stderr, result
        assert "\n  hint: set ATOLL_API_URL to a server" in result.stderr and "ATOLL_API_KEY" in result.stderr
    assert os.listdir(free_folder) == ["atoll"]


@pytest.mark.parametrize("option", ["--version", "-V", "version"])
def test_the_version_is_printed(option):
    result = subprocess.run([atoll.ATOLL, option], capture_output=True, text=True, timeout=30)
    assert re.fullmatch(r"atoll \d+\.\d+\S*\n", result.stdout), result


def test_every_listing_speaks_json(server, api):
    with api.sandbox(internet=False) as sandbox:
        for arguments in (["ps"], ["template", "ls"], ["key", "ls"], ["ls", f"{sandbox}:/"], ["stats", sandbox],
                          ["version"], ["config"], ["doctor"]):
            result = server.cli(*arguments, "--json")
            assert result.returncode == 0, (arguments, result.stderr)
            json.loads(result.stdout)


def test_the_commands_of_a_sandbox_are_listed(server, api):
    with api.sandbox(internet=False) as sandbox:
        assert server.cli("exec", sandbox, "--", "sh", "-c", "exit 3").returncode == 3
        head, row = server.cli("ps", sandbox).stdout.decode().splitlines()[:2]
        assert head.split() == ["PROCESS", "STATE", "EXIT", "STARTED", "USER", "LABEL", "COMMAND"]
        assert row.split()[:3] == ["1", "ended", "3"] and row.endswith("sh -c exit 3")
        assert [p["exit_code"] for p in json.loads(server.cli("ps", sandbox, "--json").stdout)] == [3]
    gone = server.cli("ps", "no-such")
    assert gone.returncode != 0 and b"no-such" in gone.stderr


def test_keys_can_be_made_used_and_revoked(server):
    made = json.loads(server.cli("key", "create", "robot", "--json").stdout)
    api = server.api(made["key"])
    assert api.get("/api/sandbox/instances")["items"] is not None
    assert server.cli("key", "revoke", made["id"]).returncode == 0
    with pytest.raises(atoll.ApiError) as failure:
        server.api(made["key"]).get("/api/sandbox/instances")
    assert failure.value.status == 401


def test_a_template_is_made_changed_used_and_removed(server):
    made = server.cli("template", "create", "cli-recipe", "--from", "host", "--description", "of the test", "-p", "3000",
                      "-e", "MODE=first", "--workdir", "/tmp", "--memory", "128m", "--json", "--", "/bin/sleep", "100 0")
    assert made.returncode == 0, made.stderr
    try:
        shown = json.loads(server.cli("template", "inspect", "cli-recipe").stdout)
        assert shown == json.loads(made.stdout) and shown["base_image"] == "host" and shown["state"] == "ready"
        assert shown["entrypoint"] == ["/bin/sleep", "100 0"] and shown["ports"] == [3000]
        assert shown["resources"]["memory_mb"] == 128
        changed = server.cli("template", "set", "cli-recipe", "--cpu", "0.25", "--env", "MODE=second",
                             "--clear", "entrypoint", "--clear", "ports")
        assert (changed.returncode, changed.stdout) == (0, b"cli-recipe is changed\n"), changed.stderr
        rows = json.loads(server.cli("template", "ls", "--json").stdout)
        row = next(row for row in rows if row["name"] == "cli-recipe")
        assert row["entrypoint"] == [] and row["ports"] == [] and row["description"] == "of the test"
        assert row["resources"]["memory_mb"] == 128 and row["resources"]["cpu"] == 0.25
        ran = server.cli("run", "-t", "cli-recipe", "--no-internet", "--", "sh", "-c", "echo $MODE; pwd")
        assert ran.stdout == b"second\n/tmp\n", ran.stderr
    finally:
        assert server.cli("template", "rm", "cli-recipe").returncode == 0
    assert b"cli-recipe" in server.cli("template", "set", "cli-recipe", "--user", "root").stderr


@pytest.mark.parametrize("arguments, word", [
    (["--from", "no-such"], b"no-such"), (["--from", "host", "--isolation", "magic"], b"isolation"),
    (["--from", "host", "--workdir", "relative"], b"workdir"), (["--image", "UPPER CASE"], b"UPPER CASE"),
    (["--from", "host", "--image", "debian"], b"--image"), (["--from", "host", "--port", "0"], b"--port"),
])
def test_a_bad_recipe_says_what_is_wrong_and_makes_nothing(server, arguments, word):
    result = server.cli("template", "create", "cli-bad", *arguments)
    assert result.returncode not in (0, 1) and word in result.stderr, result.stderr
    assert b"cli-bad" not in server.cli("template", "ls").stdout


def test_a_local_server_starts_by_itself():
    folder = tempfile.mkdtemp(prefix="atoll-local-")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ATOLL")}
    environment["ATOLL_DATA"] = folder
    try:
        result = subprocess.run([atoll.ATOLL, "run", "-t", "host", "--no-internet", "--", "echo", "by itself"],
                                env=environment, capture_output=True, timeout=60)
        assert result.stdout == b"by itself\n", result.stderr
        again = subprocess.run([atoll.ATOLL, "run", "-t", "host", "--no-internet", "--", "echo", "again"],
                               env=environment, capture_output=True, timeout=60)
        assert again.stdout == b"again\n"
    finally:
        for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
            try:
                line = open(f"/proc/{pid}/cmdline", "rb").read()
            except OSError:
                continue
            if b"atolld" in line and folder.encode() in line and b"--role" not in line:
                os.kill(int(pid), signal.SIGTERM)
        shutil.rmtree(folder, ignore_errors=True)


def test_a_local_server_that_cannot_live_says_why():
    folder = tempfile.mkdtemp(prefix="atoll-local-")
    os.chmod(folder, 0o755)
    for program in ("atoll", "atolld", "atoll-agent", "atoll-image", "atoll-launch", "atoll-task"):
        shutil.copy(os.path.join(os.path.dirname(atoll.ATOLL), program), folder)
    broker = os.path.join(folder, "atoll-broker")
    with open(broker, "w") as f:
        f.write("#!/bin/sh\nsleep 0.3\nexit 1\n")
    os.chmod(broker, 0o755)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ATOLL")}
    environment["ATOLL_DATA"] = os.path.join(folder, "data")
    try:
        result = subprocess.run([os.path.join(folder, "atoll"), "ps"], env=environment, capture_output=True, timeout=60)
        assert result.returncode != 0
        assert b"the local server did not start" in result.stderr, result.stderr
        assert b"atoll-broker could not start" in result.stderr, result.stderr
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def on_a_terminal(arguments, **options):
    controller, terminal = pty.openpty()
    process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal, **options)
    os.close(terminal)
    said = read_until(controller, b"nothing says this")
    os.close(controller)
    return process.wait(timeout=30), said.decode().replace("\r\n", "\n")


@pytest.fixture
def free_folder():
    folder = tempfile.mkdtemp(prefix="atoll-serve-")
    os.chmod(folder, 0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_a_person_without_root_is_told_to_use_sudo(free_folder):
    programs = os.path.join(free_folder, "programs")
    os.mkdir(programs)
    for program in ("atoll", "atolld"):
        shutil.copy(os.path.join(os.path.dirname(atoll.ATOLL), program), programs)
    status, said = on_a_terminal([f"{programs}/atoll", "serve", "--data", f"{free_folder}/data"], user="nobody",
                                 cwd="/", env={"HOME": "/nonexistent", "PATH": os.environ["PATH"]})
    assert status == 1 and said.startswith("atolld: a server that makes sandboxes needs root"), said
    assert "\n  hint: start it with sudo: 'sudo atoll serve'" in said and "code=" not in said


def test_a_person_without_root_is_told_what_to_set(free_folder):
    for program in ("atoll", "atolld"):
        shutil.copy(os.path.join(os.path.dirname(atoll.ATOLL), program), free_folder)
    result = subprocess.run([f"{free_folder}/atoll", "ps"], user="nobody", cwd="/", capture_output=True, text=True, timeout=30,
                            env={"HOME": "/nonexistent", "PATH": os.environ["PATH"]})
    assert result.returncode == 121 and result.stderr.startswith("atoll: no server is configured, and only root can start one"), result
    assert "\n  hint: use sudo, or set ATOLL_API_URL and ATOLL_API_KEY" in result.stderr


def test_a_person_whose_port_is_taken_is_told_the_cure(free_folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        serve = [atoll.ATOLL, "serve", "--provider", "null", "--data", f"{free_folder}/data",
                 "--listen", f"127.0.0.1:{port}"]
        status, said = on_a_terminal(serve)
        logged = subprocess.run(serve, capture_output=True, text=True, timeout=30)
    assert status == 1 and said.startswith(f"atolld: 127.0.0.1:{port}: listen: Address already in use\n"), said
    assert f"  hint: another program has port {port}" in said and "--listen" in said and "code=" not in said
    assert logged.returncode == 1 and "error atolld: ended code=conflict" in logged.stderr, logged


def test_config_hides_the_databases_password(server):
    address = "postgresql://me:hunter2@db/name?sslpassword=hunter2"
    for more in ([], ["--json"]):
        shown = server.cli("config", "--store", address, *more)
        assert shown.returncode == 0 and b"hunter2" not in shown.stdout + shown.stderr, shown
        assert b"postgresql://me:****@db/name?sslpassword=****" in shown.stdout
    refused = server.cli("config", "--store", "postgresql://me:****@db/name")
    assert refused.returncode == 122 and b"asterisks" in refused.stderr, refused


def at_width(width, arguments, **environment):
    """What a command prints on a terminal of that width."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.PIPE,
                               env={**environment, "TERM": "xterm"})
    os.close(terminal)
    said = read_until(controller, b"nothing says this").decode().replace("\r\n", "\n")
    os.close(controller)
    assert process.wait(timeout=30) == 0, process.stderr.read()
    return said


def test_a_table_fits_the_terminal_and_is_whole_in_a_pipe(server, api):
    with api.sandbox(internet=False) as sandbox:
        line = "echo " + "long " * 60
        assert server.cli("exec", sandbox, "--", "sh", "-c", line).returncode == 0
        wide, narrow = [atoll.ATOLL, "ps", sandbox], [atoll.ATOLL, "ps", sandbox, "--color", "never"]
        environment = {k: v for k, v in server.cli_environment().items() if k not in ("COLUMNS", "NO_COLOR")}
        shown = at_width(70, narrow, **environment)
        assert all(len(row) <= 70 for row in shown.splitlines()) and shown.rstrip().endswith("…"), shown
        assert len(at_width(70, narrow, **environment, COLUMNS="60").splitlines()[1]) == 60
        colored = at_width(200, wide, **environment)
        assert colored.startswith("\x1b[1mPROCESS\x1b[0m"), colored
        assert "\x1b" not in at_width(200, wide, **environment, NO_COLOR="1")
        piped = server.cli("ps", sandbox).stdout.decode()
        assert piped.splitlines()[1].endswith(f"sh -c {line}") and "\x1b" not in piped
        assert "\x1b[32mstarted\x1b[0m" in server.cli("ps", "--color=always").stdout.decode()
