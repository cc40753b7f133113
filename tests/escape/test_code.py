# SPDX-License-Identifier: Apache-2.0
"""An interpreter that works for the attacker: a sandbox's python3 is a program of its own, which knows the marks of the block
that it is given. It may spoil its own answers; it must not make atolld keep what it says, hang, or believe it."""

import contextlib
import time

import atoll
import pytest

pytestmark = pytest.mark.needs_root

EVIL = "/home/user/evil"
PROGRAM = """#!/usr/bin/python3 -I
import os, signal, sys, time
head = os.read(0, 35)
nonce = head[:16]
def tell(text, kind=b'.', fd=1): os.write(fd, b'\\x1e' + nonce + kind + text + b'\\n')
def begin(): tell(b'{"type":"begin","count":1}')
def end(): tell(b'{"type":"end"}'); tell(b'', fd=2)
"""

# The program's last lines, and what the answer then has: a part of stderr, or the error's name.
ACTS = {
    "endless_message": ("begin()\nfor _ in range(12000): tell(b'x' * 4000, b'+')\ntell(b'')\nend()", "longer than 16 MiB"),
    "endless_piece": ("begin()\nos.write(1, b'\\x1e' + nonce + b'.')\nfor _ in range(3000): os.write(1, b'x' * 4096)\n"
                      "os.write(1, b'\\n')\nend()", None),
    "many_results": ("begin()\nfor _ in range(9000): tell(b'{\"type\":\"result\",\"html\":\"' + b'y' * 3900 + b'\"}')\nend()", None),
    "deep": ("begin()\ntell(b'{\"type\":\"result\",\"json\":' + b'[' * 1500 + b']' * 1500 + b'}')\nend()", "left out"),
    "wrong_types": ("begin()\ntell(b'{\"type\":\"error\",\"name\":[],\"value\":{}}')\nend()", "left out"),
    "no_beginning": ("tell(b'{\"type\":\"result\",\"text\":\"a\"}')\nend()\ntime.sleep(60)", "KernelEnded"),
    "ends_twice": ("begin()\nend()\nend()\nbegin()", None),
    "gone": ("os._exit(0)", "KernelEnded"),
    "gone_in_a_message": ("begin()\nos.write(1, b'\\x1e' + nonce + b'+{\"type\"')\nos._exit(1)", "KernelEnded"),
    "silent": ("signal.signal(signal.SIGINT, signal.SIG_IGN)\nbegin()\ntime.sleep(600)", "KernelEnded"),
    "stopped": ("begin()\nos.kill(os.getpid(), signal.SIGSTOP)", "KernelEnded"),
}
SLOW = {"silent", "stopped", "no_beginning"}


@pytest.fixture(scope="module")
def evil(server):
    with contextlib.closing(server.api()) as api:
        api.post("/api/sandbox/templates", {"name": "evil-code", "from": "host", "env": {"PATH": f"{EVIL}:/usr/bin:/bin"}})
        with api.sandbox(template="evil-code", internet=False) as box:
            yield box
        api.delete("/api/sandbox/templates/evil-code")


@pytest.mark.parametrize("act", ACTS)
def test_an_interpreter_of_the_attackers(api, server, evil, act):
    lines, expected = ACTS[act]
    written = api.exec(evil, f"mkdir -p {EVIL} && cat > {EVIL}/python3 && chmod 755 {EVIL}/python3", stdin=PROGRAM + lines + "\n")
    assert written["exit_code"] == 0, written
    before = resident(server)
    begun = time.monotonic()
    answer = api.post(f"/api/sandbox/instances/{evil}/code",
                      {"language": "python", "contextId": "default", "code": "1", "timeout_ms": 500 if act in SLOW else 15000})
    assert time.monotonic() - begun < 20
    told = answer["stderr"] + (answer["error"] or {}).get("name", "")
    if expected:
        assert expected in told, answer
    assert resident(server) - before < 300 << 20
    for item in api.get(f"/api/sandbox/instances/{evil}/code/contexts")["items"]:
        api.delete(f"/api/sandbox/instances/{evil}/code/contexts/{item['id']}")
    assert api.exec(evil, "echo fine")["stdout"] == "fine\n"


def resident(server):
    with open(f"/proc/{server.pid_of('api')}/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_a_label_does_not_make_a_context(api, evil):
    with contextlib.suppress(atoll.ApiError):
        api.exec(evil, "sleep 5 &", label="code:python:mine")
    assert api.get(f"/api/sandbox/instances/{evil}/code/contexts")["items"] == []
