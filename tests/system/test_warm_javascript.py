# SPDX-License-Identifier: Apache-2.0
"""Node.js that is started ahead: code that runs in one cannot tell it from `node -e`, and nothing can stop it from running."""

import contextlib
import os
import re
import time

import pytest

import atoll

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not os.path.exists("/usr/bin/node"), reason="the host's /usr has no node")]
PATH = "/api/sandbox/templates"
IMPORTS = ["http", "node:zlib", "fs/promises"]


def run(api, sandbox, code, **options):
    return api.post(f"/api/sandbox/instances/{sandbox}/code", {"language": "javascript", "code": code, **options})


def run_warm(api, sandbox, code, **options):
    """Each one is used once and the next takes a while: code to repeat."""
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline:
        result = run(api, sandbox, code, **options)
        if result.get("warm"):
            return result
        time.sleep(0.2)
    raise AssertionError(f"never ran warm: {result}")


def run_cold(api, sandbox, code, **options):
    """A variable that Node reads when it starts makes it cold."""
    result = run(api, sandbox, code, **{**options, "env": {**options.get("env", {}), "NODE_NO": "1"}})
    assert "warm" not in result
    return result


def own(text):
    """Without what is Node's own in a trace, the numbers of processes, and what made it cold."""
    lines = [l for l in text.split("\n") if not re.match(r"^\s+at .*(node:|\[eval\]-wrapper)", l)]
    return re.sub(r'\(node:\d+\)', "(node)", "\n".join(lines)).replace(',["NODE_NO","1"]', "")


def command(api, sandbox, code):
    """In Python, as root: it does not use what is looked at."""
    result = api.exec(sandbox, cmd="python3", args=["-c", code], user="root")
    assert result["exit_code"] == 0, result["stderr"]
    return result["stdout"]


FIND = """
import os, signal, time
def having(word):
    found = []
    for pid in sorted(int(p) for p in os.listdir('/proc') if p.isdigit()):
        try:
            if pid != os.getpid() and word in open(f'/proc/{pid}/cmdline', 'rb').read(): found.append(pid)
        except OSError: pass
    return found
def ours(): return having(b'atoll_' + b'warm')
def end(signal):
    for pid in ours():
        try: os.kill(pid, signal)
        except ProcessLookupError: pass  # one ends with another
"""
AWAIT = "while not ours(): time.sleep(.01)"


@pytest.fixture(scope="module")
def template(server):
    with contextlib.closing(server.api()) as api:
        api.post(PATH, {"name": "ahead", "from": "host", "env": {"MODE": "template"}, "workdir": "/home/user",
                        "warm": [{"language": "javascript", "imports": IMPORTS}, {"language": "python"}]})
        yield "ahead"
        api.delete(f"{PATH}/ahead")


@pytest.fixture(scope="module")
def box(server, template):
    """One sandbox for tests that leave it as it was."""
    with contextlib.closing(server.api()) as api, api.sandbox(template=template, internet=False) as sandbox:
        api.exec(sandbox, "mkdir -p /home/user/node_modules/near && cd /home/user && echo 'exports.x = 42' >node_modules/near/index.js"
                          " && echo 'export default 7' >m.mjs")
        run_warm(api, sandbox, "1")
        yield sandbox


SAME = {
    "arguments": "console.log(process.argv, process.execArgv, process.argv0, process.execPath, process.title, process._eval.length)",
    "globals": "console.log(Object.getOwnPropertyNames(globalThis).sort().join(), this === globalThis)",
    "module": "console.log(module.id, module.filename, module.paths, __filename, __dirname, require.main, module.parent,"
              " typeof exports, module.children.length)",
    "folder": "console.log(process.cwd())",
    "environment": "console.log(JSON.stringify(Object.entries(process.env).sort()))",
    "who": "console.log(process.getuid(), process.getgroups(), process.umask())",
    "session": "console.log(fs.readFileSync('/proc/self/stat', 'utf8').split(' ').slice(4, 6).every(x => x == process.pid))",
    "signals": "console.log(fs.readFileSync('/proc/self/status', 'utf8').split('\\n').filter(l => /^(Sig|Cap|Seccomp|NoNew)/.test(l)))",
    "limits": "console.log(fs.readFileSync('/proc/self/limits', 'utf8'), fs.readFileSync('/proc/self/oom_score_adj', 'utf8'))",
    "host": "console.log(os.hostname() === fs.readFileSync('/proc/sys/kernel/hostname', 'utf8').trim())",
    "streams": "console.log([0, 1, 2].map(f => fs.fstatSync(f).isFIFO()), process.stdin.isTTY, process.stdin.constructor.name,"
               " process.stdout.constructor.name, process.stderr.writableHighWaterMark)",
    "exit": "process.exitCode = 5; process.on('exit', c => console.log('bye', c))",
    "exit_at_once": "process.exit(7)",
    "throw": "function f() { throw new TypeError('no') }\nf()",
    "throw_null": "throw null",
    "reject": "Promise.reject(new Error('x'))",
    "syntax": "console.log('a'",
    "import": "import f from 'fs'; console.log(typeof f.readFileSync)",
    "dynamic_import": "import('./m.mjs').then(m => console.log(m.default))",
    "top_await": "console.log(await 5)",
    "crypto": "console.log(crypto.createHash('md5').update('a').digest('hex'))",
    "order": "setImmediate(() => { console.log('i'); setTimeout(() => console.log('t'), 1) }); process.nextTick(() => console.log('n'));"
             " Promise.resolve().then(() => console.log('p')); console.log('s')",
    "delay": "const a = Date.now(); setTimeout(() => console.log(Date.now() - a >= 99, Date.now() - a < 10000), 100)",
    "stdin": "process.stdin.on('data', d => console.log(String(d))).on('end', () => console.log('end', process.stdin.constructor.name))",
    "stdin_at_once": "console.log(fs.readFileSync(0, 'utf8'))",
    "spawn": "console.log(child_process.execFileSync('sh', ['-c', 'echo $MODE $A; ls /proc/self/fd | wc -l']).toString())",
    "fork": "fs.writeFileSync('/tmp/child.js', 'console.log(process.execArgv, process.argv.length)'); child_process.fork('/tmp/child.js')",
    "worker": "new worker_threads.Worker('console.log(process.argv.length, process.env.A)', {eval: true})",
    "signal": "process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 1000)",
    "uncaught": "process.on('uncaughtException', e => console.log('caught', e.message)); throw new Error('q')",
    "variables": "var q = 1; let w = 2; console.log(globalThis.q, globalThis.w, typeof state, typeof Module)",
    "sloppy": "x = 5; console.log(x, delete globalThis.x)",
    "pattern": "console.log(JSON.stringify([RegExp.$1, RegExp.lastMatch]))",
    "near_module": "console.log(require('near').x, require.resolve('near'))",
    "missing_module": "require('nothing-of-that-name')",
    "warning": "process.emitWarning('careful')",
    "trace": "console.log(new Error('e').stack.split('\\n')[1])",
    "empty": "",
    "handles": "console.log(process._getActiveHandles().length, process._getActiveRequests().length)",
    "unicode": "console.log('ä€𝄞') // no line after this",
    "bytes": "process.stdout.write(Buffer.from(Array.from({length: 256}, (_, i) => i)))",
    "recursion": "function f() { f() }\ntry { f() } catch (e) { console.log(e.message) }",
    "builtin": "console.log(require('module').builtinModules.join(), typeof fs.readFile, os.EOL.length)",
}
COLD = {"syntax", "import", "dynamic_import", "top_await"}  # what is no script, or reads modules of the other kind


@pytest.mark.parametrize("what", SAME)
def test_code_sees_what_it_would_see_cold(api, box, what):
    options = {"env": {"A": "b=c", "EMPTY": ""}}
    if what.startswith("stdin"):
        options["stdin"] = "to read"
    cold = run_cold(api, box, SAME[what], **options)
    warm = run(api, box, SAME[what], **options) if what in COLD else run_warm(api, box, SAME[what], **options)
    for member in ("exit_code", "signal", "timed_out", "stdout", "stderr", "stdout_encoding"):
        a, b = (own(str(r.get(member))) for r in (warm, cold))
        assert a == b, member
    assert warm.get("warm", False) == (what not in COLD)


def test_modules_are_there_and_numbers_are_new(api, box):
    code = "console.log(require('module')._pathCache !== undefined, Math.random(), crypto.randomUUID(), process.pid)"
    seen = [run_warm(api, box, code)["stdout"].split() for _ in range(3)]
    for column in list(zip(*seen))[1:]:
        assert len(set(column)) == 3


def test_a_call_is_the_only_one_of_its_process(api, box):
    run_warm(api, box, "globalThis.left = 1; require('fs').left = 1; process.env.LEFT = '1'")
    result = run_warm(api, box, "console.log(typeof left, typeof fs.left, process.env.LEFT)")
    assert result["stdout"] == "undefined undefined undefined\n"


def test_a_time_zone_is_that_of_the_call(api, box):
    code = "console.log(new Date(0).getHours(), Intl.DateTimeFormat().resolvedOptions().timeZone)"
    for zone, hours in (("Asia/Tokyo", "9"), ("UTC", "0")):
        result = run_warm(api, box, code, env={"TZ": zone})
        assert result["stdout"].split() == [hours, zone]


def test_output_comes_while_it_runs_and_input_goes_in(api, box):
    path = f"/api/sandbox/instances/{box}/processes"

    def start():
        """Those that run cold are ended: there may be few in the background."""
        made = run(api, box, "console.log('ready'); process.stdin.once('data', d => { console.log(String(d).trim().length);"
                             " process.exit(3) })", background=True, stdin_open=True)
        if made.get("warm"):
            return made
        api.post(f"{path}/{made['process']}/signal", {"signal": "KILL"})
        return time.sleep(0.5)
    run_warm(api, box, "1")
    started = atoll.wait_for(start, 20, "a warm one")
    base = f"{path}/{started['process']}"
    logs = f"/api/sandbox/instances/{box}/logs?process={started['process']}"
    atoll.wait_for(lambda: "ready" in api.raw("GET", logs).body.decode(), 30, "output")
    api.raw("POST", f"{base}/stdin?end=true", b"abc\n", {"Content-Type": "application/octet-stream"})
    atoll.wait_for(lambda: api.get(base)["state"] != "running", 30, "its end")
    assert api.get(base)["exit_code"] == 3 and "3" in api.raw("GET", logs).body.decode()


def test_a_timeout_ends_all_that_it_started(api, box):
    result = run_warm(api, box, "child_process.spawn('setsid', ['sleep', '9876'], {detached: true, stdio: 'ignore'}).unref();"
                                " setInterval(() => {}, 1000)", timeout_ms=1500)
    assert result["timed_out"] and result["signal"] == "SIGKILL"
    assert command(api, box, FIND + "print(len(having(b'98' + b'76')))") == "0\n"


def test_what_changes_the_start_runs_cold(api, box):
    run_warm(api, box, "1")
    time.sleep(1.5)  # a warm interpreter is there again, and must not be used
    for options in ({"env": {"NODE_OPTIONS": "--no-warnings"}}, {"env": {"LD_LIBRARY_PATH": "/tmp"}}, {"user": "root"},
                    {"env": {"PATH": "/usr/bin"}}, {"tty": True}):
        assert "warm" not in run(api, box, "1", **options)
    assert "warm" not in api.exec(box, cmd="node", args=["-e", "1"])
    assert run_warm(api, box, "1")


def test_a_package_that_was_changed_since_is_seen(api):
    api.post(PATH, {"name": "packaged", "from": "host", "workdir": "/home/user",
                    "warm": [{"language": "javascript", "imports": ["dep"]}]})
    try:
        with api.sandbox(template="packaged", internet=False) as sandbox:
            # Without it no interpreter stays.
            write = ("mkdir -p node_modules/dep && echo 'exports.v = {}; console.log(\"loaded\");"
                     " require(\"fs\").appendFileSync(\"/home/user/loaded\", \"x\")' >node_modules/dep/index.js")

            def wait_loaded():
                """One that waits has loaded it as it is."""
                run_warm(api, sandbox, "fs.writeFileSync('/home/user/loaded', '')")
                atoll.wait_for(lambda: api.read(sandbox, "/home/user/loaded"), 30, "the next one has loaded it")
            api.exec(sandbox, write.format(1))
            api.post(f"/api/sandbox/instances/{sandbox}/stop")
            api.post(f"/api/sandbox/instances/{sandbox}/start")
            code = "console.log(Object.keys(require.cache).length, require('dep').v)"
            # What it prints when it is loaded is no output of the call.
            assert run_warm(api, sandbox, code)["stdout"] == "1 1\n"
            wait_loaded()
            api.exec(sandbox, write.format(2))
            # By one that is started for it, or by one that has come since.
            result = run(api, sandbox, code)
            assert result["stdout"].endswith(" 2\n"), result
            assert run_warm(api, sandbox, code)["stdout"] == "1 2\n"
            wait_loaded()
            # One that is nearer to what requires it.
            api.exec(sandbox, "mkdir -p sub/node_modules/dep && echo 'exports.v = 3' >sub/node_modules/dep/index.js")
            assert run_warm(api, sandbox, code, cwd="/home/user/sub")["stdout"] == "1 3\n"
    finally:
        api.delete(f"{PATH}/packaged")


def test_it_is_no_command_and_goes_where_the_sandbox_goes(api, template):
    with api.sandbox(template=template, internet=False) as sandbox:
        run_warm(api, sandbox, "1")
        atoll.wait_for(lambda: command(api, sandbox, FIND + "print(*ours())").split(), 30, "the next one")
        base = f"/api/sandbox/instances/{sandbox}"
        assert all(p["state"] != "running" for p in api.get(f"{base}/processes")["items"])
        made = api.post(f"{base}/snapshot")
        assert made["method"] == "switch", made
        assert run_warm(api, sandbox, "console.log(fs.readFileSync('/proc/self/mountinfo', 'utf8').split(' / / ').length)")["stdout"] == "2\n"
        api.delete(f"/api/sandbox/snapshots/{made['id']}")
        api.post(f"{base}/pause")
        assert run(api, sandbox, "console.log(1)")["stdout"] == "1\n"
        api.post(f"{base}/stop")
        api.post(f"{base}/start")
        run_warm(api, sandbox, "1")


def test_memory_of_one_that_waits_counts(api, template):
    with api.sandbox(template=template, internet=False, resources={"memory_mb": 256}) as sandbox:
        run_warm(api, sandbox, "1")
        result = run_warm(api, sandbox, "const a = []; for (;;) a.push(Buffer.alloc(1 << 24, 1))")
        assert result["signal"] == "SIGKILL" or result["exit_code"] != 0
        assert run(api, sandbox, "console.log(1)")["stdout"] == "1\n"


def test_a_call_after_a_call_is_never_wrong(api, box):
    """Back to back: warm, waiting for the next, or cold; each once."""
    api.exec(box, "rm -f /tmp/ran")
    results = []
    while len(results) < 12 or not any(r.get("warm") for r in results):
        results.append(run(api, box, f"fs.appendFileSync('/tmp/ran', 'x'); console.log({len(results)})"))
        assert len(results) < 200, "none is warm"
    assert [r["stdout"] for r in results] == [f"{i}\n" for i in range(len(results))]
    assert api.exec(box, "cat /tmp/ran")["stdout"] == "x" * len(results)


# ---- from a pool ----

def test_a_prepared_one_is_warm_at_the_first_call(api):
    api.post(PATH, {"name": "aheadpool", "from": "host", "env": {"SECRET": "of-pooled"}, "pool": {"target": 1},
                    "warm": [{"language": "python"}, {"language": "javascript", "imports": ["http"]}]})
    try:
        code = "console.log(os.hostname(), process.env.SECRET, process.env.MINE, fs.readFileSync('/etc/machine-id', 'utf8').trim())"
        seen = []
        for turn in range(12):
            atoll.wait_for(lambda: any(p["template"] == "aheadpool" and p["ready"] for p in api.get("/api/sandbox/pools")["items"]),
                           20, "a prepared sandbox")
            time.sleep(1.5 + turn / 4)  # and its interpreters: nobody can look into what nobody has
            with api.sandbox(template="aheadpool", internet=True, env={"MINE": "a"}) as sandbox:
                result = run(api, sandbox, code)
                if not result.get("warm"):
                    continue
                words = result["stdout"].split()
                assert words[:3] == [api.get(f"/api/sandbox/instances/{sandbox}")["name"], "of-pooled", "a"]
                seen.append(words[3])
            if len(seen) == 2:
                break
        assert len(set(seen)) == 2, seen
    finally:
        api.delete(f"{PATH}/aheadpool")


# ---- what a sandbox does to it ----

def test_one_that_is_killed_or_stopped_holds_nothing_up(api, template):
    with api.sandbox(template=template, internet=False) as sandbox:
        run_warm(api, sandbox, "1")
        command(api, sandbox, FIND + AWAIT)
        for signal in ("SIGKILL", "SIGSTOP"):
            command(api, sandbox, FIND + f"end(signal.{signal})")
            for i in range(3):
                begun = time.monotonic()
                assert run(api, sandbox, f"console.log({i})")["stdout"] == f"{i}\n"
                assert time.monotonic() - begun < 15
            run_warm(api, sandbox, "1")
            command(api, sandbox, FIND + AWAIT)


# ---- what is asked for ----

@pytest.mark.parametrize("name", ["./x", "/etc/x", "../x", "a/../b", "a//b", "a b", "", "@/x", "-r", "x/", "a" * 129, "a;b", "node:"])
def test_a_bad_name_is_refused(api, name):
    with pytest.raises(atoll.ApiError) as failure:
        api.post(PATH, {"name": "bad", "from": "host", "warm": [{"language": "javascript", "imports": [name]}]})
    assert failure.value.status in (400, 422) and "imports" in failure.value.message


def test_a_wish_is_kept(server, api):
    names = ["@scope/name", "fs/promises", "node:fs", "a.b-c_d/e.js"]
    server.cli("template", "create", "aheadcli", "--from", "host", "--warm", "javascript=" + ",".join(names), "--warm", "python")
    try:
        assert api.get(f"{PATH}/aheadcli")["warm"] == [{"language": "javascript", "imports": names},
                                                       {"language": "python", "imports": []}]
    finally:
        api.delete(f"{PATH}/aheadcli")


# ---- contexts ----

BLOCKS = ["const a = 6; let b = a; a * 7", "const a = 7; [a, b]", "console.log('out'); console.error('err')",
          "import { basename, join as put } from 'node:path'\nbasename(put('/x', 'y'))", "import fs from 'fs'; typeof fs.readFileSync",
          "await new Promise((resolve) => setTimeout(() => resolve('later'), 20))", "(await import('node:os')).EOL",
          "display({ _repr_html_: () => '<b>' }); ({ x: 1 })", "null.x", "let ;", "throw new TypeError('own')",
          "[process.argv.length, process.env.MODE, typeof require, process.stdin.isTTY]",
          "require('child_process').execSync('echo child').toString()", "typeof WORD + typeof DECLARED", "b"]


def blocks(api, sandbox):
    told = [run(api, sandbox, code, contextId="default") for code in BLOCKS]
    return [{name: own(answer[name]) if name in ("stdout", "stderr") else answer[name] for name in ("ok", "stdout", "stderr", "execution_count")} |
            {"results": answer["results"], "error": answer["error"] and (answer["error"]["name"], answer["error"]["value"])} for answer in told]


def kernels(api, sandbox):
    return [process["warm"] for process in api.get(f"/api/sandbox/instances/{sandbox}/processes")["items"]
            if process["label"] == "code:javascript:default-javascript"]


def test_a_context_begins_in_one_that_waits_and_is_as_any(server, template):
    with contextlib.closing(server.api()) as api, api.sandbox(template=template, internet=False) as warm, \
            api.sandbox(internet=False, env={"MODE": "template"}) as cold:
        run_warm(api, warm, "0")  # there are some here
        deadline = time.monotonic() + 60
        path = f"/api/sandbox/instances/{warm}/code/contexts/default-javascript"
        run(api, warm, "0", contextId="default")
        while not kernels(api, warm)[-1] and time.monotonic() < deadline:
            time.sleep(1)  # the next one is there a moment after a command
            api.delete(path)
            run(api, warm, "0", contextId="default")
        assert kernels(api, warm)[-1] is True
        run(api, cold, "0", contextId="default")
        assert kernels(api, cold) == [False]
        for found, expected, code in zip(blocks(api, warm), blocks(api, cold), BLOCKS):
            assert found == expected, code
        for sandbox in (warm, cold):
            stuck = run(api, sandbox, "for (;;);", contextId="default", timeout_ms=300)
            assert stuck["timed_out"] and not stuck["context_ended"]
            assert run(api, sandbox, "b", contextId="default")["results"][0]["text"] == "6"
        assert api.post(f"{path}/restart")["state"] == "ready"
        assert run(api, warm, "typeof b", contextId="default")["results"][0]["text"] == "undefined"
