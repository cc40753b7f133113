# SPDX-License-Identifier: Apache-2.0
"""Every attempt of src/escape, as root and as user of a sandbox, with the host looked at afterwards."""

import os
import pathlib
import re
import secrets
import socket
import subprocess
import threading

import pytest

import atoll

HERE = pathlib.Path(__file__).parent
pytestmark = pytest.mark.needs_root


def attempt_names():
    """Those that the program makes and that do not end their sandbox."""
    text = (HERE.parents[1] / "src" / "escape" / "rows.c").read_text()
    rows = re.findall(r'^ +\{"(\w+)",(.*?)\},', text, re.M | re.S)
    return [name for name, rest in rows if "BY_API" not in rest and "ESCAPE_LIMITS" not in rest and "NEIGHBOUR" not in rest]


@pytest.fixture(scope="module")
def attempts():
    return (atoll.BUILD / "atoll-attempts").read_bytes()


class Trap:
    """Things on the host that an escape would reach."""

    def __init__(self):
        self.name = "atoll-trap-" + secrets.token_hex(8)
        self.marker = pathlib.Path("/var/tmp") / self.name
        self.marker.write_text("only the host may read this\n")
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind("\0" + self.name)
        self.abstract.listen()
        self.listener = socket.socket()
        self.listener.bind(("0.0.0.0", 0))
        self.listener.listen()
        self.port = self.listener.getsockname()[1]
        self.child = subprocess.Popen(["sleep", "3600"])
        self.reached = []
        for sock in (self.abstract, self.listener):
            threading.Thread(target=self.accept, args=(sock,), daemon=True).start()

    def accept(self, sock):
        while True:
            try:
                peer, _ = sock.accept()
            except OSError:
                return
            self.reached.append(str(sock.getsockname()))
            peer.close()

    def addresses(self):
        out = subprocess.run(["ip", "-4", "-o", "addr"], capture_output=True, text=True, check=True).stdout
        found = {line.split()[3].split("/")[0] for line in out.splitlines()}
        return sorted(found | {"127.0.0.1"})

    def close(self):
        for sock in (self.abstract, self.listener):
            sock.close()
        self.child.kill()
        self.child.wait()
        self.marker.unlink()


@pytest.fixture(scope="module")
def trap():
    made = Trap()
    yield made
    made.close()


def host_fingerprint(data):
    """What no attempt may change."""
    def text(path):
        try:
            return pathlib.Path(path).read_text()
        except OSError as failure:
            return type(failure).__name__
    settings = {path: text(path) for path in (
        "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname",
        "/proc/sys/vm/panic_on_oom", "/proc/sys/kernel/sysrq", "/proc/swaps", "/etc/passwd",
        "/etc/hostname", "/proc/sys/fs/suid_dumpable")}
    settings["mounts"] = atoll.host_mounts(data)
    settings["env"] = os.stat("/usr/bin/env").st_mtime_ns
    return settings


@pytest.fixture(scope="module")
def cages(server, attempts):
    """Two sandboxes with the program inside: one with internet, one without."""
    api = server.api()
    made = {}
    for kind in (True, False):
        made[kind] = api.create(internet=kind)["id"]
        api.write(made[kind], "/home/user/atoll-attempts", attempts, mode="0755")
    yield made
    for sandbox in made.values():
        api.remove(sandbox)
    api.close()


@pytest.mark.parametrize("user", ["root", "user"])
@pytest.mark.parametrize("name", attempt_names())
def test_attempt_is_held(api, server, cages, trap, name, user):
    sandbox = cages[name in ("connect_to_host", "reach_metadata_service")]
    argument = {
        "chroot_and_climb": str(trap.marker),
        "read_host_marker": str(trap.marker),
        "signal_host_processes": str(trap.child.pid),
        "see_host_processes": "sleep",
        "connect_abstract_socket": trap.name,
        "connect_to_host": ",".join(f"{address}:{port}" for address in trap.addresses() if address != "127.0.0.1"
                               for port in (trap.port, server.port)),
        "connect_agent_socket": str(server.data / "run" / "sandboxes" / sandbox / "agent.sock"),
    }.get(name, "")
    before = host_fingerprint(server.data)

    result = api.exec(sandbox, cmd="/home/user/atoll-attempts", args=[name, argument], user=user, timeout_ms=30000)

    assert result["exit_code"] == 0, result["stdout"] + result["stderr"]
    assert "held: " in result["stdout"], result
    assert host_fingerprint(server.data) == before
    assert trap.child.poll() is None
    assert trap.reached == []
    assert api.exec(sandbox, "echo alive")["stdout"] == "alive\n"


def test_there_are_at_least_forty_attempts():
    assert len(attempt_names()) >= 40
