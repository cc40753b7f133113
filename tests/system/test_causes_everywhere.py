# SPDX-License-Identifier: Apache-2.0
"""Why a command died, by each surface that tells an end: one table of causes and surfaces. And the event that tells it."""

import http.client
import json
import re
import struct
import subprocess
import sys
import time

import pytest

import atoll

sys.path.insert(0, str(atoll.ROOT / "sdk/python"))
import atoll_sdk  # noqa: E402

pytestmark = pytest.mark.needs_root
INSTANCES = "/api/sandbox/instances"
JSON = {"Content-Type": "application/json"}
# What a limit ends, and what a person reads of it. A program that the shell only starts and waits for: the shell tells its end.
LIMITS = {
    "oom": ("python3 -c 'b = bytearray(400 << 20)'", "out of memory"),
    "timeout": ("sleep 30", "longer than its timeout"),
    "file_size": ("head -c 64M /dev/zero > /var/tmp/large", "size limit"),
    # The children stay until their parent has ended, however slow the machine is.
    "process_limit": ("python3 -c 'import os\nr, w = os.pipe()\nfor i in range(200):\n    if os.fork() == 0:\n        os.close(w); os.read(r, 1); os._exit(0)'",
                      "no process or thread"),
    "disk": ("head -c 64M /dev/zero > /var/tmp/large", "disk is full"),
}
WITHIN_MS = 300  # of what is to run out of time


@pytest.fixture(scope="module")
def server():
    """Without the watch over disks, which pauses who comes near its limit."""
    running = atoll.Server(flags=["--disk-watch", "off"]).start()
    yield running
    running.remove_all()


@pytest.fixture(scope="module")
def full_server():
    """Its sandboxes have disks of their own: one of them can be full."""
    running = atoll.Server(flags=["--disk-quota", "on"]).start()
    yield running
    running.remove_all()


@pytest.fixture(scope="module")
def quota(full_server):
    """The sandbox whose disk is full before a command begins to write, or None: this host has no disks of their own."""
    api = full_server.api()
    box = api.create(internet=False, resources={"disk_mb": 48, "memory_mb": 256})["id"]
    if api.get(f"{INSTANCES}/{box}")["resources"]["disk_advisory"]:
        return None
    return box


@pytest.fixture(scope="module")
def boxes(server):
    api = server.api()
    made = {"small": api.create(internet=False, resources={"memory_mb": 64, "pids": 40, "disk_mb": 16})["id"]}
    yield made
    for box in made.values():
        api.remove(box)


class Place:
    """A server, one of its sandboxes and a connection."""

    def __init__(self, server, box):
        self.server, self.box, self.api = server, box, server.api()
        self.path = f"{INSTANCES}/{box}"

    def raw(self, method, path, body, headers=JSON):
        return self.api.raw(method, path, json.dumps(body), headers)


@pytest.fixture
def place_of(server, boxes, request):
    def find(cause):
        if cause != "disk":
            return Place(server, boxes["small"])
        box = request.getfixturevalue("quota")
        if box is None:
            pytest.skip("this host has no loop devices: no sandbox has a disk of its own")
        return Place(request.getfixturevalue("full_server"), box)
    return find


def timeout_of(cause, name="timeout_ms", scale=1):
    return {name: WITHIN_MS * scale} if cause == "timeout" else {}


# ---- surfaces: each runs the command and answers the cause that it tells ----

def by_exec(at, command, cause):
    return at.api.exec(at.box, command, **timeout_of(cause))["cause"]


def by_events(at, command, cause):
    lines = at.raw("POST", f"{at.path}/exec?stream=ndjson", {"command": command, **timeout_of(cause)}).body.splitlines()
    return json.loads(lines[-1])["cause"]


def by_wait(at, command, cause):
    made = at.api.exec(at.box, command, background=True, **timeout_of(cause))["process"]
    ended = at.api.get(f"{at.path}/processes/{made}/wait")["cause"]
    row, = (row for row in at.api.get(f"{at.path}/processes")["items"] if row["process"] == made)
    assert row["cause"] == ended
    return ended


def by_code(at, command, cause):
    return at.api.post(f"{at.path}/code", {"language": "bash", "code": command, **timeout_of(cause)})["cause"]


def by_job(at, command, cause):
    made = at.api.exec(at.box, command, background=True, **timeout_of(cause))["resultId"]
    job = atoll.wait_for(lambda: (job := at.api.get(f"/v1/jobs/{made}"))["status"] != "running" and job, 30, "the job's end")
    event, = (e for e in at.api.get(f"/v1/events?kind=job.failed&last=50&sandbox={at.box}")["items"] if e["detail"]["resultId"] == made)
    assert event["detail"]["cause"] == job["cause"] and LIMITS[cause][1] in job["reason"] and job["reason"] in event["text"]
    listed, = (row for row in at.api.get(f"/v1/jobs?sandbox={at.box}")["items"] if row["resultId"] == made)
    assert listed["cause"] == job["cause"]
    told = at.api.post("/v1/tools/async_status", {"sandboxId": at.box, "input": {"resultId": made}})
    assert told["structuredContent"]["cause"] == job["cause"]
    waited = at.server.cli("job", "wait", made)
    assert waited.stderr.decode().endswith(f"{at.server.cli('job', 'status', made).stdout.decode().split(': ', 1)[1]}")
    assert job["cause"].encode() in at.server.cli("job", "ls", "--sandbox", at.box).stdout
    return job["cause"]


def by_tool(at, command, cause):
    told = at.api.post("/v1/tools/bash", {"sandboxId": at.box, "input": {"command": command, **timeout_of(cause)}})
    assert cause == "timeout" or LIMITS[cause][1] in told["content"][0]["text"]
    return told["structuredContent"]["cause"]


def by_mcp(at, command, cause):
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}}
    answer = at.raw("POST", f"/mcp?sandbox={at.box}", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "bash", "arguments": {"command": command, **timeout_of(cause)}, "_meta": meta}},
        {**JSON, "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "bash"})
    text = answer.body.decode()
    return json.loads(text[text.index("{"):].strip())["result"]["structuredContent"]["cause"]


def by_e2b(at, command, cause):
    """E2B has no member for it: the text of the error, or its own code for a time that is over."""
    token = at.api.get(f"/sandboxes/{at.box}")["envdAccessToken"]
    body = json.dumps({"process": {"cmd": "/bin/bash", "args": ["-c", command]}, "stdin": False}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", at.server.port, timeout=30)
    connection.request("POST", "/process.Process/Start", struct.pack(">BI", 0, len(body)) + body, {
        "E2b-Sandbox-Id": at.box, "E2b-Sandbox-Port": "49983", "X-Access-Token": token, "Content-Type": "application/connect+json",
        **({"Connect-Timeout-Ms": str(WITHIN_MS)} if cause == "timeout" else {})})
    told = connection.getresponse().read().decode(errors="replace")
    connection.close()
    return next((name for name, (_, text) in LIMITS.items() if text in told), "timeout" if "deadline_exceeded" in told else told)


def by_daytona(at, command, cause):
    """In whole seconds; a time that is over is an error there."""
    answer = at.raw("POST", f"/daytona/toolbox/{at.box}/process/execute", {"command": command, **timeout_of(cause, "timeout", 1 / WITHIN_MS)})
    return "timeout" if answer.status == 408 else answer.json().get("cause")


def by_cli(at, command, cause):
    ended = at.server.cli("exec", *(["--timeout", f"{WITHIN_MS}ms"] if cause == "timeout" else []), at.box, "--", "sh", "-c", command)
    lines = [line for line in ended.stderr.decode().splitlines() if line.startswith("atoll: ")]
    assert len(lines) == 1, ended.stderr
    return next((name for name, (_, text) in LIMITS.items() if text in lines[0]), lines[0])


def by_python(at, command, cause):
    sandbox = atoll_sdk.Sandbox.connect(at.box, api_url=f"http://127.0.0.1:{at.server.port}", api_key=at.server.key)
    ended = sandbox.commands.run(command, **({"timeout": WITHIN_MS / 1000} if cause == "timeout" else {}))
    assert not ended.ok and ended.exit_code != 0
    return ended.cause


SURFACES = [by_exec, by_events, by_wait, by_code, by_job, by_tool, by_mcp, by_e2b, by_daytona, by_cli, by_python]


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("cause", LIMITS)
def test_a_surface_tells_the_limit(place_of, cause, surface):
    at = place_of(cause)
    assert surface(at, LIMITS[cause][0], cause) == cause


@pytest.mark.parametrize("cause", LIMITS)
def test_an_event_tells_the_limit_once_in_a_while(place_of, cause):
    """The commands of the table before were many: one event a minute counts them."""
    at = place_of(cause)
    by_exec(at, LIMITS[cause][0], cause)

    def found():
        return [e for e in at.api.get(f"/v1/events?kind=command.limited&last=100&sandbox={at.box}")["items"] if e["reason"] == cause]
    first = atoll.wait_for(found, 20, "the event")[0]
    assert LIMITS[cause][1] in first["text"] and first["sandbox"] == at.box and first["project"]
    assert first["detail"]["cause"] == cause and first["detail"]["count"] >= 1 and first["detail"]["process"] > 0
    times = [time.mktime(time.strptime(e["at"][:19], "%Y-%m-%dT%H:%M:%S")) for e in found()]
    assert all(after - before >= 59 for before, after in zip(times, times[1:])), times


def test_what_no_limit_ended_is_no_event(server, api):
    with api.sandbox(internet=False) as box:
        for command in ("true", "exit 3", "kill -9 $$", "exit 137"):
            api.exec(box, command)
        with api.sandbox(internet=False, resources={"memory_mb": 64}) as other:
            api.exec(other, LIMITS["oom"][0])
            atoll.wait_for(lambda: api.get(f"/v1/events?kind=command.limited&sandbox={other}")["items"], 20, "the other's event")
        assert not api.get(f"/v1/events?kind=command.limited&sandbox={box}")["items"]


def test_a_block_of_code_that_runs_out_of_time_is_an_event(server, api):
    with api.sandbox(internet=False) as box:
        code = {"language": "python", "contextId": "default", "code": "import time; time.sleep(30)", "timeout_ms": WITHIN_MS}
        assert api.post(f"{INSTANCES}/{box}/code", code)["cause"] == "timeout"
        event, = atoll.wait_for(lambda: api.get(f"/v1/events?kind=command.limited&sandbox={box}")["items"], 20, "the event")
        assert event["reason"] == "timeout"


# ---- jobs that no process tells of ----

@pytest.mark.parametrize("end", ["stop", "delete", "lifetime"])
def test_a_job_whose_sandbox_ends_says_so(api, end):
    box = api.create(internet=False)["id"]
    job = api.exec(box, "sleep 100", background=True)["resultId"]
    if end == "lifetime":
        api.post(f"/sandboxes/{box}/timeout", {"timeout": 1})
    if end == "stop":
        api.post(f"{INSTANCES}/{box}/stop")
    elif end == "delete":
        api.remove(box)
    told = atoll.wait_for(lambda: (j := api.get(f"/v1/jobs/{job}"))["status"] != "running" and j, 30, "the job's end")
    assert (told["status"], told["cause"]) == ("failed", "sandbox_ended") and "sandbox was" in told["reason"], told
    if end == "stop":
        api.remove(box)


def test_a_job_that_is_stopped_or_ends_well_says_so(api, boxes):
    box = boxes["small"]
    job = api.exec(box, "sleep 100", background=True)["resultId"]
    assert api.get(f"/v1/jobs/{job}")["cause"] is None
    assert api.post(f"/v1/jobs/{job}/stop")["cause"] == "canceled"
    for command, cause in (("true", "exit"), ("exit 4", "exit"), ("kill -9 $$", "signal")):
        job = api.exec(box, command, background=True)["resultId"]
        told = atoll.wait_for(lambda: (j := api.get(f"/v1/jobs/{job}"))["status"] != "running" and j, 30, "the job's end")  # noqa: B023
        assert told["cause"] == cause


# ---- a sandbox's own end ----

@pytest.mark.parametrize("options,reason", [({"idle_reap_ms": 700, "autoPauseMs": -1}, "idle"), ({"lifetime_max_ms": 1000}, "lifetime"),
                                            ({"timeout_ms": 1000}, "lifetime")])
def test_a_sandbox_that_a_limit_ends_tells_which(api, options, reason):
    box = api.create(internet=False, **options)["id"]
    events = atoll.wait_for(lambda: api.get(f"/v1/events?kind=sandbox.deleted&sandbox={box}")["items"], 30, "its end")
    assert events[-1]["reason"] == reason, events


def test_one_that_is_stopped_for_idleness_shows_it_in_ps(server, api):
    box = api.create(name=f"idler-{time.time_ns()}", internet=False, autoPauseMs=-1, autoStopMs=700, persistent=True)
    row = atoll.wait_for(lambda: (r := api.get(f"{INSTANCES}/{box['id']}"))["state"] == "stopped" and r, 30, "the stop")
    assert row["reason"] == "idle"
    assert re.search(rf"{box['name']}.*stopped", server.cli("ps", "--all").stdout.decode())
    inspected = subprocess.run([atoll.ATOLL, "inspect", box["id"]], env=server.cli_environment(), capture_output=True, timeout=30)
    assert json.loads(inspected.stdout)["reason"] == "idle"
    api.remove(box["id"])
