# SPDX-License-Identifier: Apache-2.0
"""Contexts: interpreters that keep their state, results that are more than text, interrupts, ends and restarts."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import threading
import time

import atoll
import pytest

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="the host's /usr has no python3")]
HAS_PLOTS = subprocess.run(["/usr/bin/python3", "-c", "import matplotlib, pandas"], capture_output=True).returncode == 0
needs_plots = pytest.mark.skipif(not HAS_PLOTS, reason="the host's python3 has no matplotlib and pandas "
                                                       "(python3-matplotlib, python3-pandas)")
HAS_PILLOW = subprocess.run(["/usr/bin/python3", "-c", "import PIL.Image"], capture_output=True).returncode == 0
needs_pillow = pytest.mark.skipif(not HAS_PILLOW, reason="the host's python3 has no Pillow (python3-pil)")
needs_node = pytest.mark.skipif(not os.path.exists("/usr/bin/node"), reason="the host's /usr has no node")


def path(box, *parts):
    return "/".join([f"/api/sandbox/instances/{box}/code", *parts])


def run(api, box, code, context="default", language="python", **options):
    return api.post(path(box), {"language": language, "code": code, "contextId": context, **options})


def value(api, box, code, context="default", **options):
    """The text of the last expression."""
    answer = run(api, box, code, context, **options)
    assert answer["ok"], answer
    return [r["text"] for r in answer["results"] if r["is_main"]][0]


@contextlib.contextmanager
def context(api, box, **options):
    made = api.post(path(box, "contexts"), options)
    try:
        yield made["id"]
    finally:
        with contextlib.suppress(atoll.ApiError):
            api.delete(path(box, "contexts", made["id"]))


def refused(call, *args, **options):
    with pytest.raises(atoll.ApiError) as error:
        call(*args, **options)
    return error.value


def events(api, box, code, context="default", language="python", form="ndjson", **options):
    response = api.open("POST", path(box) + f"?stream={form}",
                        {"language": language, "code": code, "contextId": context, **options})
    assert response.status == 200, response.read()
    return response


# ---- state ----

def test_a_context_keeps_what_its_blocks_make(api, box):
    with context(api, box) as first, context(api, box, cwd="/tmp") as second:
        run(api, box, "x = 40\ndef add(a): return x + a", first)
        assert value(api, box, "add(2)", first) == "42"
        assert run(api, box, "x", second)["error"]["name"] == "NameError"
        assert value(api, box, "import os; os.getcwd()", second) == "'/tmp'"
        kinds = {c["id"]: (c["language"], c["state"], c["cwd"]) for c in api.get(path(box, "contexts"))["items"]}
        assert kinds[second] == ("python", "ready", "/tmp") and first in kinds
        assert api.get(path(box, "contexts", second))["cwd"] == "/tmp"
        api.delete(path(box, "contexts", second))
        assert refused(run, api, box, "1", second).status == 404
        assert value(api, box, "x", first) == "40"


def test_the_default_context_is_made_by_its_first_block_and_counts(api):
    with api.sandbox(internet=False) as box:
        first, second = run(api, box, "a = 1"), run(api, box, "a")
        assert (first["execution_count"], second["execution_count"]) == (1, 2)
        assert second["contextId"] == "default-python" and second["results"] == [{"is_main": True, "text": "1"}]
        assert not run(api, box, "a;")["results"] and not run(api, box, "None")["results"]


def test_a_block_that_fails_tells_how_and_the_next_one_runs(api, box):
    answer = run(api, box, "kept = 1\ndef f():\n    return 1 / 0\nf()")
    assert (answer["ok"], answer["exit_code"], answer["error"]["name"]) == (False, 1, "ZeroDivisionError")
    assert answer["error"]["value"] == "division by zero"
    assert "line 3, in f" in answer["error"]["traceback"] and "return 1 / 0" in answer["error"]["traceback"]
    assert "<string>" not in answer["error"]["traceback"]
    assert value(api, box, "kept") == "1"
    assert run(api, box, "x = (")["error"]["name"] == "SyntaxError"
    assert run(api, box, "exit(3)")["error"]["name"] == "SystemExit"
    assert run(api, box, "raise BaseException")["error"]["name"] == "BaseException"
    assert run(api, box, "input()")["error"]["value"].startswith("input() is not available")


def test_a_function_knows_its_source(api, box):
    with context(api, box) as own:
        assert value(api, box, "def f():\n    return 3  # so\nimport inspect\ninspect.getsource(f)", own).count("# so") == 1


def test_an_indented_block_runs_as_its_first_line_stands(api, box):
    assert run(api, box, "\n    x = 3\n    if x:\n\n        print('in')\n    print(x)\n")["stdout"] == "in\n3\n"
    assert value(api, box, "\t# by tabs\n\tx + 1") == "4"
    assert run(api, box, "    %%bash\n    echo cell")["stdout"] == "cell\n"
    assert run(api, box, "x = 1\n  y = 2")["error"]["name"] == "IndentationError"


def test_output_comes_in_the_order_in_which_it_was_written(api, box):
    lines = events(api, box, "import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')\ndisplay('d')\nprint('e')\n1")
    told = [json.loads(line) for line in lines.read().splitlines()]
    assert [e["event"] for e in told] == ["started", "stdout", "stderr", "stdout", "result", "stdout", "result", "exit"]
    assert "".join(e.get("data", "") for e in told) == "a\nb\nc\ne\n"
    assert [e["result"]["is_main"] for e in told if e["event"] == "result"] == [False, True]
    assert told[-1]["ok"] and told[0]["execution_count"] == told[-1]["execution_count"]


def test_output_of_programs_and_of_forks_is_the_blocks(api, box):
    answer = run(api, box, "import os, subprocess\nprint('one')\nsubprocess.run(['sh', '-c', 'echo two; echo bad >&2'])\n"
                           "pid = os.fork()\nif pid == 0:\n    print('three')\nelse:\n    os.waitpid(pid, 0)\n    print('four')")
    assert answer["stdout"] == "one\ntwo\nthree\nfour\n" and answer["stderr"] == "bad\n" and answer["ok"]
    assert value(api, box, "1 + 1") == "2"


def test_variables_of_one_block_are_gone_with_it(api, box):
    assert value(api, box, "import os; os.environ['ONLY']", env={"ONLY": "here\n'and'"}) == '"here\\n\'and\'"'
    assert value(api, box, "os.environ.get('ONLY', 'gone')") == "'gone'"
    assert refused(run, api, box, "1", env={"A-B": "c"}).status == 400


def test_await_stands_on_the_outermost_level(api, box):
    assert value(api, box, "import asyncio\nasync def f(): return 5\nawait f()") == "5"
    assert value(api, box, "async with asyncio.Lock():\n    z = await asyncio.sleep(0, 6)\nz") == "6"


def test_shell_lines_and_magics(api, box):
    assert run(api, box, "word = 'hi'\n!echo {word} $((1 + 1))")["stdout"] == "hi 2\n"
    assert value(api, box, "found = !echo a; echo b\nfound") == "['a', 'b']"
    assert run(api, box, "%cd /tmp")["stdout"] == "/tmp\n" and value(api, box, "%pwd\n") == "'/tmp'"
    assert run(api, box, "%%bash\necho $0")["stdout"].endswith("bash\n")
    assert run(api, box, "%nonsense")["error"]["value"].startswith("%nonsense is no magic")
    assert value(api, box, "7 % 4\n") == "3"


# ---- results ----

def test_values_say_how_they_look(api, box):
    code = """
class Thing:
    def _repr_html_(self): return '<b>'
    def _repr_markdown_(self): return '**b**', {}
    def _repr_png_(self): return b'\\x89PNG'
    def _repr_json_(self): return {'a': [1, None]}
    def _repr_svg_(self): raise RuntimeError
    def _repr_mimebundle_(self, include=None, exclude=None): return {'text/x-own': 'own'}
Thing()
"""
    [result] = run(api, box, code)["results"]
    assert result["html"] == "<b>" and result["markdown"] == "**b**" and result["png"] == "iVBORw=="
    assert result["json"] == {"a": [1, None]} and result["extra"] == {"text/x-own": "own"}
    assert "Thing object" in result["text"] and "svg" not in result
    shown = run(api, box, "from IPython.display import display, HTML, JSON, Markdown\ndisplay(HTML('<i>'))\nJSON({'k': 1})")
    assert [r.get("html") for r in shown["results"]] == ["<i>", None] and shown["results"][1]["json"] == {"k": 1}


@needs_plots
def test_figures_and_tables_are_results(api, box):
    api.exec(box, "touch /etc/matplotlibrc", user="root")  # the host's package has it there
    code = """
import matplotlib.pyplot as plt
plt.plot([1, 2, 3], [4, 5, 6], label='speed'); plt.xlabel('Time (s)'); plt.title('T')
plt.show()
print('between')
fig, (left, right) = plt.subplots(1, 2)
left.bar(['x', 'y'], [1, 2], label='g')
right.boxplot([[1, 2, 3, 4, 30]])
None
"""
    answer = run(api, box, code)
    assert answer["ok"], answer
    line, both = answer["results"]
    assert line["png"].startswith("iVBORw0KGgo") and not line["is_main"]
    chart = line["chart"]
    assert (chart["type"], chart["title"], chart["x_label"], chart["x_unit"]) == ("line", "T", "Time (s)", "s")
    assert chart["elements"] == [{"label": "speed", "points": [[1, 4], [2, 5], [3, 6]]}]
    assert both["chart"]["type"] == "superchart"
    bar, boxes = both["chart"]["elements"]
    assert bar["elements"] == [{"label": "x", "group": "g", "value": 1}, {"label": "y", "group": "g", "value": 2}]
    assert boxes["type"] == "box_and_whisker" and boxes["elements"][0]["median"] == 3
    assert boxes["elements"][0]["outliers"] == [30]
    pie, dots = run(api, box, "plt.pie([1, 2], labels=['p', 'q'])\nplt.figure()\nplt.scatter([1], [2]);")["results"]
    assert [(e["label"], e["angle"]) for e in pie["chart"]["elements"]] == [("p", 120), ("q", 240)]
    assert dots["chart"]["type"] == "scatter" and dots["chart"]["elements"][0]["points"] == [[1, 2]]
    [table] = run(api, box, "import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', None]})")["results"]
    assert "<table" in table["html"] and table["data"] == {"a": [1, 2], "b": ["x", None]} and table["is_main"]


@needs_plots
def test_what_a_chart_does_not_say_is_null(api, box):
    api.exec(box, "touch /etc/matplotlibrc", user="root")
    code = """
import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.ylabel('Length [m]')
plt.figure(); plt.pie([1, 6])
for side in plt.subplots(1, 2)[1]: side.plot([1, 2])
"""
    line, pie, both = [one["chart"] for one in run(api, box, code)["results"]]
    assert {name: line[name] for name in ("title", "x_label", "x_unit", "y_label", "y_unit")} == {
        "title": None, "x_label": None, "x_unit": None, "y_label": "Length [m]", "y_unit": "m"}
    assert pie["title"] is None and [one["angle"] for one in pie["elements"]] == [51.43, 308.57]
    assert both["type"] == "superchart" and both["title"] is None


@needs_pillow
def test_images_are_results(api, box):
    code = "from PIL import Image\nimage = Image.new('RGB', (4, 4))\nimage.show()\nprint('between')\nimage"
    answer = run(api, box, code)
    assert answer["ok"] and answer["stdout"] == "between\n" and not answer["stderr"], answer
    assert [(one["is_main"], one["png"][:11]) for one in answer["results"]] == [(False, "iVBORw0KGgo"), (True, "iVBORw0KGgo")]


@needs_pillow
def test_saved_images_are_results(api, box):
    code = "import io, pathlib\nfrom PIL import Image\nimage = Image.new('RGB', (4, 4))\n%s"
    for line in ("image.save('/tmp/saved.png')", "image.save(pathlib.Path('/tmp/saved.jpg'), quality=50)"):
        answer = run(api, box, code % line)
        assert answer["ok"] and [one["png"][:11] for one in answer["results"]] == ["iVBORw0KGgo"], (line, answer)
    # What goes to memory is not shown, nor what could not be saved.
    assert run(api, box, code % "image.save(io.BytesIO(), 'png')")["results"] == []
    failed = run(api, box, code % "image.save('/nowhere/saved.png')")
    assert failed["error"]["name"] == "FileNotFoundError" and failed["results"] == []


def test_what_is_too_large_is_left_out_and_told(api, box):
    answer = run(api, box, "'x' * (9 << 20)")
    assert "left out" in answer["stderr"] and "text" not in answer["results"][0]
    long = run(api, box, "print('y' * 100000)", outputLimitBytes=1000)
    assert long["truncated"] and len(long["stdout"]) < 1500
    assert refused(run, api, box, "#" * (200 << 10)).status == 413


def test_a_block_cannot_tell_lies_that_hurt(api, box):
    """Marks of its own, with a wrong nonce and with the right one: what is not understood is left out."""
    answer = run(api, box, "import os, sys\nos.write(1, b'\\x1e0123456789abcdef.{}\\nafter\\n')")
    assert answer["stdout"] == "\x1e0123456789abcdef.{}\nafter\n" and answer["ok"]
    forge = """
k = display.__globals__
def tell(text): os.write(1, b'\\x1e' + k['state'].nonce + b'.' + text + b'\\n')
tell(b'not json'); tell(b'{"type":"none"}'); tell(b'{"type":"result","main":1}'); tell(b'{"type":"begin","count":1}')
tell(b'{"type":"result","main":true,"text":"t","json":[1,\\t2]}')
"""
    answer = run(api, box, "import os, sys\n" + forge)
    assert answer["stderr"].count("a result is left out") == 3 and answer["ok"]
    assert answer["results"] == [{"is_main": True, "text": "t", "json": [1, 2]}]


def test_files_that_a_block_left_are_kept(api, box):
    with context(api, box, cwd="/home/user/project") as own:
        run(api, box, "open('old.txt', 'w').write('old')", own)
        time.sleep(1.1)  # so that the times of old.txt are before the block
        answer = run(api, box, "open('new.txt', 'w').write('new')\n1", own, artifacts=".")
        assert [a["name"] for a in answer["artifacts"]] == ["new.txt"] and answer["results"][0]["text"] == "1"
        assert api.get(f"/api/sandbox/artifacts/{answer['artifacts'][0]['id']}")["size"] == 3
        told = [json.loads(line) for line in events(api, box, "open('more.txt', 'w').write('more')", own, artifacts=".").read().splitlines()]
        assert told[-1]["event"] == "exit" and "more.txt" in [e["artifact"]["name"] for e in told if e["event"] == "artifact"]
        dead = run(api, box, "open('last.txt', 'w').write('x')\nimport os; os._exit(1)", own, artifacts=".")
        assert dead["context_ended"] and "last.txt" in [a["name"] for a in dead["artifacts"]]
    with context(api, box) as own:
        assert run(api, box, "1", own, artifacts="/none")["artifacts"] == []


# ---- ends ----

def test_a_block_past_its_time_is_interrupted_and_the_state_is_kept(api, box):
    with context(api, box) as own:
        run(api, box, "kept = 1", own)
        answer = run(api, box, "import time\nwhile True: time.sleep(1)", own, timeout_ms=300)
        assert answer["timed_out"] and answer["error"]["name"] == "KeyboardInterrupt" and not answer["ok"]
        assert not answer["context_ended"] and value(api, box, "kept", own) == "1"


def test_an_interrupt_is_a_call(server, api, box):
    with context(api, box) as own, contextlib.closing(server.api()) as other:
        response = events(api, box, "import time\nprint('on', flush=True)\ntime.sleep(60)", own)
        while b"stdout" not in response.readline():
            pass
        other.post(path(box, "contexts", own, "interrupt"))
        told = [json.loads(line) for line in response.read().splitlines()]
        assert told[0]["name"] == "KeyboardInterrupt" and not told[-1]["ok"]
        assert value(api, box, "1", own) == "1"


def test_who_goes_interrupts_his_block_and_the_next_one_runs(server, api, box):
    with context(api, box) as own:
        gone = server.api()
        response = events(gone, box, "import time\nkept = 5\nprint('on', flush=True)\ntime.sleep(60)\nkept = 6", own)
        while b"stdout" not in response.readline():
            pass
        response.close()
        gone.close()
        begun = time.monotonic()
        assert value(api, box, "kept", own) == "5" and time.monotonic() - begun < 20


def test_blocks_of_one_context_run_one_after_the_other(server, api, box):
    with context(api, box) as own:
        run(api, box, "import time\nspans = []", own)
        code = "a = time.monotonic()\ntime.sleep(0.05)\nspans.append((a, time.monotonic()))"

        def one():
            with contextlib.closing(server.api()) as mine:
                assert run(mine, box, code, own)["ok"]
        threads = [threading.Thread(target=one) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert value(api, box, "len(spans), all(a[1] <= b[0] for a, b in zip(sorted(spans), sorted(spans)[1:]))", own) == "(6, True)"


def connections(api):
    return int(re.search("^atoll_http_connections ([0-9]+)", api.get("/metrics").decode(), re.M)[1])


def test_many_clients_go_at_once(server, api, box):
    """Those whose block runs and those who wait; nothing of theirs is left, and no worker with it."""
    with contextlib.ExitStack() as stack:
        own = [stack.enter_context(context(api, box)) for _ in range(4)]
        clients = []
        for number in range(24):
            client = server.api()
            response = events(client, box, "import time\nprint('on', flush=True)\ntime.sleep(60)", own[number % 4])
            clients.append((client, response))
            if number < 4:
                while b"stdout" not in response.readline():
                    pass
        # Those who wait first, or one of theirs would begin when one that runs is interrupted.
        before = connections(api)
        for client, response in clients[4:]:
            response.close()
            client.close()
        atoll.wait_for(lambda: connections(api) <= before - 20, 30, "their ends are seen")
        for client, response in clients[:4]:
            response.close()
            client.close()
        for each in own:
            assert value(api, box, "1", each) == "1"
            assert run(api, box, "1", each)["execution_count"] == 3  # those who waited never began


@pytest.mark.parametrize("language", ["python", pytest.param("javascript", marks=needs_node), "bash"])
def test_who_goes_at_once_leaves_the_context_to_others(server, api, box, language):
    """The interrupt comes before the kernel has begun the block, or in between."""
    slow = {"python": "import time\ntime.sleep(60)", "javascript": "await new Promise(r => setTimeout(r, 60000))",
            "bash": "sleep 60"}[language]
    with context(api, box, language=language) as own:
        for number in range(12):
            client = server.api()
            response = events(client, box, slow, own, language)
            time.sleep(number * 0.0005)
            response.close()
            client.close()
        begun = time.monotonic()
        result = run(api, box, {"python": "1", "javascript": "1", "bash": "echo 1"}[language], own, language)
        assert result["ok"], result
        assert time.monotonic() - begun < 30


def test_a_lease_has_contexts(api):
    key = f"code-{os.getpid()}"
    api.post("/v1/leases/acquire", {"key": key, "template": "host"})
    body = {"language": "python", "contextId": "default"}
    api.post(f"/v1/leases/{key}/code", {**body, "code": "x = 3"})
    assert api.post(f"/v1/leases/{key}/code", {**body, "code": "x"})["results"][0]["text"] == "3"
    api.delete(f"/v1/leases/{key}")


def test_an_interpreter_that_dies_is_told_and_made_anew(api, box):
    with context(api, box) as own:
        run(api, box, "x = 1", own)
        answer = run(api, box, "print('last', flush=True)\nimport os; os._exit(3)", own)
        assert answer["context_ended"] and answer["error"]["name"] == "KernelEnded" and not answer["ok"]
        assert answer["exit_code"] == 3 and answer["stdout"] == "last\n"
        assert refused(run, api, box, "x", own).code == "conflict"
        assert api.get(path(box, "contexts", own))["state"] == "ended"
        assert api.post(path(box, "contexts", own, "restart"))["state"] == "ready"
        assert run(api, box, "x", own)["error"]["name"] == "NameError"
        run(api, box, "y = 2", own)
        api.post(path(box, "contexts", own, "restart"))
        assert run(api, box, "y", own)["error"]["name"] == "NameError"
    assert run(api, box, "import os; os.kill(os.getpid(), 9)")["context_ended"]
    assert value(api, box, "1") == "1"  # the default one comes back by itself


def test_bad_requests_are_refused_with_reasons(api, box):
    for body, status in (({"language": "perl", "code": "1", "contextId": "default"}, 400),
                         ({"language": "python", "code": "1", "contextId": "none"}, 404),
                         ({"language": "python", "code": "1", "contextId": "default", "cwd": "/"}, 400)):
        error = refused(api.post, path(box), body)
        assert error.status in (status, 400, 501), (error, body)
    assert "no contexts of 'perl'" in refused(api.post, path(box, "contexts"), {"language": "perl"}).message
    with contextlib.ExitStack() as stack:
        error = None
        for _ in range(20):
            try:
                stack.enter_context(context(api, box, language="bash"))
            except atoll.ApiError as refusal:
                error = refusal
                break
        assert error and error.code == "limit_exceeded" and "16 contexts" in error.message
    assert refused(api.post, path(box, "contexts"), {"cwd": "/none"}).status == 404


# ---- bash ----

def test_bash_keeps_its_folder_and_variables(api, box):
    def bash(code, **options):
        return run(api, box, code, language="bash", **options)
    assert bash("cd /tmp; x='a b'; f() { echo \"f: $1 it's\"; }")["ok"]
    assert bash("pwd; echo \"$x\"; f 1; echo bad >&2")["stdout"] == "/tmp\na b\nf: 1 it's\n"
    answer = bash("echo out\nls /nonexistent\nfalse")
    assert (answer["exit_code"], answer["ok"], answer["stdout"]) == (1, False, "out\n")
    assert "/nonexistent" in answer["stderr"] and "bash:" not in answer["stderr"]
    assert bash("echo $V", env={"V": "it's"})["stdout"] == "it's\n" and bash("echo [$V]")["stdout"] == "[]\n"
    assert bash("cat; read line; echo $?")["stdout"] == "1\n"
    assert bash("sleep 60", timeout_ms=300)["timed_out"] and bash("echo $x")["stdout"] == "a b\n"
    assert bash("exec > /dev/null; echo gone")["ok"]
    assert bash("exit 4")["context_ended"] and bash("echo [$x]")["stdout"] == "[]\n"


# ---- javascript ----

@needs_node
def test_javascript_keeps_its_variables_and_waits_for_promises(api, box):
    def node(code, **options):
        return run(api, box, code, language="javascript", **options)
    assert node("const x = 5; let y = [1, 2]; console.log('hi'); console.error('bad'); x")["results"][0]["text"] == "5"
    assert node("const x = 6; y.map((v) => v * x)")["results"][0]["text"] == "[ 6, 12 ]"
    assert node("await new Promise((done) => setTimeout(() => done('late'), 20))")["results"][0]["text"] == "late"
    found = node("import fs, { existsSync as there } from 'fs'\nimport * as path from 'node:path';\nimport 'http'\n"
                 "[there('/'), fs.existsSync === there, path.sep]")
    assert found["results"][0]["text"] == "[ true, true, '/' ]", found
    assert node("const a = await import('fs'); `import x from 'y'`")["results"][0]["text"] == "import x from 'y'"
    answer = node("console.log('a'); console.error('b'); display({_repr_html_() { return '<b>' }}); throw new TypeError('bad')")
    assert (answer["stdout"], answer["stderr"], answer["results"][0]["html"]) == ("a\n", "b\n", "<b>")
    assert answer["error"]["name"] == "TypeError" and answer["error"]["value"] == "bad"
    assert node("process.env.V", env={"V": "w"})["results"][0]["text"] == "w" and not node("process.env.V")["results"]
    assert node("while (true) {}", timeout_ms=300)["error"]["name"] == "KeyboardInterrupt"
    assert node("await new Promise(() => {})", timeout_ms=300)["timed_out"]
    assert node("x")["results"][0]["text"] == "6"


# ---- the tool ----

def tool(api, box, **arguments):
    return api.post("/v1/tools/run_code", {"sandboxId": box, "input": arguments})


def test_the_tool_shows_what_a_model_reads(api, box):
    first = tool(api, box, code="import sys\nkept = 20\nprint('out')\nprint('err', file=sys.stderr)\nkept + 1")
    assert first["content"] == [{"type": "text", "text": "out\nerr\n21\n"}]
    told = first["structuredContent"]
    assert (told["stdout"], told["stderr"], told["contextId"]) == ("out\n", "err\n", "tool-python") and "error" not in told
    assert told["results"] == [{"is_main": True, "text": "21"}]
    failed = tool(api, box, code="kept / 0")
    assert "line 1" in failed["content"][0]["text"] and failed["structuredContent"]["error"]["name"] == "ZeroDivisionError"
    assert tool(api, box, code="while True: pass", timeout_ms=300)["content"][0]["text"].endswith("[interrupted: its time was over]\n")
    assert tool(api, box, code="kept")["content"][0]["text"] == "20\n"
    assert "NameError" in tool(api, box, code="kept", restart=True)["content"][0]["text"]
    assert tool(api, box, code="pass")["content"][0]["text"] == "[no output]\n"
    gone = tool(api, box, code="import os; os._exit(1)")
    assert gone["structuredContent"]["context_ended"] and "[the interpreter has ended" in gone["content"][0]["text"]
    assert tool(api, box, code="cd /; pwd; false", language="bash")["structuredContent"]["error"]["value"] == "1"
    assert refused(tool, api, box, code="1", language="perl").message.endswith("there are no contexts of 'perl'")
    assert refused(tool, api, box, code="1", timeout_ms=600001).status == 400


def test_blocks_of_the_tool_wait_for_each_other(server, api, box):
    tool(api, box, code="import time\nspans = []")
    code = "a = time.monotonic()\ntime.sleep(0.05)\nspans.append((a, time.monotonic()))"

    def one():
        with contextlib.closing(server.api()) as mine:
            tool(mine, box, code=code)
    threads = [threading.Thread(target=one) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tool(api, box, code="len(spans), all(a[1] <= b[0] for a, b in zip(spans, spans[1:]))")["content"][0]["text"] == "(5, True)\n"
    # What the one before it wrote meanwhile is none of its own files.
    tool(api, box, code="import os, pathlib\nos.makedirs('both', exist_ok=True)\npathlib.Path('both/go').unlink(missing_ok=True)")
    before = "while not os.path.exists('both/go'):\n    pathlib.Path('both/first').write_text('1'); time.sleep(.01)\ntime.sleep(.05)"
    kept = []

    def another(code, **more):
        with contextlib.closing(server.api()) as mine:
            kept.append(tool(mine, box, code=code, **more)["structuredContent"].get("artifacts"))
    threads = [threading.Thread(target=another, args=(before,)),
               threading.Thread(target=another, args=("pathlib.Path('both/second').write_text('2'); time.sleep(.05)",), kwargs={"artifacts": "both"})]
    threads[0].start()
    atoll.wait_for(lambda: "first" in api.exec(box, "ls both")["stdout"], 15, "the first one runs")
    threads[1].start()
    time.sleep(0.2)  # the second call has this time to run too early
    api.exec(box, "touch both/go")
    for thread in threads:
        thread.join()
    assert kept[0] is None and [one["path"] for one in kept[1]] == ["both/second"]


@needs_plots
def test_the_tool_shows_figures_as_images(api, box):
    api.exec(box, "touch /etc/matplotlibrc", user="root")
    shown = tool(api, box, code="import matplotlib.pyplot as plt\nfor i in range(6):\n    plt.figure(); plt.plot([1, 2])\nprint('six')",
                 restart=True)
    kinds = [(c["type"], c.get("mimeType")) for c in shown["content"]]
    assert kinds == [("text", None)] + 4 * [("image", "image/png")] and shown["content"][0]["text"] == "six\n"
    assert shown["content"][1]["data"].startswith("iVBORw0KGgo") and len(shown["structuredContent"]["results"]) == 6


def test_a_context_begins_in_a_warm_interpreter(api):
    api.post("/api/sandbox/templates", {"name": "warm-code", "from": "host", "warm": [{"language": "python", "imports": ["email.message"]}]})
    with api.sandbox(template="warm-code", internet=False) as box:
        atoll.wait_for(lambda: api.post(path(box), {"language": "python", "code": "pass"}).get("warm"), 15, "a warm interpreter")

        def has_modules():
            with context(api, box) as own:
                return value(api, box, "import sys; 'email.message' in sys.modules", own) == "True"
        atoll.wait_for(has_modules, 30, "a context that was forked")
    api.delete("/api/sandbox/templates/warm-code")


# ---- what lasts ----

def test_contexts_go_on_after_a_restart_of_the_server_and_a_pause(private_server):
    private_server.start()
    with contextlib.closing(private_server.api()) as api, api.sandbox(internet=False, persistent=True) as box:
        run(api, box, "x = 7")
        api.post(f"/api/sandbox/instances/{box}/pause")
        assert value(api, box, "x") == "7"
        private_server.kill9("api")
        private_server.wait_ready()
        api.close()
        assert value(api, box, "x") == "7"
        api.post(f"/api/sandbox/instances/{box}/stop")
        api.post(f"/api/sandbox/instances/{box}/start")
        assert api.get(path(box, "contexts"))["items"] == []
        assert run(api, box, "x")["error"]["name"] == "NameError"


def test_an_idle_context_does_not_keep_a_sandbox_in_use(api):
    with api.sandbox(internet=False, idle_reap_ms=3000) as box:
        run(api, box, "import time\ntime.sleep(5)\nx = 1")
        assert value(api, box, "x") == "1"
        atoll.wait_for(lambda: not is_there(api, box), 20, "the reaper")


def is_there(api, box):
    try:
        return api.get(f"/api/sandbox/instances/{box}")["state"] not in ("DELETED", "DELETING")
    except atoll.ApiError:
        return False
