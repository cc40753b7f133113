# SPDX-License-Identifier: Apache-2.0
"""Why a command ended: told as one word by each surface that tells an end, and by the CLI in a sentence."""

import json
import threading
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
INSTANCES = "/api/sandbox/instances"
HUNGRY = "python3 -c \"b = bytearray(400 << 20)\""
FORKS = "import os, time\nfor i in range(200):\n    if os.fork() == 0:\n        time.sleep(0.3); os._exit(0)\n"


@pytest.fixture(scope="module")
def small(server):
    api = server.api()
    box = api.create(template="host", internet=False, resources={"memory_mb": 64, "pids": 40})["id"]
    yield box
    api.remove(box)


@pytest.mark.parametrize("command,cause", [
    ("true", "exit"), ("exit 3", "exit"), ("exec " + HUNGRY, "oom"), (HUNGRY + "; exit $?", "oom"),
    ("kill -9 $$", "signal"), ("sh -c 'kill -9 $$'; exit 137", "exit"), ("kill -XFSZ $$", "file_size")])
def test_a_command_tells_why_it_ended(api, small, command, cause):
    ended = api.exec(small, command)
    assert ended["cause"] == cause, ended
    # The sandbox lives on, and what was is not told again.
    assert api.exec(small, "exit 137")["cause"] == "exit"


def test_a_command_that_may_start_no_process_tells_so(api):
    with api.sandbox(template="host", internet=False, resources={"pids": 30}) as box:
        assert api.exec(box, f"python3 -c '{FORKS}'")["cause"] == "process_limit"


def test_time_and_a_callers_signal_are_causes(api, small):
    assert api.exec(small, "sleep 9", timeout_ms=200)["cause"] == "timeout"
    made = api.exec(small, "sleep 20", background=True)["process"]
    api.post(f"{INSTANCES}/{small}/processes/{made}/signal", {"signal": "SIGKILL"})
    assert api.get(f"{INSTANCES}/{small}/processes/{made}/wait")["cause"] == "canceled"
    rows = api.get(f"{INSTANCES}/{small}/processes")["items"]
    assert [row["cause"] for row in rows if row["process"] == made] == ["canceled"]


def test_of_two_at_once_only_the_one_that_was_killed_was_out_of_memory(server, small):
    ends = {}

    def run(name, command):
        own = server.api()
        ends[name] = own.exec(small, command)["cause"]
        own.close()
    threads = [threading.Thread(target=run, args=pair) for pair in
               {"failing": "sleep 1.5; exit 7", "hungry": "sleep 0.3; exec " + HUNGRY}.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert ends == {"failing": "exit", "hungry": "oom"}


def test_streams_tools_jobs_and_contexts_tell_it(api, small):
    lines = api.raw("POST", f"{INSTANCES}/{small}/exec?stream=ndjson", json.dumps({"command": "exec " + HUNGRY}),
                    {"Content-Type": "application/json"}).body.splitlines()
    assert json.loads(lines[-1])["cause"] == "oom"
    told = api.post("/v1/tools/bash", {"sandboxId": small, "input": {"command": "exec " + HUNGRY}})
    assert told["structuredContent"]["cause"] == "oom" and "out of memory" in told["content"][0]["text"]
    job = api.exec(small, "exec " + HUNGRY, background=True)["resultId"]
    atoll.wait_for(lambda: api.get(f"/v1/jobs/{job}")["status"] != "running", 10, "the job's end")
    assert "out of memory" in api.get(f"/v1/jobs/{job}")["reason"]
    code = api.post(f"{INSTANCES}/{small}/code", {"language": "python", "contextId": "default", "code": "b = bytearray(400 << 20)"})
    assert code["cause"] == "oom" and code["context_ended"] and "out of memory" in code["error"]["value"]


def test_the_cli_says_it_in_a_line(server, small):
    ended = server.cli("exec", small, "--", "sh", "-c", "exec " + HUNGRY)
    assert ended.returncode == 137 and ended.stderr.count(b"\n") == 1 and b"atoll: out of memory" in ended.stderr
    assert b"memory_mb" in ended.stderr
    fine = server.cli("exec", small, "--", "true")
    assert fine.stderr == b""


def test_a_new_sandbox_knows_nothing_of_the_one_before(server, api):
    """Groups are used again, and so are slots."""
    for _ in range(3):
        box = api.create(template="host", internet=False, resources={"memory_mb": 64})["id"]
        assert api.exec(box, "kill -9 $$")["cause"] == "signal"
        assert api.exec(box, "exec " + HUNGRY)["cause"] == "oom"
        api.remove(box)


def test_what_the_agent_reads_is_the_sandboxes_alone_and_cannot_be_written(api, small):
    """Process 1 holds two files of its own cgroups, for reading; nothing inside can write them."""
    before = api.exec(small, "cat /proc/1/fd/5", user="root")
    for write in (": > /proc/1/fd/5", "echo 1 > /proc/1/fd/5", "echo 1 >> /proc/1/fd/6"):
        told = api.exec(small, write, user="root")
        assert told["exit_code"] != 0 and "ermission denied" in told["stderr"], told
    assert api.exec(small, "cat /proc/1/fd/5", user="root")["stdout"] == before["stdout"]
