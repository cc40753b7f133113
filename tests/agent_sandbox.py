# SPDX-License-Identifier: Apache-2.0
"""The kind Sandbox of agent-sandbox on a cluster of tests, and a controller that does with Sandbox objects what the project's own does:
it makes the pod of each, takes over a pod that has its label, deletes the pod of a suspended one, makes a deleted pod again, obeys
shutdownTime, and says what it has done in the status. ATOLL_AGENT_SANDBOX_CRDS names a folder with the project's own definitions."""

import contextlib
import copy
import datetime
import os
import pathlib
import threading

import yaml

import atoll

GROUP, KIND = "/apis/agents.x-k8s.io/v1beta1", "sandboxes"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HASH = "agents.x-k8s.io/sandbox-name-hash"
TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SPEC = {"type": "object", "required": ["podTemplate"], "properties": {
    "podTemplate": {"type": "object", "required": ["spec"], "properties": {
        "metadata": {"type": "object", "properties": {"labels": TEXTS, "annotations": TEXTS}}, "spec": ANY}},
    "operatingMode": {"type": "string", "enum": ["Running", "Suspended"], "default": "Running"},
    "shutdownTime": {"type": "string", "format": "date-time"},
    "shutdownPolicy": {"type": "string", "enum": ["Delete", "Retain"], "default": "Retain"},
    "service": {"type": "boolean"}, "volumeClaimTemplates": {"type": "array", "items": ANY}}}


def define(api, plural, group, kind, version, schema):
    """A definition of a kind with a status."""
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {
        "name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"}},
        "spec": {"group": group, "scope": "Namespaced", "names": {"plural": plural, "singular": kind.lower(), "kind": kind}, "versions": [{
            "name": version, "served": True, "storage": True, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema, "status": ANY}}}}]}}
    apply(api, body)


def apply(api, body):
    status, said = api.call("POST", DEFINITIONS, body)
    assert status in (201, 409), said
    spec = body["spec"]
    path = f"/apis/{spec['group']}/{next(v['name'] for v in spec['versions'] if v['storage'])}/{spec['names']['plural']}"
    atoll.wait_for(lambda: api.call("GET", path)[0] == 200, 60, f"the kind {spec['names']['kind']}")


def install(api):
    folder = os.environ.get("ATOLL_AGENT_SANDBOX_CRDS")
    if not folder:
        define(api, KIND, "agents.x-k8s.io", "Sandbox", "v1beta1", SPEC)
        return
    for path in sorted(pathlib.Path(folder).glob("*_sandboxes.yaml")):
        body = yaml.safe_load(path.read_text())
        body["spec"].pop("conversion", None)  # its webhook is the controller's
        fit_to_old_cluster(body["spec"])
        body["spec"]["versions"] = [version for version in body["spec"]["versions"] if version["storage"]]
        apply(api, body)


def fit_to_old_cluster(schema):
    """Kubernetes 1.20 refuses empty defaults, and lists whose keys are without one."""
    if isinstance(schema, dict):
        if schema.get("default") == "":
            del schema["default"]
        if schema.get("x-kubernetes-list-type") == "map":
            del schema["x-kubernetes-list-type"], schema["x-kubernetes-list-map-keys"]
        for value in schema.values():
            fit_to_old_cluster(value)
    elif isinstance(schema, list):
        for value in schema:
            fit_to_old_cluster(value)


def uninstall(api):
    api.call("DELETE", f"{DEFINITIONS}/{KIND}.agents.x-k8s.io")


def hash_of(name):
    """FNV-1a of 32 bits."""
    value = 2166136261
    for byte in name.encode():
        value = (value ^ byte) * 16777619 & 0xffffffff
    return f"{value:08x}"


def is_past(moment):
    return moment and datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")) <= datetime.datetime.now(datetime.timezone.utc)


class Controller:
    """`made`: how many pods it has made; `is_idle`: it does nothing for now."""

    def __init__(self, cluster, namespace):
        self.api, self.namespace = cluster.api, namespace
        self.made, self.adopted, self.is_idle = 0, 0, False
        self.is_closing = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.is_closing.wait(0.03):
            if not self.is_idle:
                with contextlib.suppress(Exception):
                    self.look()

    def close(self):
        self.is_closing.set()
        self.thread.join()

    def path(self, group, plural, name=""):
        return f"{group}/namespaces/{self.namespace}/{plural}{'/' if name else ''}{name}"

    def look(self):
        pods = {pod["metadata"]["name"]: pod for pod in self.api.get(self.path("/api/v1", "pods"))["items"]}
        for box in self.api.get(self.path(GROUP, KIND))["items"]:
            if box["metadata"].get("deletionTimestamp"):
                continue
            pod = pods.get(box["metadata"]["name"])
            if is_past(box["spec"].get("shutdownTime")):
                self.expire(box, pod)
                continue
            conditions = self.reconcile(box, pod)
            self.tell(box, conditions)
        self.collect({box["metadata"]["uid"] for box in self.api.get(self.path(GROUP, KIND))["items"]}, pods)

    def collect(self, known, pods):
        """What the collector of garbage does, where the cluster has none."""
        for pod in pods.values():
            owner = (pod["metadata"].get("ownerReferences") or [{}])[0]
            if owner.get("kind") == "Sandbox" and owner["uid"] not in known and not pod["metadata"].get("deletionTimestamp"):
                self.delete_pod(pod)

    def delete_pod(self, pod):
        self.api.call("DELETE", self.path("/api/v1", "pods", pod["metadata"]["name"]), {"preconditions": {"uid": pod["metadata"]["uid"]}})

    def expire(self, box, pod):
        if pod and owns(box, pod):
            self.delete_pod(pod)
        if box["spec"].get("shutdownPolicy") == "Delete":
            self.api.call("DELETE", self.path(GROUP, KIND, box["metadata"]["name"]))

    def reconcile(self, box, pod):
        """Returns (reason, message) of the condition Ready, and of Suspended."""
        if box["spec"].get("operatingMode") == "Suspended":
            if pod and owns(box, pod):
                if not pod["metadata"].get("deletionTimestamp"):
                    self.delete_pod(pod)
                return ("SandboxSuspended", "Sandbox is suspending"), (False, "PodTerminating")
            return ("SandboxSuspended", "Sandbox is suspended"), (True, "PodTerminated")
        problem = self.make_pod(box) if not pod else self.take_pod(box, pod)
        if problem:
            return ("ReconcilerError", f"Error seen: {problem}"), (False, "NotSuspended")
        phase = (pod or {}).get("status", {}).get("phase", "Pending")
        reason = {"Succeeded": "PodSucceeded", "Failed": "PodFailed"}.get(phase, "DependenciesReady" if is_ready(pod) else "DependenciesNotReady")
        return (reason, f"Pod exists with phase: {phase}"), (False, "NotSuspended")

    def make_pod(self, box):
        meta, template = box["metadata"], box["spec"]["podTemplate"]
        own = copy.deepcopy(template.get("metadata", {}))
        status, said = self.api.call("POST", self.path("/api/v1", "pods"), {"metadata": {
            "name": meta["name"], "labels": {**own.get("labels", {}), HASH: hash_of(meta["name"])}, "annotations": own.get("annotations", {}),
            "ownerReferences": [reference(box)]}, "spec": template["spec"]})
        self.made += status == 201
        return None if status in (201, 409) else said.get("message")

    def take_pod(self, box, pod):
        meta = pod["metadata"]
        if not owns(box, pod):
            if meta.get("ownerReferences") or meta.get("labels", {}).get(HASH) != hash_of(box["metadata"]["name"]):
                return f"cannot adopt unowned pod \"{meta['name']}\""
            self.adopted += 1
        own = box["spec"]["podTemplate"].get("metadata", {})
        wanted = {"labels": own.get("labels", {}), "annotations": own.get("annotations", {})}
        if owns(box, pod) and all(meta.get(part, {}).get(name) == value for part in wanted for name, value in wanted[part].items()):
            return None
        status, said = self.api.call("PATCH", self.path("/api/v1", "pods", meta["name"]), {"metadata": {
            **wanted, "ownerReferences": [reference(box)], "uid": meta["uid"]}}, "application/merge-patch+json")
        return None if status in (200, 404, 409) else said.get("message")

    def tell(self, box, conditions):
        (reason, message), (is_suspended, suspended) = conditions
        told = [{"type": "Ready", "status": "True" if reason == "DependenciesReady" else "False", "reason": reason, "message": message},
                {"type": "Suspended", "status": "True" if is_suspended else "False", "reason": suspended, "message": suspended}]
        before = [{name: c.get(name) for name in ("type", "status", "reason", "message")} for c in box.get("status", {}).get("conditions", [])]
        if before == told:
            return
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.api.call("PATCH", self.path(GROUP, KIND, box["metadata"]["name"]) + "/status", {"status": {"conditions": [
            {**condition, "lastTransitionTime": now, "observedGeneration": box["metadata"]["generation"]} for condition in told]}},
            "application/merge-patch+json")


def reference(box):
    meta = box["metadata"]
    return {"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "name": meta["name"], "uid": meta["uid"], "controller": True,
            "blockOwnerDeletion": True}


def owns(box, pod):
    return any(owner["uid"] == box["metadata"]["uid"] for owner in pod["metadata"].get("ownerReferences") or [])


def is_ready(pod):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in (pod or {}).get("status", {}).get("conditions", []))
