# SPDX-License-Identifier: Apache-2.0
"""The cut by a quota of sent bytes for virtual machines."""

import contextlib

import pytest

import atoll
import microvm_parts
import named
from test_egress_cut import cut_of
from test_quotas import limit

PATH = "/api/sandbox/instances"
pytestmark = [pytest.mark.providers, pytest.mark.skipif(microvm_parts.reason() is not None, reason=str(microvm_parts.reason()))]
RESOURCES = {"memory_mb": 192, "disk_mb": 64}


def test_a_machine_loses_its_network_and_gets_it_back(tmp_path):
    # In the host's network: /sys shows no counters of links in another one.
    with contextlib.closing(named.Named()) as there:
        server = atoll.Server(flags=["--providers", "native,vm=microvm", "--microvm-kernel", microvm_parts.KERNEL, "--usage-flush", "1s"]).start()
        try:
            microvm_parts.template(server, tmp_path)
            microvm_parts.make_image(server, resources=RESOURCES)
            api = server.api(timeout=120)
            with api.sandbox(template="small", internet=True, provider="vm", resources=RESOURCES) as sandbox:
                def said(port=8080, **options):
                    request = "GET / HTTP/1.1\\r\\nHost: x.test\\r\\nConnection: close\\r\\n\\r\\n"
                    return api.exec(sandbox, f"printf '{request}' | nc -w 5 {there.addresses[1]} {port}", timeout_ms=60000, **options)
                assert "hello" in said()["stdout"]
                limit(api, "project", "default", egress_mb_per_day=2)
                # The machine sends until its connection breaks off.
                api.post(f"{PATH}/{sandbox}/exec", {"command": f"dd if=/dev/zero bs=1024 count=8192 | nc {there.addresses[1]} 8080; echo over >/tmp/over",
                                                    "background": True})
                atoll.wait_for(lambda: cut_of(api, sandbox), 60, "the cut")
                result = said()
                assert "hello" not in result["stdout"] and {row["code"] for row in result["network"]} == {"quota"}, result
                assert all("2 MB a day" in row["message"] for row in result["network"])
                result = said(80)
                assert "Quota of sent bytes used up" in result["stdout"], result
                api.post(f"{PATH}/{sandbox}/pause")
                api.post(f"{PATH}/{sandbox}/resume")
                assert "hello" not in said()["stdout"] and cut_of(api, sandbox)
                limit(api, "project", "default", egress_mb_per_day=0)
                atoll.wait_for(lambda: cut_of(api, sandbox) is None, 30, "the network")
                assert "hello" in said()["stdout"]
        finally:
            server.remove_all()
