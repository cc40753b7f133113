# SPDX-License-Identifier: Apache-2.0
"""The calls of the providers e2b and daytona beside those of the services' own SDKs, recorded at one proxy: each call that the
provider makes is one that the SDK makes, with the same headers of the protocol and members of the same types."""

import contextlib
import json
import os
import re
import subprocess

import pytest

import atoll
import clients
import remote_proxy
import small_root

pytestmark = [pytest.mark.needs_root, pytest.mark.slow]
PATH = "/api/sandbox/instances"
ID = re.compile(r"(?<=/)(atoll-[a-z0-9-]+|[a-z0-9]{20}|life(%3A|:)\w+|[a-z0-9-]+(%3A|:)default|life)(?=/|$)")
GENERATION = re.compile(r"^/v\d+(?=/sandboxes)")  # of a path of E2B: the same call
TYPES = {bool: "boolean", int: "number", float: "number", str: "text", list: "list", dict: "object"}


class Recorder:
    """As a check of remote_proxy: {(METHOD, path without ids): [(headers, body)]}."""

    def __init__(self):
        self.calls = {}

    def __call__(self, method, target, headers, body):
        path, _, query = target.partition("?")
        kind = headers.get("content-type", "").partition(";")[0]
        if headers.get("upgrade"):
            return
        said = json.loads(body) if kind == "application/json" and body else None
        names = {part.partition("=")[0] for part in query.split("&") if part}
        self.calls.setdefault((method, ID.sub("ID", GENERATION.sub("", path))), []).append((headers, kind, said, names))


def shape(value):
    """Types of the members that hold no labels of the caller."""
    return {name: TYPES[type(member)] for name, member in (value or {}).items() if member is not None}


def check_exchanges(sdk, provider, wanted, headers, alone=()):
    """`wanted`: calls that both have to make; `headers`: names that the protocol knows; `alone`: calls of the provider only."""
    assert wanted <= set(provider.calls), wanted - set(provider.calls)
    assert wanted <= set(sdk.calls), wanted - set(sdk.calls)
    assert set(provider.calls) - set(sdk.calls) <= set(alone), set(provider.calls) - set(sdk.calls)
    for call in set(provider.calls) & set(sdk.calls):
        official = sdk.calls[call]
        types = {name: kind for _, _, said, _ in official for name, kind in shape(said).items()}
        for given, kind, said, names in provider.calls[call]:
            missing = {name for name in headers if all(name in heard for heard, _, _, _ in official)} - set(given)
            assert not missing, (call, missing)
            assert kind in {known for _, known, _, _ in official}, (call, kind)
            for name, own in shape(said).items():
                assert types.get(name, own) == own, (call, name, own, types[name])
            assert names & {"limit", "metadata", "labels", "state"} <= {name for *_, known in official for name in known} | {"limit"}, (call, names)


def live_by_sdk(account, program, argument, package, since, **environment):
    done = subprocess.run([clients.node(package, since=since), clients.program(program), argument], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr[-2000:]
    assert account.proxy.refused == []


def live_by_provider(server):
    """What the SDK's program does, as far as the provider has it."""
    with contextlib.closing(server.api()) as api:
        with api.sandbox(internet=False, persistent=True) as box:
            api.exec(box, "true", user="root")
            snapshot = api.post(f"{PATH}/{box}/snapshot", {})["id"]
            for verb in ("pause", "resume", "stop", "start"):
                api.post(f"{PATH}/{box}/{verb}")
            api.delete(f"/api/sandbox/snapshots/{snapshot}")


def record(account, live):
    account.proxy.check = recorder = Recorder()
    live()
    account.proxy.check = None
    return recorder


def test_provider_e2b_makes_the_calls_of_its_sdk():
    account = remote_proxy.Account()
    options = account.options(e2b_api_url=account.proxy.url, e2b_sandbox_url=account.proxy.url, e2b_template="host")
    server = atoll.Server(environment={"E2B_API_KEY": account.server.key}, flags=["--providers", f"e2b=e2b:{options}"])
    try:
        sdk = record(account, lambda: live_by_sdk(
            account, "e2b_life.mjs", "host", "e2b", clients.E2B, E2B_API_KEY=account.server.key, E2B_API_URL=account.proxy.url,
            E2B_SANDBOX_URL=account.proxy.url))
        provider = record(account, lambda: live_by_provider(server.start()))
        check_exchanges(sdk, provider, headers={"x-api-key", "content-type", "e2b-sandbox-id", "e2b-sandbox-port", "x-access-token",
                                                "connect-protocol-version"},
                        wanted={("POST", "/sandboxes"), ("GET", "/sandboxes"), ("POST", "/sandboxes/ID/pause"), ("POST", "/sandboxes/ID/connect"),
                                ("DELETE", "/sandboxes/ID"), ("POST", "/sandboxes/ID/snapshots"), ("GET", "/snapshots"), ("DELETE", "/templates/ID"),
                                ("POST", "/files"), ("POST", "/process.Process/Start")},
                        alone={("GET", "/sandboxes/metrics")})
    finally:
        server.remove_all()
        account.remove()


def test_provider_daytona_makes_the_calls_of_its_sdk(tmp_path):
    account = remote_proxy.Account()
    archive = small_root.as_tar(small_root.rooted(tmp_path), tmp_path / "root.tar").read_bytes()
    with contextlib.closing(account.server.api()) as api:
        api.call("POST", "/api/sandbox/templates/import?name=rooted&format=tar", archive)
    url = account.proxy.url + "/daytona/api"
    options = account.options(daytona_api_url=url, daytona_snapshot="rooted", daytona_block_by_list="true")
    server = atoll.Server(environment={"DAYTONA_API_KEY": account.server.key}, flags=["--providers", f"daytona=daytona:{options}"])
    try:
        sdk = record(account, lambda: live_by_sdk(account, "daytona_life.mjs", "rooted", "@daytona/sdk", clients.DAYTONA,
                                                  DAYTONA_API_KEY=account.server.key, DAYTONA_API_URL=url))
        provider = record(account, lambda: live_by_provider(server.start()))
        base = "/daytona/api"
        check_exchanges(sdk, provider, headers={"authorization", "content-type"},
                        wanted={("POST", f"{base}/sandbox"), ("GET", f"{base}/sandbox/ID"), ("POST", f"{base}/sandbox/ID/pause"),
                                ("POST", f"{base}/sandbox/ID/start"), ("POST", f"{base}/sandbox/ID/stop"), ("DELETE", f"{base}/sandbox/ID"),
                                ("POST", f"{base}/sandbox/ID/snapshot"), ("GET", f"{base}/snapshots/ID"), ("DELETE", f"{base}/snapshots/ID")})
    finally:
        server.remove_all()
        account.remove()
