# SPDX-License-Identifier: Apache-2.0
"""The manifests of deploy/kubernetes, applied as they are: two servers that serve each sandbox, while one is killed."""

import json
import sys
import threading
import time

import pytest

import atoll
import kubernetes_cluster
import postgres
import replicas

sys.path.insert(0, str(atoll.ROOT / "tools"))
import check_manifests  # noqa: E402

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


@pytest.fixture(scope="module")
def deployed():
    if not postgres.programs():
        pytest.skip("Debian's package postgresql is not installed")
    if not kubernetes_cluster.find("kubectl"):
        pytest.skip("kubectl not found: run tests/kubernetes_build.sh")
    cluster = replicas.cluster()
    database = replicas.Database()
    service = replicas.ServiceAddress(cluster.services, 443, lambda: ("127.0.0.1", cluster.port))
    deployment = replicas.Deployment(cluster)
    try:
        replicas.import_image(cluster)
        folder = deployment.manifests()
        deployment.kubectl("apply", "-f", folder / "00-namespace.yaml")
        deployment.make_secret(f"postgresql://postgres@{cluster.services}:{database.port}/postgres")
        deployment.kubectl("apply", "-f", folder)
        atoll.wait_for(lambda: len(deployment.addresses()) == 2, 180, "two servers that are ready")
        yield deployment
    finally:
        deployment.remove()
        service.close()
        database.remove()
        cluster.remove()


@pytest.fixture
def client(deployed):
    return replicas.Client(deployed)


def create(client):
    status, made, address = client.call("POST", PATH, {"template": "host", "internet": True}, timeout=120)
    assert status in (200, 201), made
    return made["id"], address


def run(client, box, command):
    return client.call("POST", f"{PATH}/{box}/exec", {"command": command})


def remove(client, box):
    status, answer, _ = client.call("DELETE", f"{PATH}/{box}")
    assert status in (200, 202, 204, 404), answer


def test_the_servers_are_restricted_pods_with_few_rights(deployed):
    for pod in deployed.pods():
        own, container = pod["spec"]["securityContext"], pod["spec"]["containers"][0]["securityContext"]
        assert own["runAsNonRoot"] and own["seccompProfile"]["type"] == "RuntimeDefault"
        assert container["capabilities"]["drop"] == ["ALL"] and container["readOnlyRootFilesystem"] and not container["allowPrivilegeEscalation"]
    account = f"--as=system:serviceaccount:{replicas.NAMESPACE}:atoll"
    def may(verb, what, namespace):
        return deployed.kubectl("auth", "can-i", verb, what, "-n", namespace, account, check=False).stdout.strip() == "yes"
    assert may("create", "pods", replicas.SANDBOXES) and may("create", "pods/exec", replicas.SANDBOXES)
    for verb, what, namespace in (("get", "secrets", replicas.SANDBOXES), ("get", "secrets", replicas.NAMESPACE), ("create", "pods", replicas.NAMESPACE),
                                  ("create", "pods/exec", replicas.NAMESPACE), ("list", "pods", "kube-system"), ("get", "nodes", "default"),
                                  ("create", "rolebindings", replicas.SANDBOXES)):
        assert not may(verb, what, namespace), (verb, what, namespace)


def test_every_server_serves_every_sandbox(deployed, client):
    box, made_at = create(client)
    try:
        served = set()
        for _ in range(8):
            status, answer, address = run(client, box, "echo here")
            assert status == 200 and answer["stdout"] == "here\n", (status, answer)
            served.add(address)
        assert len(served) == 2 and made_at in served
    finally:
        remove(client, box)


def test_the_chart_is_applied_over_the_manifests_and_its_budget_keeps_a_server(deployed):
    chart = check_manifests.render({"image": {"name": replicas.IMAGE}, "sandboxes": {"image": "test.local/base:1"},
                                    "podDisruptionBudget": {"apiVersion": "policy/v1beta1"}})  # this cluster is older than policy/v1
    if chart is None:
        pytest.skip("the chart is rendered by Go, which is not installed")
    before = deployed.generation()
    said = deployed.kubectl("apply", "-f", "-", text=chart).stdout
    assert "poddisruptionbudget.policy/atoll created" in said and "configmap/atoll unchanged" in said, said
    assert deployed.generation() == before, "the chart and the manifest differ"
    budget = atoll.wait_for(lambda: deployed.budget().get("disruptionsAllowed") == 1 and deployed.budget(), 60, "a budget with room for one")
    assert budget["currentHealthy"] == 2 and budget["desiredHealthy"] == 1, budget
    first, second = (pod["metadata"]["name"] for pod in deployed.pods())
    assert deployed.evict(first)[0] == 201
    status, said = deployed.evict(second)
    assert status == 429 and "disruption budget" in said["message"], (status, said)
    atoll.wait_for(lambda: len(deployed.addresses()) == 2 and first not in {pod["metadata"]["name"] for pod in deployed.pods()}, 180, "a new server")


def test_the_other_examples_are_accepted_as_they_are(deployed):
    accepted = deployed.kubectl("apply", "--dry-run=server", "-f", replicas.MANIFESTS / "optional/postgresql.yaml").stdout
    for kind in ("service/", "statefulset.apps/", "networkpolicy.networking.k8s.io/"):
        assert f"{kind}atoll-postgresql created (server dry run)" in accepted, accepted
    # This API server is older than policy/v1, which the manifest names: all else of it is accepted.
    text = (replicas.MANIFESTS / "optional/disruption.yaml").read_text()
    kinds = json.loads(deployed.kubectl("get", "--raw", "/apis/policy").stdout)["versions"]
    if "v1" not in {kind["version"] for kind in kinds}:
        text = text.replace("policy/v1\n", "policy/v1beta1\n")
    assert "poddisruptionbudget.policy/atoll" in deployed.kubectl("apply", "--dry-run=server", "-f", "-", text=text).stdout


class Load:
    """Clients that run a command again and again; what went wrong, with its time."""

    def __init__(self, client, boxes):
        self.client, self.boxes, self.ends = client, boxes, threading.Event()
        self.calls, self.wrong, self.cut = 0, [], []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(box,)) for box in boxes]
        for thread in self.threads:
            thread.start()

    def run(self, box):
        number = 0
        while not self.ends.is_set():
            number += 1
            try:
                status, answer, address = run(self.client, box, f"echo {number}")
            except OSError as error:  # the server went away during the call
                with self.lock:
                    self.cut.append((time.time(), box, repr(error)))
                continue
            with self.lock:
                self.calls += 1
                if status == 502:  # it was passed on to the server that went away
                    self.cut.append((time.time(), box, answer))
                elif status != 200 or answer["stdout"] != f"{number}\n":
                    self.wrong.append((time.time(), box, address, status, answer))

    def end(self):
        self.ends.set()
        for thread in self.threads:
            thread.join(120)


def test_callers_lose_only_calls_in_flight_when_a_server_is_killed(deployed, client):
    boxes = [create(client)[0] for _ in range(3)]
    try:
        load = Load(client, boxes)
        atoll.wait_for(lambda: load.calls > 20, 60, "calls")
        victim = deployed.pods()[0]["metadata"]["name"]
        killed = time.time()
        deployed.kubectl("delete", "pod", victim, "-n", replicas.NAMESPACE, "--grace-period=0", "--force")
        before = load.calls
        atoll.wait_for(lambda: load.calls > before + 30, 120, "calls after the kill")
        took = time.time() - killed
        atoll.wait_for(lambda: len(deployed.addresses()) == 2 and victim not in {pod["metadata"]["name"] for pod in deployed.pods()}, 180,
                       "a new server")
        load.end()
        print(f"{load.calls} calls, {len(load.cut)} cut off, 30 calls in {took:.1f} s after the kill")
        assert not load.wrong, load.wrong[:3]
        assert len(load.cut) <= len(boxes), load.cut
        for box in boxes:
            status, answer, _ = run(client, box, "echo still here")
            assert status == 200 and answer["stdout"] == "still here\n", (status, answer)
    finally:
        for box in boxes:
            remove(client, box)
    atoll.wait_for(lambda: not [name for name in deployed.cluster.api.names("pods", replicas.SANDBOXES)], 120, "no pod of a sandbox")
    assert not deployed.cluster.api.names("persistentvolumeclaims", replicas.SANDBOXES)


def test_a_rolling_restart_loses_no_call(deployed, client):
    box, _ = create(client)
    try:
        load = Load(client, [box])
        atoll.wait_for(lambda: load.calls > 5, 60, "calls")
        deployed.kubectl("rollout", "restart", "deployment/atoll", "-n", replicas.NAMESPACE)
        deployed.kubectl("rollout", "status", "deployment/atoll", "-n", replicas.NAMESPACE, "--timeout=300s")
        atoll.wait_for(lambda: len(deployed.pods()) == 2, 120, "the end of the old servers")
        load.end()
        assert not load.wrong and not load.cut, (load.wrong[:3], load.cut[:3])
    finally:
        remove(client, box)
