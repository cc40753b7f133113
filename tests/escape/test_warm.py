# SPDX-License-Identifier: Apache-2.0
"""A warm interpreter that works for the attacker. The sandbox's user puts a program of his own in its place, which gets all
that the agent sends it. It may spoil his own calls; it must not make the agent, root in the sandbox, act on processes that are
not his, give it anything, hang, or run code twice."""

import contextlib
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/templates"
EVIL = "/home/user/evil"

# Stands in for python3. Executed cold it is the real one; as the interpreter that is kept warm it does what ACT says.
PROGRAM = """#!/usr/bin/python3 -I
import os, socket, sys, time, struct, array
if 'atoll_warm' not in sys.argv[-1]:
    os.execv('/usr/bin/python3', ['python3'] + sys.argv[1:])
control = socket.socket(fileno=0)
control.recv(65536); control.recv(65536)

def spare():
    _, fds, _, _ = socket.recv_fds(control, 64, 4)
    if not fds: os._exit(0)
    return socket.socket(fileno=fds[0])

def double():                       # what an honest one does: True in the child, False in us, gone in between
    if (between := os.fork()):
        os.waitpid(between, 0)
        return False
    between = os.getpid()
    if os.fork(): os._exit(0)
    while os.getppid() == between: time.sleep(0)
    os.setsid()
    return True

def wait_for_order(sock):
    data, fds, _, _ = socket.recv_fds(sock, 64, 16)
    return fds

def log(text):
    with open('/home/user/evil/log', 'a') as out: out.write(text + chr(10))

log('started')
"""

ACTS = {
    "garbage": "spare().send(os.urandom(1000)); time.sleep(60)",
    "silence": "s = spare(); time.sleep(60)",
    "closes": "spare().close(); time.sleep(60)",
    "closes_all": "spare(); os._exit(0)",
    "words_of_its_own": "s = spare(); s.send(b'K'); s.send(b'R'); time.sleep(60)",
    "only_the_second": "s = spare(); double() and (s.send(b'R'), time.sleep(60)); time.sleep(60)",
    "many_words": "s = spare()\nif double():\n    while True: s.send(b'K')\ntime.sleep(60)",
    "descriptors": "s = spare(); f = [os.open('/dev/null', 0) for _ in range(16)]; socket.send_fds(s, [b'K'], f); time.sleep(60)",
    "zero": "s = spare(); socket.send_fds(s, [b''], [0]); time.sleep(60)",
    # The kernel refuses to say of somebody else that he has sent it.
    "forged": "s = spare()\nfor pid in (1, os.getppid(), VICTIM):\n    try: s.sendmsg([b'K'], [(socket.SOL_SOCKET,"
              " socket.SCM_CREDENTIALS, struct.pack('3i', pid, os.getuid(), os.getgid()))])\n"
              "    except OSError: log('refused')\ntime.sleep(60)",
    # Both words from one process: the agent would take its own child for the call.
    "one_for_both": "s = spare()\nif double(): s.send(b'K'); s.send(b'R')\ntime.sleep(60)",
    "no_session": "s = spare()\nif double():\n    s.send(b'K')\n    if not os.fork(): s.send(b'R')\ntime.sleep(60)",
    "never_begins": "s = spare()\nif double():\n    s.send(b'K')\n    if not os.fork(): os.setsid(); s.send(b'R'); fds = wait_for_order(s)\n"
                    "    time.sleep(60)\ntime.sleep(60)",
    # The order stays unread, the token is read late: nobody may run it then.
    "begins_late": "s = spare()\nif double():\n    s.send(b'K')\n    if not os.fork():\n        os.setsid(); s.send(b'R')\n"
                   "        fds = wait_for_order(s)\n        time.sleep(1)\n        try: os.read(fds[1], 8); log('ran')\n"
                   "        except OSError: log('too late')\n    time.sleep(60)\ntime.sleep(60)",
    # It gives the token back to make the agent believe that nobody runs it, and runs it.
    "returns_the_token": "s = spare()\nif double():\n    s.send(b'K')\n    if not os.fork():\n        os.setsid(); s.send(b'R')\n"
                         "        fds = wait_for_order(s)\n        os.read(fds[1], 8); os.write(fds[1], struct.pack('Q', 1))\n"
                         "    time.sleep(60)\ntime.sleep(60)",
    "many_tokens": "s = spare()\nif double():\n    s.send(b'K')\n    if not os.fork():\n        os.setsid(); s.send(b'R')\n"
                   "        fds = wait_for_order(s)\n        os.write(fds[1], struct.pack('Q', 2**63))\n        os._exit(11)\n"
                   "    os.wait(); os._exit(11)\ntime.sleep(60)",
    "always_stale": "while True:\n    s = spare()\n    if double():\n        s.send(b'K')\n        if not os.fork():\n            os.setsid();"
                    " s.send(b'R'); wait_for_order(s); os._exit(11)\n        os.wait(); os._exit(11)",
    "stopped_keeper": "import signal\ns = spare()\nif double():\n    s.send(b'K')\n    if not os.fork():\n        os.setsid(); s.send(b'R')\n"
                      "        wait_for_order(s)\n    os.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(60)",
    "floods_control": "s = spare()\ncontrol.setblocking(False)\ntry:\n    while True: control.send(b'x' * 60000)\nexcept OSError: pass\ntime.sleep(60)",
}


@pytest.fixture(scope="module")
def evil(server):
    with contextlib.closing(server.api()) as api:
        api.post(PATH, {"name": "evil", "from": "host", "env": {"PATH": f"{EVIL}:/usr/bin:/bin"},
                        "warm": [{"language": "python"}]})
        with api.sandbox(template="evil", internet=False) as sandbox:
            victim = api.exec(sandbox, "sleep 1000", user="root", background=True)
            yield sandbox, victim
        api.delete(f"{PATH}/evil")


def place(api, sandbox, act, victim):
    """And ends the interpreter that is there, whatever it is, so that the agent starts this one."""
    program = PROGRAM + ACTS[act].replace("VICTIM", str(victim["pid"])) + "\n"
    assert api.exec(sandbox, f"mkdir -p {EVIL} && rm -f {EVIL}/log && cat > {EVIL}/python3.new && chmod 755 {EVIL}/python3.new"
                             f" && mv {EVIL}/python3.new {EVIL}/python3", stdin=program)["ok"]
    api.post(f"/api/sandbox/instances/{sandbox}/stop")
    api.post(f"/api/sandbox/instances/{sandbox}/start")


def code(api, sandbox, text):
    return api.post(f"/api/sandbox/instances/{sandbox}/code", {"language": "python", "code": text, "timeout_ms": 5000})


@pytest.mark.parametrize("act", ACTS)
def test_an_interpreter_of_the_attacker_gains_nothing(api, evil, act):
    sandbox, _ = evil
    place(api, sandbox, act, {"pid": 2})
    victim = api.exec(sandbox, "exec sleep 1000", user="root", background=True)
    atoll.wait_for(lambda: "started" in api.exec(sandbox, f"cat {EVIL}/log")["stdout"], 30, "the attacker's interpreter")
    for i in range(3):
        begun = time.monotonic()
        result = code(api, sandbox, f"open('/home/user/evil/runs', 'a').write('x'); print({i})")
        assert time.monotonic() - begun < 20
        if act not in ("returns_the_token", "begins_late"):
            # What it spoils are its own calls: nobody else's, and it does not make them run twice.
            assert result["stdout"] in (f"{i}\n", "") and (result["stdout"] or result.get("warm"))
    ran = api.exec(sandbox, f"cat {EVIL}/runs; rm -f {EVIL}/runs")["stdout"]
    assert len(ran) <= 3
    if act == "begins_late":
        time.sleep(1.2)
        assert "ran" not in api.exec(sandbox, f"cat {EVIL}/log")["stdout"].split()
    # Root's process lives, and the agent serves.
    found = api.get(f"/api/sandbox/instances/{sandbox}/processes/{victim['process']}")
    assert found["state"] == "running", found
    api.post(f"/api/sandbox/instances/{sandbox}/processes/{victim['process']}/signal", {"signal": "KILL"})
    assert api.exec(sandbox, "echo fine")["stdout"] == "fine\n"


HAND_OVER = """
s = spare()
out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
out.connect('/home/user/evil/in')
socket.send_fds(out, [b'x'], [s.fileno()])
time.sleep(60)
"""
DAEMON = """
import os, socket, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork() == 0:
    os.setgroups([]); os.setgid(1000); os.setuid(1000)
    os.setsid()
    box = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    box.bind('/home/user/evil/in')
    _, fds, _, _ = socket.recv_fds(box, 10, 2)
    s = socket.socket(fileno=fds[0])
    s.send(b'R')
    open('/home/user/evil/said', 'w').write('R')
open('/home/user/evil/daemon', 'w').write(str(os.getpid())) if os.getuid() == 0 else None
time.sleep(600)
"""
KILL = """
import os, signal
for p in os.listdir('/proc'):
    try:
        if p.isdigit() and int(p) != os.getpid() and b'atoll_' + b'warm' in open(f'/proc/{p}/cmdline', 'rb').read():
            os.kill(int(p), signal.SIGKILL)
    except OSError: pass
"""


def test_a_call_cannot_be_pointed_at_a_process_of_root(api, evil):
    """A daemon of root's, and the attacker's process below it, which has got the socket: were both taken for a call, its end
    would be the daemon's."""
    sandbox, _ = evil
    place(api, sandbox, "silence", {"pid": 2})
    assert api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", DAEMON], user="root")["ok"]
    atoll.wait_for(lambda: api.exec(sandbox, f"test -S {EVIL}/in && test -s {EVIL}/daemon")["ok"], 30, "the daemon")
    assert api.exec(sandbox, f"cat > {EVIL}/new && chmod 755 {EVIL}/new && mv {EVIL}/new {EVIL}/python3",
                    stdin=PROGRAM + HAND_OVER)["ok"]
    api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", KILL], user="root")
    atoll.wait_for(lambda: api.exec(sandbox, f"cat {EVIL}/said")["stdout"] == "R", 15, "the attacker's word")
    result = code(api, sandbox, "print('done')")
    assert result["stdout"] == "done\n" and "warm" not in result
    assert api.exec(sandbox, f"kill -0 $(cat {EVIL}/daemon)", user="root")["ok"]
