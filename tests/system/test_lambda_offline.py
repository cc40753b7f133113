# SPDX-License-Identifier: Apache-2.0
"""Provider lambda against serverless-offline, an implementation of Lambda's call Invoke that is not ours, behind a judge of
signatures. The functions run the program of deploy/lambda."""

import concurrent.futures
import contextlib
import hashlib
import json
import time

import pytest

import atoll
import aws_signature
import lambda_offline
import lambda_service

pytestmark = [pytest.mark.providers, pytest.mark.needs_root]
EXEC = "/v1/ephemeral/exec"
TARGET = {"provider": "far", "template": "host", "internet": False}


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    offline = lambda_offline.Offline(tmp_path_factory.mktemp("offline"))
    yield offline
    offline.close()


def serve(offline, secret=lambda_service.SECRET, **more):
    return atoll.Server(environment={"AWS_SECRET_ACCESS_KEY": secret},
                        flags=["--providers", f"native,far=lambda:{lambda_service.options_of(offline.url, **more)}"])


@pytest.fixture(scope="module")
def server(offline):
    server = serve(offline, lambda_workspace_project="default").start()
    yield server
    try:
        atoll.wait_for(lambda: server.rows(server.api()) == [], 30, "no sandboxes")
    finally:
        server.remove_all()


@pytest.fixture
def api(server):
    with contextlib.closing(server.api()) as connection:
        yield connection


def run(api, command, target=None, **more):
    return api.post(EXEC, {"command": command, "sandbox": {**TARGET, **(target or {})}, **more})


def refused(call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as caught:
        call(*arguments, **options)
    return caught.value


def test_a_command_runs_in_the_program_of_the_functions(api, offline):
    said = run(api, "cat; echo out; echo err >&2; cat /proc/1/comm; exit 7", stdin="in\n")
    assert (said["stdout"], said["stderr"], said["exit_code"]) == ("in\nout\natoll-lambda\n", "err\n", 7), said
    path, headers, _, refusal = offline.seen[-1]
    assert (path, headers["x-amz-invocation-type"], refusal) == ("/2015-03-31/functions/fn-nonet/invocations", "RequestResponse", None)


def test_code_and_tools_run(api):
    assert api.post("/v1/ephemeral/code", {"language": "python", "code": "print(6*7)", "sandbox": TARGET})["stdout"] == "42\n"
    assert "hi" in json.dumps(api.post("/v1/tools/bash", {"input": {"command": "echo hi"}, "ephemeral": True, "sandbox": TARGET}))


def test_nothing_of_the_role_or_of_a_call_is_seen_by_the_next(api):
    said = run(api, "echo secret > /tmp/file; (setsid sleep 600 &); env; cat /proc/1/environ | tr '\\0' '\\n'")
    assert "AWS" not in said["stdout"] and "role" not in said["stdout"], said
    assert run(api, "ls -A /tmp | grep -v ^call-; pgrep -c sleep")["stdout"].split() in (["0"], []), said


def test_a_workspace_stays(api):
    run(api, "echo kept > file", workspace="notes")
    assert run(api, "pwd; cat file", workspace="notes")["stdout"] == "/mnt/workspaces/notes\nkept\n"


def test_output_and_input_at_their_limits(api):
    assert run(api, "wc -c", stdin="x" * 700_000)["stdout"].strip() == "700000"
    said = run(api, "head -c 1000000 /dev/zero | tr '\\0' x", outputLimitBytes=1 << 20)
    assert said["truncated"] and 0 < len(said["stdout"]) <= 262144 + 200, (said["truncated"], len(said["stdout"]))
    assert run(api, "printf 'a\\377'; true", timeoutMs=20000)["exit_code"] == 0


def test_calls_at_once_have_environments_of_their_own(server):
    def one(number):
        with contextlib.closing(server.api(timeout=120)) as api:
            return run(api, f"sleep 0.5; ls -A /tmp | wc -l; echo {number}")["stdout"].split()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(4))) == [["1", str(number)] for number in range(4)]


def test_a_timeout_ends_the_command(api):
    begun = time.monotonic()
    said = run(api, "echo a; sleep 60", timeoutMs=600)
    assert said["timed_out"] and said["stdout"] == "a\n" and time.monotonic() - begun < 15


def test_a_function_that_fails_or_is_missing_is_told(offline, api):
    failure = refused(run, api, "true", cwd="/nowhere")
    assert failure.status == 503 and "enter folder '/nowhere'" in failure.message, failure
    assert run(api, "echo on")["stdout"] == "on\n"
    server = serve(offline, sandbox_fn_nomount_nonet="no-such-function").start()
    try:
        with contextlib.closing(server.api()) as other:
            failure = refused(run, other, "true")
            assert failure.status == 503 and "ResourceNotFoundException" in failure.message and "deploy/lambda" in failure.hint, failure
    finally:
        server.remove_all()


def test_a_wrong_signature_is_refused_and_says_so(offline):
    server = serve(offline, secret="wrong").start()
    try:
        with contextlib.closing(server.api()) as api:
            before = len(offline.seen)
            failure = refused(run, api, "true")
            assert failure.status == 503 and "InvalidSignatureException" in failure.message and "lambda_secret_access_key" in failure.hint, failure
            assert {refusal for *_, refusal in offline.seen[before:]} == {"InvalidSignatureException"}
            local = {"provider": "native", "template": "host", "internet": False}
            assert api.post(EXEC, {"command": "echo on", "sandbox": local})["stdout"] == "on\n"
    finally:
        server.remove_all()


# ---- the judge itself: a request that Atoll has signed, changed ----


@pytest.fixture
def signed(api, offline):
    run(api, "true")
    path, headers, body, _ = next(row for row in reversed(offline.seen) if row[1]["x-amz-invocation-type"] == "RequestResponse")
    return path, headers, body


def sign_again(headers, path, body, stamp):
    """With the right key, but at another time."""
    scope = (stamp[:8], "us-east-1", "lambda")
    names = aws_signature.FORM.fullmatch(headers["authorization"])[5].split(";")
    headers = {**headers, "x-amz-date": stamp}
    given = aws_signature.signature(lambda_service.SECRET, "POST", path, headers, body, scope, names)
    return {**headers, "authorization": f"AWS4-HMAC-SHA256 Credential={lambda_service.KEY}/{'/'.join(scope)}/aws4_request, "
                                        f"SignedHeaders={';'.join(names)}, Signature={given}"}


@pytest.mark.parametrize("what", ["body", "function", "host", "kind", "digest", "unsigned", "key", "old", "tomorrow", "day"])
def test_a_request_that_was_changed_is_refused(offline, signed, what):
    path, headers, body = signed
    other = json.dumps({"args": ["id"]}).encode()
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    changed = {"body": lambda: (path, headers, other),
               "function": lambda: (path.replace("fn-nonet", "fn-net"), headers, body),
               "host": lambda: (path, {**headers, "host": "127.0.0.1:1"}, body),
               "kind": lambda: (path, {**headers, "x-amz-invocation-type": "Event"}, body),
               "digest": lambda: (path, {**headers, "x-amz-content-sha256": hashlib.sha256(other).hexdigest()}, other),
               "unsigned": lambda: (path, {name: value for name, value in headers.items() if name != "authorization"}, body),
               "key": lambda: (path, {**headers, "authorization": headers["authorization"].replace(lambda_service.KEY, "AKIDOFANOTHER")}, body),
               "old": lambda: (path, sign_again(headers, path, body, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() - 3600))), body),
               "tomorrow": lambda: (path, sign_again(headers, path, body, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() + 86400))), body),
               "day": lambda: (path, {**sign_again(headers, path, body, f"20200101{now[8:]}"), "x-amz-date": now}, body)}[what]()
    status, said, told = offline.call(*changed)
    assert status == 403 and said["message"].endswith("Exception") and told["x-amzn-errortype"], (status, said)
    # The same request, unchanged and signed again, is accepted: it was the change that the judge refused.
    status, said, _ = offline.call(path, sign_again(headers, path, body, now), body)
    assert (status, said.get("ok")) == (200, True), said
