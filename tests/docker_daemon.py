# SPDX-License-Identifier: Apache-2.0
"""A Docker daemon of our own: on a socket and data of its own, in its own mount namespace. Nothing of it stays behind."""

import grp
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

import small_root

IMAGE = "contract:latest"
OPTIONS = ("--storage-driver", "overlay2", "--exec-opt", "native.cgroupdriver=cgroupfs", "--live-restore=false",
           "--ip6tables=false")
NO_NETWORK = ("--bridge=none", "--iptables=false", "--ip-forward=false", "--ip-masq=false")
# In a network namespace of its own.
NETWORK = ("--bip", "172.31.250.1/24", "--default-address-pool", "base=172.31.248.0/23,size=26")


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("docker")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Daemon:
    def __init__(self, network=False, runtimes=None):
        """network: containers may have a bridge, in a world that knows no other network.
        runtimes: further ones, as in Docker's daemon.json."""
        missing = [name for name in ("dockerd", "containerd", "runc") if not shutil.which(name)]
        if os.geteuid() != 0 or missing:
            pytest.skip("needs root" if not missing else f"no {missing[0]} (Debian package docker.io)")
        self.folder = tempfile.mkdtemp(prefix="atoll-docker-", dir="/var/tmp")
        os.chmod(self.folder, 0o711)
        self.socket = f"{self.folder}/docker.sock"
        self.host = f"unix://{self.socket}"
        self.process = None
        self.before = ["unshare", "--mount", "--propagation", "private"]
        self.options = (*OPTIONS, *(NETWORK if network else NO_NETWORK))
        if network:
            self.before += ["--net", "sh", "-c", 'ip link set lo up; exec "$0" "$@"']
        with open(f"{self.folder}/daemon.json", "w", encoding="utf-8") as config:
            json.dump({"runtimes": runtimes or {}}, config)
        self.options = (*self.options, "--config-file", f"{self.folder}/daemon.json")
        self.start()

    def start(self):
        with open(f"{self.folder}/log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.before, "dockerd", "--host", self.host, "--data-root", f"{self.folder}/data", "--exec-root",
                 f"{self.folder}/exec", "--pidfile", f"{self.folder}/pid", *self.options],
                stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 30
        while not self.answers():
            if time.monotonic() > deadline or self.process.poll() is not None:
                text = open(f"{self.folder}/log", encoding="utf-8", errors="replace").read()
                self.remove()
                pytest.skip(f"dockerd does not start here: {text[-500:]}")
            time.sleep(0.05)

    def answers(self):
        try:
            return self.call("GET", "/_ping")[0] == 200
        except OSError:
            return False

    def call(self, method, path, body=None, content="application/json"):
        connection = Connection(self.socket)
        try:
            connection.request(method, "/v1.41" + path, body, {"Content-Type": content} if body else {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def containers(self):
        return json.loads(self.call("GET", "/containers/json?all=1")[1])

    def import_image(self, tar, name=IMAGE):
        repository, tag = name.split(":")
        with open(tar, "rb") as file:
            status, text = self.call("POST", f"/images/create?fromSrc=-&repo={repository}&tag={tag}", file.read(),
                                     "application/x-tar")
        assert status == 200 and b'"error"' not in text, text

    def name_here(self, name):
        """The name by which the provider asks for an image of import_busybox."""
        return name

    def import_busybox(self, folder, name=IMAGE):
        """All programs of busybox, and a user."""
        root = small_root.busybox(folder)
        for program in subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True).stdout.split():
            if not (root / "bin" / program).exists() and program != "busybox":
                os.symlink("busybox", root / "bin" / program)
        for name_of_folder in ("root", "tmp", "proc", "sys", "dev", "run", "usr"):
            (root / name_of_folder).mkdir(exist_ok=True)
        os.chmod(root / "tmp", 0o1777)
        os.symlink("../bin", root / "usr" / "bin")
        (root / "etc" / "group").write_text("root:x:0:\n")
        tar = small_root.as_tar(root, folder / "root.tar")
        self.root = tar.read_bytes()
        self.import_image(tar, name)

    def end(self):
        """As a crash does not: its containers end with it."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)

    def remove_networks(self):
        """Their bridges are in this machine's network namespace and outlive the daemon."""
        for container in json.loads(self.call("GET", "/containers/json?all=1")[1]):
            self.call("DELETE", f"/containers/{container['Id']}?force=1")
        self.call("POST", "/networks/prune")

    def remove(self):
        if self.process and self.process.poll() is None and self.answers():
            self.remove_networks()
        self.end()
        shutil.rmtree(self.folder, ignore_errors=True)


def gvisor_runtimes():
    """runsc as an operator sets it, and without the argument that it needs. Without a network: this release of
    gVisor takes every network namespace of a new kernel for the host's."""
    if not shutil.which("runsc"):
        pytest.skip("no runsc (Debian package runsc)")
    path = shutil.which("runsc")
    return {"runsc": {"path": path, "runtimeArgs": ["--host-uds=open", "--network=none"]},
            "runsc-closed": {"path": path, "runtimeArgs": ["--network=none"]}}


class Podman(Daemon):
    """podman system service: the same API in Podman's dialect. It ends no container when it ends."""

    def __init__(self):
        missing = [name for name in ("podman", "conmon", "runc") if not shutil.which(name)]
        if os.geteuid() != 0 or missing:
            pytest.skip("needs root" if not missing else f"no {missing[0]} (Debian packages podman, runc)")
        self.folder = tempfile.mkdtemp(prefix="atoll-podman-", dir="/var/tmp")
        os.chmod(self.folder, 0o711)
        self.socket = f"{self.folder}/podman.sock"
        self.host = f"unix://{self.socket}"
        # Its own limits of files and processes may be above this machine's.
        with open(f"{self.folder}/containers.conf", "w", encoding="utf-8") as config:
            config.write('[engine]\nruntime="runc"\nevents_logger="file"\n[containers]\n'
                         'default_ulimits=["nofile=20000:20000","nproc=20000:20000"]\n')
        self.process = None
        self.start()

    def start(self):
        with open(f"{self.folder}/log", "ab") as log:
            self.process = subprocess.Popen(
                ["podman", "--root", f"{self.folder}/root", "--runroot", f"{self.folder}/run", "--tmpdir", f"{self.folder}/tmp",
                 "--cgroup-manager", "cgroupfs", "--storage-driver", "overlay", "--network-config-dir", f"{self.folder}/net",
                 "system", "service", "--time", "0", self.host], stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "CONTAINERS_CONF": f"{self.folder}/containers.conf"})
        deadline = time.monotonic() + 30
        while not self.answers():
            if time.monotonic() > deadline or self.process.poll() is not None:
                text = open(f"{self.folder}/log", encoding="utf-8", errors="replace").read()
                self.remove()
                pytest.skip(f"podman does not start here: {text[-500:]}")
            time.sleep(0.05)
        # As an operator does it for atolld: Podman's socket is root's alone.
        os.chown(self.socket, 0, grp.getgrnam("nogroup").gr_gid)
        os.chmod(self.socket, 0o660)

    def name_here(self, name):
        return f"docker.io/library/{name}"

    def remove(self):
        if self.process and self.process.poll() is None and self.answers():
            self.remove_networks()
        self.end()
        subprocess.run(["umount", "-R", f"{self.folder}/root/overlay"], capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)
