# SPDX-License-Identifier: Apache-2.0
"""Commands and blocks of code that are recorded as asciicast: docs/use/terminals.md."""

import json
import subprocess
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
LIST = "/api/sandbox/recordings"
LIMIT = 1024 * 1024


def recorded(api, recording):
    """The head and the events of a recording, once it is listed."""
    atoll.wait_for(lambda: api.raw("GET", f"{LIST}/{recording}").status == 200, 20, lambda: api.get(LIST))
    lines = api.raw("GET", f"{LIST}/{recording}").body.decode().splitlines()
    head, *events = map(json.loads, lines)
    assert head["version"] == 2 and [e[0] for e in events] == sorted(e[0] for e in events)
    return head, events


def text_of(events):
    return "".join(data for _, kind, data in events if kind == "o")


def test_a_command_is_recorded_when_its_call_asks(api, box):
    plain = api.exec(box, command="echo unseen")
    assert "recording" not in plain
    result = api.exec(box, command="echo one; sleep 0.2; echo two >&2", record=True, rows=30, columns=100)
    assert result["stdout"] == "one\n" and result["stderr"] == "two\n"
    head, events = recorded(api, result["recording"])
    assert (head["width"], head["height"]) == (100, 30) and head["title"].startswith("echo one")
    assert text_of(events) == "one\r\ntwo\r\n" and events[-1][0] - events[0][0] > 0.1
    [row] = [r for r in api.get(f"{LIST}?sandbox={box}")["items"] if r["id"] == result["recording"]]
    assert row["process"] == result["process"] and row["size_bytes"] > 0 and row["sandbox_id"] == box
    api.delete(f"{LIST}/{row['id']}")
    assert api.raw("GET", f"{LIST}/{row['id']}").status == 404


def test_code_and_streams_are_recorded(api, box):
    code = api.post(f"{PATH}/{box}/code", {"language": "python", "code": "print(6 * 7)", "record": True})
    head, events = recorded(api, code["recording"])
    assert text_of(events) == "42\r\n" and head["title"] == "print(6 * 7)"
    stream = api.raw("POST", f"{PATH}/{box}/exec?stream=ndjson", {"command": "printf a; printf b >&2; exit 3", "record": True})
    end = json.loads(stream.body.decode().splitlines()[-1])
    assert end["event"] == "exit" and end["exit_code"] == 3
    assert sorted(text_of(recorded(api, end["recording"])[1])) == ["a", "b"]


def test_bytes_that_are_no_text_and_a_terminal_are_recorded(api, box):
    result = api.exec(box, command=r"printf 'x\377y\303'; sleep 0.1; printf '\244'", record=True)
    assert text_of(recorded(api, result["recording"])[1]) == "x\ufffdy\u00e4"
    result = api.exec(box, command="printf 'a\\nb'", tty=True, record=True)
    assert text_of(recorded(api, result["recording"])[1]) == "a\r\nb"


def test_a_recording_has_a_limit_and_says_what_is_missing(api, box):
    result = api.exec(box, command="head -c 6000000 /dev/zero | tr '\\0' x", record=True, outputLimitBytes=1000)
    head, events = recorded(api, result["recording"])
    row = next(r for r in api.get(LIST)["items"] if r["id"] == result["recording"])
    assert LIMIT // 2 < row["size_bytes"] <= LIMIT
    [marker] = [data for _, kind, data in events if kind == "m"]
    kept = text_of(events).count("x")
    assert marker == f"{6000000 - kept} bytes are missing"


def test_what_a_client_left_behind_is_recorded(api, box):
    leaving = api.clone()
    stream = leaving.open("POST", f"{PATH}/{box}/exec?stream=ndjson", {"command": "echo begun; exec sleep 60", "record": True, "end_on_disconnect": True})
    started = json.loads(stream.readline())
    assert json.loads(stream.readline())["data"] == "begun\n"
    leaving.close()
    stream.close()

    def left():
        return [r for r in api.get(f"{LIST}?sandbox={box}")["items"] if r["process"] == started["process"]]
    atoll.wait_for(left, 20, lambda: api.get(LIST))
    assert text_of(recorded(api, left()[0]["id"])[1]) == "begun\r\n"


def test_a_background_job_is_recorded_to_its_end(api, box):
    begun = time.time()
    started = api.exec(box, command="echo one; sleep 1.5; echo two >&2; printf 'a\\nb'", background=True, record=True)
    assert time.time() - begun < 1.5 and started["recording"].startswith(f"{box}-")
    head, events = recorded(api, started["recording"])
    # stdout and stderr are two pipes: their order is that in which the agent reads them.
    assert text_of(events) in ("one\r\ntwo\r\na\r\nb", "one\r\na\r\nbtwo\r\n") and head["title"].startswith("echo one")
    assert events[-1][0] - events[0][0] > 1
    row = next(r for r in api.get(f"{LIST}?sandbox={box}")["items"] if r["id"] == started["recording"])
    assert row["process"] == started["process"] and row["window"].startswith("echo one") and row["user"]
    assert "recording" not in api.exec(box, command="true", background=True)


def test_a_block_in_a_context_is_recorded(api, box):
    code = {"language": "python", "contextId": "default", "record": True}
    first = api.post(f"{PATH}/{box}/code", {**code, "code": "import time\nprint('one', flush=True)\ntime.sleep(0.3)\nprint('two')\n6 * 7"})
    assert first["stdout"] == "one\ntwo\n" and first["recording"].startswith(f"{box}-")
    head, events = recorded(api, first["recording"])
    assert text_of(events) == "one\r\ntwo\r\n42\r\n" and head["title"].startswith("import time") and events[-1][0] - events[0][0] > 0.2
    # The next block of the same interpreter has a recording of its own; a plain one has none.
    stream = api.raw("POST", f"{PATH}/{box}/code?stream=ndjson", {**code, "code": "print(1 / 0)"})
    end = json.loads(stream.body.decode().splitlines()[-1])
    assert end["event"] == "exit" and end["recording"] != first["recording"]
    text = text_of(recorded(api, end["recording"])[1])
    assert "ZeroDivisionError" in text and "one" not in text
    assert "recording" not in api.post(f"{PATH}/{box}/code", {"language": "python", "contextId": "default", "code": "1"})
    # A block that its client leaves is stored, too.
    leaving = api.clone()
    stream = leaving.open("POST", f"{PATH}/{box}/code?stream=ndjson", {**code, "code": "print('begun', flush=True)\ntime.sleep(60)"})
    while b"begun" not in stream.readline():
        pass
    leaving.close()
    stream.close()
    def left():
        rows = [r for r in api.get(f"{LIST}?sandbox={box}")["items"] if (r["window"] or "").startswith("print('begun'")]
        return rows and rows[0]["id"]
    atoll.wait_for(left, 20, lambda: api.get(LIST))
    assert text_of(recorded(api, left())[1]).startswith("begun\r\n")


def test_the_tool_bash_is_recorded(api, box):
    def bash(**more):
        return api.post("/v1/tools/bash", {"sandboxId": box, "input": more})["structuredContent"]
    done = bash(command="echo seen; echo bad >&2; exit 3", record=True)
    assert done["exit_code"] == 3
    head, events = recorded(api, done["recording"])
    assert sorted(text_of(events).split()) == ["bad", "seen"] and head["title"].startswith("echo seen")
    assert "recording" not in bash(command="echo unseen")
    late = bash(command="echo later; exec sleep 60", record=True, timeout_ms=500)
    assert late["timed_out"] and recorded(api, late["recording"])
    job = bash(command="echo job; sleep 0.5; echo end", background=True, record=True)
    assert text_of(recorded(api, job["recording"])[1]) == "job\r\nend\r\n"


def test_the_tool_run_code_is_recorded(api, box):
    def run_code(**more):
        return api.post("/v1/tools/run_code", {"sandboxId": box, "input": more})["structuredContent"]
    done = run_code(code="import sys\nprint('seen')\n6 * 7", record=True)
    assert done["stdout"] == "seen\n" and done["recording"].startswith(f"{box}-")
    head, events = recorded(api, done["recording"])
    assert text_of(events) == "seen\r\n42\r\n" and head["title"].startswith("import sys")
    [row] = [r for r in api.get(f"{LIST}?sandbox={box}")["items"] if r["id"] == done["recording"]]
    assert row["process"] > 0 and row["user"], "the interpreter's process, and the caller"
    assert "recording" not in run_code(code="print('unseen')")
    failed = run_code(code="print('before')\n1 / 0", record=True)
    text = text_of(recorded(api, failed["recording"])[1])
    assert failed["error"]["name"] == "ZeroDivisionError" and text.startswith("before\r\n") and "ZeroDivisionError" in text and "unseen" not in text
    late = run_code(code="import time\nprint('begun', flush=True)\ntime.sleep(60)", record=True, timeout_ms=500)
    assert late["timed_out"] and text_of(recorded(api, late["recording"])[1]).startswith("begun\r\n")


def test_a_sandbox_does_not_choose_the_id_of_a_recording(api, box):
    ids = [api.exec(box, command="true", record=True)["recording"] for _ in range(3)]
    for recording in ids:
        recorded(api, recording)
        sandbox, at, own = recording.split("-")
        assert sandbox == box and abs(int(at) / 1000 - time.time()) < 600 and len(own) >= 16
    assert len({recording.split("-")[2] for recording in ids}) == 3
    # With the clock of the sandbox's agent and the number of its process nothing is found.
    assert api.raw("GET", f"{LIST}/{ids[0].rsplit('-', 1)[0]}-1").status == 404


def test_what_cannot_be_recorded_is_refused(api, box):
    with pytest.raises(atoll.ApiError) as refused:
        api.post("/v1/tools/run_code", {"sandboxId": box, "input": {"code": "1", "record": "yes"}})
    assert refused.value.status == 400 and "record" in str(refused.value)
    for body in ({"command": "true", "record": "yes"}, {"command": "true", "background": True, "record": 1}):
        with pytest.raises(atoll.ApiError) as refused:
            api.post(f"{PATH}/{box}/exec", body)
        assert refused.value.status == 400 and "record" in str(refused.value)


def test_the_command_line_records(server, api, box):
    def cli(*arguments, text=None):
        env = {"ATOLL_API_URL": f"http://127.0.0.1:{server.port}", "ATOLL_API_KEY": server.key, "PATH": "/usr/bin:/bin", "HOME": "/root"}
        return subprocess.run([atoll.ATOLL, *arguments], env=env, input=text, capture_output=True, text=True, timeout=60)

    def replayed(done):
        """What the line that the command prints replays."""
        [line] = [line for line in done.stderr.splitlines() if line.startswith("recorded: atoll replay ")]
        recording = line.split()[-1]
        recorded(api, recording)
        return cli("replay", "--speed", "100", recording).stdout

    done = cli("exec", "--record", box, "--", "echo", "by hand")
    assert done.returncode == 0 and done.stdout == "by hand\n", done
    assert "by hand" in replayed(done)
    assert "recorded" not in cli("exec", box, "--", "true").stderr
    done = cli("code", "--record", box, text="print('a block')")
    assert done.returncode == 0 and done.stdout == "a block\n" and "a block" in replayed(done), done
    done = cli("run", "--template", "host", "--record", "--", "echo", "in a sandbox that goes")
    assert done.stdout == "in a sandbox that goes\n" and done.stdout.strip() in replayed(done), done
    for tool, argument in (("bash", "command=echo by a tool"), ("run_code", "code=print('by a tool')")):
        done = cli("tool", "--sandbox", box, "--record", tool, argument)
        assert done.stdout == "by a tool\n" and "by a tool" in replayed(done), done
    done = cli("tool", "--sandbox", box, "--record", "read", "path=none")
    assert done.returncode != 0 and "the tool 'read' records nothing" in done.stderr, done
    job = cli("job", "run", "--record", box, "--", "echo", "a job")
    assert job.returncode == 0, job
    assert cli("job", "wait", job.stdout.strip()).stdout == "a job\n"
    def of_the_job():
        return [r for r in api.get(f"{LIST}?sandbox={box}")["items"] if r["window"] == "echo" and r["duration_ms"] >= 0][-1:]
    atoll.wait_for(lambda: text_of(recorded(api, of_the_job()[0]["id"])[1]) == "a job\r\n", 20, lambda: api.get(LIST))
