# SPDX-License-Identifier: Apache-2.0
"""Sizes and counts in lists: of volumes, snapshots and templates; the choices of settings."""

import contextlib
import sqlite3
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox"


@pytest.fixture(scope="module")
def own():
    running = atoll.Server().start()
    yield running
    running.remove_all()


@pytest.fixture(scope="module")
def api(own):
    return own.api()


def measured(server, found_id, size):
    """The round that measures waits a quarter of an hour for a new object; test_storage.py waits for it."""
    with contextlib.closing(sqlite3.connect(server.data / "store" / "atoll.db", timeout=30)) as store, store:
        store.execute("INSERT INTO holdings (id, bytes, measured_at, metered_at, unbilled_nano) VALUES (?, ?, 1, 0, 0)",
                      (found_id, size))


def listed(api, kind, found_id):
    return next(item for item in api.get(f"{PATH}/{kind}")["items"] if item["id"] == found_id)


def test_a_volume_in_the_list_has_its_size_and_attachments(api, own):
    volume = api.post(f"{PATH}/volumes", {"name": f"v{time.time_ns()}"})
    with api.sandbox(volume=volume["name"], internet=False) as box:
        api.exec(box, "head -c 3000000 /dev/urandom > /workspace/data; sync")
        assert listed(api, "volumes", volume["id"])["attachments"][0]["sandbox_id"] == box
        assert listed(api, "volumes", volume["id"])["used_bytes"] == -1
        measured(own, volume["id"], 3_000_000)
        assert listed(api, "volumes", volume["id"])["used_bytes"] == 3_000_000
    api.delete(f"{PATH}/volumes/{volume['name']}")


def test_a_snapshot_has_its_size_and_the_number_of_its_sandboxes(api, own):
    with api.sandbox(internet=False) as box:
        api.exec(box, "head -c 2000000 /dev/urandom > /tmp/data")
        taken = api.post(f"{PATH}/instances/{box}/snapshot", {})
        with api.sandbox(snapshot=taken["id"], internet=False), api.sandbox(snapshot=taken["id"], internet=False):
            assert listed(api, "snapshots", taken["id"])["sandboxes"] == 2
        assert api.get(f"{PATH}/snapshots/{taken['id']}")["sandboxes"] == 0
        assert listed(api, "snapshots", taken["id"])["size_bytes"] == -1
        measured(own, taken["id"], 2_000_000)
        assert listed(api, "snapshots", taken["id"])["size_bytes"] == 2_000_000
        assert api.get(f"{PATH}/snapshots/{taken['id']}")["size_bytes"] == 2_000_000
        api.delete(f"{PATH}/snapshots/{taken['id']}")


def test_templates_have_pages_and_numbers_of_sandboxes(api):
    whole = api.get(f"{PATH}/templates")
    assert whole["next_page"] is None and len(whole["items"]) > 2
    found, page = [], ""
    while page is not None:
        answer = api.get(f"{PATH}/templates?limit=1&page={page}" if page else f"{PATH}/templates?limit=1")
        assert len(answer["items"]) == 1
        found += answer["items"]
        page = answer["next_page"]
    assert [t["id"] for t in found] == [t["id"] for t in whole["items"]]
    with api.sandbox(internet=False) as box:
        template = api.get(f"{PATH}/instances/{box}")["template"]
        before = next(t["sandboxes"] for t in api.get(f"{PATH}/templates")["items"] if t["name"] == template)
        assert before >= 1 and api.get(f"{PATH}/templates/{template}")["sandboxes"] == before
    assert api.get(f"{PATH}/templates/{template}")["sandboxes"] == before - 1


def test_settings_name_the_values_that_can_be_chosen(api):
    settings = api.get(f"{PATH}/settings")
    assert settings["isolation_choices"] == [settings["default_isolation"]]
    assert settings["storage_choices"] == ["local"]
    for name, choices in (("default_isolation", "isolation_choices"), ("default_storage_provider", "storage_choices")):
        api.call("PUT", f"{PATH}/settings", {name: settings[choices][0]})
        with pytest.raises(atoll.ApiError):
            api.call("PUT", f"{PATH}/settings", {name: "other"})
