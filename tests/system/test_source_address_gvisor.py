# SPDX-License-Identifier: Apache-2.0
"""The source address of a project for sandboxes in gVisor: the tests of native sandboxes with another provider."""

import shutil

import pytest

import gvisor_parts
import test_source_address
from test_source_address import *  # noqa: F401,F403
from test_source_address import project, serving  # noqa: F401

pytestmark = [pytest.mark.needs_root, pytest.mark.slow, gvisor_parts.needed,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl"))), reason="needs ip, nft and openssl")]


@pytest.fixture(scope="module")
def world():
    with test_source_address.serving("--provider", "gvisor") as both:
        yield both
