# SPDX-License-Identifier: Apache-2.0
"""kill -9 of atolld at every named step of a context: what runs in the sandbox goes on, and is found again."""

import contextlib
import http.client
import json
import time

import pytest

from test_kills import named_steps

pytestmark = pytest.mark.needs_root
STEPS = named_steps("code", r'fault_point\("api", ') + [step for step in named_steps("calls", r'fault_point\("api", ')
                                                         if step.startswith("code-")]


def once(server, path, body):
    """Api asks again when a connection breaks; this does not."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("POST", path, json.dumps(body),
                       {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"})
    return json.loads(connection.getresponse().read())


def test_the_steps_are_known():
    assert {"code-kernel-started", "code-kernel-ended", "code-block-begun"} == set(STEPS)


@pytest.mark.parametrize("step", STEPS)
def test_a_context_is_what_it_was_or_gone(private_server, step):
    server = private_server
    server.start()
    with contextlib.closing(server.api()) as api:
        box = api.create(internet=False, persistent=True)["id"]
        path = f"/api/sandbox/instances/{box}/code"
        block = {"language": "python", "contextId": "default"}
        if step != "code-kernel-started":
            once(server, path, {**block, "code": "kept = 1"})
    server.kill9("api")  # the environment is read at its start
    server.stop()
    server.environment["ATOLL_FAULT"] = f"api:{step}:kill"
    server.start()
    with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
        if step == "code-kernel-ended":
            once(server, f"{path}/contexts/default-python/restart", {})
        else:
            once(server, path, {**block, "code": "import time\ntime.sleep(0.5)\nkept = 2"})
    server.environment.pop("ATOLL_FAULT")
    server.stop()
    server.start()
    with contextlib.closing(server.api()) as api:
        contexts = api.get(f"{path}/contexts")["items"]
        assert len(contexts) == (0 if step == "code-kernel-ended" else 1)
        answer = once(server, path, {**block, "code": "globals().get('kept')"})
        # A block that was sent goes on, and the next one waits for it.
        told = [result["text"] for result in answer["results"]]
        assert told == {"code-kernel-started": [], "code-kernel-ended": [], "code-block-begun": ["2"]}[step]
        assert len(api.get(f"{path}/contexts")["items"]) == 1
        api.remove(box)
