# SPDX-License-Identifier: Apache-2.0
"""Provider kubernetes on a cluster of one node: API server, scheduler, kubelet and containerd are real. Nothing of a
sandbox is left in its namespace when it is deleted."""

import concurrent.futures
import contextlib
import http.client
import ipaddress
import json
import re
import statistics
import time

import pytest

import atoll
import kubernetes_cluster

pytestmark = [pytest.mark.needs_root, pytest.mark.slow]
PATH = "/api/sandbox/instances"
SPACE = "atoll-tests"


@pytest.fixture(scope="module")
def cluster():
    made = kubernetes_cluster.open_cluster(SPACE)
    yield made
    made.remove()


def serve(cluster, before="native,", **more):
    chosen = kubernetes_cluster.options(cluster, SPACE, allow_weaker="true", **more)
    return atoll.Server(flags=["--providers", f"{before}pods=kubernetes:{chosen}"])


@pytest.fixture(scope="module")
def server(cluster):
    server = serve(cluster).start()
    yield server
    server.remove_all()
    atoll.wait_for(lambda: cluster.api.objects(SPACE) == [], 20, "an empty namespace")


@pytest.fixture
def api(server):
    with contextlib.closing(server.api()) as connection:
        yield connection


@pytest.fixture(scope="module")
def box(server):
    with contextlib.closing(server.api()) as connection, connection.sandbox(provider="pods", internet=True) as made:
        yield made


def pod_of(cluster, box):
    return cluster.api.get(f"/api/v1/namespaces/{SPACE}/pods/atoll-{box}")


def refused(call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as caught:
        call(*arguments, **options)
    return caught.value


def objects_of(cluster, box):
    return [name for name in cluster.api.objects(SPACE) if box in name]


def assert_gone(cluster, box):
    """A claim is gone when the cluster's controller has seen that no pod uses it."""
    atoll.wait_for(lambda: objects_of(cluster, box) == [], 20, "the end of its objects")


# what works inside


def test_commands_files_and_ports_are_those_of_any_sandbox(api, box):
    said = api.exec(box, "cat; echo out; echo err >&2; exit 7", stdin="in\n")
    assert (said["stdout"], said["stderr"], said["exit_code"]) == ("in\nout\n", "err\n", 7)
    data = bytes(range(256)) * 8192
    api.write(box, "data.bin", data)
    assert api.read(box, "data.bin") == data
    assert api.exec(box, "seq 200000 | tail -n 1")["stdout"] == "200000\n"
    api.exec(box, "mkdir -p w && cd w && echo hello > index.html && (httpd -p 127.0.0.1:8123 -h . > /dev/null 2>&1 &)")
    atoll.wait_for(lambda: "8123" in json.dumps(api.get(f"{PATH}/{box}/ports")), 20, "a port")
    assert api.raw("GET", f"{PATH}/{box}/preview/8123/index.html").body == b"hello\n"


def test_a_sandbox_has_one_user_and_refuses_another_by_name(api, box):
    assert api.exec(box, "id -u; echo $HOME")["stdout"] == "1000\n/home/user\n"
    why = refused(api.exec, box, "id", user="root")
    assert "alone" in why.message and "root" in why.message, why.message


def test_a_pod_keeps_to_the_standard_restricted(api, cluster, box):
    spec = pod_of(cluster, box)["spec"]
    assert api.get(f"{PATH}/{box}")["isolation"] == "namespaces"
    assert spec["automountServiceAccountToken"] is False and spec["enableServiceLinks"] is False
    assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in spec["containers"] + spec["initContainers"]:
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert set(container["resources"]["limits"]) >= {"cpu", "memory"} and set(container["resources"]["requests"]) >= {"cpu", "memory"}
    assert all(not volume.get("hostPath") for volume in spec["volumes"])
    # and so it is inside
    said = api.exec(box, "grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status; ls /var/run/secrets 2>&1")["stdout"]
    assert "CapEff:\t0000000000000000" in said and "NoNewPrivs:\t1" in said and "Seccomp:\t2" in said and "No such file" in said, said


def test_the_token_of_the_agent_is_not_to_be_seen_inside(api, box):
    said = api.exec(box, "env; cat /proc/1/environ 2>&1; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'")["stdout"]
    assert "TOKEN" not in said, said


def test_the_agents_port_needs_its_token(api, box):
    said = api.exec(box, "printf 'GET /atoll-agent HTTP/1.1\\r\\nSec-WebSocket-Key: a\\r\\nX-Atoll-Agent-Token: %064d\\r\\n\\r\\n' 0 | "
                         "nc 127.0.0.1 49990 | head -n 1")["stdout"]
    assert "403" in said, said


# its life


def test_files_of_the_home_outlive_a_stop_and_the_pod_does_not(api, cluster):
    with api.sandbox(provider="pods", internet=True, resources={"cpu": 0.3, "memory_mb": 96}, labels={"a": "b"}) as box:
        api.exec(box, "echo kept > file")
        first = pod_of(cluster, box)
        assert api.post(f"{PATH}/{box}/stop")["state"] == "stopped"
        assert cluster.api.call("GET", f"/api/v1/namespaces/{SPACE}/pods/atoll-{box}")[0] == 404
        assert len(objects_of(cluster, box)) == 2
        assert api.post(f"{PATH}/{box}/start")["state"] == "started"
        assert api.exec(box, "cat file")["stdout"] == "kept\n"
        again = pod_of(cluster, box)
        assert again["metadata"]["uid"] != first["metadata"]["uid"]
        assert again["spec"]["containers"][0]["resources"] == first["spec"]["containers"][0]["resources"]
        assert again["spec"]["containers"][0]["resources"]["limits"]["memory"] == "96Mi"
    assert_gone(cluster, box)


def test_a_sandbox_outlives_the_death_of_the_server(api, server, cluster, box):
    api.exec(box, "(sleep 7654 &) ; echo on > alive")
    uid = pod_of(cluster, box)["metadata"]["uid"]
    server.kill9("api")
    with contextlib.closing(server.api()) as after:
        said = atoll.wait_for(lambda: after.exec(box, "cat alive; ps | grep -c '[s]leep 7654'")["stdout"], 60, "an answer")
        assert said == "on\n1\n"
    assert pod_of(cluster, box)["metadata"]["uid"] == uid


def test_an_evicted_pod_is_told_of_and_its_files_are_kept(api, cluster):
    with api.sandbox(provider="pods", internet=True) as box:
        api.exec(box, "echo kept > file")
        status, said = cluster.api.call("POST", f"/api/v1/namespaces/{SPACE}/pods/atoll-{box}/eviction", {
            "apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": f"atoll-{box}", "namespace": SPACE}})
        assert status == 201, said
        atoll.wait_for(lambda: api.get(f"{PATH}/{box}")["state"] in ("stopped", "failed"), 60, "the end of the sandbox")
        assert api.get(f"{PATH}/{box}")["state"] == "stopped"
        assert api.post(f"{PATH}/{box}/start")["state"] == "started"
        assert api.exec(box, "cat file")["stdout"] == "kept\n"
    assert_gone(cluster, box)


def test_what_takes_too_much_memory_ends_with_that_reason(api, cluster):
    with api.sandbox(provider="pods", internet=True, resources={"memory_mb": 64}) as box:
        with contextlib.suppress(atoll.ApiError):
            api.exec(box, "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done", timeout_ms=30000)
        assert api.exec(box, "echo on")["stdout"] == "on\n"


# the network


def policy_of(cluster, box):
    return cluster.api.get(f"/apis/networking.k8s.io/v1/namespaces/{SPACE}/networkpolicies/atoll-{box}")["spec"]


def allows(policy, address):
    blocks = [to["ipBlock"] for rule in policy.get("egress", []) for to in rule.get("to", []) if "ipBlock" in to]
    wanted = ipaddress.ip_address(address)
    return any(wanted in ipaddress.ip_network(block["cidr"]) and
               not any(wanted in ipaddress.ip_network(part) for part in block.get("except", [])) for block in blocks)


def test_a_blocked_sandbox_may_reach_nothing(api, cluster):
    with api.sandbox(provider="pods", internet=False) as box:
        policy = policy_of(cluster, box)
        assert policy["policyTypes"] == ["Ingress", "Egress"] and not policy.get("egress") and not policy.get("ingress")
        assert policy["podSelector"] == {"matchLabels": {"atoll.sandbox": box}}


def test_rules_are_those_of_a_policy_and_change_with_them(api, cluster):
    with api.sandbox(provider="pods", internet=True, egress={"allow": ["1.1.1.1"], "deny": ["0.0.0.0/0"]}) as box:
        policy = policy_of(cluster, box)
        assert allows(policy, "1.1.1.1") and not allows(policy, "1.1.1.2") and not allows(policy, "255.255.255.255")
    with api.sandbox(provider="pods", internet=True, egress={"deny": ["9.9.0.0/16"]}) as box:
        policy = policy_of(cluster, box)
        assert allows(policy, "8.8.8.8") and not allows(policy, "9.9.1.1") and allows(policy, "9.10.0.1")
        assert not any(allows(policy, private) for private in ("10.0.0.1", "169.254.169.254", "192.168.1.1", "172.16.0.1", "127.0.0.1"))


def test_rules_that_name_hosts_are_refused_by_name(api, cluster):
    before = cluster.api.objects(SPACE)
    why = refused(api.create, provider="pods", internet=True, egress={"allow": ["example.com"], "deny": ["0.0.0.0/0"]})
    assert "names" in why.message, why.message
    assert cluster.api.objects(SPACE) == before


# warm pods


def warm_pods(cluster):
    pods = cluster.api.get(f"/api/v1/namespaces/{SPACE}/pods?labelSelector=atoll.warm")["items"]
    return [pod for pod in pods if pod["status"].get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp")]


def claimed_pod(cluster, box):
    return cluster.api.get(f"/api/v1/namespaces/{SPACE}/pods?labelSelector=atoll.sandbox%3D{box}")["items"][0]


def assert_placed(cluster, api, box):
    """The place that the server tells is the cluster's: the pod of the sandbox and the node that it runs on."""
    pod, place = claimed_pod(cluster, box), api.get(f"{PATH}/{box}")["place"]
    assert (place["object"], place["node"]) == (pod["metadata"]["name"], pod["spec"]["nodeName"]), place


def no_warm_pods(cluster):
    return not cluster.api.get(f"/api/v1/namespaces/{SPACE}/pods?labelSelector=atoll.warm")["items"]


def test_a_create_claims_a_warm_pod(cluster):
    limits = {"resources": {"cpu": 0.2, "memory_mb": 64}}
    before = cluster.api.objects(SPACE)
    server = serve(cluster, before="", kubernetes_warm_pods="1").start()
    try:
        with contextlib.closing(server.api()) as api:
            with api.sandbox(internet=True, **limits) as cold:
                assert claimed_pod(cluster, cold)["metadata"]["name"] == f"atoll-{cold}"
                assert_placed(cluster, api, cold)
                warm = atoll.wait_for(lambda: warm_pods(cluster), 120, "a warm pod")[0]["metadata"]
            policy = cluster.api.get(f"/apis/networking.k8s.io/v1/namespaces/{SPACE}/networkpolicies/{warm['name']}")["spec"]
            assert policy["podSelector"] == {"matchLabels": {"atoll.pod": warm["name"]}} and not policy.get("egress")
            with api.sandbox(internet=True, egress={"deny": ["9.9.0.0/16"]}, **limits) as box:
                assert claimed_pod(cluster, box)["metadata"]["uid"] == warm["uid"]
                assert_placed(cluster, api, box)
                assert api.exec(box, "echo on > file; cat file")["stdout"] == "on\n"
                policy = cluster.api.get(f"/apis/networking.k8s.io/v1/namespaces/{SPACE}/networkpolicies/{warm['name']}")["spec"]
                assert policy["podSelector"] == {"matchLabels": {"atoll.sandbox": box}}
                assert allows(policy, "8.8.8.8") and not allows(policy, "9.9.1.1")
                assert api.post(f"{PATH}/{box}/stop")["state"] == "stopped"
                assert api.post(f"{PATH}/{box}/start")["state"] == "started"
                assert api.exec(box, "cat file")["stdout"] == "on\n"
                assert_placed(cluster, api, box)
                server.kill9("api")
                with contextlib.closing(server.api()) as after:
                    assert atoll.wait_for(lambda: after.exec(box, "cat file")["stdout"], 60, "an answer") == "on\n"
        with contextlib.closing(server.api()) as api:
            # Two creates and one warm pod: both get a pod of their own.
            atoll.wait_for(lambda: warm_pods(cluster), 120, "a warm pod")
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                boxes = list(pool.map(lambda _: create_on(server, limits), range(2)))
            names = {claimed_pod(cluster, box)["metadata"]["name"] for box in boxes}
            assert len(names) == 2 and any(name.startswith("atoll-warm-") for name in names), names
            for box in boxes:
                assert api.exec(box, "echo on")["stdout"] == "on\n"
                api.remove(box)
            # What asks for other limits gets none of them.
            with api.sandbox(internet=True, resources={"cpu": 0.3, "memory_mb": 80}) as other:
                assert claimed_pod(cluster, other)["metadata"]["name"] == f"atoll-{other}"
    finally:
        server.stop()
    end_warm_pods(cluster, server, before)


def end_warm_pods(cluster, server, before):
    """Ends a stopped server, its sandboxes and its warm pods."""
    server.flags = ["--providers", server.flags[1].replace("kubernetes_warm_pods=1", "kubernetes_warm_pods=0")]
    server.start()
    try:
        atoll.wait_for(lambda: no_warm_pods(cluster), 60, "the end of the warm pods")
    finally:
        server.remove_all()
    atoll.wait_for(lambda: cluster.api.objects(SPACE) == before, 60, lambda: f"the end of all objects: {cluster.api.objects(SPACE)}")


def create_on(server, limits):
    with contextlib.closing(server.api()) as api:
        return api.create(internet=True, **limits)["id"]


SAMPLES = 3
WARM_PART = 0.2


def first_answer_s(api, limits):
    begun = time.monotonic()
    with api.sandbox(internet=True, **limits) as box:
        assert api.exec(box, cmd="echo", args=["on"])["stdout"] == "on\n"
        return time.monotonic() - begun


def wait_for_pods(cluster, others, count):
    """A pod that starts or ends uses the processors of the only node: it would be measured, too."""
    def names():
        return set(cluster.api.names("pods", SPACE)) - set(others)

    atoll.wait_for(lambda: len(names()) == count, 120, lambda: f"{count} pods: {names()}")


def told_warm(api):
    (warm,) = [one["warm"] for one in api.get("/v1/providers")["items"] if one["name"] == "pods"]
    return warm


def test_a_warm_pod_answers_in_a_fifth_of_a_cold_pods_time(cluster):
    limits = {"resources": {"cpu": 0.2, "memory_mb": 64}}
    before, others, cold, warm = cluster.api.objects(SPACE), cluster.api.names("pods", SPACE), [], []
    server = serve(cluster, before="", kubernetes_warm_pods="0").start()
    try:
        with contextlib.closing(server.api()) as api:
            for _ in range(SAMPLES):
                cold.append(first_answer_s(api, limits))
                wait_for_pods(cluster, others, 0)
        server.stop()
        server.flags = ["--providers", server.flags[1].replace("kubernetes_warm_pods=0", "kubernetes_warm_pods=1")]
        server.start()
        with contextlib.closing(server.api()) as api:
            first_answer_s(api, limits)  # tells which limits the warm pods should have
            hits = told_warm(api)["hits"]
            for _ in range(SAMPLES):
                wait_for_pods(cluster, others, 1)
                atoll.wait_for(lambda: told_warm(api)["ready"], 120, lambda: f"a warm pod: {told_warm(api)}")
                warm.append(first_answer_s(api, limits))
            assert told_warm(api)["hits"] == hits + SAMPLES, told_warm(api)
        assert statistics.median(warm) <= WARM_PART * statistics.median(cold), (warm, cold)
    finally:
        server.stop()
        end_warm_pods(cluster, server, before)


# a server that dies

STEPS = sorted({step for path in (atoll.ROOT / "src/provider/kubernetes").glob("*.c")
                for step in re.findall(r'fault_point\("kubernetes", "([a-z-]+)"\)', path.read_text())})


def provoke(server, cluster):
    """Comes by every step: a create of its own pod, one of a warm pod, and a delete."""
    limits = {"resources": {"cpu": 0.2, "memory_mb": 64}}
    with contextlib.suppress(atoll.ApiError, OSError, http.client.HTTPException), contextlib.closing(server.api(timeout=60)) as api:
        box = api.create(internet=True, **limits)["id"]
        for _ in range(2):  # the server may see later than this test that a warm pod runs
            atoll.wait_for(lambda: warm_pods(cluster), 120, "a warm pod")
            api.create(internet=True, **limits)
        api.remove(box)


@pytest.mark.parametrize("step", STEPS)
def test_a_server_that_dies_at_a_step_leaves_nothing(cluster, step):
    before = cluster.api.objects(SPACE)
    server = serve(cluster, before="", kubernetes_warm_pods="1")
    server.environment["ATOLL_FAULT"] = f"kubernetes:{step}:kill"
    server.start()
    try:
        first = server.pid_of("api")
        provoke(server, cluster)
        assert server.pid_of("api") != first, "the step was not reached"
        server.stop()
        del server.environment["ATOLL_FAULT"]
        server.flags = ["--providers", server.flags[1].replace("kubernetes_warm_pods=1", "kubernetes_warm_pods=0")]
        server.start()
        with contextlib.closing(server.api()) as api:
            for row in server.rows(api):
                api.remove(row["id"])
        # Rules and a home whose pod was never made are swept a minute later: REMAINS_MS of warm.c.
        atoll.wait_for(lambda: cluster.api.objects(SPACE) == before, 240, lambda: f"the end of all objects: {cluster.api.objects(SPACE)}")
    finally:
        server.remove_all()


# what a cluster refuses


def test_a_spent_quota_is_told_in_the_clusters_words(api, cluster):
    path = f"/api/v1/namespaces/{SPACE}/resourcequotas"
    before = cluster.api.objects(SPACE)
    cluster.api.call("POST", path, {"metadata": {"name": "few"}, "spec": {"hard": {"limits.memory": "1Mi"}}})
    try:
        atoll.wait_for(lambda: cluster.api.get(f"{path}/few").get("status", {}).get("hard"), 20, "the quota")
        why = refused(api.create, provider="pods", internet=True)
        assert "exceeded quota" in why.message, why.message
        assert cluster.api.objects(SPACE) == before
    finally:
        cluster.api.call("DELETE", f"{path}/few")


def test_a_sandbox_that_no_node_takes_is_told_so(api, cluster):
    before = cluster.api.objects(SPACE)
    why = refused(api.create, provider="pods", internet=True, resources={"cpu": 900})
    assert "Insufficient cpu" in why.message, why.message
    atoll.wait_for(lambda: cluster.api.objects(SPACE) == before, 20, "the end of what the create made")


def test_an_image_that_is_not_there_is_told_so(cluster):
    server = serve(cluster, before="", kubernetes_image="test.local/missing:1").start()
    try:
        with contextlib.closing(server.api()) as api:
            before = cluster.api.objects(SPACE)
            why = refused(api.create, internet=True)
            assert "missing" in why.message and "ull" in why.message, why.message
            atoll.wait_for(lambda: cluster.api.objects(SPACE) == before, 20, "the end of what the create made")
    finally:
        server.remove_all()


def test_what_no_row_knows_is_swept_and_what_another_server_has_is_not(cluster):
    server = serve(cluster, before="").start()
    try:
        with contextlib.closing(server.api()) as api, api.sandbox(internet=True) as box:
            labels = pod_of(cluster, box)["metadata"]["labels"]
            lost = {**labels, "atoll.sandbox": "abcdefghijklmnopqrst"}
            other = {**lost, "atoll.server": "aaaaaaaaaaaaaaaaaaaa"}
            for name, own in (("atoll-abcdefghijklmnopqrst", lost), ("atoll-other", other)):
                cluster.api.call("POST", f"/api/v1/namespaces/{SPACE}/persistentvolumeclaims", {
                    "metadata": {"name": name, "labels": own},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}})
        server.kill9("api")
        atoll.wait_for(lambda: "atoll-abcdefghijklmnopqrst" not in cluster.api.objects(SPACE), 90, "the sweep")
        assert "atoll-other" in cluster.api.objects(SPACE)
    finally:
        cluster.api.call("DELETE", f"/api/v1/namespaces/{SPACE}/persistentvolumeclaims/atoll-other")
        server.remove_all()


def test_creates_at_once_leave_nothing(server, cluster):
    def one(_):
        with contextlib.closing(server.api()) as api:
            with api.sandbox(provider="pods", internet=True, resources={"memory_mb": 48, "cpu": 0.1}) as box:
                return api.exec(box, "echo on")["stdout"]

    before = cluster.api.objects(SPACE)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(8))) == ["on\n"] * 8
    atoll.wait_for(lambda: cluster.api.objects(SPACE) == before, 30, "the end of all objects")


def test_an_api_server_that_is_away_costs_only_its_own(api, server, cluster, box):
    if not cluster.parts:
        pytest.skip("the cluster is another's")
    with api.sandbox(provider="native") as near:
        cluster.stop("kube-apiserver")
        begun = time.monotonic()
        why = refused(api.create, provider="pods", internet=True)
        assert why.status == 503, why.message
        assert api.exec(near, "echo near")["stdout"] == "near\n"
        time.sleep(max(0, 20 - (time.monotonic() - begun)))
        cluster.start_api_server()
        assert atoll.wait_for(lambda: api.exec(box, "echo far")["stdout"], 60, "an answer of the pod") == "far\n"
        cluster.wait_for_volumes(SPACE)
        with api.sandbox(provider="pods", internet=True) as made:
            assert api.exec(made, "echo new")["stdout"] == "new\n"
