# SPDX-License-Identifier: Apache-2.0
"""The provider microvm: a server whose sandboxes are virtual machines of QEMU."""

import concurrent.futures
import contextlib
import os
import re
import signal
import subprocess
import time

import pytest

import atoll
import far
import microvm_parts

PATH = "/api/sandbox/instances"
pytestmark = [pytest.mark.providers, pytest.mark.skipif(microvm_parts.reason() is not None, reason=str(microvm_parts.reason()))]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = atoll.Server(flags=["--providers", "native,vm=microvm", "--microvm-kernel", microvm_parts.KERNEL]).start()
    try:
        microvm_parts.template(server, tmp_path_factory.mktemp("small"))
        microvm_parts.make_image(server, resources={"memory_mb": 192, "disk_mb": 64})
        yield server
    finally:
        server.remove_all()


def machine(api, template="small", internet=False, **resources):
    return api.sandbox(template=template, internet=internet, provider="vm", resources={"memory_mb": 192, "disk_mb": 64, **resources})


def images(server):
    """Folders of images, and of sandboxes that make them."""
    return sorted(path.name for kind in ("snapshots", "sandboxes") for path in (server.data / kind).glob("vmimag*"))


def said(api, box, command, **options):
    result = api.exec(box, command, **options)
    assert result["exit_code"] == 0, result
    return result["stdout"].strip()


@pytest.mark.smoke
def test_a_sandbox_is_a_machine_with_a_kernel_of_its_own(api):
    with machine(api) as box:
        shown = api.get(f"{PATH}/{box}")
        assert (shown["provider"], shown["isolation"]) == ("vm", "microvm")
        assert {"compare files", "keep volumes"} <= set(shown["unsupported"])
        assert said(api, box, "uname -r") != os.uname().release
        assert said(api, box, "id -un; hostname").split() == ["root", shown["name"]]
        assert said(api, box, "id -un", user="user") == "user"
        assert said(api, box, "ls -ld /opt").startswith("drwxr-x---")
        failed = api.exec(box, "echo error >&2; exit 3")
        assert failed["stderr"] == "error\n" and failed["exit_code"] == 3


def accelerator_of(api, name="vm"):
    (shown,) = [p for p in api.get("/v1/providers")["items"] if p["name"] == name]
    return shown["accelerator"], shown["accelerator_because"]


def tried(api, name="vm"):
    """The accelerator, after the trial boot has ended."""
    atoll.wait_for(lambda: "under way" not in accelerator_of(api, name)[1], 60, "the end of the trial boot")
    return accelerator_of(api, name)


def test_a_trial_boot_chooses_the_accelerator(server, api):
    """A machine boots under KVM, or does not; both are shown with the reason, and machines are made in either case."""
    name, because = tried(api)
    if not os.path.exists("/dev/kvm"):
        assert (name, because) == ("tcg", "this machine has no /dev/kvm")
        return
    assert because.startswith("a trial machine booted" if name == "kvm" else "the trial boot failed"), because
    reason = "booted" if name == "kvm" else "failed"
    assert f'atoll_provider_accelerator{{provider="vm",accelerator="{name}",reason="{reason}"}} 1' in api.raw("GET", "/metrics").body.decode()
    assert api.post("/v1/providers/vm/check")["accelerator_because"] == because
    assert not list((server.data / "sandboxes").glob("vmimag*")), "the trial has left its sandbox"
    with machine(api) as box:
        assert said(api, box, "echo on") == "on"
        arguments = open(f"/proc/{microvm_parts.machines([api.get(f'{PATH}/{box}')['name']])[0]}/cmdline").read().split("\0")
        assert arguments[arguments.index("-accel") + 1].split(",")[0] == name


def test_the_result_of_a_trial_is_kept(server, api):
    first = tried(api)
    if not os.path.exists("/dev/kvm"):
        pytest.skip("there is no /dev/kvm to try")
    kept = (server.data / "microvm" / "accelerator").read_text()
    assert kept.splitlines()[2:] == list(first)
    server.kill9("api")
    server.wait_ready()
    with contextlib.closing(server.api()) as again:
        assert accelerator_of(again) == first
    assert (server.data / "microvm" / "accelerator").read_text() == kept


def test_an_accelerator_that_is_demanded_is_never_replaced(server, api):
    """A provider of its own with the option `kvm`: without KVM it refuses creates and says why."""
    api.post("/v1/providers", {"name": "strict", "kind": "microvm", "settings": {"microvm_accelerator": "kvm"}})
    try:
        atoll.wait_for(lambda: accelerator_of(api, "strict")[0] == "kvm", 30, "the provider")
        _, because = tried(api, "strict")
        if because.startswith("a trial machine booted"):
            pytest.skip("KVM works here")
        with pytest.raises(atoll.ApiError) as caught, api.sandbox(template="small", internet=False, provider="strict"):
            pass
        assert "may only use KVM" in caught.value.message and because[:60] in caught.value.message
    finally:
        for left in api.get(f"{PATH}?provider=strict")["items"]:
            api.delete(f"{PATH}/{left['id']}")
        api.delete("/v1/providers/strict")


@pytest.mark.parametrize("setting, says", [({"microvm_vmm": "firecracker"}, "microvm_vmm: 'firecracker' is not supported; supported: qemu"),
                                           ({"microvm_vmm": "cloud-hypervisor"}, "microvm_vmm: 'cloud-hypervisor' is not supported; supported: qemu"),
                                           ({"microvm_accelerator": "hvf"}, "'hvf' is not supported; supported: auto, kvm, tcg")])
def test_what_is_not_supported_is_refused_by_name(api, setting, says):
    with pytest.raises(atoll.ApiError) as caught:
        api.post("/v1/providers", {"name": "other", "kind": "microvm", "settings": setting})
    assert caught.value.status in (400, 501) and says in caught.value.message, caught.value.message


def test_files_outlive_a_stop_but_no_process_does(api):
    with machine(api) as box:
        api.write(box, "/home/user/project/note", b"\0\1kept")
        api.post(f"{PATH}/{box}/stop")
        api.post(f"{PATH}/{box}/start")
        assert api.read(box, "/home/user/project/note") == b"\0\1kept"


def test_machines_of_one_memory_share_no_identity(api):
    """Both continue from the same saved memory: nothing that must be unique may come from it."""
    told = []
    for _ in range(2):
        with machine(api) as box:
            told.append(said(api, box, "hostname; cat /etc/machine-id; cat /proc/sys/kernel/random/uuid; cat /proc/sys/kernel/random/boot_id;"
                                       "head -c 16 /dev/urandom | od -An -tx1").splitlines())
            assert abs(int(said(api, box, "date +%s")) - time.time()) < 5
    assert all(one != other for one, other in zip(*told, strict=True)), told


def test_a_create_copies_no_file_of_the_template(server, api):
    with machine(api) as box:
        said(api, box, "true")
        own = server.data / "sandboxes" / box
        written = int(subprocess.run(["du", "-sk", own], capture_output=True, text=True, check=True).stdout.split()[0])
        assert written < 16 * 1024, written
        assert len(images(server)) == 1


def test_the_memory_of_machines_is_shared(server, api):
    boxes = []
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            boxes.append(stack.enter_context(machine(api)))
        said(api, boxes[0], "true")
        shared = private = 0
        pids = microvm_parts.machines([api.get(f"{PATH}/{box}")["name"] for box in boxes])
        assert len(pids) == len(boxes)
        for pid in pids:
            rollup = dict(re.findall(r"^(\w+): +(\d+) kB", open(f"/proc/{pid}/smaps_rollup").read(), re.M))
            shared += int(rollup["Shared_Clean"]) + int(rollup["Shared_Dirty"])
            private += int(rollup["Private_Dirty"])
        assert shared > 3 * 16 * 1024 and private < 3 * 96 * 1024, (shared, private)


def test_images_go_with_their_template(server, api, tmp_path):
    microvm_parts.template(server, tmp_path, "gone")
    before = images(server)
    with machine(api, template="gone"):
        assert len(images(server)) == len(before) + 1
    api.delete("/api/sandbox/templates/gone")
    atoll.wait_for(lambda: images(server) == before, 20, "the end of the image")


def test_an_image_that_is_broken_is_made_again(server, api):
    with machine(api, memory_mb=160) as box:
        said(api, box, "true")
    before = images(server)
    for path in server.data.glob("snapshots/vmimag*/**/saved/state"):
        path.write_bytes(b"garbage")
    with machine(api, memory_mb=160) as box:
        assert said(api, box, "echo on") == "on"
    after = images(server)
    assert len(after) == len(before) and len(set(after) - set(before)) == 1


def test_a_server_that_dies_while_it_makes_an_image_leaves_nothing(server, api):
    before = images(server)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        lost = pool.submit(lambda: api.sandbox(template="small", internet=False, provider="vm", resources={"memory_mb": 176, "disk_mb": 64}).__enter__())
        atoll.wait_for(lambda: set(images(server)) - set(before), 60, "the making of an image")
        server.kill9("api")
        with contextlib.suppress(Exception):
            lost.result(timeout=120)
    server.wait_ready()
    atoll.wait_for(lambda: not list((server.data / "sandboxes").glob("vmimag*")), 60, "the end of what made the image")


def test_a_pause_keeps_processes(api):
    with machine(api) as box:
        said(api, box, "echo one > /run/memory", user="root")
        api.post(f"{PATH}/{box}/pause")
        assert api.get(f"{PATH}/{box}")["state"] == "paused"
        api.post(f"{PATH}/{box}/resume")
        assert said(api, box, "cat /run/memory") == "one"


def test_memory_disk_and_processes_are_limited(api):
    with machine(api, pids=40, cpu=1) as box:
        assert int(said(api, box, "awk '/MemTotal/ {print $2}' /proc/meminfo")) < 192 * 1024
        assert api.exec(box, "dd if=/dev/zero of=big bs=1M count=100")["exit_code"] != 0
        forks = api.exec(box, "i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i+1)); done; wait")
        assert "fork" in forks["stderr"], forks
        assert said(api, box, "nproc") == "1"


def test_code_inside_reaches_neither_the_host_nor_its_own_agent(api):
    with machine(api) as box:
        for address in ("127.0.0.1:1", "10.0.2.15:1", "10.0.2.2:1025", "10.0.2.2:22"):
            assert api.exec(box, f"wget -T 2 -q -O - http://{address}/")["exit_code"] != 0
        assert api.exec(box, "head -c 1 /proc/1/mem", user="user")["exit_code"] != 0
        assert said(api, box, "ls /").find("machine") < 0


@pytest.fixture(scope="module")
def world():
    there = far.Far()
    yield there
    there.close()


def reaches(api, box, address):
    """Whether code inside reaches the TCP server at the address."""
    return "hello" in api.exec(box, f"nc -w 5 {address} {far.TCP} </dev/null", timeout_ms=30000)["stdout"]


def asks(api, box, world):
    """Whether a question to a name server at the first address arrives there."""
    before = len([line for line in world.came if line.startswith("udp")])
    api.exec(box, f"nslookup a.test {world.addresses[0]}", timeout_ms=30000)
    return len([line for line in world.came if line.startswith("udp")]) > before


def test_the_network_has_the_rules_of_the_shell(api, world):
    first, second, _ = world.addresses
    with machine(api, internet=True) as box:
        assert [reaches(api, box, address) for address in (first, second)] == [True, True]
        assert asks(api, box, world)
        api.call("PUT", f"{PATH}/{box}/egress", {"allow": [first], "deny": ["0.0.0.0/0"]})
        assert [reaches(api, box, address) for address in (first, second)] == [True, False]
        # Behind this address is the shell's loopback, where QEMU takes connections for the agent.
        for address in ("10.0.3.2 1025", "10.0.2.2 1025", "127.0.0.1 1025"):
            assert api.exec(box, f"nc -w 2 {address} </dev/null", user="user")["exit_code"] != 0
        assert said(api, box, "cat /etc/resolv.conf") == "nameserver 10.0.3.3"
        api.post(f"{PATH}/{box}/stop")
        api.post(f"{PATH}/{box}/start")
        assert [reaches(api, box, address) for address in (first, second)] == [True, False]


SERVE = "while true; do printf 'HTTP/1.0 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello' | nc -l -p 8000 >/dev/null; done"


def test_a_preview_reaches_a_server_inside(api):
    with machine(api, internet=True) as box:
        preview = f"{PATH}/{box}/preview/8000/"
        assert api.raw("GET", preview).status >= 500
        api.post(f"{PATH}/{box}/exec", {"cmd": "/bin/sh", "args": ["-c", SERVE], "background": True})
        atoll.wait_for(lambda: api.raw("GET", preview).status == 200, 30, "a server inside")
        atoll.wait_for(lambda: api.raw("GET", preview).body == b"hello", 30, "its answer")


def test_a_machine_without_internet_reaches_nothing(api, world):
    with machine(api) as box:
        said(api, box, "ip addr add 10.0.3.15/24 dev eth1; ip link set eth1 up; ip route add default via 10.0.3.2", user="root")
        assert not reaches(api, box, world.addresses[0])


def test_what_it_cannot_do_is_refused_by_name(api):
    with pytest.raises(atoll.ApiError) as caught, machine(api, template="host"):
        pass
    assert caught.value.status in (400, 501) and "host" in caught.value.message, caught.value.message
    with machine(api) as box:
        with pytest.raises(atoll.ApiError) as caught:
            api.post(f"{PATH}/{box}/reset")
        assert caught.value.status == 501 and "reset" in caught.value.message


def test_a_template_that_does_not_fit_leaves_nothing(api):
    with pytest.raises(atoll.ApiError) as caught, machine(api, disk_mb=1):
        pass
    assert "disk" in caught.value.message
    assert not [s for s in api.get(f"{PATH}?provider=vm")["items"] if s["state"] not in ("failed", "deleted")]


def test_a_machine_outlives_the_server(server, api):
    with machine(api) as box:
        said(api, box, "echo one > /run/memory", user="root")
        server.kill9("api")
        server.wait_ready()
        again = server.api()
        assert said(again, box, "cat /run/memory") == "one"
        again.close()


def test_a_machine_that_ends_by_itself_ends_its_sandbox(api):
    with machine(api) as box:
        with contextlib.suppress(atoll.ApiError):
            api.exec(box, "echo b > /proc/sysrq-trigger", user="root")
        atoll.wait_for(lambda: api.get(f"{PATH}/{box}")["state"] != "started", 20, "the end of the sandbox")


def test_a_machine_whose_qemu_is_killed_ends_and_starts_again(api):
    with machine(api) as box:
        api.write(box, "/home/user/note", b"kept")
        said(api, box, "sync")
        (pid,) = microvm_parts.machines([api.get(f"{PATH}/{box}")["name"]])
        os.kill(pid, signal.SIGKILL)
        atoll.wait_for(lambda: api.get(f"{PATH}/{box}")["state"] == "stopped", 20, "the end of the sandbox")
        api.post(f"{PATH}/{box}/start")
        assert api.read(box, "/home/user/note") == b"kept"
