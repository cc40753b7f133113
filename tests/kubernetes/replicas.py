# SPDX-License-Identifier: Apache-2.0
"""The servers of deploy/kubernetes on a cluster of one node, over a PostgreSQL of this machine, and what a cluster has beside: addresses
of services, and clients that go to any server that is ready."""

import contextlib
import http.client
import json
import os
import pathlib
import secrets
import shutil
import socket
import string
import subprocess
import tempfile
import threading

import pytest

import atoll
import kubernetes_cluster
import postgres

IMAGE = "test.local/atoll:1"
NAMESPACE, SANDBOXES = "atoll", "atoll-sandboxes"
MANIFESTS = atoll.ROOT / "deploy/kubernetes"


def letters(count):
    return "".join(secrets.choice(string.ascii_lowercase) for _ in range(count))


class Running:
    """A cluster that runs already: ATOLL_KUBERNETES_RUN names its folder."""

    def __init__(self, folder):
        self.dir, self.pki, self.port = folder, folder / "pki", int(os.environ.get("ATOLL_KUBERNETES_PORT", "16443"))
        self.kubeconfig, self.services = folder / "admin.conf", "172.31.192.1"
        self.api = kubernetes_cluster.Api(self)

    def ctr(self, *arguments, check=True):
        return subprocess.run([kubernetes_cluster.find("ctr"), "-a", f"{self.dir}/ctd.sock", "-n", "k8s.io", *arguments],
                              capture_output=True, text=True, check=check)

    def remove(self):
        pass


def cluster():
    folder = os.environ.get("ATOLL_KUBERNETES_RUN")
    if folder:
        return Running(pathlib.Path(folder))
    made = kubernetes_cluster.Cluster()
    made.services = kubernetes_cluster.SERVICES.rsplit(".", 1)[0] + ".1"
    return made


def import_image(on):
    """Built from the Debian package, unless an archive is named."""
    archive = os.environ.get("ATOLL_IMAGE_ARCHIVE")
    if not archive:
        if not list((atoll.ROOT / "build-package").glob("atoll_*.deb")):
            pytest.skip("the packages are not built: run './dev package'")
        archive = str(atoll.ROOT / "build-package/atoll-image.tar")
        subprocess.run([atoll.ROOT / "deploy/image/build", "--name", IMAGE, "--out", archive], check=True)
    on.ctr("images", "import", archive)


class Database(postgres.Postgres):
    """It listens to pods, too."""

    def __init__(self):
        self.port = atoll.free_port()
        super().__init__()

    def start(self):
        with open(os.path.join(self.folder, "data/pg_hba.conf"), "a", encoding="ascii") as rules:
            rules.write("host all all 172.16.0.0/12 trust\n")
        self.process = self.run("postgres", "-D", "data", "-k", self.folder, "-h", "*", "-p", str(self.port), "-c", "fsync=off",
                                "-c", "full_page_writes=off")
        atoll.wait_for(self.answers, 30, "the database server")

    def psql(self, sql, check=True):
        return subprocess.run([os.path.join(postgres.programs(), "psql"), "-h", self.folder, "-p", str(self.port), "-U", "postgres",
                               "-XAtqc", sql, "postgres"], capture_output=True, text=True, check=check)


class ServiceAddress:
    """What kube-proxy makes of a service: a connection to its address leads to where `find` says, or is closed."""

    def __init__(self, address, port, find):
        self.address, self.find = address, find
        subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=False, capture_output=True)
        self.listener = socket.create_server((address, port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.join, args=(client,), daemon=True).start()

    def join(self, client):
        try:
            server = socket.create_connection(self.find(), timeout=10)
        except (OSError, LookupError):
            client.close()
            return
        server.settimeout(None)
        for one, other in ((client, server), (server, client)):
            threading.Thread(target=self.copy, args=(one, other), daemon=True).start()

    @staticmethod
    def copy(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def close(self):
        # A thread that waits in accept() would keep the socket, and the next test could not bind the address.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        subprocess.run(["ip", "address", "del", f"{self.address}/32", "dev", "lo"], check=False, capture_output=True)


class Deployment:
    """The manifests, applied; `key` is the first API key."""

    def __init__(self, on):
        self.cluster = on
        self.key = "atoll_" + letters(40)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="atoll-manifests-"))

    def kubectl(self, *arguments, text=None, check=True):
        done = subprocess.run([kubernetes_cluster.find("kubectl"), "--kubeconfig", self.cluster.kubeconfig, *arguments], input=text,
                              capture_output=True, text=True)
        assert not check or done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done

    def manifests(self):
        """As they are, but for the names of images."""
        shutil.copytree(MANIFESTS, self.folder, dirs_exist_ok=True)
        for path in self.folder.glob("*.yaml"):
            path.write_text(path.read_text().replace("atoll:0.1.0", IMAGE).replace("debian:12", "test.local/base:1"))
        return self.folder

    def make_secret(self, store):
        self.kubectl("create", "secret", "generic", "atoll", "-n", NAMESPACE, f"--from-literal=store={store}",
                     f"--from-literal=admin.key={self.key}",
                     f"--from-literal=secret.key={letters(8)} {secrets.token_hex(32)}\n")

    def pods(self):
        return self.cluster.api.get(f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app.kubernetes.io/name%3Datoll")["items"]

    def addresses(self, service="atoll"):
        """Of pods that are ready: what the service's clients are sent to."""
        status, found = self.cluster.api.call("GET", f"/api/v1/namespaces/{NAMESPACE}/endpoints/{service}")
        found = found.get("subsets") or [] if status == 200 else []
        return [(address["ip"], subset["ports"][0]["port"]) for subset in found for address in subset.get("addresses") or []]

    def generation(self):
        """Changes with the specification of the Deployment."""
        return self.cluster.api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/atoll")["metadata"]["generation"]

    def budget(self):
        return self.cluster.api.get(f"/apis/policy/v1beta1/namespaces/{NAMESPACE}/poddisruptionbudgets/atoll")["status"]

    def evict(self, pod):
        """As a drain of its node does."""
        return self.cluster.api.call("POST", f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}/eviction", {
            "apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": pod, "namespace": NAMESPACE}})

    def remove(self):
        self.kubectl("delete", "namespace", NAMESPACE, SANDBOXES, "--wait=false", check=False)
        for namespace in (NAMESPACE, SANDBOXES):
            self.kubectl("delete", "pods", "--all", "-n", namespace, "--grace-period=0", "--force", check=False)
        atoll.wait_for(lambda: self.kubectl("get", "namespace", NAMESPACE, SANDBOXES, check=False).returncode != 0 and
                       "NotFound" in self.kubectl("get", "namespace", SANDBOXES, check=False).stderr, 90, "the end of the namespaces")
        shutil.rmtree(self.folder, ignore_errors=True)


class Client:
    """Sends each request to a server that is ready, as a service does, on a connection of its own."""

    def __init__(self, deployment):
        self.deployment, self.turn = deployment, 0
        self.lock = threading.Lock()

    def next_address(self):
        addresses = self.deployment.addresses()
        with self.lock:
            self.turn += 1
            return addresses[self.turn % len(addresses)]

    def call(self, method, path, body=None, timeout=60):
        """(status, JSON, address); raises OSError when the connection breaks in the middle of the call."""
        while True:
            address = self.next_address()
            connection = http.client.HTTPConnection(*address, timeout=timeout)
            try:
                connection.connect()
            except OSError:  # the endpoint has just gone: kube-proxy's client connects again, nothing was sent
                continue
            break
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Content-Type": "application/json", "Authorization": f"Bearer {self.deployment.key}"})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None, address
