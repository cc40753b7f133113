# SPDX-License-Identifier: Apache-2.0
"""The contract of provider/provider.h, asked of provider kubernetes on a cluster of one node."""

import re

import pytest

import agent_sandbox
import kubernetes_cluster
import volume_snapshots
from test_providers import run_contract

pytestmark = [pytest.mark.needs_root, pytest.mark.slow]
SPACE = "atoll-contract"


@pytest.fixture(scope="module")
def cluster():
    made = kubernetes_cluster.open_cluster(SPACE)
    yield made
    made.remove()


def check_contract(cluster, **environment):
    """The names of the checks that ran."""
    run = run_contract({"CONTRACT_ONLY": "kubernetes", "CONTRACT_KUBERNETES_CONFIG": str(cluster.readable),
                        "CONTRACT_KUBERNETES_NAMESPACE": SPACE, **environment})
    results = re.findall(r"^\[\s*(OK|FAILED)\s*\] kubernetes: (\w+)$", run.stdout, re.M)
    failed = sorted({name for word, name in results if word == "FAILED"})
    assert not failed, f"{failed}\n{run.stdout[-3000:]}\n{run.stderr[-3000:]}"
    assert len(results) >= 15 and run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    assert kubernetes_cluster.is_empty_soon(cluster, SPACE)
    return {name for _, name in results}


def test_kubernetes_keeps_the_contract(cluster):
    assert "a_snapshot_has_the_files_of_its_moment" not in check_contract(cluster)


def test_it_keeps_the_contract_with_sandbox_objects_and_snapshots(cluster):
    if not getattr(cluster, "provisioner", None):
        pytest.skip("the provisioner of a borrowed cluster is another process's")
    agent_sandbox.install(cluster.api)
    volume_snapshots.install(cluster.api)
    objects, snapshots = agent_sandbox.Controller(cluster, SPACE), volume_snapshots.Controller(cluster, SPACE)
    try:
        assert "a_snapshot_has_the_files_of_its_moment" in check_contract(cluster, CONTRACT_KUBERNETES_SNAPSHOTS="default")
        assert objects.made >= 15 and cluster.api.names(agent_sandbox.KIND, SPACE, agent_sandbox.GROUP) == snapshots.names() == []
    finally:
        objects.close()
        snapshots.close()
