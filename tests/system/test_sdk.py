# SPDX-License-Identifier: Apache-2.0
"""Both SDKs against a real server, and their types against the API."""

import asyncio
import contextlib
import http.server
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

import atoll
import clients
from test_waiting import Slow

pytestmark = pytest.mark.needs_root
sys.path.insert(0, str(atoll.ROOT / "sdk/python"))

import atoll_sdk  # noqa: E402
from atoll_sdk import AsyncSandbox, Atoll, Sandbox  # noqa: E402
from atoll_sdk.errors import error_of_answer  # noqa: E402
from atoll_sdk.http import parse_events  # noqa: E402


@pytest.fixture(scope="module")
def where(server):
    return {"api_url": f"http://127.0.0.1:{server.port}", "api_key": server.api().key}


@pytest.fixture(scope="module")
def sandbox(where):
    with Sandbox.create(template="host", internet=False, **where) as made:
        yield made
    assert made.kill() is False


class Breaker(http.server.ThreadingHTTPServer):
    """A proxy that passes requests on and breaks an answer after so many bytes; 0 = at once, -1 = after its head, None = never."""

    daemon_threads = True

    def __init__(self, target, cut):
        super().__init__(("127.0.0.1", 0), Passer)
        self.target, self.cut, self.requests = target, cut, []
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass


class Passer(http.server.BaseHTTPRequestHandler):
    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
        self.server.requests.append((self.command, self.path, self.headers.get("Idempotency-Key")))
        passed = urllib.request.Request(self.server.target + self.path, data=body, method=self.command,
                                        headers={k: v for k, v in self.headers.items() if k not in ("Host", "Connection")})
        cut, sent = self.server.cut(self.command, self.path, len(self.server.requests)), 0
        with contextlib.suppress(OSError), urllib.request.urlopen(passed) as answer:
            if cut == 0:
                answer.read()
                return
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers["Content-Type"] or "")
            self.end_headers()
            while cut != -1 and (piece := answer.read1(65536)):
                self.wfile.write(piece)
                sent += len(piece)
                if cut and sent >= cut:
                    return

    do_GET = do_POST = do_PUT = do_DELETE = serve

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def breaker(where, cut):
    server = Breaker(where["api_url"], cut)
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def test_the_types_are_those_of_the_api():
    done = subprocess.run([sys.executable, atoll.ROOT / "tools/sdk_types.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_javascript_client(server):
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    environment = {**os.environ, "ATOLL_API_URL": f"http://127.0.0.1:{server.port}", "ATOLL_API_KEY": server.api().key}
    done = subprocess.run(["node", "--test", atoll.ROOT / "tests/sdk"], env=environment, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "# pass 0" not in done.stdout


def test_the_javascript_client_has_types():
    node = clients.node("typescript")
    done = subprocess.run([node, clients.FOLDER / "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext",
                           "--moduleResolution", "nodenext", "--lib", "es2022,dom,dom.iterable", atoll.ROOT / "tests/sdk/types.mts"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_command_has_its_result(sandbox):
    result = sandbox.commands.run("echo out; echo err >&2; exit 3")
    assert (result.exit_code, result.stdout, result.stderr, result.ok) == (3, "out\n", "err\n", False)
    assert sandbox.commands.run(["printf", "%s|", "$HOME", "a b"]).stdout == "$HOME|a b|"


def test_output_comes_while_it_runs(sandbox):
    seen = []
    sandbox.commands.run("echo one; read line; echo $line", stdin="grüße\n", on_stdout=seen.append)
    assert "".join(seen) == "one\ngrüße\n"


def test_long_output_is_cut_in_the_middle(sandbox):
    result = sandbox.commands.run("seq 100000", output_limit_bytes=1000)
    assert result.truncated
    assert result.stdout.startswith("1\n2\n") and result.stdout.endswith("99999\n100000\n")
    assert "[587895 bytes of output were cut here]" in result.stdout


def test_a_command_that_takes_too_long_says_so(sandbox):
    result = sandbox.commands.run("sleep 60", timeout=0.1)
    assert result.timed_out and not result.ok


def test_a_background_command_is_waited_for_written_to_and_killed(sandbox):
    cat = sandbox.commands.run("cat", background=True, stdin=True)
    cat.send_stdin("through ")
    cat.send_stdin(b"it", end=True)
    assert cat.wait().stdout == "through it"
    sleeper = sandbox.commands.run("sleep 60", background=True)
    assert sleeper.kill() is True
    assert sleeper.wait().signal == "SIGKILL"
    assert sleeper.kill() is False
    assert sandbox.commands.connect(cat.process).wait().stdout == "through it"


def test_a_stream_that_breaks_goes_on_where_it_was(where, sandbox):
    with breaker(where, lambda method, path, count: 300 if "/exec" in path or count == 3 else None) as between:
        remote = Sandbox.connect(sandbox.id, api_url=between.url, api_key=where["api_key"])
        seen = []
        result = remote.commands.run("for i in $(seq 40); do echo line $i; sleep .01; done", on_stdout=seen.append)
        assert "".join(seen) == result.stdout == "".join(f"line {i}\n" for i in range(1, 41))
        assert sum("/stream?" in path for _, path, _ in between.requests) >= 2


def test_a_create_whose_answer_is_lost_makes_one_sandbox(where):
    with breaker(where, lambda method, path, count: 0 if count == 1 else None) as between:
        made = Sandbox.create(template="host", internet=False, labels={"sdk": "py"}, api_url=between.url,
                              api_key=where["api_key"])
        assert [one["id"] for one in Sandbox.list(label="sdk=py", **where)] == [made.id]
        assert len({key for method, _, key in between.requests if method == "POST"}) == 1
        assert made.kill() is True


@pytest.fixture
def slow(server):
    template = Slow(server, f"sdk-{random.getrandbits(32):x}")
    yield template
    template.set("ready")
    server.api().delete(f"/api/sandbox/templates/{template.name}")


def move_on(slow, progress):
    """The next state of the template, after what was told of the one before."""
    slow.set(*(("ready",) if progress.get("percent") == 34 else ("building", "34 % unpacks")))


def test_a_create_that_waits_tells_its_progress(where, slow):
    told = []

    def tell(progress):
        told.append(progress)
        move_on(slow, progress)
    with Sandbox.create(template=slow.name, internet=False, on_progress=tell, **where) as made:
        assert made.refresh()["state"] == "started"
    assert [one["percent"] for one in told] == [0, 34] and "34 % unpacks" in told[1]["message"]
    with Sandbox.create(template="host", internet=False, on_progress=tell, **where) as made:
        assert made.commands.run("echo well").stdout == "well\n"
    assert len(told) == 2


def test_a_create_whose_template_fails_while_it_waits_fails(where, slow):
    with pytest.raises(atoll_sdk.UnavailableError, match="the disk is full"):
        Sandbox.create(template=slow.name, internet=False, on_progress=lambda _: slow.set("failed", "the disk is full"), **where)
    with pytest.raises(atoll_sdk.NotFoundError):
        Sandbox.create(template="no-such-template", on_progress=print, **where)


@pytest.mark.parametrize("cut", [-1, 10])
def test_a_create_whose_progress_breaks_goes_on_and_makes_one_sandbox(where, slow, cut):
    with breaker(where, lambda method, path, count: cut if count == 1 else None) as between:
        remote = {"api_url": between.url, "api_key": where["api_key"]}
        with Sandbox.create(template=slow.name, internet=False, on_progress=lambda one: move_on(slow, one), **remote) as made:
            assert [one["id"] for one in Sandbox.list(template=slow.name, **where)] == [made.id]
        posts = [key for method, _, key in between.requests if method == "POST"]
        assert len(posts) == 2 and len(set(posts)) == 1


def test_python_async_tells_progress_on_the_loop(where, slow):
    threads = []

    def tell(progress):
        threads.append(threading.current_thread())
        move_on(slow, progress)

    async def work():
        async with await AsyncSandbox.create(template=slow.name, internet=False, on_progress=tell, **where):
            assert threads == [threading.main_thread()] * 2
    asyncio.run(work())


def test_the_javascript_client_tells_progress(server, slow):
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    script = """const { Sandbox } = await import(process.argv[1]);
        const made = await Sandbox.create({ template: process.argv[2], internet: false,
                                            onProgress: (progress) => console.log(JSON.stringify(progress)) });
        console.log(JSON.stringify((await made.refresh()).state));
        await made.kill();"""
    environment = {**os.environ, "ATOLL_API_URL": f"http://127.0.0.1:{server.port}", "ATOLL_API_KEY": server.api().key}
    client = subprocess.Popen(["node", "--input-type=module", "-e", script, atoll.ROOT / "sdk/typescript/src/index.js", slow.name],
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = []
    for line in client.stdout:
        told.append(json.loads(line))
        if isinstance(told[-1], dict):
            move_on(slow, told[-1])
    assert client.wait(30) == 0, client.stderr.read()
    assert [one.get("percent") for one in told[:2]] == [0, 34] and told[2:] == ["started"]


def test_a_call_that_changes_something_is_not_sent_twice(where, sandbox):
    with breaker(where, lambda method, path, count: 0 if method == "POST" else None) as between:
        remote = Sandbox.connect(sandbox.id, api_url=between.url, api_key=where["api_key"])
        with pytest.raises(atoll_sdk.ConnectionLostError):
            remote.files.mkdir("once")
        assert sum("mkdir" in path for _, path, _ in between.requests) == 1


def test_files(sandbox, tmp_path):
    files = sandbox.files
    assert files.write("a/b/naïve file.txt", "grüße", mode="600")["size"] == 7
    assert files.read("a/b/naïve file.txt") == "grüße"
    assert files.read("a/b/naïve file.txt", format="bytes", offset=1, length=2) == b"r\xc3"
    files.write("a/b/naïve file.txt", "!", append=True)
    files.rename("a/b/naïve file.txt", "a/plain")
    files.copy("a/plain", "a/second")
    assert sorted(one["name"] for one in files.list("a")) == ["b", "plain", "second"]
    with pytest.raises(atoll_sdk.ConflictError):
        files.write("a/plain", "x", no_replace=True)
    files.remove("a", recursive=True)
    assert not files.exists("a/plain")
    files.write("large", (bytes([i]) * 65536 for i in range(64)))
    files.download("large", tmp_path / "large")
    assert (tmp_path / "large").stat().st_size == 64 * 65536
    files.upload(tmp_path / "large", "again")
    assert sandbox.commands.run("cmp large again").exit_code == 0
    with pytest.raises(atoll_sdk.NotFoundError):
        files.download("none", tmp_path / "none")
    assert os.listdir(tmp_path) == ["large"]
    sandbox.commands.run("mkdir -p tree/in && echo 1 >tree/in/one")
    files.extract("copied", files.archive("tree"))
    assert files.read("copied/in/one") == "1\n"


def test_changes_of_a_folder_are_told(sandbox):
    sandbox.files.mkdir("watched")
    changes = sandbox.files.watch("watched", on_ready=lambda: sandbox.files.write("watched/new", "x"))
    assert next(changes)["event"] in ("created", "renamed")
    changes.close()


def test_the_life_of_a_sandbox(sandbox):
    assert sandbox.code.run("print(6 * 7)").stdout == "42\n"
    sandbox.commands.run("echo before >state")
    assert sandbox.pause()["state"] == "paused"
    assert sandbox.resume()["state"] == "started"
    assert sandbox.keep_alive(60)["awake_until"]
    snapshot = sandbox.snapshot()
    sandbox.commands.run("echo after >state")
    assert "-before\n+after" in sandbox.diff(base=snapshot["id"], path="/home/user/project/state")
    with sandbox.fork()[0] as forked:
        assert forked.files.read("state") == "after\n"
    sandbox.rollback(snapshot["id"])
    assert sandbox.files.read("state") == "before\n"


def test_code_keeps_its_variables_and_has_results(sandbox):
    seen, results = [], []
    first = sandbox.code.run("x = 20\nprint('hi')\nx + 1", on_stdout=seen.append, on_result=results.append)
    assert (first.ok, first.text, first.stdout, first.error, "".join(seen)) == (True, "21", "hi\n", None, "hi\n")
    assert results == first.results and first.results[0].text == "21" and first.results[0].png is None and first.results[0].is_main
    second = sandbox.code.run("class T:\n  def _repr_html_(self): return f'<b>{x}</b>'\ndisplay(T())\n1 / 0")
    assert second.results[0].html == "<b>20</b>" and second.execution_count == first.execution_count + 1
    assert (second.ok, second.error.name, second.error.value) == (False, "ZeroDivisionError", "division by zero")
    assert "1 / 0" in second.error.traceback and second.context == first.context == "default-python"
    assert sandbox.code.run("y=5", "bash").ok and sandbox.code.run("echo $y", "bash").stdout == "5\n"
    limited = sandbox.code.run("import time; time.sleep(60)", timeout=0.3)
    assert limited.timed_out and limited.cause == "timeout" and sandbox.code.run("x").text == "20"


def test_code_runs_in_a_process_of_its_own_without_a_context(sandbox):
    sandbox.code.run("kept = 1")
    alone = sandbox.code.run("print('kept' in globals(), input())", context=None, stdin="read\n", cwd="/tmp")
    assert alone.stdout == "False read\n" and alone.results == [] and alone.context is None
    handle = sandbox.code.run("print(6 * 7)", context=None, background=True)
    assert handle.wait().stdout == "42\n"
    for option in ({"stdin": "x"}, {"background": True}, {"cwd": "/"}):
        with pytest.raises(atoll_sdk.InvalidRequestError, match="context=None"):
            sandbox.code.run("1", **option)
    with pytest.raises(TypeError, match="timeuot"):
        sandbox.code.run("1", timeuot=1)


def test_code_contexts_are_made_interrupted_restarted_and_removed(sandbox):
    contexts = sandbox.code.contexts
    own = contexts.create("bash", cwd="/tmp")
    assert sandbox.code.run("a=1; pwd", context=own).stdout == "/tmp\n"
    assert sandbox.code.run("echo $a", "bash", context=own["id"]).stdout == "1\n"
    assert contexts.get(own)["state"] == "ready" and own["id"] in [one["id"] for one in contexts.list()]
    assert contexts.restart(own)["id"] == own["id"] and sandbox.code.run("echo -$a", context=own).stdout == "-\n"
    contexts.remove(own["id"])
    with pytest.raises(atoll_sdk.NotFoundError):
        contexts.get(own)
    other = contexts.create()
    seen = []
    stopped = sandbox.code.run("import time\nprint('on', flush=True)\ntime.sleep(60)", context=other,
                               on_stdout=lambda text: seen.append(text) or contexts.interrupt(other))
    assert stopped.error.name == "KeyboardInterrupt" and seen[0] == "on\n"
    contexts.remove(other)


def test_python_async_code_keeps_variables_and_a_cancelled_block_is_interrupted(sandbox):
    async def work():
        mine, began = AsyncSandbox(sandbox), asyncio.Event()
        await mine.code.run("x = 7")
        running = asyncio.create_task(mine.code.run("import time\nprint('on', flush=True)\ntime.sleep(60)", on_stdout=lambda _: began.set()))
        await asyncio.wait_for(began.wait(), 20)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await mine.code.run("x * 6", timeout=20)).text == "42"
        assert (await mine.code.run("print('x' in globals())", context=None)).stdout == "False\n"
        own = await mine.code.contexts.create("bash")
        await mine.code.contexts.remove(own)
    asyncio.run(asyncio.wait_for(work(), 30))


def test_a_sandbox_that_is_killed_with_keep_comes_back(where):
    made = Sandbox.create(template="host", internet=False, **where)
    made.files.write("kept.txt", "kept")
    assert made.kill(keep=True)
    assert any(item["id"] == made.id and item["reason"] == "deleted" for item in Sandbox.trash(**where))
    again = Sandbox.undelete(made.id, **where)
    assert again.info["state"] == "stopped"
    again.start()
    assert again.files.read("kept.txt") == "kept"
    assert again.kill() and not Sandbox.kill_by_id(made.id, **where)

    async def by_asyncio():
        client = Atoll(**where)
        other = client.sandboxes.create(template="host", internet=False)
        assert await AsyncSandbox.kill_by_id(other.id, keep=True, **where)
        assert other.id in {item["id"] for item in await AsyncSandbox.trash(**where)}
        async with await AsyncSandbox.undelete(other.id, **where) as back:
            assert (await back.refresh())["state"] == "stopped"
        with pytest.raises(atoll_sdk.NotFoundError):
            client.sandboxes.undelete(other.id)
    asyncio.run(by_asyncio())


def test_errors_say_what_and_for_whom_to_ask(where, sandbox):
    with pytest.raises(atoll_sdk.NotFoundError) as caught:
        Sandbox.create(template="no-such", **where)
    assert caught.value.code == "not_found" and "no-such" in caught.value.message and caught.value.request_id
    with pytest.raises(atoll_sdk.SandboxNotFoundError):
        Sandbox.connect("none", **where)
    with pytest.raises(atoll_sdk.UnauthenticatedError):
        Sandbox.list(**{**where, "api_key": "wrong"})
    with pytest.raises(atoll_sdk.ConnectionLostError) as caught:
        Atoll("http://127.0.0.1:1", retries=0).templates.list()
    assert "http://127.0.0.1:1 " in caught.value.message and "refused" in caught.value.message
    assert "running" in str(caught.value) and "ATOLL_API_URL" in str(caught.value)
    with pytest.raises(atoll_sdk.AtollError):
        Atoll("ftp://x")


def test_the_kind_of_a_missing_object_tells_its_error_not_the_text():
    def told(**error):
        return error_of_answer(404, {}, json.dumps({"error": {"code": "not_found", **error}}))
    assert type(told(message="gone", resource="sandbox")) is atoll_sdk.SandboxNotFoundError
    assert told(message="gone", resource="sandbox").code == "sandbox_not_found"
    assert type(told(message="no sandbox 'x'")) is atoll_sdk.NotFoundError
    missing = told(message="gone", resource="template")
    assert type(missing) is atoll_sdk.NotFoundError and missing.resource == "template"


def test_the_server_tells_the_kind_of_a_missing_object(server, api):
    for path, kind in (("sandbox/instances", "sandbox"), ("sandbox/templates", "template"), ("sandbox/volumes", "volume")):
        with pytest.raises(atoll.ApiError) as missing:
            api.get(f"/api/{path}/none")
        assert missing.value.body["error"]["resource"] == kind and missing.value.code == "not_found"
    told = json.loads(server.cli("inspect", "none", "--json").stderr)
    assert told["error"]["resource"] == "sandbox"


def test_a_call_on_a_sandbox_that_was_killed_says_so(where):
    gone = Sandbox.create(template="host", internet=False, **where)
    with pytest.raises(atoll_sdk.NotFoundError) as missing:
        gone.files.read("no sandbox 'x'")
    assert type(missing.value) is atoll_sdk.NotFoundError
    gone.kill()
    for call in (lambda: gone.commands.run("true"), lambda: gone.files.read("a"), gone.pause, gone.commands.list,
                 lambda: gone.commands.run("true", background=True), lambda: gone.code.run("1")):
        with pytest.raises(atoll_sdk.SandboxNotFoundError) as caught:
            call()
        assert caught.value.code == "sandbox_not_found" and gone.id in caught.value.message


def test_work_in_a_lease_that_has_lost_its_sandbox_is_done_once_more_once(where):
    ids, options = [], {"template": "host", "internet": False, **where}
    atoll_sdk.with_sandbox("sdk-py", lambda mine: ids.append(mine.id), **options)
    Sandbox.kill_by_id(ids[0], **where)

    def work(mine):
        ids.append(mine.id)
        return mine.commands.run("echo again").stdout

    assert atoll_sdk.with_sandbox("sdk-py", work, **options) == "again\n"
    assert len(ids) == 3 and ids[2] != ids[0]
    calls = []
    with pytest.raises(atoll_sdk.NotFoundError):
        atoll_sdk.with_sandbox("sdk-py", lambda mine: calls.append(1) or mine.files.read("no-such"), **options)
    assert len(calls) == 1

    def gone(mine):
        calls.append(1)
        raise atoll_sdk.SandboxNotFoundError("gone", "sandbox_not_found")

    with pytest.raises(atoll_sdk.SandboxNotFoundError):
        atoll_sdk.with_sandbox("sdk-py", gone, **options)
    assert len(calls) == 3
    Atoll(**where).leases.delete("sdk-py")


def test_an_artifact_outlives_its_sandbox(where):
    client = Atoll(**where)
    with client.sandboxes.create(template="host", internet=False) as gone:
        gone.files.write("kept.csv", "a,b\n")
        made = gone.keep_artifact("kept.csv")
        told = []
        result = gone.commands.run("mkdir out; echo 1 >out/made.txt", artifacts="out", on_artifact=told.append)
        assert [one["name"] for one in told] == ["made.txt"] and result.artifacts == told
    client.artifacts.delete(told[0]["id"])
    assert client.artifacts.read(made["id"]) == b"a,b\n"
    with urllib.request.urlopen(client.artifacts.url(made["id"], 60)) as answer:
        assert answer.read() == b"a,b\n"
    client.artifacts.delete(made["id"])


def test_jobs_tools_previews_and_terminals(where, sandbox):
    client = Atoll(**where)
    job = sandbox.commands.run("echo from a job", background=True, conversation="c2")
    assert job.wait().stdout == "from a job\n"
    assert client.jobs.get(job.result_id, conversation="c2")["resultId"] == job.result_id
    assert any(one["resultId"] == job.result_id for one in client.jobs.list(conversation="c2"))
    assert "from a job" in client.jobs.logs(job.result_id, conversation="c2")["stdout"]
    assert any(tool["name"] == "bash" for tool in client.tools())
    assert "by a tool" in str(sandbox.tool("bash", {"command": "echo by a tool"}))
    assert sandbox.set_preview(public=False)["public"] is False and sandbox.preview()["enabled"] in (True, False)
    terminal = sandbox.open_terminal(rows=10, cols=40)
    assert terminal["sessionId"] in terminal["path"]


def test_volumes_templates_usage_and_events(where):
    client = Atoll(**where)
    assert client.volumes.create(name="sdk-py")["id"] == client.volumes.get("sdk-py")["id"]
    client.volumes.delete("sdk-py")
    assert any(one["name"] == "host" for one in client.templates.list())
    assert isinstance(client.usage(group_by="sandbox")["items"], list)
    last = client.request("GET", "/v1/events", query={"last": 1})["after"]
    for name in ("sdk-e1", "sdk-e2"):
        client.volumes.create(name=name)
        client.volumes.delete(name)
    with breaker(where, lambda method, path, count: 150) as between:
        told = Atoll(between.url, where["api_key"]).events(kind="volume.*", after=last)
        kinds = [next(told)["kind"] for _ in range(4)]
        told.close()
    assert kinds == ["volume.created", "volume.deleted"] * 2


def test_files_of_a_volume(where):
    volumes = Atoll(**where).volumes
    volumes.create(name="sdk-py-files")
    files = volumes.files("sdk-py-files")
    try:
        files.write("a/one.txt", "first\n")
        files.write("a/one.txt", "second\n", append=True)
        assert files.read("a/one.txt") == "first\nsecond\n" and files.stat("a/one.txt")["size"] == 13
        files.mkdir("b/c")
        files.rename("a/one.txt", "b/two.txt")
        assert sorted(one["name"] for one in files.list("b")) == ["c", "two.txt"] and not files.exists("a/one.txt")
        files.extract("copied", b"".join(files.archive("b")))
        assert files.read("copied/two.txt", format="bytes") == b"first\nsecond\n"
        assert files.remove("b", recursive=True) and not files.exists("b")
    finally:
        volumes.delete("sdk-py-files")


def test_users_and_organizations_are_made_listed_and_removed(where):
    atoll_client = Atoll(**where)
    users, organizations = atoll_client.users, atoll_client.organizations
    email = f"sdk-{os.getpid()}@example.com"
    made = users.create(email=email, name="Sdk")
    assert made["link"] and users.link(email)["link"] != made["link"]
    assert email in {user["email"] for user in users.list()}
    assert users.update(email, name="Other")["name"] == "Other" and users.get(email)["name"] == "Other"
    assert users.sessions(email) == []
    users.sign_out(email)
    acme = organizations.create(name="Acme", owner=email)
    assert [(m["user"], m["role"]) for m in organizations.members(acme["id"])] == [(email, "owner")]
    assert organizations.set_member(acme["id"], "second@example.com", "member")["role"] == "member"
    organizations.remove_member(acme["id"], "second@example.com")
    with pytest.raises(atoll_sdk.AtollError):
        organizations.set_member(acme["id"], email, "emperor")
    assert organizations.update(acme["id"], name="Ajax")["name"] == "Ajax"
    assert "Ajax" in {o["name"] for o in organizations.list()}
    organizations.delete(acme["id"])
    users.delete(email)
    with pytest.raises(atoll_sdk.NotFoundError):
        users.get(email)


def test_credentials_are_stored_changed_and_deleted(where):
    credentials = Atoll(**where).credentials
    made = credentials.create(name="sdk", hosts=["api.example.com"], fields={"token": "s3cr3t"})
    assert "s3cr3t" not in str(made) and made["field_names"] == ["token"]
    assert credentials.update("sdk", about="by the SDK")["about"] == credentials.get("sdk")["about"] == "by the SDK"
    assert "sdk" in [item["name"] for item in credentials.list()]
    credentials.delete("sdk")
    connects = Atoll(**where).connects
    assert "github" in [preset["name"] for preset in connects.presets()] and connects.list() == []
    assert "sdk" not in [item["name"] for item in credentials.list()]


def test_a_command_is_recorded(where, sandbox):
    assert sandbox.commands.run("true").recording is None
    recording = sandbox.commands.run("echo kept", record=True).recording
    client = Atoll(**where)
    atoll.wait_for(lambda: recording in [item["id"] for item in client.request("GET", "/api/sandbox/recordings")["items"]], 20, recording)
    block = sandbox.code.run("print('kept')", record=True).recording
    handle = sandbox.commands.run("echo job", record=True, background=True)
    assert handle.wait().ok and block and handle.recording and len({recording, block, handle.recording}) == 3
    assert sandbox.code.run("1").recording is None
    for one in (recording, block, handle.recording):
        atoll.wait_for(lambda one=one: one in [item["id"] for item in client.request("GET", "/api/sandbox/recordings")["items"]], 20, one)
        client.request("DELETE", f"/api/sandbox/recordings/{one}")


def test_the_audit_is_read_in_pages_and_exported(where):
    client = Atoll(**where)
    for name in ("sdk-audit-1", "sdk-audit-2", "sdk-audit-3"):
        client.credentials.create(name=name, hosts=["api.example.com"], fields={"token": "s3cr3t"})
        client.credentials.delete(name)
    atoll.wait_for(lambda: len(client.audit.list(action="credentials.delete")["items"]) >= 3, 20, "the rows")
    rows = list(client.audit.rows(action="credentials.*", limit=2))
    assert len(rows) >= 6 and [row["sequence"] for row in rows] == sorted((row["sequence"] for row in rows), reverse=True)
    forward = list(client.audit.rows(action="credentials.*", after=0, limit=2))
    assert forward == rows[::-1]
    exported = b"".join(client.audit.export())
    assert b"credentials.delete" in exported and b"s3cr3t" not in exported and exported.endswith(b"\n")
    assert len(client.audit.key()["key"]) == 64


def test_budgets_are_made_changed_and_deleted(where):
    budgets = Atoll(**where).budgets
    made = budgets.create(2, scope="run", subject="sdk/run", window="day")
    assert (made["scope"], made["subject"], made["level"]) == ("run", "sdk/run", "fine")
    assert budgets.update(made["id"], limit_usd=3)["limit_usd"] == 3 and made["id"] in [b["id"] for b in budgets.list()]
    with pytest.raises(atoll_sdk.InvalidRequestError, match="NAME=VALUE"):
        budgets.create(1, scope="label", subject="none")
    budgets.delete(made["id"])
    assert made["id"] not in [b["id"] for b in budgets.list()]


def test_quotas_are_set_and_listed(where):
    quotas, key = Atoll(**where).quotas, Atoll(**where).request("POST", "/api/sandbox/keys", json={"name": "sdk-quota"})
    changed = {q["name"]: q["limit"] for q in quotas.update("key", key["id"], sandboxes_running=3)}
    assert changed["sandboxes_running"] == 3 and changed == {q["name"]: q["limit"] for q in quotas.get("key", key["id"])}
    assert {q["scope"] for q in quotas.list()} >= {"project", "key"}


def test_a_consent_is_given_by_another_key_and_revoked(where):
    client = Atoll(**where)
    client.credentials.create(name="sdk-asked", hosts=["api.test"], fields={"token": "s3cr3t"})
    person = Atoll(**{**where, "api_key": client.request("POST", "/api/sandbox/keys", json={"name": "sdk-person"})["key"]})
    inject = {"kind": "header", "name": "authorization", "value": "Bearer ${credential.sdk-asked.token}"}
    rules = {"allow": ["api.test"], "deny": ["0.0.0.0/0"], "rules": [{"host": "api.test", "action": "inject", "inject": [inject]}]}
    with client.sandboxes.create(template="host", egress=rules) as sandbox:
        asked = [sandbox.tool("activate_credential", {"name": "sdk-asked"}, conversationId="sdk-talk", approvalWaitMs=0) for _ in "12"]
        waiting = [a for a in client.approvals.list() if a["tool"] == "activate_credential" and a["sandboxId"] == sandbox.id]
        assert len(asked) == 2 and len(waiting) == 1
        with pytest.raises(atoll_sdk.ForbiddenError):
            client.approvals.approve(waiting[0]["id"])
        assert person.approvals.approve(waiting[0]["id"])["state"] == "used"
        assert [c["state"] for c in client.consents.list(sandbox=sandbox.id)] == ["active"]
        assert client.consents.revoke("sdk-asked", conversation="sdk-talk") == 1
        assert client.consents.revoke("sdk-asked", sandbox=sandbox.id) == 0
        with pytest.raises(ValueError):
            client.consents.revoke("sdk-asked")
    client.credentials.delete("sdk-asked")


def test_webhooks_are_created_changed_and_deleted(where):
    hooks = Atoll(**where).webhooks
    made = hooks.create(url="https://example.com/hook", events=["sandbox.*"], enabled=False)
    assert made["secret"] and "secret" not in hooks.get(made["id"])
    assert hooks.update(made["id"], events=["volume.*"])["events"] == ["volume.*"]
    assert made["id"] in [one["id"] for one in hooks.list()] and hooks.deliveries(made["id"]) == []
    with pytest.raises(atoll_sdk.NotFoundError):
        hooks.retry(made["id"], "none")
    hooks.delete(made["id"])
    with pytest.raises(atoll_sdk.NotFoundError):
        hooks.get(made["id"])


def test_a_template_is_built_from_steps_and_its_log_is_told(where):
    client, told = Atoll(**where), []
    steps = [{"type": "run", "command": "echo built by the SDK"}, {"type": "env", "env": {"A": "b"}}]
    begun = client.builds.create(**{"name": "sdk-py-built", "from": "host", "internet": False, "steps": steps})
    done = client.builds.wait(begun["id"], timeout=60, on_log=told.append)
    try:
        assert done["status"] == "ready" and "built by the SDK" in [line["text"] for line in told]
        with client.sandboxes.create(template="sdk-py-built", internet=False) as made:
            assert made.commands.run("echo $A").stdout == "b\n"
    finally:
        client.templates.delete("sdk-py-built")
    failed = client.builds.create(**{"name": "sdk-py-no", "from": "host", "internet": False, "steps": [{"type": "run", "command": "exit 3"}]})
    assert client.builds.wait(failed["id"], timeout=60)["exit_code"] == 3
    long = client.builds.create(**{"name": "sdk-py-no", "from": "host", "internet": False, "steps": [{"type": "run", "command": "sleep 60"}]})
    with pytest.raises(atoll_sdk.TimeoutExceededError, match="cancel"):
        client.builds.wait(long["id"], timeout=0)
    client.builds.cancel(long["id"])
    assert client.builds.wait(long["id"], timeout=60)["status"] == "cancelled"
    for one in (begun, failed, long):
        client.builds.delete(one["id"])


def test_events_are_parsed_as_the_standard_says():
    import io
    text = b': hello\nid: 7\nevent: a\ndata: x\ndata:y\n\ndata: z\r\n\r\ndata: never ended\n'
    assert list(parse_events(io.BytesIO(text))) == [("a", "x\ny", "7"), ("message", "z", "7")]


# ---- Python, for asyncio ----


def test_python_async_runs_commands_and_moves_files(where):
    async def work():
        told = []
        async with await AsyncSandbox.create(template="host", internet=False, **where) as sandbox:
            result = await sandbox.commands.run("echo out; echo err >&2; exit 3", on_stdout=told.append)
            assert (result.exit_code, result.stdout, result.stderr) == (3, "out\n", "err\n")
            assert (await sandbox.code.run("print(6 * 7)")).stdout == "42\n"
            await sandbox.files.write("a.txt", "mine")
            assert await sandbox.files.read("a.txt") == "mine" and await sandbox.files.exists("a.txt")
            pieces = [piece async for piece in await sandbox.files.read("a.txt", format="stream")]
            assert b"".join(pieces) == b"mine" and told == ["out\n"]
            handle = await sandbox.commands.run("sleep 60", background=True)
            assert await handle.kill() and (await handle.wait()).signal
            with pytest.raises(atoll_sdk.NotFoundError):
                await sandbox.files.read("missing")
            with pytest.raises(AttributeError):
                sandbox.no_such_call
            assert (await sandbox.refresh())["state"] == "started" and sandbox.id in [one["id"] for one in await AsyncSandbox.list(**where)]
            again = await AsyncSandbox.connect(sandbox.id, **where)
            assert await again.is_running()
            return sandbox.id
    id = asyncio.run(work())
    assert Sandbox.kill_by_id(id, **where) is False


def test_python_async_runs_at_once_and_the_loop_goes_on(where, sandbox):
    async def work():
        mine = AsyncSandbox(sandbox)
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.02)
                ticks += 1
        ticking = asyncio.create_task(tick())
        begun = time.monotonic()
        results = await asyncio.gather(*(mine.commands.run(f"sleep 1; echo {n}") for n in range(12)))
        assert [result.stdout for result in results] == [f"{n}\n" for n in range(12)]
        assert time.monotonic() - begun < 11 and ticks > 5
        ticking.cancel()
    asyncio.run(work())


def test_python_async_a_cancelled_run_is_ended_inside(where, sandbox):
    def runs():
        return "sleep 98" in sandbox.commands.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -o 'sleep 9[8]'; true").stdout

    async def work():
        run = asyncio.create_task(AsyncSandbox(sandbox).commands.run("sleep 98.76"))
        await asyncio.to_thread(atoll.wait_for, runs, what="it runs")
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await asyncio.to_thread(atoll.wait_for, lambda: not runs(), what="it is ended")
    asyncio.run(work())


def test_python_async_watches_files(where, sandbox):
    async def work():
        mine = AsyncSandbox(sandbox)
        ready = threading.Event()
        changes = await mine.files.watch(".", on_ready=ready.set)
        first = asyncio.ensure_future(anext(changes))
        assert await asyncio.to_thread(ready.wait, 10)
        await mine.files.write("watched.txt", "x")
        assert "watched.txt" in (await asyncio.wait_for(first, 30))["path"]
        await changes.aclose()
    asyncio.run(work())
