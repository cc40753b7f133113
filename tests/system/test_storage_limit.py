# SPDX-License-Identifier: Apache-2.0
"""What a project may keep in all: templates, snapshots, backups and volumes, counted while they grow."""

import concurrent.futures
import contextlib
import io
import os
import tarfile

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/templates"
MIB = 1 << 20
LIMIT_MB = 48


@pytest.fixture(scope="module")
def server():
    running = atoll.Server(flags=("--storage-max-mb", str(LIMIT_MB))).start()
    yield running
    running.remove_all()


def archive(mib):
    """A root filesystem of so many MiB that do not compress."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for i in range(mib):
            member = tarfile.TarInfo(f"usr/block{i}")
            member.size = MIB
            tar.addfile(member, io.BytesIO(os.urandom(MIB)))
    return out.getvalue()


def bring(api, name, content):
    return api.call("POST", f"{PATH}/import?name={name}&format=tar", content, {"Content-Type": "application/octet-stream"})


def refusal(call, *arguments):
    with pytest.raises(atoll.ApiError) as refused:
        call(*arguments)
    error = refused.value
    assert (error.status, error.code) == (429, "limit_exceeded"), error
    return error


def storage(api):
    return api.get("/v1/projects/me/storage")


@contextlib.contextmanager
def nothing_left(server, api):
    folders, kept = set(os.listdir(server.data / "templates")), storage(api)["bytes"]
    names = {t["name"] for t in api.get(PATH)["items"]}
    yield
    atoll.wait_for(lambda: set(os.listdir(server.data / "templates")) == folders, 20, "no folder left")
    assert {t["name"] for t in api.get(PATH)["items"]} == names
    assert storage(api)["bytes"] == kept


def test_an_import_that_passes_the_limit_is_ended_in_the_middle(server, api):
    with nothing_left(server, api):
        error = refusal(bring, api, "large", archive(LIMIT_MB + 16))
        assert f"{LIMIT_MB} MiB" in error.message and "storage_max_mb" in error.hint, error
    made = bring(api, "small", archive(8))
    try:
        found = storage(api)
        assert found["limit_mb"] == LIMIT_MB and 8 * MIB <= found["templates_bytes"] == found["bytes"] < 9 * MIB
        with nothing_left(server, api):
            refusal(bring, api, "second", archive(LIMIT_MB - 4))
    finally:
        api.delete(f"{PATH}/{made['id']}")
    assert storage(api)["bytes"] == 0


def test_imports_at_the_same_time_do_not_pass_it_together(server, api):
    content = archive(LIMIT_MB * 2 // 3)

    def attempt(i):
        own = server.api()
        with contextlib.closing(own):
            try:
                return bring(own, f"at-once-{i}", content)
            except atoll.ApiError as error:
                assert (error.status, error.code) == (429, "limit_exceeded"), error
                return None

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        made = [t for t in threads.map(attempt, range(4)) if t]
    try:
        assert len(made) <= 1 and storage(api)["bytes"] <= LIMIT_MB * MIB
        assert {t["name"] for t in api.get(PATH)["items"] if t["name"].startswith("at-once")} == {t["name"] for t in made}
        if not made:
            made.append(bring(api, "alone", content))
    finally:
        for template in made:
            api.delete(f"{PATH}/{template['id']}")


def test_snapshots_count_before_they_are_taken(server, api):
    with api.sandbox(template="host", internet=False) as box:
        api.exec(box, "head -c 30M /dev/urandom > block; sync block")
        first = api.post(f"/api/sandbox/instances/{box}/snapshot", {"name": "first"})
        try:
            assert 30 * MIB <= storage(api)["snapshots_bytes"] < 34 * MIB
            api.exec(box, "head -c 30M /dev/urandom > other; sync other")
            refusal(api.post, f"/api/sandbox/instances/{box}/snapshot", {"name": "second"})
            assert [s["name"] for s in api.get("/api/sandbox/snapshots")["items"]] == ["first"]
            assert api.exec(box, "wc -c < other")["stdout"].strip() == str(30 * MIB)
        finally:
            api.delete(f"/api/sandbox/snapshots/{first['id']}")
        assert storage(api)["snapshots_bytes"] == 0
        api.delete(f"/api/sandbox/snapshots/{api.post(f'/api/sandbox/instances/{box}/snapshot', {'name': 'third'})['id']}")


def test_an_uploaded_backup_counts_as_it_comes(server, api):
    backups = "/api/sandbox/backups"
    with nothing_left(server, api):
        refusal(api.call, "PUT", f"{backups}/brought", os.urandom((LIMIT_MB + 16) * MIB), {"Content-Type": "application/octet-stream"})
        atoll.wait_for(lambda: not api.get(backups)["items"], 20, "no backup left")


def test_only_an_admin_of_the_platform_gives_a_project_more(server, api):
    project = api.get("/v1/projects/me")
    assert project["storage_max_mb"] == 0
    changed = api.call("PATCH", f"/v1/projects/{project['id']}", {"storage_max_mb": LIMIT_MB + 32})
    try:
        assert changed["storage_max_mb"] == LIMIT_MB + 32 == storage(api)["limit_mb"]
        template = bring(api, "larger", archive(LIMIT_MB + 8))
        api.delete(f"{PATH}/{template['id']}")
        shown = server.cli("project", "storage", "me", text=True)
        assert shown.returncode == 0 and str(LIMIT_MB + 32) in shown.stdout, shown
    finally:
        assert server.cli("project", "set", project["id"], "--storage-max-mb", "0").returncode == 0
    assert storage(api)["limit_mb"] == LIMIT_MB
