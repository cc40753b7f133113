# SPDX-License-Identifier: Apache-2.0
"""kill -9 at every step of an artifact: afterwards what is listed is whole, and nothing else is left."""

import contextlib
import http.client

import pytest

import atoll
from test_kills import named_steps

pytestmark = pytest.mark.needs_root
BASE = "/api/sandbox/artifacts"
STEPS = [step for step in named_steps("fleet", r'fault_point\("api", ') if step.startswith("artifact-")]
FAILURES = (atoll.ApiError, OSError, http.client.HTTPException, AssertionError)


def test_the_steps_are_known():
    assert len(STEPS) == 5


@pytest.mark.parametrize("step", STEPS)
def test_an_artifact_is_whole_or_nothing_of_it_is_left(private_server, step):
    server = private_server
    server.environment["ATOLL_FAULT"] = f"api:{step}:kill"
    server.start()
    with contextlib.closing(server.api(timeout=8)) as api:
        box = api.create(internet=False, persistent=True)["id"]
        api.write(box, "file", b"whole")
        for _ in range(2):
            with contextlib.suppress(*FAILURES):
                made = api.post(f"/api/sandbox/instances/{box}/artifacts", {"path": "file"})
                api.delete(f"{BASE}/{made['id']}")
    server.environment.pop("ATOLL_FAULT")
    server.stop()
    server.start()
    folder = server.data / "blobs/artifacts"
    with contextlib.closing(server.api()) as api:
        listed = api.get(BASE)["items"]
        for one in listed:
            assert api.raw("GET", f"{BASE}/{one['id']}/content").body == b"whole"
        atoll.wait_for(lambda: {path.name for path in folder.glob("*")} == {one["id"] for one in api.get(BASE)["items"]}, 15,
                       "blobs and rows agree")
        for one in listed:
            api.delete(f"{BASE}/{one['id']}")
        assert list(folder.glob("*")) == []
        api.remove(box)
    atoll.Host(server.data).wait_clean()
