# SPDX-License-Identifier: Apache-2.0
"""The source address of a project, and the cut by a quota of sent bytes, for virtual machines."""

import subprocess

import pytest

import atoll
import microvm_parts
import test_source_address
from test_source_address import set_source

PATH = "/api/sandbox/instances"
pytestmark = [pytest.mark.providers, pytest.mark.skipif(microvm_parts.reason() is not None, reason=str(microvm_parts.reason()))]
RESOURCES = {"memory_mb": 192, "disk_mb": 64}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with test_source_address.serving("--providers", "native,vm=microvm", "--microvm-kernel", microvm_parts.KERNEL, "--usage-flush", "1s") as (there, server):
        microvm_parts.template(server, tmp_path_factory.mktemp("small"))
        microvm_parts.make_image(server, resources=RESOURCES)
        yield there, server


@pytest.fixture
def machine(world):
    """A machine with a network, and its project: the default one, whose template it is made of."""
    there, server = world
    api = server.api(timeout=120)
    with api.sandbox(template="small", internet=True, provider="vm", resources=RESOURCES) as sandbox:
        project = api.get(f"{PATH}/{sandbox}")["project"]
        yield there, api, project, sandbox
        set_source(api, project, "")


def who_came(there, api, sandbox):
    del there.came[:]
    request = "GET / HTTP/1.1\\r\\nHost: direct\\r\\nConnection: close\\r\\n\\r\\n"
    done = api.exec(sandbox, f"printf '{request}' | nc -w 5 {there.addresses[2]} 8080", timeout_ms=60000)
    return {line.split()[-1] for line in there.came if line.startswith("http ")}, done


def test_a_machine_leaves_by_the_address_of_its_project(machine):
    there, api, project, sandbox = machine
    came, done = who_came(there, api, sandbox)
    assert came == {there.near}, done
    for address in (there.own[0], there.own[1]):
        set_source(api, project, address)
        atoll.wait_for(lambda: who_came(there, api, sandbox)[0] == {address}, 30, lambda: who_came(there, api, sandbox))
    subprocess.run(["ip", "addr", "del", f"{there.own[1]}/24", "dev", there.link], check=True)
    try:
        came, done = who_came(there, api, sandbox)
        assert not came and "hello" not in done["stdout"], done
    finally:
        subprocess.run(["ip", "addr", "add", f"{there.own[1]}/24", "dev", there.link], check=True)
    api.post(f"{PATH}/{sandbox}/pause")
    set_source(api, project, there.own[0])
    api.post(f"{PATH}/{sandbox}/resume")
    atoll.wait_for(lambda: who_came(there, api, sandbox)[0] == {there.own[0]}, 30, lambda: who_came(there, api, sandbox))
