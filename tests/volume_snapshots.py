# SPDX-License-Identifier: Apache-2.0
"""The kind VolumeSnapshot on a cluster of tests, and what a snapshot controller and a storage driver do with it: a copy of the claim's
folder, from which kubernetes_cluster.Provisioner fills a claim that names the snapshot as its source."""

import contextlib
import shutil
import subprocess
import threading

import agent_sandbox

NAME, KIND = "snapshot.storage.k8s.io", "volumesnapshots"
GROUP = f"/apis/{NAME}/v1"
SPEC = {"type": "object", "required": ["source"], "properties": {
    "volumeSnapshotClassName": {"type": "string", "minLength": 1},
    "source": {"type": "object", "properties": {"persistentVolumeClaimName": {"type": "string"}, "volumeSnapshotContentName": {"type": "string"}}}}}


def install(api):
    agent_sandbox.define(api, KIND, NAME, "VolumeSnapshot", "v1", SPEC)


def uninstall(api):
    api.call("DELETE", f"{agent_sandbox.DEFINITIONS}/{KIND}.{NAME}")


class Controller:
    """`problem`: what each new snapshot fails with; `size`: what a volume from one must have at least."""

    def __init__(self, cluster, namespace):
        self.api, self.namespace, self.provisioner = cluster.api, namespace, cluster.provisioner
        self.problem, self.size = None, "1Mi"
        self.is_closing = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.is_closing.wait(0.03):
            with contextlib.suppress(Exception):
                self.look()

    def close(self):
        self.is_closing.set()
        self.thread.join()

    def names(self):
        return self.api.names(KIND, self.namespace, GROUP)

    def look(self):
        found = self.api.get(f"{GROUP}/namespaces/{self.namespace}/{KIND}")["items"]
        for snapshot in found:
            if not snapshot.get("status"):
                self.take(snapshot)
        known = {item["metadata"]["name"] for item in found}
        for path in self.provisioner.snapshots.iterdir():
            if path.name not in known:
                shutil.rmtree(path)

    def take(self, snapshot):
        name, claim = snapshot["metadata"]["name"], snapshot["spec"]["source"]["persistentVolumeClaimName"]
        status = {"readyToUse": False, "error": {"message": self.problem}}
        if not self.problem:
            volume = self.api.get(f"/api/v1/namespaces/{self.namespace}/persistentvolumeclaims/{claim}")["spec"]["volumeName"]
            subprocess.run(["cp", "-a", self.provisioner.folder / volume, self.provisioner.snapshots / name], check=True)
            status = {"readyToUse": True, "restoreSize": self.size}
        self.api.call("PATCH", f"{GROUP}/namespaces/{self.namespace}/{KIND}/{name}/status", {"status": status}, "application/merge-patch+json")
