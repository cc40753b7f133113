#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kubernetes.py [N]: a command in a pod through the agent and by `kubectl exec`, N of each in turns on one pod, and how long a
pod takes from the create to its first answer, cold and warm. On the cluster of ATOLL_TEST_CLUSTER, or on one that is started."""

import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import atoll  # noqa: E402
import kubernetes_cluster  # noqa: E402

SPACE = "atoll-bench"
PODS = 5
LIMITS = {"cpu": 0.2, "memory_mb": 64}


def timed(call, *arguments):
    begun = time.monotonic()
    call(*arguments)
    return (time.monotonic() - begun) * 1000


def by_kubectl(cluster, box):
    said = subprocess.run(["kubectl", "--kubeconfig", str(cluster.readable), "-n", SPACE, "exec", f"atoll-{box}", "-c", "main", "--", "echo", "on"],
                          capture_output=True, text=True, check=True)
    assert said.stdout == "on\n"


def by_agent(api, box):
    assert api.exec(box, cmd="echo", args=["on"])["stdout"] == "on\n"


def first_answer(cluster, api, kind):
    """From the create to the first answer; `kind` is the begin of the pod's name."""
    with contextlib.ExitStack() as stack:
        begun = time.monotonic()
        box = stack.enter_context(api.sandbox(internet=True, resources=LIMITS))
        by_agent(api, box)
        took = (time.monotonic() - begun) * 1000
        pod = cluster.api.get(f"/api/v1/namespaces/{SPACE}/pods?labelSelector=atoll.sandbox%3D{box}")["items"][0]["metadata"]["name"]
        assert pod.startswith("atoll-warm-") == (kind == "warm"), pod
        return took


def warm_pods(cluster):
    pods = cluster.api.get(f"/api/v1/namespaces/{SPACE}/pods?labelSelector=atoll.warm")["items"]
    return [pod for pod in pods if pod["status"].get("phase") == "Running"]


def serve(cluster, **more):
    return atoll.Server(flags=["--providers", f"pods=kubernetes:{kubernetes_cluster.options(cluster, SPACE, **more)}"]).start()


def measure_warm(cluster, cold):
    """A warm pod is claimed when all of them run: what makes the next one is not measured beside it."""
    server = serve(cluster, kubernetes_warm_pods="1")
    took = []
    try:
        with contextlib.closing(server.api()) as api:
            with api.sandbox(internet=True, resources=LIMITS):
                pass
            for _ in range(PODS):
                atoll.wait_for(lambda: warm_pods(cluster), 120, "a warm pod")
                took.append(first_answer(cluster, api, "warm"))
    finally:
        server.remove_all()
    print(f"ratio {tell('create to first answer, warm', took) / cold:.3f} (aim 0.2)")


def tell(name, figures):
    figures = sorted(figures)
    print(f"{name}: p50 {statistics.median(figures):.1f} ms, p95 {figures[int(len(figures) * 0.95)]:.1f} ms, n {len(figures)}")
    return statistics.median(figures)


def measure(cluster, api, count):
    with api.sandbox(internet=True) as box:
        by_agent(api, box)
        pairs = [(timed(by_agent, api, box), timed(by_kubectl, cluster, box)) for _ in range(count)]
    agent, kubectl = tell("exec through the agent", [a for a, _ in pairs]), tell("kubectl exec", [k for _, k in pairs])
    print(f"ratio {agent / kubectl:.3f} (aim 0.5), load {os.getloadavg()[0]:.1f}")
    return tell("create to first answer, cold", [first_answer(cluster, api, "cold") for _ in range(PODS)])


def main():
    cluster = kubernetes_cluster.open_cluster(SPACE)
    server = serve(cluster)
    try:
        with contextlib.closing(server.api()) as api:
            cold = measure(cluster, api, int(sys.argv[1]) if len(sys.argv) > 1 else 50)
        server.remove_all()
        measure_warm(cluster, cold)
    finally:
        if server.process:
            server.remove_all()
        cluster.remove()


if __name__ == "__main__":
    main()
