# SPDX-License-Identifier: Apache-2.0
"""Several providers of kind docker in one server, each with a runtime of its own."""

import pytest

import atoll
import docker_daemon

pytestmark = pytest.mark.slow

PROVIDERS = "box=docker:docker_runtime=runc,strong=docker:docker_runtime=runsc,closed=docker:docker_runtime=runsc-closed"


def sandboxes_of(daemon):
    """Name of the container by id of the sandbox; without probes."""
    return {c["Labels"]["atoll.sandbox"]: c["Names"][0] for c in daemon.containers() if "atoll.sandbox" in c["Labels"]}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    daemon = docker_daemon.Daemon(runtimes=docker_daemon.gvisor_runtimes())
    try:
        daemon.import_busybox(tmp_path_factory.mktemp("busybox"))
        yield daemon
    finally:
        daemon.remove()


@pytest.fixture(scope="module")
def server(daemon):
    server = atoll.Server(flags=["--providers", PROVIDERS], environment={
        "DOCKER_HOST": daemon.host, "SANDBOX_WORKER_IMAGE": docker_daemon.IMAGE}).start()
    yield server
    server.remove_all()
    assert daemon.containers() == []


def test_the_isolation_follows_the_runtime(api):
    shown = {p["name"]: p["isolation"] for p in api.get("/v1/providers")["items"]}
    assert shown == {"box": "namespaces", "strong": "gvisor", "closed": "gvisor"}
    with api.sandbox() as plain, api.sandbox(isolation="gvisor") as strong:
        one, other = (api.get(f"/api/sandbox/instances/{sandbox}") for sandbox in (plain, strong))
        assert (one["provider"], one["isolation"]) == ("box", "namespaces")
        assert (other["provider"], other["isolation"]) == ("strong", "gvisor")
        assert "reach servers inside" in other["unsupported"] and "reach servers inside" not in one["unsupported"]
        assert "gVisor" in api.exec(strong, "dmesg", user="root")["stdout"]
        assert "gVisor" not in api.exec(plain, "dmesg", user="root")["stdout"]


def test_an_agent_that_cannot_connect_is_explained(server, api):
    for _ in range(2):
        with pytest.raises(atoll.ApiError) as refused:
            api.create(provider="closed")
        assert refused.value.status == 501 and "runsc-closed" in str(refused.value), refused.value
        assert "keeps the agent" in str(refused.value), refused.value
        assert "--host-uds=open" in str(refused.value.body), refused.value.body


def test_providers_keep_to_their_own_containers(daemon, server, api):
    plain, strong = api.create(provider="box")["id"], api.create(provider="strong")["id"]
    names = sandboxes_of(daemon)
    assert names[plain].split("-")[1] != names[strong].split("-")[1], names
    for sandbox in (plain, strong):
        api.exec(sandbox, f"echo {sandbox} > /tmp/file")
    server.kill9("api")
    server.wait_ready()
    again = server.api()
    for sandbox in (plain, strong):
        assert again.exec(sandbox, "cat /tmp/file")["stdout"] == f"{sandbox}\n"
    again.remove(plain)
    assert again.exec(strong, "echo on")["stdout"] == "on\n"
    assert list(sandboxes_of(daemon)) == [strong]
    again.remove(strong)
    again.close()


def test_a_provider_that_is_gone_loses_no_sandbox(daemon, server, api):
    strong = api.create(provider="strong")["id"]
    api.close()
    server.stop()
    kept = server.flags
    server.flags = ["--providers", "box=docker"]
    server.start()
    other = server.api()
    assert other.get(f"/api/sandbox/instances/{strong}")["state"] == "started"
    assert list(sandboxes_of(daemon)) == [strong]
    other.close()
    server.stop()
    server.flags = kept
    server.start()
    last = server.api()
    assert last.exec(strong, "echo on")["stdout"] == "on\n"
    last.remove(strong)
    last.close()
