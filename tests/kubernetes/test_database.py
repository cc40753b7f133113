# SPDX-License-Identifier: Apache-2.0
"""The manifests of deploy/kubernetes with their example of a database, all applied as they are: two servers on a PostgreSQL that is a pod
of the same cluster, and comes back with its rows after its pod was deleted."""

import contextlib

import pytest

import atoll
import database_image
import kubernetes_cluster
import postgres
import replicas

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
DATABASE = "atoll-postgresql"
IMAGE = "docker.io/library/postgres:15"  # what the manifest's name 'postgres:15' means


def wait_for_servers(deployment):
    atoll.wait_for(lambda: len(deployment.addresses()) == 2, 180, "two servers that are ready")


@pytest.fixture(scope="module")
def deployed(tmp_path_factory):
    if not postgres.programs():
        pytest.skip("Debian's package postgresql is not installed")
    if not kubernetes_cluster.find("kubectl"):
        pytest.skip("kubectl not found: install kubernetes-client")
    archive = tmp_path_factory.mktemp("database") / "image.tar"
    database_image.build(archive, IMAGE)
    cluster = replicas.cluster()
    deployment, port, password = replicas.Deployment(cluster), atoll.free_port(), replicas.letters(20)
    services = [replicas.ServiceAddress(cluster.services, 443, lambda: ("127.0.0.1", cluster.port)),
                # Stands for the name 'atoll-postgresql' in the cluster's DNS, which this cluster does not have.
                replicas.ServiceAddress(cluster.services, port, lambda: deployment.addresses(DATABASE)[0])]
    try:
        cluster.ctr("images", "import", str(archive))
        replicas.import_image(cluster)
        folder = deployment.manifests()
        deployment.kubectl("apply", "-f", folder / "00-namespace.yaml")
        deployment.kubectl("create", "secret", "generic", DATABASE, "-n", replicas.NAMESPACE, f"--from-literal=password={password}")
        deployment.kubectl("apply", "-f", replicas.MANIFESTS / "optional/postgresql.yaml")
        deployment.make_secret(f"postgresql://atoll:{password}@{cluster.services}:{port}/atoll")
        deployment.kubectl("apply", "-f", folder)
        wait_for_servers(deployment)
        yield deployment
    finally:
        deployment.remove()
        for service in services:
            service.close()
        cluster.remove()


@pytest.fixture
def client(deployed):
    return replicas.Client(deployed)


@pytest.fixture
def box(client):
    status, made, _ = client.call("POST", PATH, {"template": "host", "internet": True}, timeout=120)
    assert status in (200, 201), made
    yield made["id"]
    assert client.call("DELETE", f"{PATH}/{made['id']}")[0] in (200, 202, 204)


def rows_of(deployment, box):
    said = deployment.kubectl("exec", f"{DATABASE}-0", "-n", replicas.NAMESPACE, "--", "psql", "-U", "atoll", "-XAtqc",
                              f"SELECT count(*) FROM sandboxes WHERE id = '{box}'", "atoll", check=False)
    return int(said.stdout) if said.returncode == 0 else None


def run(client, box, command):
    status, answer, address = client.call("POST", f"{PATH}/{box}/exec", {"command": command})
    assert status == 200, answer
    return answer["stdout"], address


def test_two_servers_share_the_rows_of_a_database_in_the_cluster(deployed, client, box):
    assert rows_of(deployed, box) == 1
    said = {run(client, box, "echo $((6 * 7))") for _ in range(8)}
    assert {stdout for stdout, _ in said} == {"42\n"} and len({address for _, address in said}) == 2, said


def test_the_database_is_a_restricted_pod_and_wants_its_password(deployed):
    pod = deployed.cluster.api.get(f"/api/v1/namespaces/{replicas.NAMESPACE}/pods/{DATABASE}-0")
    container = pod["spec"]["containers"][0]
    assert container["image"] == "postgres:15" and container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert pod["spec"]["securityContext"]["runAsNonRoot"] and not pod["spec"]["automountServiceAccountToken"]
    address = pod["status"]["podIP"]
    for more, words in (([], "no password supplied"), (["env", "PGPASSWORD=wrong"], "password authentication failed")):
        said = deployed.kubectl("exec", f"{DATABASE}-0", "-n", replicas.NAMESPACE, "--", *more, "psql", "-w", "-h", address, "-U", "atoll", "atoll", "-c",
                                "SELECT 1", check=False)
        assert said.returncode != 0 and words in said.stderr, said


def test_the_rows_outlive_the_pod_of_the_database(deployed, client, box):
    run(client, box, "echo kept > file")
    path = f"/api/v1/namespaces/{replicas.NAMESPACE}/pods/{DATABASE}-0"
    first = deployed.cluster.api.get(path)["metadata"]["uid"]
    deployed.kubectl("delete", "pod", f"{DATABASE}-0", "-n", replicas.NAMESPACE)

    def is_new():
        with contextlib.suppress(AssertionError):  # 404 between both
            return deployed.cluster.api.get(path)["metadata"]["uid"] != first and deployed.addresses(DATABASE)
        return False

    atoll.wait_for(is_new, 120, "a new pod of the database")
    wait_for_servers(deployed)
    assert rows_of(deployed, box) == 1
    assert {run(client, box, "cat file")[0] for _ in range(4)} == {"kept\n"}
