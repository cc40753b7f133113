# SPDX-License-Identifier: Apache-2.0
"""kill -9 while a project is deleted: the next start finishes it, and nothing of it is left."""

import contextlib

import pytest

import atoll

pytestmark = pytest.mark.needs_root


@pytest.mark.parametrize("step", ["project-closed", "project-emptied", "delete-recorded", "delete-destroyed"])
def test_the_api_process_dies_while_it_deletes_a_project(private_server, step):
    private_server.environment["ATOLL_FAULT"] = f"api:{step}:kill"
    private_server.start()
    api = private_server.api(timeout=20)
    project = api.post("/v1/projects", {"name": "doomed", "owner": "ann"})["id"]
    key = api.call("POST", "/api/sandbox/keys", {"name": "k", "member": "ann"}, {"X-Atoll-Project": project})["key"]
    worker = private_server.api(key)
    boxes = [worker.create(internet=False)["id"] for _ in range(2)]
    worker.post("/api/sandbox/templates", {"name": "derived", "from": "host"})
    worker.post("/accounts/me/sandboxes", {"name": "config"})
    victim = private_server.pid_of("api")
    with contextlib.suppress(atoll.ApiError, OSError):
        private_server.api(timeout=3).delete(f"/v1/projects/{project}?force=true")
    # Each start goes on with it, and so dies at the same step.
    atoll.wait_for(lambda: private_server.pid_of("api") != victim, 30, "the end of the api process")
    private_server.environment.pop("ATOLL_FAULT")
    private_server.stop()
    private_server.start()

    def is_gone():
        api = private_server.api(timeout=20)
        ids = [row["id"] for row in api.get("/v1/projects")["items"]]
        api.close()
        return project not in ids
    atoll.wait_for(is_gone, 15, "the project's end")
    with pytest.raises(atoll.ApiError) as failure:
        private_server.api(key).get("/accounts/me")
    assert failure.value.status == 401
    host = atoll.Host(private_server.data)
    atoll.wait_for(lambda: not set(boxes) & set(host.files() + host.runs()), 30, "nothing of its sandboxes")
    # Its name is free again, and the new one knows nothing of the old.
    again = private_server.api().post("/v1/projects", {"id": project, "name": "doomed"})
    assert again["closing"] is False
    assert private_server.api().get(f"/v1/projects/{project}/members")["items"] == []
