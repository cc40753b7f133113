# SPDX-License-Identifier: Apache-2.0
"""atoll-launch, which keeps every privilege for the broker: what the broker may do without it, and kill -9 of both."""

import concurrent.futures
import contextlib
import os
import pathlib
import signal
import tarfile

import pytest

import atoll
from test_kills import PATH, clean_after, named_steps, truth, use

pytestmark = pytest.mark.needs_root
# Those of volumes are in system/test_volumes.py.
STEPS = [step for step in named_steps("launch", r'fault_point\("launch", ') if not step.startswith("volume-")]
TEMPLATES = "/api/sandbox/templates"
# Those of atoll-image: CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID SETPCAP NET_ADMIN SYS_CHROOT SYS_ADMIN MKNOD SETFCAP.
IMAGE_CAPABILITIES = (0, 1, 3, 4, 5, 6, 7, 8, 12, 18, 21, 27, 31)
BROKER_CAPABILITIES = {"chown": 0, "dac_override": 1, "fowner": 3, "fsetid": 4, "kill": 5, "setgid": 6, "setuid": 7, "net_admin": 12}


def servers(broker):
    """The processes of atoll-launch that serve this broker: the main one first."""
    found, parents = [], [broker]
    while parents:
        parent = parents.pop(0)
        with contextlib.suppress(OSError):
            for child in pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
                if pathlib.Path(f"/proc/{child}/cmdline").read_bytes().startswith(b"atoll-launch\0"):
                    found.append(int(child))
                    parents.append(int(child))
    return found


def status_of(pid):
    return dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())


def test_the_broker_has_few_capabilities_and_its_server_all(private_server):
    private_server.start()
    broker = private_server.pid_of("broker")
    wanted = sum(1 << bit for bit in BROKER_CAPABILITIES.values())
    status = status_of(broker)
    for which in ("CapEff", "CapPrm", "CapBnd"):
        assert int(status[which], 16) == wanted & int(status_of(os.getpid())["CapBnd"], 16), (which, status[which])
    assert int(status["CapInh"], 16) == int(status["CapAmb"], 16) == 0
    server = atoll.wait_for(lambda: servers(broker), 10, "atoll-launch")[0]
    assert status_of(server)["CapEff"] == status_of(os.getpid())["CapEff"]


def image_builders(broker):
    """The status of each atoll-image that works for this broker."""
    found, parents = [], [broker]
    while parents:
        parent = parents.pop()
        with contextlib.suppress(OSError):
            for child in pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
                parents.append(int(child))
                if pathlib.Path(f"/proc/{child}/cmdline").read_bytes().startswith(b"atoll-image\0"):
                    found.append(status_of(int(child)))
    return found


def test_a_builder_of_images_has_few_capabilities_and_a_filter(private_server, tmp_path):
    private_server.start()
    broker = private_server.pid_of("broker")
    archive = tmp_path / "zeros.tar"
    with tarfile.open(archive, "w") as tar, open("/dev/zero", "rb") as zeros:
        member = tarfile.TarInfo("usr/zeros")
        member.size = 200 << 20
        tar.addfile(member, zeros)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        imported = pool.submit(private_server.api(timeout=60).call, "POST", f"{TEMPLATES}/import?name=zeros&format=tar", archive.read_bytes(),
                               {"Content-Type": "application/octet-stream"})
        builder = atoll.wait_for(lambda: image_builders(broker), 30, "atoll-image")[0]
        imported.result()
    allowed = sum(1 << bit for bit in IMAGE_CAPABILITIES)
    assert int(builder["CapBnd"], 16) & ~allowed == 0 and int(builder["CapEff"], 16) & ~allowed == 0, builder
    assert (builder["Seccomp"], builder["NoNewPrivs"]) == ("2", "1")
    private_server.api().delete(f"{TEMPLATES}/zeros")


@pytest.mark.parametrize("victim", ["server", "broker"])
def test_each_ends_with_the_other_and_sandboxes_live_on(private_server, victim):
    private_server.start()
    api = private_server.api(timeout=30)
    made = api.create(internet=False, persistent=True)["id"]
    api.write(made, "/home/user/kept", b"kept")
    broker = private_server.pid_of("broker")
    server = servers(broker)[0]
    os.kill({"server": server, "broker": broker}[victim], signal.SIGKILL)
    atoll.wait_for(lambda: not os.path.exists(f"/proc/{server}") and not os.path.exists(f"/proc/{broker}"), 20, "the end of both")
    atoll.wait_for(lambda: private_server.pid_of("broker") not in (None, broker), 20, "another broker")
    assert api.read(made, "/home/user/kept") == b"kept"
    use(api)
    truth(private_server)
    api.remove(made)
    clean_after(private_server)


def test_the_steps_are_known():
    assert len(STEPS) >= 1


@pytest.mark.parametrize("step", STEPS)
def test_servers_die_at_a_step(private_server, step):
    private_server.environment["ATOLL_FAULT"] = f"launch:{step}:kill"
    private_server.start()
    for _ in range(2):
        use(private_server.api(timeout=20))
    clean_after(private_server)
