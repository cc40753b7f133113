# SPDX-License-Identifier: Apache-2.0
"""Commands and blocks of code that are recorded as asciicast: docs/use/terminals.md."""

import json
import subprocess

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


def test_what_cannot_be_recorded_is_refused(api, box):
    for body in ({"command": "true", "record": True, "background": True}, {"command": "true", "record": "yes"}):
        with pytest.raises(atoll.ApiError) as refused:
            api.post(f"{PATH}/{box}/exec", body)
        assert refused.value.status == 400 and "record" in str(refused.value)
    with pytest.raises(atoll.ApiError) as refused:
        api.post(f"{PATH}/{box}/code", {"language": "python", "code": "1", "contextId": "default", "record": True})
    assert refused.value.status == 400


def test_the_command_line_records(server, api, box):
    env = {"ATOLL_API_URL": f"http://127.0.0.1:{server.port}", "ATOLL_API_KEY": server.key, "PATH": "/usr/bin:/bin", "HOME": "/root"}
    done = subprocess.run([atoll.ATOLL, "exec", "--record", box, "--", "echo", "by hand"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout == "by hand\n", done
    atoll.wait_for(lambda: [r for r in api.get(f"{LIST}?sandbox={box}")["items"] if r["window"] == "echo"], 20, lambda: api.get(LIST))
