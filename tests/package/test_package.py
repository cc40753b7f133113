# SPDX-License-Identifier: Apache-2.0
"""The Debian packages in a fresh Debian 12: install, first command, upgrade, removal. The root of that Debian is made from Debian's packages
once, and lives in its own mount and pid namespaces."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
BUILT = atoll.ROOT / "build-package"
DEBIAN = BUILT / "debian-12.tar"
DATA = "/var/lib/atoll"


def package_file(name):
    return next(BUILT.glob(f"{name}_*.deb"))


@pytest.fixture(scope="session")
def debian():
    """A tar of a Debian with nothing but its required packages."""
    if not list(BUILT.glob("atoll_*.deb")):
        pytest.skip("the packages are not built: run './dev test package'")
    if not shutil.which("mmdebstrap"):
        pytest.skip("'mmdebstrap' is not installed")
    if not DEBIAN.exists():
        made = DEBIAN.with_suffix(".partial.tar")
        done = subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "--include=ca-certificates", "bookworm", made], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip("no Debian root can be made here: " + done.stderr.strip()[-200:])
        made.rename(DEBIAN)
    return DEBIAN


class Machine:
    def __init__(self, root):
        self.root = root
        self.process = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private",
                                         pathlib.Path(__file__).parent / "machine.sh", root])
        atoll.wait_for(lambda: self.first_process() and self.run("test -e /run/is-up", check=False).returncode == 0, 30, "the machine")

    def first_process(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0]) if children else None

    def run(self, line, check=True, timeout=300):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(["nsenter", "--target", str(self.first_process()), "--mount", "--pid", "--root", "--wd", "sh", "-c", line],
                              capture_output=True, text=True, timeout=timeout, env=environment)
        assert not check or done.returncode == 0, (line, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return done

    def serve(self):
        self.run("setsid atoll serve >/var/log/serve.log 2>&1 </dev/null &")
        atoll.wait_for(lambda: "ready address=" in self.run("cat /var/log/serve.log").stdout, 60, "the server")

    def processes(self):
        """The programs that run in it, besides its first process and this question."""
        line = "for p in /proc/[0-9]*; do readlink $p/exe; done"
        return [path for path in self.run(line, check=False).stdout.split() if path.startswith("/usr/libexec/atoll/")]

    def end(self):
        with_pid = self.first_process()
        if with_pid:
            os.kill(with_pid, signal.SIGKILL)
        self.process.wait(30)


@pytest.fixture
def machine(debian, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    subprocess.run(["tar", "--extract", "--file", debian, "--directory", root], check=True)
    for name in ("atoll", "atoll-cli"):
        shutil.copy(package_file(name), root / "root")
    if os.path.exists("/etc/resolv.conf"):
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    made = Machine(root)
    reached = made.run("apt-get update -qq -o APT::Update::Error-Mode=any", check=False)
    if reached.returncode != 0:
        made.end()
        pytest.skip("no package registry can be reached: " + reached.stderr.strip()[-100:])
    yield made
    made.run("ATOLL_DATA=/var/lib/atoll atoll down --yes", check=False)
    made.end()


def programs_of(name):
    """The files of a package in the folder of programs, and their modes."""
    if not list(BUILT.glob(f"{name}_*.deb")):
        pytest.skip("the packages are not built: run './dev test package'")
    listed = subprocess.run(["dpkg-deb", "--contents", package_file(name)], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines() if "/usr/libexec/atoll/" in line]
    return {row[5].rpartition("/")[2]: row[0] for row in rows if row[0].startswith("-")}


def test_a_package_has_every_program_and_library():
    programs = {path.stem for path in (atoll.ROOT / "src/programs").glob("*.c")}
    server = programs_of("atoll")
    assert set(server) == programs | {"atoll-guest-memory.so"}
    assert {name for name, mode in server.items() if mode != "-rwxr-xr-x"} <= {"atoll-guest-memory.so"}
    # What `atoll check isolation` copies into sandboxes comes from the machine of the command line.
    assert set(programs_of("atoll-cli")) == {"atoll", "atoll-attempts"}
    agent = subprocess.run(["dpkg-deb", "--fsys-tarfile", package_file("atoll")], capture_output=True, check=True).stdout
    agent = subprocess.run(["tar", "--extract", "--to-stdout", "./usr/libexec/atoll/atoll-agent"], input=agent, capture_output=True, check=True).stdout
    assert b"AT_NO_AUTOMOUNT" in agent or b"statx" in agent, "the library for programs in gVisor is a part of the agent"


def install(machine, name="atoll"):
    machine.run(f"apt-get install -y -qq --no-install-recommends /root/{name}_*.deb")


def files_of_package(machine, name="atoll"):
    return [path for path in machine.run(f"dpkg -L {name}").stdout.split() if not os.path.isdir(f"{machine.root}{path}")]


def test_the_first_command_after_an_installation(machine):
    install(machine)
    begun = time.monotonic()
    machine.serve()
    assert machine.run("atoll run -t host -- echo first").stdout == "first\n"
    took = time.monotonic() - begun
    assert took < 10, f"{took:.1f} s"
    assert machine.run("getent passwd atoll").returncode == 0
    assert machine.run(f"stat -c '%a %U' {DATA}").stdout == "711 root\n"
    assert "This host runs isolated sandboxes" in machine.run("atoll doctor").stdout


def test_a_purge_leaves_nothing_behind(machine):
    before = machine.run("cat /etc/passwd /etc/group").stdout
    groups = set(os.listdir("/sys/fs/cgroup/memory")) if os.path.isdir("/sys/fs/cgroup/memory") else set()
    install(machine)
    paths = files_of_package(machine)
    machine.serve()
    machine.run("atoll run -t host --keep -- sh -c 'setsid sleep 1000 & echo left'")
    assert len(machine.processes()) > 3
    machine.run("apt-get purge -y -qq atoll")
    assert machine.processes() == []
    assert [path for path in paths if os.path.lexists(f"{machine.root}{path}")] == []
    for path in (DATA, "/etc/atoll", "/usr/libexec/atoll"):
        assert not os.path.lexists(f"{machine.root}{path}"), path
    assert machine.run("cat /etc/passwd /etc/group").stdout == before
    assert DATA not in machine.run("cat /proc/self/mountinfo").stdout
    if groups:
        assert set(os.listdir("/sys/fs/cgroup/memory")) == groups


def test_a_removal_keeps_the_data_and_another_installation_finds_it(machine):
    install(machine)
    machine.serve()
    made = machine.run("atoll run -t host --keep --name kept -- sh -c 'echo kept > file; sleep 0'")
    assert made.returncode == 0
    machine.run("apt-get remove -y -qq atoll")
    assert machine.processes() == []
    install(machine)
    machine.serve()
    machine.run("atoll start kept", check=False)
    assert machine.run("atoll exec kept -- cat file").stdout == "kept\n"


def test_an_upgrade_ends_no_sandbox(machine):
    install(machine)
    machine.serve()
    machine.run("atoll run -t host --keep --name goes-on -- sh -c 'setsid sleep 12345 >/dev/null 2>&1 & echo $! > pid'")
    before = machine.run("atoll exec goes-on -- cat pid").stdout
    machine.run("apt-get install -y -qq --reinstall --no-install-recommends /root/atoll_*.deb")
    assert machine.run("atoll exec goes-on -- sh -c 'kill -0 $(cat pid) && cat pid'").stdout == before


def test_the_manual_has_every_command_and_no_warning(machine):
    install(machine)
    names = [line.split()[0] for line in machine.run("atoll help").stdout.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()]
    assert len(names) > 40
    page = machine.run("zcat /usr/share/man/man1/atoll.1.gz").stdout
    assert [name for name in names if f".SS atoll {name}\n".replace("-", "\\-") not in page] == []
    for name in ("man1/atoll.1", "man8/atolld.8", "man5/atoll.yaml.5"):
        text = machine.run(f"zcat /usr/share/man/{name}.gz").stdout
        shown = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=text, capture_output=True, text=True)
        assert shown.stderr == "" and len(shown.stdout) > 1000, (name, shown.stderr[:500])


def test_the_command_line_alone(machine):
    install(machine, "atoll-cli")
    assert machine.run("atoll --version").stdout.startswith("atoll ")
    assert sorted(os.listdir(f"{machine.root}/usr/libexec/atoll")) == ["atoll", "atoll-attempts"]
    refused = machine.run("ATOLL_API_URL=http://127.0.0.1:1 atoll ps", check=False)
    assert refused.returncode != 0 and "cannot reach the server at http://127.0.0.1:1: " in refused.stderr
    unset = machine.run("atoll ps", check=False)
    assert unset.returncode == 120 and "set ATOLL_API_URL to a server" in unset.stderr, unset.stderr
    install(machine)
    assert machine.run("dpkg-query -W -f '${db:Status-Status}' atoll-cli", check=False).stdout != "installed"
    machine.run("apt-get purge -y -qq atoll")
    assert not os.path.lexists(f"{machine.root}/usr/bin/atoll")
