# SPDX-License-Identifier: Apache-2.0
"""A cluster of one node on this machine: Debian's etcd and containerd, and the programs that tests/kubernetes_build.sh has
made. With `node=False` only the API server: objects are checked and kept, and nothing runs."""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse

import pytest

import atoll

BIN = pathlib.Path(os.environ.get("ATOLL_KUBERNETES_BIN") or pathlib.Path.home() / ".cache/atoll/kubernetes")
SERVICES = "172.31.196.0/24"
PODS = "172.31.197.0/24"
NODE = "localhost"  # an address of 127.0.0.0/8 is none that a node may have
CLASS = "local"
SYSCTLS = ("vm.overcommit_memory", "vm.panic_on_oom", "kernel.panic", "kernel.panic_on_oops", "kernel.keys.root_maxkeys",
           "kernel.keys.root_maxbytes", "net.ipv4.ip_forward")
CONTROL = ("etcd", "kube-apiserver")
WHOLE = CONTROL + ("kube-controller-manager", "kube-scheduler", "kubelet", "containerd", "runc", "umoci", "skopeo", "ctr")


def find(name):
    for path in (BIN / name, shutil.which(name), f"/usr/sbin/{name}", f"/opt/cni/{name}"):
        if path and os.access(path, os.X_OK):
            return str(path)
    return None


def reason(node=True):
    """Why no cluster can be started here, or None."""
    if os.geteuid() != 0:
        return "a cluster needs root"
    missing = [name for name in (WHOLE if node else CONTROL) if not find(name)]
    if missing:
        return f"{', '.join(missing)} not found: run tests/kubernetes_build.sh, and install etcd-server, containerd, umoci and skopeo"
    return None


class Api:
    """Calls of the API server as an administrator."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.local = threading.local()

    def connection(self):
        if not getattr(self.local, "made", None):
            context = ssl.create_default_context(cafile=self.cluster.pki / "ca.crt")
            context.load_cert_chain(self.cluster.pki / "admin.crt", self.cluster.pki / "admin.key")
            self.local.made = http.client.HTTPSConnection("127.0.0.1", self.cluster.port, timeout=30, context=context)
        return self.local.made

    def call(self, method, path, body=None, kind="application/json"):
        for again in (True, False):
            try:
                connection = self.connection()
                connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": kind})
                answer = connection.getresponse()
                text = answer.read()
                return answer.status, json.loads(text or b"{}") if text.startswith(b"{") else {"message": text.decode()}
            except (OSError, http.client.HTTPException):
                self.local.made = None
                if not again:
                    raise

    def get(self, path):
        status, said = self.call("GET", path)
        assert status == 200, said
        return said

    def names(self, plural, namespace, group="/api/v1"):
        return sorted(item["metadata"]["name"] for item in self.get(f"{group}/namespaces/{namespace}/{plural}")["items"])

    def objects(self, namespace):
        """All that a provider makes for sandboxes: must be empty at the end of a test."""
        return (self.names("pods", namespace) + self.names("persistentvolumeclaims", namespace) +
                self.names("networkpolicies", namespace, "/apis/networking.k8s.io/v1"))


class Cluster:
    def __init__(self, node=True):
        why = reason(node)
        if why:
            pytest.skip(why)
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="atoll-cluster-", dir="/var/tmp"))
        self.pki = self.dir / "pki"
        self.node = node
        self.parts = {}
        self.port, self.etcd_port, self.etcd_peer = atoll.free_port(), atoll.free_port(), atoll.free_port()
        self.api = Api(self)
        self.kubeconfig = self.dir / "admin.conf"
        self.provisioner = None
        self.groups_before = set(pod_groups())
        self.sysctls = [(name, (pathlib.Path("/proc/sys") / name.replace(".", "/")).read_text()) for name in SYSCTLS]
        for name in ("pki", "etcd", "kubelet", "cni", "log", "volumes"):
            (self.dir / name).mkdir()
        try:
            self.start()
        except BaseException:
            self.remove()
            raise

    # ---- certificates ----

    def openssl(self, *arguments, **options):
        subprocess.run(["openssl", *arguments], cwd=self.pki, check=True, capture_output=True, **options)

    def certify(self, name, subject, extension):
        self.openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (self.pki / f"{name}.ext").write_text(extension + "\n")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30",
                     "-out", f"{name}.crt", "-extfile", f"{name}.ext")

    def make_certificates(self):
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=cluster", "-keyout", "ca.key",
                     "-out", "ca.crt")
        self.openssl("genrsa", "-out", "accounts.key", "2048")
        service = SERVICES.rsplit(".", 1)[0] + ".1"
        self.certify("apiserver", "/CN=kube-apiserver", f"subjectAltName=IP:127.0.0.1,IP:{service},DNS:localhost")
        self.certify("kubelet", f"/O=system:nodes/CN=system:node:{NODE}", f"subjectAltName=IP:127.0.0.1,DNS:{NODE}")
        self.certify("admin", "/O=system:masters/CN=admin", "extendedKeyUsage=clientAuth")

    def write_kubeconfig(self, path, user, namespace="default"):
        path.write_text(f"""apiVersion: v1
kind: Config
clusters:
- name: here
  cluster: {{server: "https://127.0.0.1:{self.port}", certificate-authority: {self.pki}/ca.crt}}
users:
- name: {user}
  user: {{client-certificate: {self.pki}/{user}.crt, client-key: {self.pki}/{user}.key}}
contexts:
- name: here
  context: {{cluster: here, user: {user}, namespace: {namespace}}}
current-context: here
""")
        return path

    # ---- programs ----

    def run(self, name, *arguments):
        with open(self.dir / "log" / name, "ab") as log:
            self.parts[name] = subprocess.Popen([find(name), *arguments], cwd=self.dir, stdout=log, stderr=log, start_new_session=True)

    def start_etcd(self):
        own, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{self.etcd_peer}"
        self.run("etcd", "--data-dir", "etcd", "--listen-client-urls", own, "--advertise-client-urls", own, "--listen-peer-urls", peer,
                 "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}", "--unsafe-no-fsync")

    def start_api_server(self):
        pki = self.pki
        self.run("kube-apiserver", f"--etcd-servers=http://127.0.0.1:{self.etcd_port}", "--bind-address=127.0.0.1",
                 f"--secure-port={self.port}", "--advertise-address=127.0.0.1", f"--tls-cert-file={pki}/apiserver.crt",
                 f"--tls-private-key-file={pki}/apiserver.key", f"--client-ca-file={pki}/ca.crt", "--authorization-mode=Node,RBAC",
                 f"--service-account-key-file={pki}/accounts.key", f"--service-account-signing-key-file={pki}/accounts.key",
                 "--service-account-issuer=https://kubernetes.default.svc", f"--service-cluster-ip-range={SERVICES}",
                 f"--kubelet-certificate-authority={pki}/ca.crt", f"--kubelet-client-certificate={pki}/admin.crt",
                 f"--kubelet-client-key={pki}/admin.key", "--enable-admission-plugins=NodeRestriction",
                 *([] if self.node else ["--disable-admission-plugins=ServiceAccount"]), "--endpoint-reconciler-type=none",
                 "--kubelet-preferred-address-types=Hostname")
        atoll.wait_for(self.is_ready, 120, "the API server")

    def is_ready(self):
        if self.parts["kube-apiserver"].poll() is not None:
            raise AssertionError((self.dir / "log/kube-apiserver").read_text()[-3000:])
        try:
            return self.api.call("GET", "/readyz?verbose=false")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def start(self):
        self.make_certificates()
        self.write_kubeconfig(self.kubeconfig, "admin")
        self.readable = write_inline_config(self, self.dir)
        self.start_etcd()
        self.start_api_server()
        if self.node:
            self.start_node()

    def start_node(self):
        config = f"--kubeconfig={self.write_kubeconfig(self.dir / 'kubelet.conf', 'kubelet')}"
        admin = f"--kubeconfig={self.kubeconfig}"
        self.run("kube-controller-manager", admin, f"--service-account-private-key-file={self.pki}/accounts.key",
                 f"--root-ca-file={self.pki}/ca.crt", "--leader-elect=false", "--bind-address=127.0.0.1", "--port=0",
                 f"--secure-port={atoll.free_port()}", "--pvclaimbinder-sync-period=1s")
        self.run("kube-scheduler", admin, "--leader-elect=false", "--bind-address=127.0.0.1", "--port=0", f"--secure-port={atoll.free_port()}")
        self.start_containerd()
        self.import_images()
        self.write_kubelet()
        self.run("kubelet", "--config=kubelet.yaml", config, "--container-runtime=remote",
                 f"--container-runtime-endpoint=unix://{self.dir}/ctd.sock", f"--image-service-endpoint=unix://{self.dir}/ctd.sock",
                 f"--hostname-override={NODE}", f"--root-dir={self.dir}/kubelet", f"--cert-dir={self.pki}",
                 "--pod-infra-container-image=test.local/pause:1", f"--volume-plugin-dir={self.dir}/plugins")
        atoll.wait_for(self.node_is_ready, 180, "the node")
        self.provisioner = Provisioner(self)

    def node_is_ready(self):
        status, node = self.api.call("GET", f"/api/v1/nodes/{NODE}")
        return status == 200 and any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))

    def start_containerd(self):
        (self.dir / "cni/10-pods.conflist").write_text(json.dumps({
            "cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "ptp", "ipMasq": False, "ipam": {
                "type": "host-local", "dataDir": f"{self.dir}/cni-ipam", "ranges": [[{"subnet": PODS}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}))
        unused = ", ".join(f'"io.containerd.{name}"' for name in ("snapshotter.v1.zfs", "snapshotter.v1.btrfs", "snapshotter.v1.devmapper",
                                                                 "snapshotter.v1.aufs", "internal.v1.opt"))
        (self.dir / "containerd.toml").write_text(f"""version = 2
root = "{self.dir}/ctd-root"
state = "{self.dir}/ctd-state"
disabled_plugins = [{unused}]
[grpc]
  address = "{self.dir}/ctd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "test.local/pause:1"
  restrict_oom_score_adj = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{self.dir}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
""")
        self.run("containerd", "-c", "containerd.toml")
        atoll.wait_for(lambda: self.ctr("version", check=False).returncode == 0, 30, "containerd")

    def ctr(self, *arguments, check=True):
        return subprocess.run([find("ctr"), "-a", f"{self.dir}/ctd.sock", "-n", "k8s.io", *arguments], capture_output=True, text=True, check=check)

    def import_images(self):
        layout = self.dir / "images"
        build_images(layout)
        for name in IMAGES:
            archive = self.dir / f"{name}.tar"
            subprocess.run(["skopeo", "copy", "-q", f"oci:{layout}:{name}", f"oci-archive:{archive}:test.local/{name}:1"], check=True)
            self.ctr("images", "import", str(archive))
            archive.unlink()

    def write_kubelet(self):
        (self.dir / "kubelet.yaml").write_text(json.dumps({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "address": "127.0.0.1", "port": atoll.free_port(),
            "healthzPort": 0, "readOnlyPort": 0, "cgroupDriver": "cgroupfs", "failSwapOn": False, "clusterDNS": [], "resolvConf": "",
            "authentication": {"anonymous": {"enabled": False}, "x509": {"clientCAFile": f"{self.pki}/ca.crt"}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"}, "tlsCertFile": f"{self.pki}/kubelet.crt", "tlsPrivateKeyFile": f"{self.pki}/kubelet.key",
            "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"}, "syncFrequency": "5s",
            "nodeStatusUpdateFrequency": "2s", "makeIPTablesUtilChains": False, "cgroupRoot": "/", "oomScoreAdj": 0,
            "enforceNodeAllocatable": []}))

    # ---- faults ----

    def stop(self, name, hard=True):
        part = self.parts.pop(name)
        (part.kill if hard else part.terminate)()
        part.wait()

    def wait_for_volumes(self, namespace):
        """Until the controllers make a volume for a claim. After the API server was away they ask for it in growing intervals, of 30 s at last."""
        path, name = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims", f"probe-{time.monotonic_ns()}"
        self.api.call("POST", path, {"metadata": {"name": name}, "spec": {"storageClassName": CLASS, "accessModes": ["ReadWriteOnce"],
                                                                          "resources": {"requests": {"storage": "1Mi"}}}})
        atoll.wait_for(lambda: self.api.get(f"{path}/{name}")["status"].get("phase") == "Bound", 90, "a volume")
        self.api.call("DELETE", f"{path}/{name}")

    # ---- the end ----

    def end_pods(self):
        with contextlib.suppress(Exception):
            for pod in self.api.get("/api/v1/pods")["items"]:
                meta = pod["metadata"]
                self.api.call("DELETE", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}?gracePeriodSeconds=0")
            atoll.wait_for(lambda: not self.ctr("tasks", "ls", "-q", check=False).stdout.strip(), 20, "the end of all containers")

    def remove(self):
        if self.provisioner:
            self.provisioner.close()
        if "kubelet" in self.parts and "kube-apiserver" in self.parts:
            self.end_pods()
        for name in ("kubelet", "kube-scheduler", "kube-controller-manager", "kube-apiserver"):
            if name in self.parts:
                self.stop(name)  # an API server that is asked to end waits for its watches
        namespaces = self.namespaces()
        if "containerd" in self.parts:
            for task in self.ctr("tasks", "ls", "-q", check=False).stdout.split():
                self.ctr("tasks", "kill", "-s", "SIGKILL", task, check=False)
            time.sleep(0.5)
        for name in ("containerd", "etcd"):
            if name in self.parts:
                self.stop(name, hard=False)
        self.clear_host(namespaces)
        shutil.rmtree(self.dir, ignore_errors=True)

    def clear_host(self, namespaces):
        mounts = [line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
        for path in sorted((m for m in mounts if m.startswith(f"{self.dir}/")), reverse=True):
            subprocess.run(["umount", "-l", path], check=False)
        for name in namespaces:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        for group in set(pod_groups()) - self.groups_before:
            for folder, _, _ in os.walk(group, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
        for name, value in self.sysctls:
            with contextlib.suppress(OSError):
                (pathlib.Path("/proc/sys") / name.replace(".", "/")).write_text(value)

    def namespaces(self):
        """Network namespaces of this cluster's pods, as its containerd names them: /run/netns has those of other clusters, too."""
        if "containerd" not in self.parts:
            return []
        found = set()
        for container in self.ctr("containers", "ls", "-q", check=False).stdout.split():
            told = self.ctr("containers", "info", container, check=False)
            if told.returncode == 0:
                found |= named_namespaces(json.loads(told.stdout).get("Spec") or {})
        return sorted(found)


def pod_groups():
    """The cgroups in which a kubelet puts its pods, of each hierarchy."""
    return pathlib.Path("/sys/fs/cgroup").glob("*/kubepods")


def named_namespaces(spec):
    """Of the specification of a container; one that joins another's by /proc has none of its own."""
    paths = [pathlib.PurePath(entry.get("path", "")) for entry in (spec.get("linux") or {}).get("namespaces", []) if entry["type"] == "network"]
    return {path.name for path in paths if path.parent.name == "netns"}


class Provisioner:
    """Gives each claim of the class a folder, as a storage plugin does, and removes those of deleted claims."""

    def __init__(self, cluster, folder=None):
        self.api, self.folder = cluster.api, pathlib.Path(folder or cluster.dir / "volumes")
        self.snapshots = self.folder.parent / "snapshots"
        self.snapshots.mkdir(exist_ok=True)
        self.is_closing = threading.Event()
        self.api.call("POST", "/apis/storage.k8s.io/v1/storageclasses", {
            "metadata": {"name": CLASS, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
            "provisioner": "test.local/folders", "reclaimPolicy": "Retain", "volumeBindingMode": "Immediate"})
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.is_closing.wait(0.05):
            with contextlib.suppress(Exception):
                self.look()

    def look(self):
        for claim in self.api.get("/api/v1/persistentvolumeclaims")["items"]:
            if claim["status"].get("phase") == "Pending" and claim["spec"].get("storageClassName") == CLASS:
                self.provide(claim)
        for volume in self.api.get("/api/v1/persistentvolumes")["items"]:
            if volume["spec"].get("storageClassName") == CLASS and volume["status"].get("phase") == "Released":
                self.api.call("DELETE", f"/api/v1/persistentvolumes/{volume['metadata']['name']}")
                shutil.rmtree(self.folder / volume["metadata"]["name"], ignore_errors=True)

    def provide(self, claim):
        meta, name = claim["metadata"], f"pv-{claim['metadata']['uid']}"
        path = self.folder / name
        source = claim["spec"].get("dataSource")
        if source and not path.exists():  # a copy of its snapshot; without one it waits for it
            subprocess.run(["cp", "-a", self.snapshots / source["name"], path], check=True, capture_output=True)
        path.mkdir(exist_ok=True)
        path.chmod(0o777)
        self.api.call("POST", "/api/v1/persistentvolumes", {"metadata": {"name": name}, "spec": {
            "capacity": claim["spec"]["resources"]["requests"], "accessModes": claim["spec"]["accessModes"], "storageClassName": CLASS,
            "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": str(path)},
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": meta["name"], "namespace": meta["namespace"],
                         "uid": meta["uid"]}}})

    def close(self):
        self.is_closing.set()
        self.thread.join()


# ---- images ----

IMAGES = ("pause", "agent", "base")


def build_images(layout):
    """pause: a program that waits; agent: the agent alone; base: busybox with a home for the user."""
    work = pathlib.Path(tempfile.mkdtemp(prefix="atoll-image-"))
    subprocess.run(["umoci", "init", "--layout", str(layout)], check=True)
    try:
        for name in IMAGES:
            root = work / name
            root.mkdir()
            FILLERS[name](root)
            subprocess.run(["umoci", "new", "--image", f"{layout}:{name}"], check=True)
            subprocess.run(["umoci", "insert", "--image", f"{layout}:{name}", str(root), "/"], check=True, capture_output=True)
        subprocess.run(["umoci", "config", "--image", f"{layout}:pause", "--config.entrypoint", "/bin/busybox", "--config.entrypoint", "sleep",
                        "--config.entrypoint", "2147483647"], check=True)
        subprocess.run(["umoci", "config", "--image", f"{layout}:base", "--config.cmd", "/bin/sh"], check=True)
    finally:
        shutil.rmtree(work)


def fill_pause(root):
    (root / "bin").mkdir()
    shutil.copy("/bin/busybox", root / "bin/busybox")


def fill_agent(root):
    shutil.copy(atoll.BUILD / "atoll-agent", root / "atoll-agent")


def fill_base(root):
    fill_pause(root)
    for name in subprocess.run(["/bin/busybox", "--list"], capture_output=True, text=True, check=True).stdout.split():
        if name != "busybox":
            (root / "bin" / name).symlink_to("busybox")
    for name, mode in (("tmp", 0o1777), ("etc", 0o755), ("home/user", 0o755), ("usr/bin", 0o755), ("root", 0o700), ("var/tmp", 0o1777)):
        (root / name).mkdir(parents=True)
        (root / name).chmod(mode)
    (root / "usr/bin/env").symlink_to("/bin/busybox")
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\nuser:x:1000:\n")
    os.chown(root / "home/user", 1000, 1000)


FILLERS = {"pause": fill_pause, "agent": fill_agent, "base": fill_base}


def write_inline_config(cluster, folder):
    """All in one file, which the user that atolld becomes may read."""
    ca, certificate, key = (base64.b64encode((cluster.pki / name).read_bytes()).decode() for name in ("ca.crt", "admin.crt", "admin.key"))
    path = pathlib.Path(folder) / "inline.conf"
    path.write_text(f"""apiVersion: v1
kind: Config
clusters:
- name: here
  cluster:
    server: https://127.0.0.1:{cluster.port}
    certificate-authority-data: {ca}
users:
- name: admin
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
contexts:
- name: here
  context: {{cluster: here, user: admin}}
current-context: here
""")
    path.chmod(0o644)
    pathlib.Path(folder).chmod(0o711)
    return path


def options(cluster, namespace, **more):
    """Of a provider in this cluster."""
    own = {"kubernetes_config": str(cluster.readable), "kubernetes_namespace": namespace, "kubernetes_image": "test.local/base:1",
           "kubernetes_agent_image": "test.local/agent:1", "kubernetes_agent_path": "/atoll-agent", "kubernetes_network_policy": "true", **more}
    return ";".join(f"{name}={value}" for name, value in own.items())


def quoted(text):
    return urllib.parse.quote(text, safe="")


class Borrowed:
    """A cluster that runs already: ATOLL_TEST_CLUSTER names its folder, with admin.conf and pki/."""

    parts = {}

    def __init__(self, folder):
        self.dir = pathlib.Path(folder)
        self.pki, self.kubeconfig = self.dir / "pki", self.dir / "admin.conf"
        self.port = int(re.search(r"https://127\.0\.0\.1:(\d+)", self.kubeconfig.read_text()).group(1))
        self.api = Api(self)
        self.own = tempfile.mkdtemp(prefix="atoll-cluster-", dir="/var/tmp")
        self.readable = write_inline_config(self, self.own)

    def remove(self):
        shutil.rmtree(self.own)


def open_cluster(namespace, node=True):
    folder = os.environ.get("ATOLL_TEST_CLUSTER")
    cluster = Borrowed(folder) if folder else Cluster(node)
    cluster.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    return cluster


def is_empty_soon(cluster, namespace):
    """A claim is gone when the cluster's controller has seen that no pod uses it."""
    return atoll.wait_for(lambda: cluster.api.objects(namespace) == [], 30, lambda: f"an empty namespace: {cluster.api.objects(namespace)}") or True
