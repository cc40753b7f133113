# SPDX-License-Identifier: Apache-2.0
"""A server with every provider that this machine has, for the pages of the documentation that tests write.

Server, daemon and command run in one network namespace, so that a container's network reaches what the command listens on."""

import json
import os
import shutil
import socket
import subprocess

import http.client
import pytest

import atoll
import docker_daemon
import microvm_parts
import small_root

PROVIDERS = {"native": "native", "gvisor": "gvisor", "docker": "docker:allow_weaker=true", "microvm": "microvm",
             "host": "host:allow_weaker=true", "null": "null:allow_weaker=true"}


def present(daemon):
    missing = {"gvisor": not os.access("/usr/bin/runsc", os.X_OK), "docker": daemon is None,
               "microvm": microvm_parts.reason() is not None}
    return [name for name in PROVIDERS if not missing.get(name)]


@pytest.fixture(scope="session")
def daemon(tmp_path_factory):
    try:
        daemon = docker_daemon.Daemon(network=True)
    except pytest.skip.Exception:
        yield None
        return
    try:
        daemon.import_busybox(tmp_path_factory.mktemp("busybox"))
        yield daemon
        assert daemon.containers() == []
    finally:
        daemon.remove()


class SocketApi(atoll.Api):
    """The API by the server's unix socket."""

    def __init__(self, path, key):
        super().__init__("localhost", 80, key, timeout=120)
        self.path = path

    def open(self, method, path, body=None, headers=None):
        if not self.connection:
            self.connection = http.client.HTTPConnection("localhost", timeout=self.timeout)
            self.connection.sock = socket.socket(socket.AF_UNIX)
            self.connection.sock.connect(self.path)
        return super().open(method, path, body, headers)


class World:
    """A server that is reached by its socket, in the daemon's network namespace if there is a daemon."""

    def __init__(self, daemon):
        self.names = present(daemon)
        self.before = ["nsenter", f"--net=/proc/{daemon.process.pid}/ns/net"] if daemon else []
        environment = {"DOCKER_HOST": daemon.host, "SANDBOX_WORKER_IMAGE": docker_daemon.IMAGE} if daemon else {}
        self.server = atoll.Server(environment=environment, before=self.before, flags=[
            "--providers", ",".join(PROVIDERS[name] for name in self.names), "--microvm-kernel", microvm_parts.KERNEL])
        self.server.start(wait=False)
        atoll.wait_for(lambda: self.cli("provider", "ls").returncode == 0, 60, "the server")

    def cli(self, *arguments):
        key = self.server.data / "admin.key"
        environment = {**self.server.environment, "ATOLL_API_URL": f"unix:{self.server.data}/run/api.sock",
                       "ATOLL_DATA": str(self.server.data), "ATOLL_API_KEY": key.read_text().strip() if key.exists() else ""}
        return subprocess.run([*self.before, atoll.ATOLL, *arguments], env=environment, capture_output=True, text=True, timeout=900)

    def api(self):
        return SocketApi(f"{self.server.data}/run/api.sock", self.server.key)

    def close(self):
        left = self.cli("ps", "--json").stdout
        self.server.stop()
        shutil.rmtree(self.server.data, ignore_errors=True)
        assert json.loads(left) == []


@pytest.fixture(scope="session")
def world(daemon, tmp_path_factory):
    world = World(daemon)
    try:
        if "microvm" in world.names:
            folder = tmp_path_factory.mktemp("small")
            root = small_root.as_tar(microvm_parts.root(folder), folder / "root.tar")
            made = world.cli("template", "import", "small", str(root))
            assert made.returncode == 0, made.stderr
        yield world
    finally:
        world.close()
