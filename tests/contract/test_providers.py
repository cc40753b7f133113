# SPDX-License-Identifier: Apache-2.0
"""The contract of provider/provider.h, asked of every provider by the C suite in provider/: here it
is built, run once, and each of its checks reported as a test."""

import functools
import os
import re
import subprocess

import pytest

import atoll
import docker_daemon
import lambda_service
import microvm_parts
import small_root

TARGET = "tests/unit/provider/contract_provider"
PROVIDERS = ("null", "host", "native", "docker", "gvisor", "microvm", "e2b", "daytona", "lambda")
# Those that need no other server: ./dev test asks these, and the suite providers all.
NEAR = ("null", "host", "native")
WORDS = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}


@pytest.fixture(scope="module")
def asked(request):
    """The providers that the tests of this run ask."""
    items = [item for item in request.session.items if item.path == request.path and hasattr(item, "callspec")]
    return [item.callspec.params["provider"] for item in items]


@pytest.fixture(scope="module")
def docker(asked, tmp_path_factory):
    """The environment that names a daemon, or why there is none."""
    if "docker" not in asked:
        yield {}, None
        return
    try:
        daemon = docker_daemon.Daemon()
    except pytest.skip.Exception as reason:
        yield {}, str(reason)
        return
    try:
        daemon.import_busybox(tmp_path_factory.mktemp("busybox"))
        yield {"CONTRACT_DOCKER_HOST": daemon.host, "CONTRACT_DOCKER_IMAGE": docker_daemon.IMAGE}, None
        assert daemon.containers() == []
    finally:
        daemon.remove()


@functools.cache
def build_contract():
    """`./dev test` builds the programs of an installation only."""
    built = subprocess.run(["ninja", "-C", atoll.BUILD, TARGET], capture_output=True, text=True)
    assert built.returncode == 0, built.stdout[-2000:]


def run_contract(environment):
    build_contract()
    programs = [atoll.BUILD / name for name in ("atoll-broker", "atoll-agent", "atoll-image", "atoll-task", "atoll-launch")]
    return subprocess.run([atoll.BUILD / TARGET, *programs], capture_output=True, text=True, timeout=600,
                          env={**os.environ, **environment, "CMOCKA_MESSAGE_OUTPUT": "stdout"})


@pytest.fixture(scope="module")
def microvm(asked, tmp_path_factory):
    """The environment that names a kernel and a root filesystem, or why there is none."""
    if "microvm" not in asked:
        return {}, None
    why = microvm_parts.reason()
    if why:
        return {}, why
    root = microvm_parts.root(tmp_path_factory.mktemp("microvm"))
    return {"CONTRACT_MICROVM_KERNEL": microvm_parts.KERNEL, "CONTRACT_MICROVM_ROOT": str(root)}, None


@pytest.fixture(scope="module")
def remote(asked, tmp_path_factory):
    """The environment that names another server of Atoll, which serves the APIs of E2B and Daytona."""
    if os.geteuid() != 0 or not {"e2b", "daytona"} & set(asked):
        yield {}
        return
    server = atoll.Server().start()
    try:
        folder = tmp_path_factory.mktemp("rooted")
        server.api().call("POST", "/api/sandbox/templates/import?name=rooted&format=tar",
                          small_root.as_tar(small_root.rooted(folder), folder / "root.tar").read_bytes())
        yield {"CONTRACT_DAYTONA_SNAPSHOT": "rooted", "CONTRACT_E2B_URL": f"http://127.0.0.1:{server.port}", "CONTRACT_E2B_KEY": server.key,
               "CONTRACT_DAYTONA_URL": f"http://127.0.0.1:{server.port}/daytona/api"}
        atoll.wait_for(lambda: server.rows(server.api()) == [], 30, "no sandboxes")
    finally:
        server.remove_all()


@pytest.fixture(scope="module")
def functions(asked, tmp_path_factory):
    """The environment that names a service which stands for AWS Lambda."""
    if os.geteuid() != 0 or "lambda" not in asked:
        yield {}
        return
    service = lambda_service.Service(tmp_path_factory.mktemp("lambda"))
    yield {"CONTRACT_LAMBDA_URL": service.url, "CONTRACT_LAMBDA_KEY_ID": lambda_service.KEY, "CONTRACT_LAMBDA_SECRET": lambda_service.SECRET}
    assert service.mistakes() == []
    service.close()


@pytest.fixture(scope="module")
def outcome(asked, docker, microvm, remote, functions):
    return run_contract({"CONTRACT_ONLY": ",".join(asked), **docker[0], **microvm[0], **remote, **functions})


@pytest.mark.parametrize("provider", atoll.sample(PROVIDERS, NEAR))
def test_a_provider_keeps_the_contract(outcome, docker, microvm, provider):
    skipped = re.search(rf"skipped provider '{provider}': (.*)", outcome.stdout)
    if skipped:
        why = {"docker": docker[1], "microvm": microvm[1]}.get(provider)
        pytest.skip(why or skipped.group(1))
    results = re.findall(rf"^\[\s*(OK|FAILED|SKIPPED)\s*\] {provider}: (\w+)$", outcome.stdout, re.M)
    failed = sorted({name for word, name in results if WORDS[word] == "failed"})
    assert not failed, f"{failed}\n{outcome.stderr[-4000:]}"
    assert len(results) >= 8, outcome.stdout[-2000:] + outcome.stderr[-2000:]


def test_nothing_else_went_wrong(outcome):
    assert outcome.returncode == 0, outcome.stderr[-4000:]


def check_docker(daemon, tmp_path, **environment):
    daemon.import_busybox(tmp_path)
    run = run_contract({"CONTRACT_DOCKER_HOST": daemon.host, "CONTRACT_ONLY": "docker",
                        "CONTRACT_DOCKER_IMAGE": daemon.name_here(docker_daemon.IMAGE), **environment})
    results = re.findall(r"^\[\s*(OK|FAILED|SKIPPED)\s*\] docker: (\w+)$", run.stdout, re.M)
    failed = sorted({name for word, name in results if WORDS[word] == "failed"})
    assert not failed, f"{failed}\n{run.stdout[-3000:]}{run.stderr[-3000:]}"
    assert len(results) >= 9 and run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    assert daemon.containers() == []


@pytest.mark.slow
def test_podman_keeps_the_contract_of_docker(outcome, tmp_path):
    daemon = docker_daemon.Podman()
    try:
        check_docker(daemon, tmp_path)
    finally:
        daemon.remove()


@pytest.mark.slow
def test_docker_with_gvisor_keeps_the_contract(tmp_path):
    daemon = docker_daemon.Daemon(runtimes=docker_daemon.gvisor_runtimes())
    try:
        check_docker(daemon, tmp_path, CONTRACT_DOCKER_RUNTIME="runsc")
    finally:
        daemon.remove()
