# SPDX-License-Identifier: Apache-2.0
"""The contract of provider/provider.h, asked of provider kubernetes on a cluster of one node."""

import re

import pytest

import kubernetes_cluster
from test_providers import run_contract

pytestmark = [pytest.mark.needs_root, pytest.mark.slow]
SPACE = "atoll-contract"


def test_kubernetes_keeps_the_contract():
    cluster = kubernetes_cluster.open_cluster(SPACE)
    try:
        run = run_contract({"CONTRACT_ONLY": "kubernetes", "CONTRACT_KUBERNETES_CONFIG": str(cluster.readable),
                            "CONTRACT_KUBERNETES_NAMESPACE": SPACE})
        results = re.findall(r"^\[\s*(OK|FAILED)\s*\] kubernetes: (\w+)$", run.stdout, re.M)
        failed = sorted({name for word, name in results if word == "FAILED"})
        assert not failed, f"{failed}\n{run.stdout[-3000:]}"
        assert len(results) >= 15 and run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
        assert kubernetes_cluster.is_empty_soon(cluster, SPACE)
    finally:
        cluster.remove()
