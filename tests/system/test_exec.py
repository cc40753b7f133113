# SPDX-License-Identifier: Apache-2.0
"""Commands: results, argv and shell forms, limits, streams, stdin, signals, reattaching, code."""

import base64
import json
import select
import socket
import statistics
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
BYTES = {"Content-Type": "application/octet-stream"}


def ndjson(response):
    for line in response:
        if line.strip():
            yield json.loads(line)


def text_of(events, name):
    return "".join(base64.b64decode(e["data"]).decode() if e.get("encoding") == "base64" else e["data"]
                   for e in events if e["event"] == name)


def test_a_shell_line(api, box):
    result = api.exec(box, "echo out; echo err >&2; exit 3")
    assert result["exit_code"] == 3 and result["ok"] is False
    assert (result["stdout"], result["stderr"]) == ("out\n", "err\n")
    assert result["timed_out"] is False and result["truncated"] is False
    assert result["duration_ms"] >= 0


@pytest.mark.parametrize("command", ["sleep 60", "trap '' TERM INT; sleep 60", "sleep 60 & sleep 60", "setsid sleep 60 & sleep 60", "yes | head -c 100M > /dev/null; sleep 60"])
def test_a_timeout_ends_a_command_at_its_time(api, box, command):
    """By the agent's clock, and the median, because the machine may be busy."""
    late = []
    for _ in range(10):
        result = api.exec(box, command, timeout_ms=300)
        assert result["timed_out"] and result["duration_ms"] >= 300, result
        late.append(result["duration_ms"] - 300)
    assert statistics.median(late) < 100, late


def test_an_argument_list_meets_no_shell(api, box):
    result = api.exec(box, cmd="echo", args=["$HOME", "; id", "`id`", "a  b"])
    assert result["stdout"] == "$HOME ; id `id` a  b\n"


def test_cwd_env_user_and_stdin(api, box):
    result = api.exec(box, cmd="/bin/sh", args=["-c", "pwd; echo $A; id -un; cat"], cwd="/tmp", env={"A": "b c"},
                      user="root", stdin="typed\n")
    assert result["stdout"] == "/tmp\nb c\nroot\ntyped\n"


def test_the_default_user_and_folder(api, box):
    result = api.exec(box, "id -u; pwd; echo $HOME $ATOLL_PROJECT_DIR")
    assert result["stdout"] == "1000\n/home/user/project\n/home/user /home/user/project\n"


def test_sudo_needs_no_password(api, box):
    result = api.exec(box, "command -v sudo >/dev/null || { echo 0; exit; }; sudo -n id -u")
    assert result["stdout"].strip() == "0", result


def test_a_missing_command_reads_like_a_shells(api, box):
    result = api.exec(box, cmd="no-such-program")
    assert result["exit_code"] == 127
    assert "no-such-program" in result["stderr"]


def test_a_signal_is_told(api, box):
    result = api.exec(box, "kill -SEGV $$")
    assert result["exit_code"] == 128 + 11
    assert result["signal"] in (11, "SIGSEGV", "SEGV")


def test_a_timeout_takes_the_whole_tree(api, box):
    started = time.monotonic()
    script = ("import os,time\n"
              "for i in range(3):\n    if os.fork() == 0:\n        os.setsid()\n"
              "        if os.fork() == 0:\n            os.execvp('sleep', ['sleep', '71.5'])\n        os._exit(0)\n"
              "time.sleep(60)")
    result = api.exec(box, cmd="/usr/bin/python3", args=["-c", script], timeout_ms=700)
    assert result["timed_out"] is True and time.monotonic() - started < 30
    found = api.exec(box, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '", user="root")
    assert "71.5" not in found["stdout"]


def test_background_children_do_not_hold_the_answer(api, box):
    started = time.monotonic()
    result = api.exec(box, "sleep 20 & echo done")
    assert result["stdout"] == "done\n" and time.monotonic() - started < 15


def test_output_over_the_limit_is_marked(api, box):
    result = api.exec(box, "seq 200000", outputLimitBytes=10000)
    assert result["truncated"] is True
    assert len(result["stdout"]) < 11000
    assert result["stdout"].startswith("1\n2\n") and result["stdout"].endswith("199999\n200000\n")
    assert "bytes of output were cut here" in result["stdout"]
    whole = api.exec(box, "seq 20000")
    assert whole["truncated"] is False and whole["stdout"].endswith("20000\n")


def test_binary_output_survives(api, box):
    result = api.exec(box, "printf 'a\\377\\000b'")
    assert result["exit_code"] == 0 and base64.b64decode(result["stdout"]) == b"a\377\0b"


@pytest.mark.parametrize("body, word", [
    ({}, "command"),
    ({"command": "true", "cmd": "true"}, "cmd"),
    ({"command": "true", "user": "nobody-here"}, "nobody-here"),
    ({"command": "true", "cwd": "/no/such/folder"}, "/no/such/folder"),
    ({"command": "true", "timeout_ms": -5}, "timeout_ms"),
    ({"command": "a\0b"}, "u0000"),
    ({"cmd": "x", "args": "not a list"}, "args"),
    ({"command": "true", "env": {"A": 1}}, "env"),
])
def test_bad_requests_say_what_is_wrong(api, box, body, word):
    with pytest.raises(atoll.ApiError) as failure:
        api.post(f"{PATH}/{box}/exec", body)
    assert 400 <= failure.value.status < 500
    assert word in failure.value.message + failure.value.hint


def test_ndjson_streams_with_offsets(server, api, box):
    own = server.api()
    response = own.open("POST", f"{PATH}/{box}/exec", {"command": "echo one; sleep 0.3; echo two >&2; exit 4"},
                        {"Accept": "application/x-ndjson"})
    assert response.status == 200 and "ndjson" in response.headers["Content-Type"]
    events = list(ndjson(response))
    assert events[0]["event"] == "started"
    assert text_of(events, "stdout") == "one\n" and text_of(events, "stderr") == "two\n"
    assert events[-1]["event"] == "exit" and events[-1]["exit_code"] == 4
    assert next(e for e in events if e["event"] == "stdout")["offset"] == 0
    own.close()


def test_a_killed_sandbox_ends_its_streams_with_an_error(server, api):
    box = api.create(internet=False)["id"]
    streams = []
    for method, path, body in (("POST", "/exec?stream=ndjson", {"command": "echo begun; sleep 60"}), ("GET", "/files/watch?path=/tmp&stream=ndjson", None)):
        response = server.api().open(method, f"{PATH}/{box}{path}", body)
        events = ndjson(response)
        assert next(events)["event"] in ("started", "ready")
        streams.append(events)
    assert next(streams[0])["data"] == "begun\n"
    api.remove(box)
    for events in streams:
        last, = events
        assert last["event"] == "error" and last["error"]["code"] == "unavailable" and "ended during the call" in last["error"]["message"]


def test_sse_streams_too(server, box):
    own = server.api()
    response = own.open("POST", f"{PATH}/{box}/exec", {"command": "echo hi"}, {"Accept": "text/event-stream"})
    text = response.read().decode()
    assert "event: stdout" in text and "event: exit" in text and "id: " in text
    own.close()


def test_a_stream_is_never_cut_by_the_output_limit(server, box):
    own = server.api()
    response = own.open("POST", f"{PATH}/{box}/exec", {"command": "seq 1 300000"}, {"Accept": "application/x-ndjson"})
    text = text_of(list(ndjson(response)), "stdout")
    assert text.splitlines()[-1] == "300000" and len(text.splitlines()) == 300000
    own.close()


def detached(api, box, **body):
    return api.post(f"{PATH}/{box}/exec", {"background": True, **body})


def test_a_detached_command_can_be_listed_fed_and_waited_for(api, box):
    process = detached(api, box, cmd="/bin/cat", stdin_open=True)["process"]
    listed = api.get(f"{PATH}/{box}/processes")["items"]
    assert any(p["process"] == process and p["state"] == "running" for p in listed)
    api.call("POST", f"{PATH}/{box}/processes/{process}/stdin", b"hello ", BYTES)
    api.call("POST", f"{PATH}/{box}/processes/{process}/stdin?end=true", b"again\n", BYTES)
    result = api.get(f"{PATH}/{box}/processes/{process}/wait?timeout_ms=30000")
    assert result["exit_code"] == 0 and result["stdout"] == "hello again\n"


def test_a_detached_command_can_be_signalled(api, box):
    process = detached(api, box, command="sleep 100")["process"]
    api.post(f"{PATH}/{box}/processes/{process}/signal", {"signal": "TERM"})
    result = api.get(f"{PATH}/{box}/processes/{process}/wait?timeout_ms=30000")
    assert result["exit_code"] == 143


def test_a_stream_is_taken_up_by_offset(server, api, box):
    process = detached(api, box, command="for i in 1 2 3 4 5 6 7 8 9; do echo line $i; sleep 0.05; done")["process"]
    api.get(f"{PATH}/{box}/processes/{process}/wait?timeout_ms=30000")
    own = server.api()
    whole = own.open("GET", f"{PATH}/{box}/processes/{process}/stream?stream=ndjson&since=0")
    first = text_of(list(ndjson(whole)), "stdout")
    rest = own.open("GET", f"{PATH}/{box}/processes/{process}/stream?stream=ndjson&since=14")
    assert first == "".join(f"line {i}\n" for i in range(1, 10))
    assert text_of(list(ndjson(rest)), "stdout") == first[14:]
    own.close()


def test_a_broken_stream_leaves_the_command_running(server, api, box):
    own = server.api()
    response = own.open("POST", f"{PATH}/{box}/exec", {"command": "echo begin; sleep 1; echo end"},
                        {"Accept": "application/x-ndjson"})
    process = json.loads(response.readline())["process"]
    own.connection.sock.close() if own.connection and own.connection.sock else None
    response.close()
    own.close()
    result = api.get(f"{PATH}/{box}/processes/{process}/wait?timeout_ms=30000")
    assert result["exit_code"] == 0 and result["stdout"] == "begin\nend\n"


@pytest.mark.parametrize("language, code, expected", [
    ("python", "print(sum(range(10)))", "45\n"),
    ("bash", "for i in 1 2; do echo $i; done", "1\n2\n"),
    ("javascript", "console.log([1,2,3].map(x => x * 2).join())", "2,4,6\n"),
    ("typescript", "const x: number = 6; console.log(x * 7)", "42\n"),
])
def test_code(api, box, language, code, expected):
    try:
        result = api.post(f"{PATH}/{box}/code", {"language": language, "code": code})
    except atoll.ApiError as failure:
        if failure.code == "unsupported":
            pytest.skip(f"{language} on the host template: {failure.message}")
        raise
    if result["exit_code"] == 127:
        pytest.skip(f"{language} on the host template: {result['stderr'].strip()}")
    assert result["stdout"] == expected, result
    assert result["runtime"]


def test_code_in_an_unknown_language_is_refused(api, box):
    with pytest.raises(atoll.ApiError) as failure:
        api.post(f"{PATH}/{box}/code", {"language": "cobol", "code": "x"})
    assert failure.value.status == 400 and "python" in failure.value.message + failure.value.hint


def test_many_long_commands_hold_no_worker(server, api, box):
    gate = detached(api, box, command="exec 9>/tmp/gate; flock 9; exec sleep 1000")["process"]
    atoll.wait_for(lambda: api.exec(box, "flock -n /tmp/gate true")["exit_code"] == 1, 30, "the gate to be closed")
    clients = [server.api() for _ in range(40)]
    responses = [c.connection or c for c in clients]
    for client in clients:
        client.raw("GET", "/healthz")
        client.connection.request("POST", f"{PATH}/{box}/exec", json.dumps({"command": "flock /tmp/gate true"}),
                                  {"Authorization": f"Bearer {client.key}", "Content-Type": "application/json"})
    quick = server.api()
    atoll.wait_for(lambda: len([p for p in quick.get(f"{PATH}/{box}/processes")["items"] if p["state"] == "running"]) > len(clients), 30,
                   "all of them to wait for the gate")
    assert quick.exec(box, "echo quick")["stdout"] == "quick\n"
    assert not select.select([client.connection.sock for client in clients], [], [], 0)[0], "it waited for one of them"
    api.post(f"{PATH}/{box}/processes/{gate}/signal", {"signal": "KILL"})
    for client in clients:
        assert client.connection.getresponse().status == 200
        client.close()
    assert len(responses) == 40


def upgrade(server, path):
    """What a browser does: a WebSocket without any header of its own. Returns the status."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
        return int(connection.recv(4096).split()[1])


def test_a_browser_opens_a_terminal_by_its_path_alone(server, api, box):
    opened = api.post(f"{PATH}/{box}/terminal", {})
    assert upgrade(server, opened["path"]) == 101
    assert upgrade(server, opened["path"]) == 401
    again = api.post(f"{PATH}/{box}/terminal", {"session": opened["sessionId"]})
    assert again["process"] == opened["process"] and again["path"] != opened["path"]
    assert upgrade(server, again["path"].split("?")[0]) == 401
    assert upgrade(server, again["path"] + "&since=0") == 101
