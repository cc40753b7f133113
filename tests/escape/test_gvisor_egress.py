# SPDX-License-Identifier: Apache-2.0
"""Code in gVisor against the rules of its network: the attempts of test_egress.py."""

import shutil

import pytest

import atoll
import gvisor_parts
from test_egress import test_names_are_not_asked_for_when_all_is_denied, test_nothing_comes_to_an_address_that_is_denied, world  # noqa: F401

pytestmark = [pytest.mark.providers, pytest.mark.needs_root, gvisor_parts.needed,
              pytest.mark.skipif(not shutil.which("ip") or not shutil.which("nft"), reason="needs ip and nft")]


@pytest.fixture(scope="module")
def server():
    server = atoll.Server(provider="gvisor").start()
    yield server
    server.remove_all()
