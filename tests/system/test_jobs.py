# SPDX-License-Identifier: Apache-2.0
"""Background jobs: started, asked for, stopped, and told of when they end; by whoever sees it first, once."""

import base64
import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.parse

import pytest

import atoll
import postgres

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
JOBS = "/v1/jobs"


def start(api, box, command, **options):
    answer = api.exec(box, command, background=True, **options)
    assert answer["status"] == "running" and len(answer["resultId"]) == 20, answer
    return answer["resultId"]


def status(api, job, conversation=None):
    return api.get(f"{JOBS}/{job}" + (f"?conversation={conversation}" if conversation else ""))


def ended(api, job, conversation=None, seconds=30):
    return atoll.wait_for(lambda: (lambda r: r["status"] != "running" and r)(status(api, job, conversation)), seconds,
                          f"the end of job {job}")


def told(api, kind, job):
    """Every event of the kind that is of the job."""
    events = api.get(f"/v1/events?limit=1000&kind={kind}")["items"]
    return [event for event in events if event.get("detail", {}).get("resultId") == job]


@contextlib.contextmanager
def refused(code, *words):
    with pytest.raises(atoll.ApiError) as caught:
        yield
    assert caught.value.code == code, caught.value
    for word in words:
        assert word in f"{caught.value.message} {caught.value.hint}", caught.value


# ---- its life ----

def test_a_job_answers_at_once_and_has_its_logs_when_it_has_completed(api, box):
    command = "until [ -e /tmp/first-goes ]; do sleep 0.05; done; echo out; echo err >&2"
    job = start(api, box, command)
    running = status(api, job)
    assert running["status"] == "running" and running["exitCode"] == -1 and "logs" not in running
    assert running["sandbox_id"] == box and running["command"] == command
    time.sleep(0.3)  # the least duration that the row must show
    api.exec(box, "touch /tmp/first-goes")
    row = ended(api, job)
    assert row["status"] == "completed" and row["exitCode"] == 0 and row["reason"] is None
    assert row["logs"] == {"stdout": "out\n", "stderr": "err\n"}
    assert row["stdout_bytes"] == 4 and row["duration_ms"] >= 300 and row["ended_at"]
    assert len(told(api, "job.completed", job)) == 1


def test_one_that_fails_says_how(api, box):
    row = ended(api, start(api, box, "echo no >&2; exit 7"))
    assert (row["status"], row["exitCode"], row["reason"]) == ("failed", 7, "exit code 7")
    assert row["logs"]["stderr"] == "no\n"
    row = ended(api, start(api, box, "sleep 100", timeout_ms=200))
    assert row["status"] == "failed" and "timeout" in row["reason"]
    [event] = told(api, "job.failed", row["resultId"])
    assert event["sandbox"] == box and event["detail"]["exitCode"] == row["exitCode"] and event["sequence"] > 0


def test_what_it_writes_can_be_read_from_any_offset_while_it_runs_and_afterwards(api, box):
    job = start(api, box, "printf 0123456789; printf abc >&2; sleep 1000")
    path = f"{JOBS}/{job}/logs"
    logs = atoll.wait_for(lambda: (lambda r: r["stdout_bytes"] == 10 and r["stderr_bytes"] == 3 and r)(api.get(path)))
    assert (logs["stdout"], logs["stderr"], logs["stdout_next"]) == ("0123456789", "abc", 10)
    assert api.get(f"{path}?since_stdout=4&since_stderr=3")["stdout"] == "456789"
    assert api.get(f"{path}?tail=3")["stdout"] == "789"
    assert api.get(f"{path}?since_stdout=99")["stdout"] == ""
    assert api.post(f"{JOBS}/{job}/stop")["status"] == "stopped"
    assert api.get(f"{path}?since_stdout=8")["stdout"] == "89"


def test_output_that_is_no_text_and_much_of_it_is_kept_within_bounds(api, box):
    job = start(api, box, "printf '\\377\\000\\033[1m'; head -c 3000000 /dev/zero; printf end")
    row = ended(api, job)
    assert row["status"] == "completed" and row["stdout_bytes"] == 3000009
    assert row["logs"]["stdout"].endswith("\ufffdend") and len(row["logs"]["stdout"]) <= 32 * 1024
    assert api.get(f"{JOBS}/{job}/logs?tail=3")["stdout"] == "end"


def test_a_stop_ends_all_that_it_started_and_is_no_failure(api, box):
    marker = "sleep 987.5"
    job = start(api, box, f"setsid {marker} & trap '' TERM; {marker}")
    atoll.wait_for(lambda: api.exec(box, f"pgrep -fc '^{marker}'; true")["stdout"] == "2\n")
    row = api.post(f"{JOBS}/{job}/stop")
    assert row["status"] == "stopped" and row["ended_at"]
    assert api.exec(box, f"pgrep -fc '^{marker}'; true")["stdout"] == "0\n"
    assert api.post(f"{JOBS}/{job}/stop")["ended_at"] == row["ended_at"]
    assert len(told(api, "job.stopped", job)) == 1 and not told(api, "job.failed", job)


# ---- whose it is ----

def test_only_its_own_conversation_finds_it(server, api, box):
    job = start(api, box, "echo mine", conversation="chat:1")
    row = ended(api, job, "chat:1")
    assert row["conversation"] == "chat:1" and row["logs"]["stdout"] == "mine\n"
    assert api.call("GET", f"{JOBS}/{job}", headers={"Atoll-Conversation": "chat:1"})["status"] == "completed"
    for other in ("", "?conversation=chat:2"):
        for call in (lambda path: api.get(path), lambda path: api.get(path.replace("?", "/logs?") if other else path + "/logs"),
                     lambda path: api.post(path.replace("?", "/stop?") if other else path + "/stop")):
            with refused("not_found", job):
                call(f"{JOBS}/{job}{other}")
    assert [item["resultId"] for item in api.get(f"{JOBS}?conversation=chat:1")["items"]] == [job]
    assert job not in [item["resultId"] for item in api.get(f"{JOBS}?limit=1000")["items"]]
    project = api.post("/v1/projects", {"name": "of-others"})["id"]
    with refused("not_found"):
        api.call("GET", f"{JOBS}/{job}?conversation=chat:1", headers={"X-Atoll-Project": project})
    api.delete(f"/v1/projects/{project}")


def test_lists_are_of_a_sandbox_or_a_status_and_come_in_pages(api):
    with api.sandbox(internet=False) as box:
        jobs = []
        for number in range(3):
            jobs.append(start(api, box, f"echo {number}", conversation="pages"))
            ended(api, jobs[-1], "pages")
            time.sleep(0.002)
        found = api.get(f"{JOBS}?conversation=pages&sandbox={box}&status=completed")["items"]
        assert [item["resultId"] for item in found] == jobs[::-1]
        assert not api.get(f"{JOBS}?conversation=pages&sandbox={box}&status=running")["items"]
        page = api.get(f"{JOBS}?conversation=pages&limit=2")["items"]
        assert len(page) == 2


def test_bad_input_is_refused(api, box):
    with refused("invalid_request", "0x20"):
        api.exec(box, "true", background=True, conversation="a b")
    with refused("invalid_request"):
        api.exec(box, "true", background=True, origin={"type": "pigeon"})
    with refused("not_found", "command not found"):
        api.post(f"{PATH}/{box}/exec", {"cmd": "no-such-command", "background": True, "conversation": "bad"})
    assert not api.get(f"{JOBS}?conversation=bad")["items"], "nothing is left of what never ran"
    for path in (f"{JOBS}/nobody", f"{JOBS}/nobody/logs"):
        with refused("not_found"):
            api.get(path)
    with refused("invalid_request"):
        api.get(f"{JOBS}?limit=100000")


# ---- limits ----

def test_ten_at_once_and_no_more_however_many_come_together(server, api):
    with api.sandbox(internet=False) as box:
        jobs, refusals, lock = [], [], threading.Lock()

        def one():
            own = server.api()
            try:
                job = start(own, box, "sleep 1000")
                with lock:
                    jobs.append(job)
            except atoll.ApiError as error:
                with lock:
                    refusals.append(error)
            own.close()
        threads = [threading.Thread(target=one) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(jobs) == 10 and len(refusals) == 6
        assert all(error.code == "limit_exceeded" and "10 background jobs" in error.message for error in refusals)
        api.post(f"{JOBS}/{jobs[0]}/stop")
        start(api, box, "sleep 1000")
        with refused("limit_exceeded"):
            start(api, box, "sleep 1000")
        assert len([p for p in api.get(f"{PATH}/{box}/processes")["items"] if p["state"] == "running"]) == 10


def test_a_running_job_holds_off_the_reaper_and_an_ended_one_does_not(api):
    box = api.create(internet=False, idle_reap_ms=1500)["id"]
    job = start(api, box, "while [ ! -e go ]; do sleep 0.1; done")
    time.sleep(5)  # three idle times, in which the reaper must not act
    assert status(api, job)["status"] == "running"
    assert [row["state"] for row in atoll.Server.rows(api) if row["id"] == box] == ["started"]
    api.write(box, "go", b"")
    assert ended(api, job)["status"] == "completed"
    atoll.wait_for(lambda: not [row for row in atoll.Server.rows(api) if row["id"] == box], 30, "the idle sandbox goes")
    assert status(api, job)["logs"] == {"stdout": "", "stderr": ""}


# ---- other boots ----

def test_one_of_an_earlier_boot_has_failed_whether_its_sandbox_is_back_or_gone(api):
    box = api.create(internet=False, persistent=True)["id"]
    stopped, restarted = start(api, box, "sleep 1000"), start(api, box, "sleep 1000")
    api.post(f"{PATH}/{box}/stop")
    row = status(api, stopped)
    assert row["status"] == "failed" and row["cause"] == "sandbox_ended", row
    api.post(f"{PATH}/{box}/start")
    assert ended(api, restarted)["status"] == "failed"
    deleted = start(api, box, "sleep 1000")
    api.remove(box)
    row = status(api, deleted)
    assert row["status"] == "failed" and row["cause"] == "sandbox_ended", row
    for job in (stopped, restarted, deleted):
        assert len(told(api, "job.failed", job)) == 1


def test_a_pause_is_no_end(api):
    with api.sandbox(internet=False) as box:
        job = start(api, box, "while [ ! -e go ]; do sleep 0.1; done; echo awake")
        api.post(f"{PATH}/{box}/pause")
        time.sleep(1.2)  # the paused job must not end during this time
        assert status(api, job)["status"] == "running"
        api.post(f"{PATH}/{box}/resume")
        api.write(box, "go", b"")
        assert ended(api, job)["logs"]["stdout"] == "awake\n"


# ---- the server comes and goes ----

def test_the_end_is_seen_by_whichever_server_is_there_and_told_once(private_server):
    server = private_server.start()
    api = server.api()
    with api.sandbox(internet=False, persistent=True) as box:
        meanwhile, later = start(api, box, "echo meanwhile; exit 3"), start(api, box, "sleep 3; echo later")
        away = start(api, box, "sleep 0.4; echo away")
        server.kill9("api")
        server.wait_ready()
        server.stop()
        time.sleep(0.5)  # `away` ends while no server runs
        server.start()
        api = server.api()
        assert ended(api, meanwhile)["exitCode"] == 3
        assert ended(api, away)["logs"]["stdout"] == "away\n"
        assert ended(api, later)["logs"]["stdout"] == "later\n"
        for job, kind in ((meanwhile, "job.failed"), (away, "job.completed"), (later, "job.completed")):
            assert len(told(api, kind, job)) == 1


# ---- the post from inside ----

class Sink:
    """Stands where the server is: keeps what agents post, and answers as it is told to."""

    def __init__(self, answers=()):
        self.posts, self.answers = [], list(answers)
        sink = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                sink.posts.append((self.path, dict(self.headers), json.loads(body)))
                self.send_response(sink.answers.pop(0) if sink.answers else 204)
                self.end_headers()

            def log_message(self, *arguments):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@contextlib.contextmanager
def posting(answers=(), path=""):
    """A server whose agents, which share the host's network, post to a sink, also while no server runs."""
    sink = Sink(answers)
    server = atoll.Server(provider="host", flags=["--jobs-callback-url", sink.url + path, "--host-keep", "true"])
    try:
        yield server.start(), sink
    finally:
        server.remove_all()
        sink.close()


def complete(api, job, token, **body):
    headers = {"Authorization": f"Bearer {token}"} if token else {"Authorization": ""}
    return api.call("POST", f"/sandbox-jobs/{job}/complete", {"status": "completed", "exitCode": 0, **body}, headers)


def test_the_agent_posts_the_end_with_a_token_that_is_good_for_that_job_alone():
    with posting(answers=[503], path="/under") as (server, sink):
        api = server.api()
        box = api.create()["id"]
        job = start(api, box, "env; echo out; echo err >&2; exit 4")
        atoll.wait_for(lambda: len(sink.posts) == 2, 30, "a post that is tried again")
        assert sink.posts[0] == sink.posts[1]
        path, headers, body = sink.posts[0]
        assert path == f"/under/sandbox-jobs/{job}/complete" and headers["Host"] in sink.url
        token = headers["Authorization"].removeprefix("Bearer ")
        assert token.startswith("atj_") and len(token) == 44
        assert (body["status"], body["exitCode"], body["timedOut"]) == ("failed", 4, False)
        output = base64.b64decode(body["stdoutBase64"]).decode()
        assert output.endswith("out\n") and base64.b64decode(body["stderrBase64"]) == b"err\n"
        assert token not in output and "atoll_" not in output, "neither the token nor a key is inside"
        # The server's own watch has settled it meanwhile.
        assert ended(api, job)["exitCode"] == 4
        with refused("conflict", "ended already"):
            complete(api, job, token)
        with refused("unauthenticated"):
            api.call("GET", f"{JOBS}/{job}", headers={"Authorization": f"Bearer {token}"})
        # Another job's, no one's, and a key of the account.
        other = start(api, box, "sleep 1000")
        for wrong in (token, token[:-1], "atj_" + "a" * 40, None, server.key):
            with refused("unauthenticated"):
                complete(api, other, wrong)
        with refused("unauthenticated"):
            complete(api, "nosuchjobatallaaaaaa", token)
        with refused("invalid_request"):
            complete(api, other, token, status="fine")
        with refused("too_large"):
            complete(api, other, token, output="x" * 300000)
        assert status(api, other)["status"] == "running"
        api.post(f"{JOBS}/{other}/stop")


def test_a_post_settles_a_job_once():
    with posting() as (server, sink):
        api = server.api()
        box = api.create()["id"]
        job = start(api, box, "sleep 0.5; echo posted")
        server.stop()
        atoll.wait_for(lambda: sink.posts, 30, "the post while no server is there")
        token = sink.posts[0][1]["Authorization"].removeprefix("Bearer ")
        server.start()
        api = server.api()
        with contextlib.suppress(atoll.ApiError):  # the watch may be as fast
            complete(api, job, token, output="posted\n")
        assert ended(api, job)["logs"]["stdout"] == "posted\n"
        with refused("conflict"):
            complete(api, job, token, output="forged\n")
        assert status(api, job)["logs"]["stdout"] == "posted\n"
        assert len(told(api, "job.completed", job)) == 1


# ---- the post of one whose files are kept ----

def own_token(server, job):
    """What its agent has: here a test is the agent, and may lie."""
    token = "atj_" + "t" * 40
    with sqlite3.connect(server.data / "store/atoll.db", timeout=10) as db:
        db.execute("UPDATE jobs SET token_hash = ?, token_expires_at = ? WHERE id = ?",
                   (hashlib.sha256(token.encode()).digest(), int(time.time() + 3600) * 1000, job))
    db.close()
    return token


def leaving(api, box, command="sleep 1000"):
    """A job that has left out/JOB by now."""
    job = start(api, box, f"mkdir -p out; echo left >out/$$; echo made; {command}", artifacts="out")
    atoll.wait_for(lambda: api.get(f"{JOBS}/{job}/logs")["stdout"] == "made\n", 15, "what it makes")
    return job


def fetched(api, row):
    [one] = row["artifacts"]
    return api.raw("GET", one["url"]).body


def test_the_agent_posts_the_end_of_one_that_leaves_files_too():
    with posting() as (server, sink):
        api = server.api()
        box = api.create()["id"]
        job = start(api, box, "mkdir -p out; echo left >out/file; sleep 0.2; exit 3", artifacts="out")
        path, headers, body = atoll.wait_for(lambda: sink.posts and sink.posts[0], 30, "the post")
        assert path == f"/sandbox-jobs/{job}/complete" and body["exitCode"] == 3
        assert headers["Authorization"].startswith("Bearer atj_")
        # Whoever is faster, the post or the watch: it ends once, and with its file.
        with contextlib.suppress(atoll.ApiError):
            complete(api, job, headers["Authorization"].removeprefix("Bearer "), status="failed", exitCode=3)
        row = ended(api, job)
        assert (row["status"], row["exitCode"], [one["name"] for one in row["artifacts"]]) == ("failed", 3, ["file"])
        assert len(told(api, "job.failed", job)) == 1


def test_an_early_post_or_a_second_one_or_lies_harm_the_job_alone(server, api, box):
    job = leaving(api, box)
    token = own_token(server, job)
    for lie in ({"artifacts": [{"path": "/etc/shadow"}]}, {"root": "/"}, {"exitCode": 1 << 40}):
        with refused("invalid_request"):
            complete(api, job, token, **lie)
    assert status(api, job)["status"] == "running"
    complete(api, job, token, output="early\n")
    with refused("conflict", "ended already"):
        complete(api, job, token, output="twice\n")
    row = ended(api, job)
    assert (row["status"], row["exitCode"], row["logs"]["stdout"]) == ("completed", 0, "early\n")
    assert fetched(api, row) == b"left\n"
    events = [event["kind"] for event in api.get(f"/v1/events?sandbox={box}")["items"]
              if event.get("detail", {}).get("resultId") == job]
    assert events == ["artifact.created", "job.completed"]
    # Its process goes on, in its own sandbox; a stop changes nothing any more.
    assert api.post(f"{JOBS}/{job}/stop")["ended_at"] == row["ended_at"]
    api.exec(box, "pkill -x sleep; true")


def test_one_that_was_told_of_has_not_ended_without_its_files(server, api):
    box, gone = (api.create(internet=False, persistent=True)["id"] for _ in range(2))
    kept, also, lost = leaving(api, box), leaving(api, box), leaving(api, gone)
    api.post(f"{PATH}/{box}/pause")
    api.post(f"{PATH}/{gone}/pause")
    for job in (kept, also, lost):
        complete(api, job, own_token(server, job), output="over\n")
    # Nobody is woken for files, and nobody is told of an end without them, not even by a stop.
    row = api.post(f"{JOBS}/{kept}/stop")
    assert row["status"] == "running" and row["exitCode"] == -1 and row["ended_at"] is None and "logs" not in row
    assert not told(api, "job.*", kept)
    api.remove(gone)
    row = ended(api, lost)
    assert (row["status"], row["exitCode"], row["reason"]) == ("failed", 0, "its files are lost: the sandbox was deleted")
    assert row["logs"]["stdout"] == "over\n" and len(told(api, "job.failed", lost)) == 1
    api.post(f"{PATH}/{box}/resume")
    row = ended(api, kept)
    assert row["status"] == "completed" and row["logs"]["stdout"] == "over\n" and row["artifacts"]
    row = ended(api, also)
    assert row["status"] == "completed" and row["artifacts"], "one after the other"
    api.remove(box)


ELSEWHERE = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(sys.argv[2], "ab") as file:
            file.write(self.path.encode() + b" " + body + b"\\n")
        self.send_response(204)
        self.end_headers()
    def log_message(self, *arguments):
        pass
http.server.HTTPServer((sys.argv[1], 8099), Handler).serve_forever()
"""


@contextlib.contextmanager
def another_machine(posts):
    """One in a private network, as a sandbox sees it: its address. What it is posted is a line of the file."""
    if not shutil.which("ip"):
        pytest.skip("'ip' is not installed")
    third, fourth = os.getpid() % 256, os.getpid() // 256 % 64 * 4  # another run's is another network
    name, here, there = f"atoll-t{os.getpid()}", f"10.199.{third}.{fourth + 1}", f"10.199.{third}.{fourth + 2}"

    def ip(*words):
        subprocess.run(["ip", *words], check=True, capture_output=True)
    ip("netns", "add", name)
    try:
        ip("link", "add", f"at{os.getpid()}", "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("addr", "add", f"{here}/30", "dev", f"at{os.getpid()}")
        ip("link", "set", f"at{os.getpid()}", "up")
        # Answers are forwarded by the interface that they come from, as an uplink's are.
        pathlib.Path(f"/proc/sys/net/ipv4/conf/at{os.getpid()}/forwarding").write_text("1")
        ip("-n", name, "addr", "add", f"{there}/30", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        listening = subprocess.Popen(["ip", "netns", "exec", name, sys.executable, "-c", ELSEWHERE, there, str(posts)])
        try:
            yield there
        finally:
            listening.kill()
            listening.wait()
    finally:
        ip("netns", "del", name)


def test_the_agent_of_an_isolated_sandbox_posts_over_its_own_network(private_server, tmp_path):
    """Never to the host itself, which no sandbox reaches; to where the operator allows it, or the internet."""
    server, posts = private_server, tmp_path / "posts"
    with another_machine(posts) as address:
        server.flags += ["--jobs-callback-url", f"http://{address}:8099", "--network-allow", f"{address}/32"]
        api = server.start().api()
        box = api.create(internet=True)["id"]
        job = start(api, box, "sleep 0.5; echo out; exit 4")
        server.stop()
        atoll.wait_for(lambda: posts.exists() and posts.read_bytes().endswith(b"\n"), 30, "the post while no server is there")
        path, body = posts.read_bytes().split(b" ", 1)
        assert path.decode() == f"/sandbox-jobs/{job}/complete" and json.loads(body)["exitCode"] == 4
        server.start()
        api = server.api()
        assert ended(api, job)["logs"]["stdout"] == "out\n" and len(told(api, "job.failed", job)) == 1


@pytest.mark.parametrize("url, word", [("https://10.0.0.1:1", "https"), ("http://atoll.example:1", "numeric address"),
                                       ("ftp://10.0.0.1", "http"), ("http://10.0.0.1:99999", "address"),
                                       ("http://10.0.0.1/a b", "address")])
def test_an_address_that_agents_cannot_post_to_is_refused_at_the_start(url, word):
    server = atoll.Server(flags=["--jobs-callback-url", url])
    server.start(wait=False)
    assert server.process.wait(30) != 0
    assert word in server.log_text()
    server.remove_all()


# ---- other ways to start one ----

def test_leases_and_the_gateway_start_them_too(api, box):
    key = "jobs-lease"
    answer = api.post(f"/v1/leases/{key}/exec", {"command": "echo leased", "background": True})
    assert ended(api, answer["resultId"])["logs"]["stdout"] == "leased\n"
    api.delete(f"/v1/leases/{key}")
    session = {"session_id": "jobs", "command": "echo session", "background": True, "conversation": "s1"}
    answer = api.post("/v1/sandbox/bash", session)
    assert ended(api, answer["resultId"], "s1")["logs"]["stdout"] == "session\n"
    answer = api.post("/v1/sandbox/execute", {"session_id": "jobs", "code": "print(6 * 7)", "background": True})
    assert ended(api, answer["resultId"])["logs"]["stdout"] == "42\n"
    for row in atoll.Server.rows(api):
        if row["id"] != box:
            api.remove(row["id"])


# ---- to where the turn came from ----

CHANNELS = "/v1/channels"
TOKEN = "xoxb-1234-secret"


class Services(http.server.BaseHTTPRequestHandler):
    """Each service as its public API says that it is asked and answers; what is wrong with a request is an AssertionError,
    a 500 and a test that fails."""

    seen, script = [], {}

    def slack(self, path, body):
        assert path == "/slack/api/chat.postMessage" and self.headers["Authorization"] == f"Bearer {TOKEN}"
        assert set(body) <= {"channel", "thread_ts", "text", "unfurl_links"} and len(body["text"]) <= 40000
        assert "<" not in body["text"] and ">" not in body["text"]
        if body["channel"] == "CGONE":
            return 200, {"ok": False, "error": "channel_not_found"}
        return 200, {"ok": True, "ts": "1700000000.000100"}

    def discord(self, path, body):
        assert path == "/discord/api/v10/channels/42/messages" and self.headers["Authorization"] == f"Bot {TOKEN}"
        assert len(body["content"]) <= 2000 and body["allowed_mentions"] == {"parse": []}
        assert len(body["nonce"]) <= 25 and body["enforce_nonce"] is True
        assert body["message_reference"] == {"message_id": "77", "fail_if_not_exists": False}
        return 200, {"id": "1"}

    def telegram(self, path, body):
        assert path == f"/telegram/bot{TOKEN}/sendMessage" and body["chat_id"] == "-100200"
        assert body["message_thread_id"] == 5 and "parse_mode" not in body and len(body["text"]) <= 4096
        return 200, {"ok": True, "result": {"message_id": 9}}

    def github(self, path, body):
        assert path == "/github/repos/octo/cat.js/issues/12/comments" and set(body) == {"body"}
        assert self.headers["Authorization"] == f"Bearer {TOKEN}" and self.headers["User-Agent"].startswith("Atoll")
        assert self.headers["Accept"] == "application/vnd.github+json"
        assert self.headers["X-GitHub-Api-Version"] == "2022-11-28"
        return 201, {"id": 1}

    def zalo(self, path, body):
        assert path == "/zalo/v3.0/oa/message/cs" and self.headers["access_token"] == TOKEN
        assert body["recipient"] == {"user_id": "186729651760683225"} and len(body["message"]["text"]) <= 2000
        return 200, {"error": 0, "message": "Success", "data": {}}

    def pancake(self, path, body):
        assert path == ("/pancake/api/public_api/v1/pages/wa_1%40c.us/conversations/25_31/messages"
                        f"?page_access_token={TOKEN}"), path
        assert body["action"] == "reply_inbox" and body["message"]
        return 200, {"success": True, "id": "m_1"}

    def hook(self, path, body):
        assert self.headers["Atoll-Signature"] and self.headers["Atoll-Event-Id"] == str(body["sequence"])
        return 200, {}

    def do_POST(self):
        kind = self.path.split("/")[1]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            assert self.headers["Content-Type"] == "application/json" + ("" if kind == "hook" else "; charset=utf-8")
            status, answer = getattr(self, kind)(self.path, body)
        except AssertionError as wrong:
            status, answer = 400, {"wrong": repr(wrong)}
        scripted = self.script.get(kind)
        if scripted:
            status, answer = scripted.pop(0), {}
        self.seen.append((kind, status, body, answer))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def services():
    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Services)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()


@pytest.fixture(scope="module")
def telling():
    """A server that may speak to a loopback address, and tries again soon."""
    running = atoll.Server(provider="host", flags=["--webhook-allow-private", "true", "--webhook-retry", "50ms",
                                                   "--webhook-tries", "3"]).start()
    yield running
    running.remove_all()


@pytest.fixture
def chats(telling, services):
    api = telling.api()
    for kind in ("slack", "discord", "telegram", "github", "zalo", "pancake"):
        api.call("PUT", f"{CHANNELS}/{kind}", {"type": kind, "token": TOKEN, "base_url": f"{services}/{kind}"})
    Services.seen.clear()
    Services.script.clear()
    box = api.create()["id"]
    yield api, box
    api.remove(box)


def message(api, job, *states):
    def found():
        rows = [row for row in api.get("/v1/job-deliveries?limit=1000")["items"] if row["resultId"] == job]
        return rows and rows[0]["state"] in states and rows[0]
    return atoll.wait_for(found, 30, f"a message of job {job} that is {states}")


ORIGINS = [{"type": "slack", "channel": "C0123", "thread": "1700000000.000100"},
           {"type": "discord", "channel": "42", "message": "77"},
           {"type": "telegram", "chat": "-100200", "thread": "5"},
           {"type": "github", "repository": "octo/cat.js", "issue": "12"},
           {"type": "zalo", "user": "186729651760683225"},
           {"type": "pancake", "page": "wa_1@c.us", "chat": "25_31"}]


@pytest.mark.parametrize("origin", ORIGINS, ids=lambda origin: origin["type"])
def test_the_end_is_told_in_the_chat_that_the_turn_came_from(chats, origin):
    api, box = chats
    job = start(api, box, "echo '<b>&```'; for i in $(seq 3000); do echo line-$i-é-\U0001F600; done; exit 3", origin=origin)
    row = message(api, job, "delivered", "dead")
    [(kind, status, body, answer)] = Services.seen
    assert row["state"] == "delivered" and row["attempts"] == 1 and row["channel"] == origin["type"], (row, answer)
    text = json.dumps(body, ensure_ascii=False)
    assert f"resultId {job}" in text and "failed: exit code 3" in text and "line-3000-é-\U0001F600" in text
    assert "line-1-" not in text, "the end of long output is told"


def test_a_short_end_is_told_whole_and_escaped(chats):
    api, box = chats
    job = start(api, box, "printf '<!channel> & ```fence\\033[1m\\n'", origin={"type": "slack", "channel": "C0123"})
    message(api, job, "delivered")
    text = Services.seen[0][2]["text"]
    assert text.startswith("Background job completed (0 s): printf ") and text.count("```") == 2
    assert "&lt;!channel&gt; &amp; `\u200b`\u200b`fence[1m\n```" in text and "thread_ts" not in Services.seen[0][2]


def test_a_service_that_is_busy_is_asked_again_and_one_that_refuses_is_not(chats):
    api, box = chats
    Services.script["zalo"] = [503, 429]
    job = start(api, box, "true", origin={"type": "zalo", "user": "186729651760683225"})
    row = message(api, job, "delivered", "dead")
    assert (row["state"], row["attempts"], [seen[1] for seen in Services.seen]) == ("delivered", 3, [503, 429, 200])
    Services.seen.clear()
    job = start(api, box, "true", origin={"type": "slack", "channel": "CGONE"})
    row = message(api, job, "dead")
    assert row["attempts"] == 1 and "channel_not_found" in row["error"] and TOKEN not in json.dumps(row)
    with refused("conflict"):
        waiting = start(api, box, "sleep 1000", origin={"type": "slack", "channel": "C0"})
        api.post(f"/v1/job-deliveries/{waiting}/retry")
    api.post(f"{JOBS}/{waiting}/stop")
    # Listed, and sent again when somebody has seen to it.
    Services.script["github"] = [500, 500, 500]
    job = start(api, box, "true", origin=ORIGINS[3])
    assert message(api, job, "dead")["attempts"] == 3
    assert job in [row["resultId"] for row in api.get("/v1/job-deliveries?state=dead")["items"]]
    api.post(f"/v1/job-deliveries/{job}/retry")
    assert message(api, job, "delivered")["attempts"] == 1


def test_channels_are_set_listed_and_removed_and_never_shown(chats, telling):
    api, _ = chats
    raw = api.raw("GET", CHANNELS)
    assert TOKEN.encode() not in raw.body and len(raw.json()["items"]) == 6
    rest = (telling.data / "store" / "atoll.db").read_bytes() + (telling.data / "store" / "atoll.db-wal").read_bytes()
    assert TOKEN.encode() not in rest, "it rests sealed"
    api.delete(f"{CHANNELS}/zalo")
    with refused("not_found", "zalo"):
        api.delete(f"{CHANNELS}/zalo")


def test_what_could_not_be_told_is_refused_at_once(chats, server):
    api, box = chats
    for origin, word in (({"type": "slack"}, "needs channel"), ({"type": "slack", "channel": "a/b"}, "a/b"),
                         ({"type": "github", "repository": "../x", "issue": "1"}, "../x"),
                         ({"type": "github", "repository": "a/b", "issue": "one"}, "one"),
                         ({"type": "telegram", "chat": "1", "user": "2"}, "takes no user"),
                         ({"type": "stream", "channel": "C1"}, "takes no channel"),
                         ({"type": "slack", "channel": "C1", "credential": "zalo"}, "one of zalo")):
        with refused("invalid_request", word):
            start(api, box, "true", origin=origin)
    with refused("not_found", "/v1/channels/none"):
        start(api, box, "true", origin={"type": "slack", "channel": "C1", "credential": "none"})
    for name, body, code in (("x", {"type": "slack", "token": "with blank in"}, "invalid_request"),
                             ("x", {"type": "slack", "token": "line\r\nbreak"}, "invalid_request"),
                             ("x", {"type": "telegram", "token": "12345:a/../b"}, "invalid_request"),
                             ("x", {"type": "stream", "token": TOKEN}, "invalid_request"),
                             ("UPPER", {"type": "slack", "token": TOKEN}, "invalid_request"),
                             ("x", {"type": "slack", "token": TOKEN, "base_url": "ftp://x"}, "invalid_request")):
        with refused(code):
            api.call("PUT", f"{CHANNELS}/{name}", body)
    own = server.api()
    with refused("forbidden", "webhook_allow_private"):
        own.call("PUT", f"{CHANNELS}/x", {"type": "slack", "token": TOKEN, "base_url": "http://127.0.0.1:1"})


def test_a_webhook_origin_adds_an_end_of_its_own(chats, services):
    api, box = chats
    hook = api.post("/v1/webhooks", {"url": f"{services}/hook", "events": ["agent.finished"]})
    job = start(api, box, "echo done", origin={"type": "webhook"}, conversation="turn:9")
    ended(api, job, "turn:9")
    [event] = told(api, "agent.finished", job)
    assert event["detail"] == {"resultId": job, "status": "completed", "exitCode": 0, "cause": "exit", "conversation": "turn:9",
                               "stdout": "done\n"}
    plain = start(api, box, "true", origin={"type": "stream"})
    ended(api, plain)
    assert not told(api, "agent.finished", plain)
    got = atoll.wait_for(lambda: [(status, body) for kind, status, body, _ in Services.seen if kind == "hook"], 15, "the webhook")
    assert got == [(200, event)]
    api.delete(f"/v1/webhooks/{hook['id']}")


# ---- the command line ----

def test_the_command_line_runs_waits_and_stops(server, api, box):
    made = server.cli("job", "run", "--conversation", "cli", box, "--", "sh", "-c", "echo out; echo err >&2; exit 5")
    assert made.returncode == 0, made.stderr
    job = made.stdout.decode().strip()
    done = server.cli("job", "wait", "--conversation", "cli", job)
    assert (done.returncode, done.stdout, done.stderr) == (5, b"out\n", b"err\n")
    assert server.cli("job", "status", "--conversation", "cli", job).stdout == b"failed: exit code 5\n"
    assert server.cli("job", "logs", "--conversation", "cli", "--tail", "2", job).stdout == b"t\n"
    assert job in server.cli("job", "ls", "--conversation", "cli").stdout.decode()
    assert server.cli("job", "status", job).returncode == 123
    job = json.loads(server.cli("job", "run", "--json", box, "--", "sleep", "1000").stdout)["resultId"]
    assert server.cli("job", "stop", job).stdout.startswith(b"stopped")
    assert server.cli("job", "wait", job).returncode == 143
    assert server.cli("job", "run", box).returncode != 0


def test_two_servers_of_a_database_tell_each_end_once(services):
    """Each watches its own sandboxes, either sends what is due, and a job's row is read by both."""
    if not postgres.programs():
        pytest.skip("Debian's package postgresql is not installed")
    database = postgres.Postgres()
    servers = []
    try:
        for number in range(2):
            flags = ["--store", database.dsn, "--webhook-allow-private", "true", "--cells", "1"]
            if number:
                flags += ["--secret-key-file", str(servers[0].data / "keys" / "secret.key")]
            servers.append(atoll.Server(provider="host", flags=flags))
        # The agents of the first one post to the second, which cannot reach them.
        servers[0].flags += ["--jobs-callback-url", f"http://127.0.0.1:{servers[1].port}"]
        for server in servers:
            server.start()
        here, there = (server.api(servers[0].key) for server in servers)
        here.call("PUT", f"{CHANNELS}/slack", {"type": "slack", "token": TOKEN, "base_url": f"{services}/slack"})
        Services.seen.clear()
        box = here.create()["id"]
        jobs = [start(here, box, "until [ -e go ]; do sleep 0.05; done; echo shared", origin={"type": "slack", "channel": "C1"}) for _ in range(5)]
        assert status(there, jobs[0])["status"] == "running"
        with refused("conflict", "node"):
            there.post(f"{JOBS}/{jobs[0]}/stop")
        assert status(there, jobs[0])["status"] == "running"
        here.exec(box, "touch go")
        for job in jobs:
            assert ended(there, job)["logs"]["stdout"] == "shared\n"
            assert message(there, job, "delivered", "dead")["attempts"] == 1
            # A number that a transaction took and gave back holds up what is read after it for some seconds.
            atoll.wait_for(lambda: told(there, "job.completed", job), 15, "its event")
            assert len(told(there, "job.completed", job)) == 1
        assert len(Services.seen) == 5
        # The one that hears of the end first may not be the one that can fetch the files.
        leaves = start(here, box, "mkdir -p out; echo left >out/file; sleep 0.2", artifacts="out")
        row = ended(there, leaves)
        assert row["status"] == "completed" and [one["name"] for one in row["artifacts"]] == ["file"]
        assert fetched(here, row) == b"left\n"
        # What a server leaves behind, the other one settles.
        left = start(here, box, "sleep 1000")
        servers[0].kill9("api")
        servers[0].wait_ready()
        here = servers[0].api()
        here.remove(box)
        assert ended(there, left)["status"] == "failed"
        atoll.wait_for(lambda: told(there, "job.failed", left), 15, "its event")
        assert len(told(there, "job.failed", left)) == 1 == len(told(there, "job.completed", leaves))
    finally:
        for server in servers:
            server.remove_all()
        database.remove()


# ---- the agent tool ----

def tool(api, name, box=None, conversation=None, **arguments):
    body = {"input": arguments, **({"sandboxId": box} if box else {}), **({"conversationId": conversation} if conversation else {})}
    return api.post(f"/v1/tools/{name}", body)["structuredContent"]


def test_the_tools_start_look_after_and_stop_jobs(api, box):
    job = tool(api, "bash", box, "t1", command="pwd; echo out; sleep 1000", background=True)["resultId"]
    assert tool(api, "async_status", conversation="t1", resultId=job)["status"] == "running"
    atoll.wait_for(lambda: tool(api, "async_status", conversation="t1", resultId=job, action="logs")["stdout"].endswith("out\n"))
    with refused("not_found", job):
        tool(api, "async_status", conversation="t2", resultId=job, action="stop")
    with refused("not_found", job):
        tool(api, "async_status", resultId=job)
    stopped = tool(api, "async_status", conversation="t1", resultId=job, action="stop")
    assert stopped["status"] == "stopped" and stopped["stdout"].endswith("out\n")
    job = tool(api, "bash", box, command="echo a; echo b >&2; exit 3", background=True)["resultId"]
    done = atoll.wait_for(lambda: (lambda r: r["status"] != "running" and r)(tool(api, "async_status", resultId=job)))
    assert (done["status"], done["exit_code"], done["reason"]) == ("failed", 3, "exit code 3")
    assert (done["stdout"], done["stderr"]) == ("a\n", "b\n")
    for wrong in ({}, {"resultId": job, "action": "pause"}, {"resultId": ""}):
        with refused("invalid_request"):
            tool(api, "async_status", **wrong)


def over_mcp(api, query, meta, **arguments):
    modern = "io.modelcontextprotocol/"
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "bash"}
    meta = {modern + "protocolVersion": headers["MCP-Protocol-Version"], modern + "clientCapabilities": {}, **meta}
    return api.call("POST", "/mcp?" + urllib.parse.urlencode(query),
                    {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                     "params": {"name": "bash", "arguments": arguments, "_meta": meta}}, headers)


def test_the_end_of_a_tools_job_is_told_where_the_turn_came_from(chats, telling):
    api, box = chats
    slack, webhook = {"type": "slack", "channel": "C0123"}, {"type": "webhook"}

    def sent(job, kind, word):
        assert message(api, job, "delivered", "dead")["state"] == "delivered"
        [body] = [seen[2] for seen in Services.seen if f"resultId {job}" in json.dumps(seen[2])]
        assert body["channel"] == kind["channel"] and word in body["text"]

    command = {"command": "echo from-a-tool", "background": True}
    body = {"sandboxId": box, "conversationId": "turn:1", "origin": slack, "input": command}
    sent(api.post("/v1/tools/bash", body)["structuredContent"]["resultId"], slack, "from-a-tool")
    job = api.post("/v1/tools/bash", {**body, "origin": webhook})["structuredContent"]["resultId"]
    ended(api, job, "turn:1")
    assert told(api, "agent.finished", job)[0]["detail"]["conversation"] == "turn:1"
    # Over MCP it is the client's word, in the URL for all calls or with one of them; the model has no say.
    url = {"sandbox": box, "conversation": "turn:2", "origin": json.dumps(slack)}
    sent(over_mcp(api, url, {}, **command)["result"]["structuredContent"]["resultId"], slack, "from-a-tool")
    other = {"type": "slack", "channel": "C0456"}
    job = over_mcp(api, url, {"atoll/origin": other}, **command)["result"]["structuredContent"]["resultId"]
    sent(job, other, "from-a-tool")
    assert over_mcp(api, url, {}, **command, origin=other)["result"]["isError"]
    done = telling.cli("tool", "--sandbox", box, "--origin", json.dumps(slack), "--json", "bash", "background=true", "command=echo by-hand")
    sent(json.loads(done.stdout)["structuredContent"]["resultId"], slack, "by-hand")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "bash", "arguments": command}}
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
    done = telling.cli("mcp", "--sandbox", box, "--origin", json.dumps(slack),
                       input=f"{json.dumps(hello)}\n{json.dumps(call)}\n".encode())
    [answer] = [one for one in map(json.loads, done.stdout.splitlines()) if one["id"] == 1]
    sent(answer["result"]["structuredContent"]["resultId"], slack, "from-a-tool")
    job = telling.cli("job", "run", "--origin", json.dumps(slack), box, "--", "echo", "by-hand").stdout.decode().strip()
    sent(job, slack, "by-hand")
    # What could not be told is refused, and nothing runs.
    for wrong, word in (({"type": "slack"}, "needs channel"), ({"type": "pigeon"}, "type"), ({**webhook, "chat": "1"}, "takes no chat")):
        with refused("invalid_request", word):
            api.post("/v1/tools/bash", {**body, "origin": wrong})
        answer = over_mcp(api, url, {"atoll/origin": wrong}, command="touch ran", background=True)
        assert answer["error"]["code"] == -32602 and word in answer["error"]["message"], answer
    for wrong in ("{", "[]", '"slack"'):
        assert "the URL's origin" in over_mcp(api, {**url, "origin": wrong}, {}, **command)["error"]["message"]
    assert api.exec(box, "test ! -e ran")["exit_code"] == 0
    assert b"expected JSON" in telling.cli("tool", "--sandbox", box, "--origin", "slack", "bash", "command=true").stderr
