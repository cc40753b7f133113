# SPDX-License-Identifier: Apache-2.0
"""Contexts of TypeScript, R and Java, where the sandbox has their runtimes; what is missing is named."""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tarfile

import pytest

import atoll
import clients

pytestmark = pytest.mark.needs_root
sys.path.insert(0, str(atoll.ROOT / "sdk/python"))

import atoll_sdk  # noqa: E402

NODE = clients.FOLDER / "node_modules"
needs_node = pytest.mark.skipif(not os.path.exists("/usr/bin/node"), reason="the host's /usr has no node")
HAS_OWN = os.path.exists("/usr/bin/node") and subprocess.run(
    ["/usr/bin/node", "-e", "process.exit(require('module').stripTypeScriptTypes ? 0 : 1)"], capture_output=True).returncode == 0
needs_old_node = pytest.mark.skipif(HAS_OWN, reason="the host's node takes types away by itself")
needs_r = pytest.mark.skipif(not os.path.exists("/usr/bin/R"), reason="the host's /usr has no R (r-base-core)")
needs_java = pytest.mark.skipif(not os.path.exists("/usr/bin/jshell"), reason="the host's /usr has no jshell (default-jdk-headless)")


def path(box, *parts):
    return "/".join([f"/api/sandbox/instances/{box}/code", *parts])


def runner(api, box, language):
    def run(code, context="default", **options):
        return api.post(path(box), {"language": language, "code": code, "contextId": context, **options})
    return run


def text(answer):
    """The text of the last expression."""
    assert answer["ok"], (answer["error"], answer["stderr"])
    return [result["text"] for result in answer["results"] if result["is_main"]][0]


def refused(call, *args, **options):
    with pytest.raises(atoll.ApiError) as error:
        call(*args, **options)
    return error.value


def packed(*files):
    """Files of tests/node's packages as a tar."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", compresslevel=1) as tar:
        for file in files:
            tar.add(NODE / file, f"node_modules/{file}")
    return made.getvalue()


@contextlib.contextmanager
def typed(api):
    """A sandbox of this machine's files whose project has the npm package typescript."""
    clients.node("typescript")
    with api.sandbox(template="host", internet=False) as box:
        api.write(box, "/tmp/typescript.tgz", packed("typescript/package.json", "typescript/lib/typescript.js"))
        assert api.exec(box, "mkdir -p ~/project && cd ~/project && tar xzf /tmp/typescript.tgz")["exit_code"] == 0
        yield box


def keeps_state(run):
    code = ("interface Point { x: number; y?: number }\nenum Color { Red = 1, Green }\nconst at: Point = { x: 40 };\n"
            "function add<T extends number>(a: T, b = 2 as number): number { return a + b }\nadd(at.x)")
    assert text(run(code)) == "42"
    assert text(run("const at: Point = { x: 1 }; [Color.Green, at!.x] satisfies number[]")) == "[ 2, 1 ]"
    assert text(run("class Box<T> { constructor(private held: T) {} get(): T { return this.held } }\nnew Box<string>('in').get()")) == "in"
    assert text(run("import type { Stats } from 'fs'\nimport fs, { existsSync as there } from 'node:fs'\nthere('/')")) == "true"
    assert text(run("fs.existsSync('/none') as unknown")) == "false"
    assert text(run("await new Promise<string>((done) => setTimeout(() => done('late'), 20))")) == "late"
    assert not run("let quiet: number = 3;")["results"]


def tells_errors(run):
    answer = run("console.log('a'); console.error('b'); function f(): never { throw new TypeError('bad') }\nf()")
    assert (answer["stdout"], answer["stderr"], answer["exit_code"], answer["ok"]) == ("a\n", "b\n", 1, False)
    assert (answer["error"]["name"], answer["error"]["value"]) == ("TypeError", "bad")
    answer = run("const a = 1\nlet b: = 2")
    assert answer["error"]["name"] == "SyntaxError" and answer["error"]["value"] and not answer["context_ended"], answer
    assert "node_modules" not in answer["error"]["traceback"] and len(answer["error"]["traceback"]) < 500, answer
    assert run("process.env.V as string", env={"V": "w"})["results"][0]["text"] == "w" and not run("process.env.V")["results"]
    assert run("while (true) {}", timeout_ms=500)["error"]["name"] == "KeyboardInterrupt"
    assert run("await new Promise<void>(() => {})", timeout_ms=300)["timed_out"]
    assert text(run("at.x as number")) == "1"


@needs_node
def test_typescript_keeps_its_variables_with_a_package(api):
    with typed(api) as box:
        run = runner(api, box, "typescript")
        keeps_state(run)
        tells_errors(run)
        assert text(run("function twice(_: any, __: string, d: PropertyDescriptor) { const f = d.value; d.value = (n: number) => 2 * f(n) }\n"
                        "class A { @twice m(n: number) { return n } }\nnew A().m(3)")) == "6"
        own = api.post(path(box, "contexts"), {"language": "ts", "cwd": "/home/user/project"})
        assert (own["language"], own["cwd"], own["state"]) == ("typescript", "/home/user/project", "ready")
        assert run("at", own["id"])["error"]["name"] == "ReferenceError"
        assert text(run("process.cwd()", own["id"])) == "/home/user/project"
        api.post(path(box, "contexts", own["id"], "restart"))
        assert text(run("1 as number", own["id"])) == "1"
        lines = api.open("POST", path(box) + "?stream=ndjson", {"language": "typescript", "code": "console.log(1 as number)", "contextId": "default"}).read()
        assert b'"stdout"' in lines and b'"exit"' in lines, lines


@needs_node
def test_typescript_needs_no_package_with_a_newer_node(api):
    newer = clients.node(since=(22, 13), folder=clients.CONFORMANCE)
    with api.sandbox(template="host", internet=False, env={"PATH": "/home/user/bin:/usr/local/bin:/usr/bin:/bin"}) as box:
        if newer != "node":
            with open(newer, "rb") as program:
                api.write(box, "/home/user/bin/node", program.read(), mode="0755")
        run = runner(api, box, "typescript")
        keeps_state(run)
        tells_errors(run)
        assert "ExperimentalWarning" not in run("1 as number")["stderr"]


@needs_node
@needs_old_node
def test_typescript_without_a_transpiler_is_refused_with_the_cure(api):
    with api.sandbox(template="host", internet=False) as box:
        for call in (lambda: runner(api, box, "typescript")("1"), lambda: api.post(path(box, "contexts"), {"language": "typescript"}),
                     lambda: api.post("/v1/tools/run_code", {"sandboxId": box, "input": {"language": "typescript", "code": "1"}})):
            error = refused(call)
            assert error.status == 501 and "typescript in template 'host'" in error.message, error
            assert "npm package typescript" in error.hint, error.body
        assert not api.get(path(box, "contexts"))["items"]
        assert text(runner(api, box, "javascript")("1")) == "1"


@pytest.mark.parametrize("language, program, package", (("r", "R", "r-base-core"), ("java", "java", "default-jdk-headless")))
def test_a_missing_runtime_is_refused_with_the_cure(api, language, program, package):
    with api.sandbox(template="host", internet=False, env={"PATH": "/home/user/bin"}) as box:
        api.exec(box, "/bin/mkdir -p /home/user/bin && /bin/ln -s /bin/sh /home/user/bin/sh")
        error = refused(runner(api, box, language), "1")
        assert error.status == 501 and f"no working {program}" in error.message and "template 'host'" in error.message, error
        assert package in error.hint, error.body


def test_java_runs_in_contexts_only(api, box):
    error = refused(api.post, path(box), {"language": "java", "code": "1"})
    assert error.status == 501 and "contextId" in error.hint


# ---- the tool, the CLI, the SDKs ----

def test_the_tool_the_cli_and_the_sdks_run_typescript(server, api, tmp_path):
    with typed(api) as box:
        answer = api.post("/v1/tools/run_code", {"sandboxId": box, "input": {"language": "typescript", "code": "const n: number = 6; n * 7"}})
        assert "42" in str(answer), answer
        script = tmp_path / "block.ts"
        script.write_text("type N = number\nconst kept: N = 5\nconsole.log(`kept ${kept}`)\n")
        done = server.cli("code", box, str(script))
        assert done.returncode == 0 and done.stdout == b"kept 5\n", done
        assert text(runner(api, box, "typescript")("kept as number")) == "5"
        where = {"api_url": f"http://127.0.0.1:{server.port}", "api_key": api.key}
        assert atoll_sdk.Sandbox.connect(box, **where).code.run("kept + (1 as number)", "typescript").text == "6"
        program = (f"import {{ Sandbox }} from '{atoll.ROOT}/sdk/typescript/src/index.js'\n"
                   f"const box = await Sandbox.connect('{box}', {{ apiUrl: '{where['api_url']}', apiKey: '{where['api_key']}' }})\n"
                   "console.log((await box.code.run('kept + (2 as number)', { language: 'typescript' })).text)")
        done = subprocess.run(["node", "--input-type=module", "-e", program], capture_output=True, text=True, timeout=60)
        assert done.stdout == "7\n", done.stderr


@contextlib.contextmanager
def configured(server, folders):
    """A sandbox of this machine's files with these folders of /etc, which the template does not have."""
    api, made = server.api(timeout=120), io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for folder in pathlib.Path("/etc").glob(folders):
            tar.add(folder, folder.relative_to("/"))
    with api.sandbox(template="host", internet=False, resources={"memory_mb": 2048, "cpu": 2}) as box:
        api.write(box, "/tmp/etc.tar", made.getvalue())
        assert api.exec(box, "tar -C / -xf /tmp/etc.tar", user="root")["exit_code"] == 0
        yield api, box
    api.close()


# ---- R ----

@pytest.fixture(scope="module")
def r(server):
    with configured(server, "R") as (api, made):
        yield api, made


@needs_r
def test_r_keeps_its_variables_and_shows_values(r):
    api, box = r
    run = runner(api, box, "r")
    answer = run('x <- 40\nadd <- function(a) x + a\nprint("hi é")\nmessage("bad")\nadd(2)')
    assert (answer["stdout"], answer["stderr"], text(answer)) == ('[1] "hi é"\n', "bad\n", "[1] 42")
    assert text(run('"é \\"quoted\\" \\U1F600"')) == '[1] "é \\"quoted\\" 😀"'
    assert not run("x;")["results"] and not run("y <- 1")["results"] and not run("invisible(3)")["results"]
    assert run("1\n2")["stdout"] == "[1] 1\n"
    result = run('data.frame(a = c(1.5, NA), b = c("x", "y"), c = c(TRUE, FALSE))')["results"][0]
    assert result["data"] == {"a": [1.5, None], "b": ["x", "y"], "c": [True, False]} and "a b" in result["text"]
    figure = [result for result in run("plot(1:3)\ninvisible(NULL)")["results"] if result.get("png")]
    assert len(figure) == 1 and figure[0]["png"].startswith("iVBORw0K")
    assert text(run('Sys.getenv("V")', env={"V": "it's"})) == '[1] "it\'s"' and text(run('Sys.getenv("V")')) == '[1] ""'
    with contextlib.closing(api.open("POST", path(box, "contexts"), {"language": "R", "cwd": "/tmp"})) as made:
        assert made.status == 201
    own = next(one for one in api.get(path(box, "contexts"))["items"] if one["cwd"] == "/tmp" and one["language"] == "r")
    assert text(run("getwd()", own["id"])) == '[1] "/tmp"' and run("x", own["id"])["error"]


@needs_r
def test_r_tells_errors_and_can_be_interrupted(r):
    run = runner(*r, "r")
    run("kept <- 7")
    answer = run('f <- function(n) stop("too bad")\ncat("before\\n")\nf(1)\ncat("after\\n")')
    assert (answer["ok"], answer["exit_code"], answer["stdout"]) == (False, 1, "before\n")
    assert answer["error"]["name"] == "simpleError" and answer["error"]["value"] == "too bad"
    assert "f(1)" in answer["error"]["traceback"] and "nonce" not in answer["error"]["traceback"]
    assert "atoll" not in answer["error"]["traceback"] and "evaluate(" not in answer["error"]["traceback"], answer
    assert run("x <- (")["error"]["value"] and run("stop()")["error"]["name"] == "simpleError"
    assert "careful" in run('warning("careful")')["stderr"]
    answer = run("while (TRUE) {}", timeout_ms=500)
    assert answer["timed_out"] and answer["error"]["name"] == "KeyboardInterrupt", answer
    assert run("Sys.sleep(60)", timeout_ms=500)["timed_out"]
    assert run("sink(tempfile()); print(1)")["stdout"] == "" and run("print(2)")["stdout"] == "[1] 2\n"
    assert text(run("kept")) == "[1] 7"
    assert run('quit("no")')["context_ended"] and run("kept")["error"]["value"] == "object 'kept' not found"


# ---- Java ----

@pytest.fixture(scope="module")
def java(server):
    with configured(server, "java-*") as (api, made):
        yield runner(api, made, "java")


@needs_java
def test_java_keeps_its_variables_and_shows_values(java):
    answer = java('int x = 40;\nint add(int a) { return x + a; }\nrecord Point(int x, int y) {}\nSystem.out.println("hi é");\n'
                  'System.err.println("bad");\nadd(2)')
    assert (answer["stdout"], answer["stderr"], text(answer)) == ("hi é\n", "bad\n", "42")
    assert text(java("new Point(x, 1)")) == "Point[x=40, y=1]" and text(java('"é" + List.of(1, 2)')) == "é[1, 2]"
    assert not java("int y = 3;")["results"] and not java("y = 4;")["results"] and text(java("y")) == "4"
    assert text(java('System.getProperty("V")', env={"V": "w"})) == "w" and text(java('System.getProperty("V")')) == "null"
    assert text(java('System.getProperty("user.dir")')) == "/home/user/project"
    assert text(java("IntStream.range(0, 5).boxed().collect(Collectors.toList())")) == "[0, 1, 2, 3, 4]"


@needs_java
def test_java_tells_errors_and_can_be_interrupted(java):
    java("int kept = 7;")
    answer = java('int bad(int n) { return n / 0; }\nSystem.out.println("before");\nbad(1);\nSystem.out.println("after");')
    assert (answer["ok"], answer["exit_code"], answer["stdout"]) == (False, 1, "before\n")
    assert (answer["error"]["name"], answer["error"]["value"]) == ("java.lang.ArithmeticException", "/ by zero")
    assert "at bad(" in answer["error"]["traceback"].replace(".bad", "bad") and "AtollKernel" not in answer["error"]["traceback"]
    answer = java("int a = 1;\nint b = nothing;")
    assert answer["error"]["name"] == "SyntaxError" and "cannot find symbol" in answer["error"]["value"]
    assert "line 2" in answer["error"]["traceback"]
    assert java("class Open {")["error"]["name"] == "SyntaxError"
    answer = java("while (true) {}", timeout_ms=1000)
    assert answer["timed_out"] and answer["error"]["name"] == "KeyboardInterrupt", answer
    assert java("Thread.sleep(60000);", timeout_ms=1000)["error"]["name"] == "KeyboardInterrupt"
    assert text(java("kept")) == "7"
    assert java("System.exit(3);")["context_ended"] and java("kept")["error"]["name"] == "SyntaxError"
