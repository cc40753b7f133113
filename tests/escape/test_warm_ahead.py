# SPDX-License-Identifier: Apache-2.0
"""A Node.js that waits for its one call and works for the attacker: the sandbox's user puts a program of his own in its place. It
has the call's streams long before the call, its order and its token. It may spoil his own calls; it must not make the agent, root
in the sandbox, hang, act on what is not his, or run code twice."""

import contextlib
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/templates"
EVIL = "/home/user/evil"

# Stands in for node. Executed cold it runs its code as Python; as the one that waits it does what ACT says.
PROGRAM = """#!/usr/bin/python3 -I
import os, signal, socket, struct, sys, time
if 'atoll_warm' not in sys.argv[-1]:
    os.execv('/usr/bin/python3', ['python3', '-c', sys.argv[-1]])
control = socket.socket(fileno=3)

def log(text):
    with open('/home/user/evil/log', 'a') as out: out.write(text + chr(10))

def wait():
    control.send(b'R')
    if not control.recv(1): os._exit(0)
    return os.pread(4, 1 << 20, 0).split(bytes(1))[2].decode()

log('started')
"""

ACTS = {
    "honest": "code = wait(); os.read(5, 8); exec(code)",
    "garbage": "control.send(os.urandom(100000)); time.sleep(60)",
    "closes": "control.close(); time.sleep(60)",
    "ready_and_gone": "control.send(b'R'); os._exit(0)",
    "ready_many_times": "while True: control.send(b'R')",
    "never_begins": "wait(); time.sleep(60)",
    "ignores_signals": "for s in range(1, 32):\n    try: signal.signal(s, signal.SIG_IGN)\n    except OSError: pass\nwait(); time.sleep(60)",
    "stopped": "wait(); os.kill(os.getpid(), signal.SIGSTOP); time.sleep(60)",
    "begins_late": "wait(); time.sleep(1)\ntry: os.read(5, 8); log('ran')\nexcept OSError: log('too late')",
    # Before there is a call: then that one has begun as soon as it is given.
    "takes_the_token_first": "os.read(5, 8); code = wait(); exec(code)",
    "returns_the_token": "code = wait(); os.read(5, 8); os.write(5, struct.pack('Q', 1)); os._exit(0)",
    "many_tokens": "wait(); os.write(5, struct.pack('Q', 2**63)); os._exit(11)",
    "prints_before": "os.set_blocking(1, False)\nfor fd in (1, 2):\n    try: os.write(fd, b'early' * 100000)\n    except OSError: pass\n"
                     "code = wait(); os.read(5, 8); exec(code)",
    # Who holds the streams holds no call up.
    "shares_its_streams": "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(30)\n    os._exit(0)\nos.wait()\n"
                          "code = wait(); os.read(5, 8); exec(code); sys.stdout.flush(); os._exit(0)",
    "leaves_children": "for i in range(20):\n    if os.fork() == 0: os.setsid(); time.sleep(30)\nos._exit(0)",
    "huge_order": "os.ftruncate(4, 1 << 44); code = wait(); os.read(5, 8); exec(code)",
    "seals_the_order": "import fcntl\ntry: fcntl.fcntl(4, 1033, 8)\nexcept OSError: log('refused')\ncode = wait(); os.read(5, 8); exec(code)",
    "traced": "import ctypes\nparent = os.getpid()\nif os.fork() == 0:\n    ctypes.CDLL(None).ptrace(16, parent, 0, 0); time.sleep(20); os._exit(0)\n"
              "time.sleep(.2); wait(); time.sleep(60)",
}


@pytest.fixture(scope="module")
def evil(server):
    with contextlib.closing(server.api()) as api:
        api.post(PATH, {"name": "evilahead", "from": "host", "env": {"PATH": f"{EVIL}:/usr/bin:/bin"},
                        "warm": [{"language": "javascript"}]})
        with api.sandbox(template="evilahead", internet=False, resources={"pids": 200}) as sandbox:
            yield sandbox
        api.delete(f"{PATH}/evilahead")


def place(api, sandbox, act):
    """And starts the sandbox anew, so that the agent starts this one."""
    program = PROGRAM + ACTS[act] + "\n"
    assert api.exec(sandbox, f"mkdir -p {EVIL} && rm -f {EVIL}/log {EVIL}/runs && cat > {EVIL}/node.new && chmod 755 {EVIL}/node.new"
                             f" && mv {EVIL}/node.new {EVIL}/node", stdin=program)["ok"]
    api.post(f"/api/sandbox/instances/{sandbox}/stop")
    api.post(f"/api/sandbox/instances/{sandbox}/start")


@pytest.mark.parametrize("act", ACTS)
def test_an_interpreter_of_the_attacker_gains_nothing(api, evil, act):
    place(api, evil, act)
    victim = api.exec(evil, "exec sleep 1000", user="root", background=True)
    atoll.wait_for(lambda: "started" in api.exec(evil, f"cat {EVIL}/log")["stdout"], 30, "the attacker's interpreter")
    time.sleep(0.2)
    for i in range(3):
        begun = time.monotonic()
        result = api.post(f"/api/sandbox/instances/{evil}/code",
                          {"language": "javascript", "code": f"open('{EVIL}/runs', 'a').write('{i}'); print({i})", "timeout_ms": 5000})
        assert time.monotonic() - begun < 20
        # What it spoils are its own calls; an honest one's output is its own alone.
        assert result["stdout"] in (f"{i}\n", "") and (result["stdout"] or result.get("warm")), result
        if act in ("honest", "prints_before", "shares_its_streams", "huge_order", "seals_the_order", "many_tokens"):
            assert result["stdout"] == f"{i}\n" and result["stderr"] == ""
    ran = api.exec(evil, f"cat {EVIL}/runs")["stdout"]
    assert len(ran) <= 3 and len(set(ran)) == len(ran)
    if act == "begins_late":
        time.sleep(1.2)
        assert "ran" not in api.exec(evil, f"cat {EVIL}/log")["stdout"].split()
    # Root's process lives, and the agent serves.
    found = api.get(f"/api/sandbox/instances/{evil}/processes/{victim['process']}")
    assert found["state"] == "running", found
    api.post(f"/api/sandbox/instances/{evil}/processes/{victim['process']}/signal", {"signal": "KILL"})
    assert api.exec(evil, "echo fine")["stdout"] == "fine\n"
