# SPDX-License-Identifier: Apache-2.0
"""Rules with host names for sandboxes in gVisor: the tests of native sandboxes with another provider."""

import shutil

import pytest

import gvisor_parts
import named
from test_network_names import *  # noqa: F401,F403

pytestmark = [pytest.mark.needs_root, pytest.mark.slow, gvisor_parts.needed,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl"))), reason="needs ip, nft and openssl")]


@pytest.fixture(scope="module")
def world():
    with named.running("--provider", "gvisor") as both:
        yield both
