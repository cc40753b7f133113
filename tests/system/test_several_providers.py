# SPDX-License-Identifier: Apache-2.0
"""Several providers in one server: each sandbox is its own provider's."""

import atoll
import pytest


@pytest.fixture(scope="module")
def server():
    server = atoll.Server(flags=["--providers", "native,bare=host,nothing=null:max_sandboxes=2"]).start()
    yield server
    server.remove_all()


@pytest.fixture
def api(server):
    connection = server.api()
    yield connection
    connection.close()


def test_the_first_provider_makes_what_names_none(api):
    with api.sandbox() as sandbox:
        shown = api.get(f"/api/sandbox/instances/{sandbox}")
        assert (shown["provider"], shown["isolation"]) == ("native", "namespaces")
        assert api.exec(sandbox, "id -u")["exit_code"] == 0
