# SPDX-License-Identifier: Apache-2.0
"""The provider gvisor: native sandboxes whose programs run on gVisor's kernel."""

import http.client
import os
import pathlib

import pytest

import atoll
import gvisor_parts

pytestmark = [pytest.mark.providers, gvisor_parts.needed]


@pytest.fixture(scope="module")
def server():
    server = atoll.Server(flags=["--providers", "native,strong=gvisor"]).start()
    yield server
    server.remove_all()


def strong(api, **options):
    return api.sandbox(isolation="gvisor", **options)


def show(api, sandbox):
    return api.get(f"/api/sandbox/instances/{sandbox}")


def act(api, sandbox, verb):
    return api.post(f"/api/sandbox/instances/{sandbox}/{verb}")


def output(api, sandbox, command, **options):
    answer = api.exec(sandbox, command, **options)
    assert answer["exit_code"] == 0, answer
    return answer["stdout"].strip()


@pytest.mark.smoke
def test_the_isolation_wanted_chooses_it(api):
    with strong(api, internet=False) as sandbox:
        shown = show(api, sandbox)
        assert (shown["provider"], shown["isolation"]) == ("strong", "gvisor")
        assert "keep pools" in shown["unsupported"] and not {"take snapshots", "keep volumes"} & set(shown["unsupported"])
        assert output(api, sandbox, "uname -r") != os.uname().release
        assert "gVisor" in output(api, sandbox, "dmesg | head -5")


def test_native_stays_the_default(api):
    with api.sandbox() as sandbox:
        assert show(api, sandbox)["isolation"] == "namespaces"
        assert output(api, sandbox, "uname -r") == os.uname().release


@pytest.mark.smoke
def test_commands_files_and_a_terminal(api):
    with strong(api, internet=False) as sandbox:
        assert output(api, sandbox, "whoami; pwd") == "user\n/home/user/project"
        api.write(sandbox, "a/b.txt", b"hello")
        assert output(api, sandbox, "cat a/b.txt; echo again >> a/b.txt") == "hello"
        assert api.read(sandbox, "a/b.txt") == b"helloagain\n"
        assert api.exec(sandbox, "exit 7")["exit_code"] == 7


def test_programs_of_coreutils_look_at_files(api):
    """This gVisor refuses a flag of their calls: agent/plain_statx.h."""
    with strong(api, internet=False) as sandbox:
        assert output(api, sandbox, "echo 12345 > file; stat -c '%n %s' file; ls; ls -l file | wc -l") == "file 6\nfile\n1"
        assert output(api, sandbox, "env -i /bin/ls -d /etc", user="root") == "/etc"
        assert "No such file" in api.exec(sandbox, "ls /nowhere")["stderr"]
        assert "preload" not in output(api, sandbox, "env")
        # Its place is a file of the sandbox's memory: nothing stays in the files but an empty one.
        act(api, sandbox, "stop")
        act(api, sandbox, "start")
        assert output(api, sandbox, "ls file") == "file"


def test_a_list_that_a_template_has_is_covered_and_a_tenants_is_not_read_twice(api):
    with strong(api, internet=False) as sandbox:
        api.exec(sandbox, "echo /home/user/evil.so > /etc/ld.so.preload; umount /etc/ld.so.preload; rm -f /etc/ld.so.preload", user="root")
        act(api, sandbox, "stop")
        act(api, sandbox, "start")
        assert output(api, sandbox, "cat /etc/ld.so.preload; ls -d /usr") == "/run/atoll/plain_statx.so\n/usr"


def test_it_pauses_and_keeps_its_files_through_a_stop(api):
    with strong(api, internet=False) as sandbox:
        api.exec(sandbox, "echo kept > kept; sleep 100 & echo $! > pid")
        act(api, sandbox, "pause")
        assert show(api, sandbox)["state"] == "paused"
        act(api, sandbox, "resume")
        assert output(api, sandbox, "kill -0 $(cat pid) && cat kept") == "kept"
        act(api, sandbox, "stop")
        act(api, sandbox, "start")
        assert output(api, sandbox, "cat kept; kill -0 $(cat pid) 2>/dev/null || echo ended") == "kept\nended"


def test_it_lives_on_after_kill_9_and_leaves_nothing(server, api):
    with strong(api, internet=False) as sandbox:
        output(api, sandbox, "echo kept > kept")
        own = set(gvisor_parts.processes(server))
        assert own
        server.kill9("broker")
        atoll.wait_for(lambda: output(api, sandbox, "cat kept") == "kept", what="a command after kill -9")
        server.kill9("api")
        atoll.wait_for(lambda: is_kept(server, sandbox), what="a command after kill -9 of atolld")
        assert own <= set(gvisor_parts.processes(server))
    atoll.wait_for(lambda: all(atoll.is_dead(pid) for pid in own), what="the end of gVisor's processes")


def is_kept(server, sandbox):
    try:
        connection = server.api()
        return output(connection, sandbox, "cat kept") == "kept"
    except (OSError, atoll.ApiError, http.client.HTTPException):
        return False


def test_a_sandbox_whose_gvisor_dies_has_ended(server, api):
    with strong(api, internet=False) as sandbox:
        atoll.kill_and_wait(int(pid) for pid in gvisor_parts.processes(server))
        atoll.wait_for(lambda: show(api, sandbox)["state"] == "stopped", what="the end of the sandbox")
        act(api, sandbox, "start")
        assert output(api, sandbox, "echo again") == "again"


ATTEMPTS = {
    "read the host's memory": "head -c 1 /proc/kcore",
    "mount a filesystem": "unshare -rm mount -t tmpfs none /mnt",
    "write a setting of the kernel": "echo 1 > /proc/sys/kernel/core_pattern",
    "load a module": "insmod /nowhere.ko || modprobe loop",
    "open a raw socket": "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'",
    "open a packet socket": "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 768)'",
    "read the memory of process 1": "head -c 1 /proc/1/mem",
    "enter the root of process 1": "cd /proc/1/root/bundle",
    "read a device of the host": "mknod /tmp/device b 8 0; head -c 1 /tmp/device",
    "write to cgroups": "find /sys/fs/cgroup -type f -name cgroup.procs | grep . && echo 1 > /sys/fs/cgroup/cgroup.procs",
    "see gVisor's state": "cat /state/* /bundle/config.json /runsc",
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_an_escape_fails(hostile, attempt):
    api, sandbox = hostile
    answer = api.exec(sandbox, ATTEMPTS[attempt])
    assert answer["exit_code"] != 0, answer


@pytest.fixture(scope="module")
def hostile(server):
    api = server.api()
    with strong(api, internet=False) as sandbox:
        yield api, sandbox
    api.close()


def test_it_sees_no_process_of_the_host(hostile):
    api, sandbox = hostile
    pids = [int(word) for word in output(api, sandbox, "echo /proc/[0-9]*").replace("/proc/", "").split()]
    assert len(pids) < 20
    assert "runsc" not in output(api, sandbox, "cat /proc/[0-9]*/comm")


@pytest.mark.smoke
def test_a_link_to_a_file_of_the_host_shows_none_of_it(hostile):
    api, sandbox = hostile
    marker = pathlib.Path("/tmp") / f"atoll-gvisor-{os.getpid()}"
    marker.write_text("of the host")
    try:
        api.exec(sandbox, f"ln -sf {marker} link; ln -sf /proc/1/root{marker} deeper")
        for link in ("link", "deeper"):
            with pytest.raises(atoll.ApiError):
                api.read(sandbox, link)
    finally:
        marker.unlink()
