# SPDX-License-Identifier: Apache-2.0
"""A job's token is process 1's alone: neither root inside nor the job finds it, and no job ends another."""

import http.server
import json
import threading

import pytest

import atoll

pytestmark = pytest.mark.needs_root

# Everything that root of the sandbox may try on process 1: its environment, its memory, tracing it, its descriptors.
LOOK = r"""
import ctypes, glob, os
found = []
def attempt(name, act):
    try:
        data = act()
    except OSError as error:
        print(name, error.errno)
    else:
        print(name, "readable")
        found.append(data if isinstance(data, bytes) else b"")
def memory():
    with open("/proc/1/maps") as maps, open("/proc/1/mem", "rb", 0) as mem:
        start, end = maps.readline().split()[0].split("-")
        mem.seek(int(start, 16))
        return mem.read(4096)
def trace():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, 1, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")
def read_vm():
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(64)
    class Piece(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
    mine, theirs = Piece(ctypes.addressof(buffer), 64), Piece(0x400000, 64)
    if libc.process_vm_readv(1, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "process_vm_readv")
attempt("environ", lambda: open("/proc/1/environ", "rb").read())
attempt("mem", memory)
attempt("ptrace", trace)
attempt("vm", read_vm)
attempt("fd", lambda: b"".join(os.readlink(f).encode() for f in glob.glob("/proc/1/fd/*")) or os.listdir("/proc/1/fd"))
attempt("socket", lambda: __import__("socket").socket(17, 3, 0x300))
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    try:
        found.append(open(path, "rb").read())
    except OSError:
        pass
print("TOKEN" if any(b"atj_" in data for data in found if b"-c" not in data) else "no token")
"""


class Sink(http.server.BaseHTTPRequestHandler):
    posts = []

    def do_POST(self):
        self.posts.append((self.path, self.headers["Authorization"], json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments):
        pass


def test_root_inside_cannot_find_a_jobs_token_nor_end_another_job(private_server):
    sink = http.server.ThreadingHTTPServer(("0.0.0.0", 0), Sink)
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    server = private_server
    # The gateway of every sandbox: where it is not reached, the agent has the token all the same, which is what counts.
    server.flags += ["--jobs-callback-url", f"http://10.213.0.1:{sink.server_port}"]
    api = server.start().api()
    box = api.create(internet=True)["id"]
    victim = api.exec(box, "sleep 1000", background=True, user="root")["resultId"]
    seen = api.exec(box, user="root", cmd="/usr/bin/python3", args=["-c", LOOK])
    assert seen["exit_code"] == 0, seen
    lines = dict(line.rsplit(" ", 1) for line in seen["stdout"].splitlines())
    for way in ("environ", "mem", "ptrace", "vm", "socket"):
        assert lines[way] != "readable", seen["stdout"]
    assert seen["stdout"].endswith("no token\n"), seen["stdout"]
    # What a job could guess: its own id, another's, no token, a key's form.
    for token in ("", "atj_" + "a" * 40, victim, "atoll_" + "a" * 40):
        with pytest.raises(atoll.ApiError) as caught:
            api.call("POST", f"/sandbox-jobs/{victim}/complete", {"status": "completed", "exitCode": 0},
                     {"Authorization": f"Bearer {token}"})
        assert caught.value.code == "unauthenticated"
    assert api.get(f"/v1/jobs/{victim}")["status"] == "running"
    sink.shutdown()
    sink.server_close()


def test_a_blocked_sandbox_has_no_token_at_all_and_its_jobs_end_all_the_same(private_server):
    server = private_server
    server.flags += ["--jobs-callback-url", "http://10.213.0.1:9"]
    api = server.start().api()
    box = api.create(internet=False)["id"]
    job = api.exec(box, "echo done", background=True)["resultId"]
    row = atoll.wait_for(lambda: (lambda r: r["status"] != "running" and r)(api.get(f"/v1/jobs/{job}")))
    assert row["logs"]["stdout"] == "done\n"
    server.stop()
    import sqlite3
    with sqlite3.connect(server.data / "store" / "atoll.db") as db:
        assert db.execute("SELECT token_hash, token_expires_at FROM jobs").fetchall() == [(bytes(32), 0)]
    server.start()
