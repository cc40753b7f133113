# SPDX-License-Identifier: Apache-2.0
"""Whatever an official client can be asked for is asked for by a test here, or named with the reason why not."""

import json
import subprocess

import pytest

import clients

FOLDER = clients.FOLDER / "surface"


@pytest.mark.parametrize("client", sorted(path.stem for path in FOLDER.glob("*.json")))
def test_all_that_a_client_offers_is_used_or_named(client):
    known = json.loads((FOLDER / f"{client}.json").read_text())
    node = clients.node(known["package"], "typescript", since=clients.E2B)
    if clients.NEWEST:
        pytest.skip("what the newest clients have more is told by their own checks")
    done = subprocess.run([node, clients.FOLDER / "surface.mjs", FOLDER / f"{client}.json"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    used = {offer["name"]: offer["used"] for offer in map(json.loads, done.stdout.splitlines())}
    assert any(used.values()), "a surface of which nothing is used was not read well"
    unnamed = [name for name, is_used in used.items() if not is_used and name not in known["unused"]]
    assert not unnamed, f"neither used by {known['programs']} nor named in {client}.json: {unnamed}"
    stale = [name for name in known["unused"] if used.get(name, True)]
    assert not stale, f"named in {client}.json, but used, or not there: {stale}"
