# SPDX-License-Identifier: Apache-2.0
"""Warm interpreters: code that runs in one cannot tell it from `python3 -c`, and nothing can stop it from running."""

import contextlib
import os
import signal
import subprocess
import textwrap
import time

import pytest

import atoll

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="the host's /usr has no python3")]
PATH = "/api/sandbox/templates"
IMPORTS = ["asyncio", "email.message", "http.client"]
HAS_NUMPY = subprocess.run(["/usr/bin/python3", "-c", "import numpy"], capture_output=True).returncode == 0
needs_numpy = pytest.mark.skipif(not HAS_NUMPY, reason="the host's python3 has no numpy (python3-numpy)")


def run(api, sandbox, code, **options):
    return api.post(f"/api/sandbox/instances/{sandbox}/code",
                    {"language": "python", "code": textwrap.dedent(code), **options})


def wait_warm(api, sandbox, **options):
    atoll.wait_for(lambda: run(api, sandbox, "pass", **options).get("warm"), 15, "a warm interpreter")


@pytest.fixture(scope="module")
def template(server):
    with contextlib.closing(server.api()) as api:
        api.post(PATH, {"name": "warm", "from": "host", "env": {"MODE": "template"},
                        "warm": [{"language": "python", "imports": IMPORTS + (["numpy"] if HAS_NUMPY else [])}]})
        yield "warm"
        api.delete(f"{PATH}/warm")


@pytest.fixture(scope="module")
def box(server, template):
    """One sandbox for tests that leave it as it was."""
    with contextlib.closing(server.api()) as api, api.sandbox(template=template, internet=False) as sandbox:
        wait_warm(api, sandbox)
        yield sandbox


def run_warm(api, sandbox, code, **options):
    """Where it did not, because the machine was too busy to fork in time: once more, so it must be code to repeat."""
    for _ in range(20):
        result = run(api, sandbox, code, **options)
        if result.get("warm"):
            return result
        time.sleep(0.1)
    raise AssertionError(f"never ran warm: {result}")


def both(api, box, code, **options):
    """The same code warm and cold: a variable of the interpreter makes it cold."""
    cold = run(api, box, code, **{**options, "env": {**options.get("env", {}), "PYTHONNOUSERSITE": ""}})
    assert "warm" not in cold
    return run_warm(api, box, code, **options), cold


def python(api, sandbox, code, *args):
    """Cold, and as root: a command, not code."""
    result = api.exec(sandbox, cmd="python3", args=["-c", textwrap.dedent(code), *args], user="root")
    assert result["exit_code"] == 0, result["stderr"]
    return result["stdout"]


# The mark in two parts, or a cold run, which has this text on its command line, would be taken for a warm one.
FIND = """
import os, signal, sys, time
mark = b'atoll_' + b'warm'
def having(word):
    found = []
    for pid in sorted(int(p) for p in os.listdir('/proc') if p.isdigit()):
        try:
            if pid != os.getpid() and word in open(f'/proc/{pid}/cmdline', 'rb').read(): found.append(pid)
        except OSError: pass
    return found
def ours(): return having(mark)
interpreter = next(iter(ours()), None)
is_warm = mark in open('/proc/self/cmdline', 'rb').read()
"""


SAME = {
    "main": "print(__name__, sys.argv, sorted(globals()), __doc__, __spec__, __package__)",
    "path": "print(sys.path, sys.flags, sys.executable, sys.prefix, sys.orig_argv)",
    "folder": "print(os.getcwd(), os.listdir('/proc/self/fd'))",
    "environment": "print(sorted(os.environ.items()), os.getenv('MODE'))",
    "who": "print(os.getuid(), os.getgroups(), os.getresgid(), os.umask(0))",
    "session": "print(os.getsid(0) == os.getpid() == os.getpgid(0), os.getppid() > 1)",
    "signals": "import signal; print([(s, signal.getsignal(s)) for s in range(1, 32)], signal.pthread_sigmask(0, []))",
    "limits": "import resource; print([resource.getrlimit(i) for i in range(16)])",
    "host": "import socket, platform; print(socket.gethostname() == platform.node() == os.uname().nodename)",
    "streams": "print([(s.name, s.encoding, s.errors, s.line_buffering, s.isatty(), s.mode, s.fileno(), s.newlines, "
               "s.write_through) for s in (sys.stdin, sys.stdout, sys.stderr)], sys.stdout is sys.__stdout__)",
    "oom": "print(open('/proc/self/oom_score_adj').read())",
    "privileges": "print([l for l in open('/proc/self/status') if l.startswith(('Cap', 'Seccomp', 'NoNew', 'Sig'))])",
    "exit": "sys.exit(7)",
    "exit_text": "sys.exit('no good')",
    "exit_none": "sys.exit()",
    "exit_large": "sys.exit(-1)",
    "raise": "def f():\n    1 / 0\nf()",
    "chained": "try:\n    {}['a']\nexcept KeyError as e:\n    raise RuntimeError('b') from e",
    "syntax": "print('a'\n",
    "indent": "  print('a')",
    "interrupt": "raise KeyboardInterrupt",
    "hook": "sys.excepthook = lambda *a: print('hooked', a[0])\n1 / 0",
    "signal": "import signal; os.kill(os.getpid(), signal.SIGTERM)",
    "abort": "os.abort()",
    "hard_exit": "print('lost'); os._exit(9)",
    "recursion": "def f(): f()\ntry:\n    f()\nexcept RecursionError as e: print(e)",
    "at_exit": "import atexit, threading, time\natexit.register(print, 'last')\n"
               "threading.Thread(target=lambda: (time.sleep(.1), print('thread'))).start()\nprint('first')",
    "unflushed": "f = open('/tmp/unflushed', 'w'); f.write('kept'); os.register_at_fork(before=print)\nprint('x', end='')",
    "flushed": "print(open('/tmp/unflushed').read())",
    "destructor": "class A:\n    def __del__(self): print('gone')\na = A(); b = [a]; b.append(b)",
    "fork": "r = os.fork()\nif r: print(os.waitpid(r, 0)[1])\nelse: print('child', flush=True)",
    "spawn": "import subprocess; print(subprocess.run(['sh', '-c', 'echo $MODE; exit 3'], capture_output=True))",
    "pool": "import multiprocessing as m\nif __name__ == '__main__':\n    with m.get_context('fork').Pool(2) as p: print(p.map(abs, [-1]))",
    "asyncio": "import asyncio\nasync def f(): return 5\nprint(asyncio.run(f()))",
    "stdin": "print(sys.stdin.read())",
    "bytes": "sys.stdout.buffer.write(bytes(range(256)))",
    "unicode": "print('ä€𝄞', ascii('ä'))",
    "warning": "import warnings; warnings.warn('careful')",
    "closed": "sys.stdout.close()",
    "module": "import json, string; print(json.dumps({'a': 1}), string.digits)",
    "stack": "import traceback\ndef f(): return traceback.format_exc()\ntry:\n    1 / 0\nexcept ZeroDivisionError: print(f())",
}


@pytest.mark.parametrize("what", SAME)
def test_code_sees_what_it_would_see_cold(api, box, what):
    code = "import os, sys\n" + SAME[what] if what != "indent" else SAME[what]
    options = {"env": {"A": "b=c", "EMPTY": ""}, "stdin": "to read" if what == "stdin" else None}
    warm, cold = both(api, box, code, **{k: v for k, v in options.items() if v is not None})
    for member in ("exit_code", "signal", "timed_out", "stdout", "stderr", "stdout_encoding"):
        a, b = (str(r.get(member)).replace("('PYTHONNOUSERSITE', ''), ", "") for r in (warm, cold))
        assert a == b, member


def test_a_terminal_is_one(api, box):
    code = "import os, sys\nprint(sys.stdin.isatty(), sys.stdout.line_buffering, os.get_terminal_size(), os.ttyname(0)[:9],"\
           " os.tcgetpgrp(0) == os.getpgid(0), os.environ['TERM'], open('/dev/tty').isatty())"
    warm, cold = both(api, box, code, tty=True, rows=30, columns=90)
    assert "rows" not in warm["stdout"] and warm["stdout"] == cold["stdout"] and "lines=30" in warm["stdout"]


def test_two_calls_draw_different_numbers(api, box):
    code = "import random, tempfile, uuid, os\nprint(random.random(), next(tempfile._get_candidate_names()), uuid.uuid1())"
    drawn = [run_warm(api, box, code)["stdout"].split() for _ in range(5)]
    for column in zip(*drawn):
        assert len(set(column)) == 5


@needs_numpy
def test_numpy_is_there_and_draws_different_numbers(api, box):
    code = "import sys\nprint('numpy' in sys.modules)\nimport numpy\nprint(numpy.random.rand(), numpy.arange(10).sum())"
    drawn = [run_warm(api, box, code)["stdout"] for _ in range(3)]
    assert len(set(drawn)) == 3 and all(d.startswith("True\n") and d.endswith(" 45\n") for d in drawn)


def test_output_comes_while_it_runs_and_input_goes_in(api, box):
    started = run(api, box, "import time\nprint('ready', flush=True)\nprint(input()[::-1])", background=True,
                  stdin_open=True)
    base = f"/api/sandbox/instances/{box}/processes/{started['process']}"
    atoll.wait_for(lambda: "ready" in api.raw("GET", f"/api/sandbox/instances/{box}/logs?process={started['process']}")
                   .body.decode(), 30, "output")
    api.raw("POST", f"{base}/stdin?end=true", b"abc\n", {"Content-Type": "application/octet-stream"})
    atoll.wait_for(lambda: api.get(base)["state"] != "running", 30, "its end")
    assert api.get(base)["exit_code"] == 0


def test_a_timeout_ends_all_that_it_started(api, box):
    result = run_warm(api, box, """
        import os, subprocess, time
        if os.fork() == 0:
            os.setsid()
            if os.fork(): os._exit(0)
            os.execvp("sleep", ["sleep", "987"])
        time.sleep(60)""", timeout_ms=300)
    assert result["timed_out"] and result["signal"] == "SIGKILL"
    assert "987" not in api.exec(box, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")["stdout"].replace("987'", "")


def test_a_daemon_outlives_its_code(api, box):
    # A cold one leaves nothing: it may have been tried before.
    run_warm(api, box, FIND + """if is_warm and os.fork() == 0:
            os.setsid()
            for fd in range(3): os.close(fd)
            os.execvp("sleep", ["sleep", "986"])""")
    atoll.wait_for(lambda: python(api, box, FIND + "print(len(having(b'986')))") == "1\n", 30, "one daemon")


def test_a_module_in_the_folder_wins_as_it_does_cold(api, box):
    api.exec(box, "mkdir -p /tmp/shadow && echo \"print('mine')\" > /tmp/shadow/asyncio.py")
    result = run(api, box, "import asyncio", cwd="/tmp/shadow")
    assert result["stdout"] == "mine\n" and "warm" not in result
    api.exec(box, "rm -r /tmp/shadow")
    assert run_warm(api, box, "pass")


def test_what_changes_the_start_runs_cold(api, box):
    for options in ({"env": {"PYTHONOPTIMIZE": "1"}}, {"env": {"LD_LIBRARY_PATH": "/tmp"}}, {"user": "root"},
                    {"env": {"PATH": "/usr/bin"}}, {"cwd": "/tmp/asyncio"}):
        if "cwd" in options:
            with pytest.raises(atoll.ApiError):
                run(api, box, "pass", **options)
            continue
        assert "warm" not in run(api, box, "pass", **options)
    assert run_warm(api, box, "import os; print(os.environ['OTHER'])", env={"OTHER": "x"})["stdout"] == "x\n"


def test_a_time_zone_is_that_of_the_call(api, box):
    warm, cold = both(api, box, "import time; print(time.strftime('%z', time.localtime(0)))", env={"TZ": "UTC-5"})
    assert warm["stdout"] == cold["stdout"] == "+0500\n"


def test_a_package_that_was_installed_since_is_seen(api, template):
    with api.sandbox(template=template, internet=False) as sandbox:
        wait_warm(api, sandbox)
        run(api, sandbox, "import os, site; p = site.getusersitepackages(); os.makedirs(p)\n"
            "open(p + '/brand_new.py', 'w').write('x = 5')")
        assert run(api, sandbox, "import brand_new; print(brand_new.x)")["stdout"] == "5\n"
        wait_warm(api, sandbox)
        assert run_warm(api, sandbox, "import brand_new; print(brand_new.x)")["stdout"] == "5\n"


def test_it_is_no_command_and_does_not_keep_a_sandbox_awake(api, template):
    with api.sandbox(template=template, internet=False) as sandbox:
        wait_warm(api, sandbox)
        base = f"/api/sandbox/instances/{sandbox}"
        assert all(p["state"] != "running" for p in api.get(f"{base}/processes")["items"])
        made = api.post(f"{base}/snapshot")
        assert made["method"] == "switch", made
        assert run_warm(api, sandbox, "print(open('/proc/self/mountinfo').read().count(' / / '))")["stdout"] == "1\n"
        api.post(f"{base}/pause")
        assert run(api, sandbox, "print(1)")["stdout"] == "1\n"
        api.post(f"{base}/stop")
        api.post(f"{base}/start")
        wait_warm(api, sandbox)
        fork = api.post("/api/sandbox/instances", {"snapshot": made["id"], "internet": False})["id"]
        try:
            wait_warm(api, fork)
        finally:
            api.remove(fork)
            api.delete(f"/api/sandbox/snapshots/{made['id']}")


# ---- from a pool ----

def prepared(api, template):
    return next((p["ready"] for p in api.get("/api/sandbox/pools")["items"] if p["template"] == template), 0)


@pytest.fixture
def pool(server, api):
    """A template whose sandboxes are prepared, with a secret that no other template's may see."""
    api.post(PATH, {"name": "pooled", "from": "host", "env": {"SECRET": "of-pooled"}, "pool": {"target": 2},
                    "warm": [{"language": "python", "imports": IMPORTS}]})
    yield "pooled"
    api.delete(f"{PATH}/pooled")


def wait_prepared(api, template, count=2):
    atoll.wait_for(lambda: prepared(api, template) >= count, 20, "prepared sandboxes")
    time.sleep(1)  # and their interpreters: nobody can look into what nobody has


def test_a_prepared_one_is_warm_at_the_first_call(api, pool):
    wait_prepared(api, pool)
    code = "import os, socket, sys; print(socket.gethostname(), 'http.client' in sys.modules, os.environ['SECRET'], "\
           "os.environ.get('MINE'), open('/etc/machine-id').read(), random.random()); import platform; print(platform.node())"
    def first_call(options):
        """Where the machine was too busy to have warmed it yet: of another one."""
        for _ in range(12):
            with api.sandbox(template=pool, internet=True, **options) as sandbox:
                result = run(api, sandbox, "import random\n" + code)
                if result.get("warm"):
                    return result["stdout"].split(), api.get(f"/api/sandbox/instances/{sandbox}")["name"]
            time.sleep(2)
        raise AssertionError(f"no first call was warm: {result}")

    seen = []
    for options in ({}, {"env": {"MINE": "a"}}):
        words, name = first_call(options)
        assert words[:3] == [name, "True", "of-pooled"] and words[-1] == name
        assert words[3] == options.get("env", {}).get("MINE", "None")
        seen.append(words[4:6])
    assert seen[0][0] != seen[1][0] and seen[0][1] != seen[1][1]


def test_a_prepared_one_is_nobody_elses(api, pool):
    """Same files, limits and network, but another template: it would find the other's variables in the interpreter."""
    wait_prepared(api, pool)
    for body in ({"warm": [{"language": "python", "imports": IMPORTS}]}, {"warm": []}):
        api.post(PATH, {"name": "stranger", "from": "host", **body})
        try:
            with api.sandbox(template="stranger", internet=True) as sandbox:
                assert "of-pooled" not in python(api, sandbox, "import glob\nfor p in glob.glob('/proc/[0-9]*/environ'):\n"
                                                 "    try: print(open(p).read())\n    except OSError: pass")
        finally:
            api.delete(f"{PATH}/stranger")


def test_a_change_reaches_prepared_ones(api, pool):
    wait_prepared(api, pool)
    api.call("PATCH", f"{PATH}/{pool}", {"env": {"SECRET": "new"}, "warm": [{"language": "python", "imports": ["decimal"]}]})
    with api.sandbox(template=pool, internet=True) as sandbox:
        wait_warm(api, sandbox)
        result = run_warm(api, sandbox, "import os, sys; print(os.environ['SECRET'], 'decimal' in sys.modules,"
                                        " 'http.client' in sys.modules)")
        assert result["stdout"] == "new True False\n"


# ---- what a sandbox does to it ----

def test_one_that_is_killed_comes_back(api, template):
    with api.sandbox(template=template, internet=False) as sandbox:
        wait_warm(api, sandbox)
        for which in (0, 2):
            python(api, sandbox, FIND + f"while len(ours()) < 3: time.sleep(.01)\nos.kill(ours()[{which}], signal.SIGKILL)")
            assert run(api, sandbox, "print(1)")["stdout"] == "1\n"
            wait_warm(api, sandbox)


def test_a_call_outlives_its_interpreter(api, template):
    with api.sandbox(template=template, internet=False) as sandbox:
        wait_warm(api, sandbox)
        # A cold one would end the interpreter that is about to be ready, time and again.
        result = run_warm(api, sandbox, FIND + "if is_warm: os.kill(interpreter, signal.SIGKILL)\n"
                                               "time.sleep(.2); print('on')")
        assert result["stdout"] == "on\n" and result["exit_code"] == 0
        wait_warm(api, sandbox)
        # Its keeper is the user's, too: who ends it has ended the call, as root can do with a cold one.
        result = run_warm(api, sandbox, "import os, signal; os.kill(os.getppid(), signal.SIGKILL)")
        assert result["signal"] == "SIGKILL"


def test_one_that_is_stopped_holds_nothing_up(api, template):
    with api.sandbox(template=template, internet=False) as sandbox:
        wait_warm(api, sandbox)
        for which in ("ours()[:1]", "ours()"):
            python(api, sandbox, FIND + f"for p in {which}: os.kill(p, signal.SIGSTOP)")
            for i in range(4):
                begun = time.monotonic()
                assert run(api, sandbox, f"print({i})")["stdout"] == f"{i}\n"
                assert time.monotonic() - begun < 15
            python(api, sandbox, FIND + "for p in ours(): os.kill(p, signal.SIGKILL)")
            wait_warm(api, sandbox)


def test_a_fork_bomb_ends_with_its_call(api, template):
    with api.sandbox(template=template, internet=False, resources={"pids": 60}) as sandbox:
        wait_warm(api, sandbox)
        run(api, sandbox, "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", timeout_ms=500)
        atoll.wait_for(lambda: run(api, sandbox, "print(1)")["stdout"] == "1\n", 30, "a sandbox that works")


# ---- what is asked for ----

@pytest.mark.parametrize("bad, word", [
    ([{"language": "cobol"}], "language"), ([{}], "language"), ("python", "warm"),
    ([{"language": "python", "imports": ["os; x"]}], "imports[0]"), ([{"language": "python", "imports": ["1a"]}], "imports"),
    ([{"language": "python", "imports": ["a..b"]}], "imports"), ([{"language": "python", "imports": ["a."]}], "imports"),
    ([{"language": "python", "imports": ["a" * 129]}], "imports"), ([{"language": "python", "imports": ["a"] * 33}], "imports"),
    ([{"language": "python"}] * 2, "twice"), ([{"language": "python", "import": []}], "import"),
    ([{"language": "python"}] * 5, "warm")])
def test_a_bad_wish_is_refused(api, bad, word):
    with pytest.raises(atoll.ApiError) as failure:
        api.post(PATH, {"name": "bad", "from": "host", "warm": bad})
    assert failure.value.status in (400, 413, 422, 429, 409) and word in failure.value.message
    assert "bad" not in {t["name"] for t in api.get(PATH)["items"]}


def test_a_wish_is_kept_changed_and_dropped(server, api):
    server.cli("template", "create", "warmcli", "--from", "host", "--warm", "python=asyncio,email.message")
    try:
        wish = [{"language": "python", "imports": ["asyncio", "email.message"]}]
        assert api.get(f"{PATH}/warmcli")["warm"] == wish
        server.cli("template", "set", "warmcli", "--description", "x")
        assert api.get(f"{PATH}/warmcli")["warm"] == wish
        server.cli("template", "set", "warmcli", "--warm", "python")
        assert api.get(f"{PATH}/warmcli")["warm"] == [{"language": "python", "imports": []}]
        server.cli("template", "set", "warmcli", "--clear", "warm")
        assert api.get(f"{PATH}/warmcli")["warm"] == []
    finally:
        api.delete(f"{PATH}/warmcli")


def test_a_module_that_is_missing_leaves_code_as_it_was(api):
    api.post(PATH, {"name": "odd", "from": "host", "warm": [{"language": "python", "imports": ["no_such_module"]}]})
    try:
        with api.sandbox(template="odd", internet=False) as sandbox:
            for _ in range(5):
                result = run(api, sandbox, "print(6 * 7)")
                assert result["stdout"] == "42\n" and "warm" not in result
    finally:
        api.delete(f"{PATH}/odd")
