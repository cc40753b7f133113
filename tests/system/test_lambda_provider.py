# SPDX-License-Identifier: Apache-2.0
"""Provider lambda: ephemeral calls run in functions of a service that judges signatures (tests/lambda_service.py), each of
them the program of deploy/lambda."""

import concurrent.futures
import contextlib
import json
import time

import pytest

import atoll
import lambda_service

pytestmark = [pytest.mark.providers, pytest.mark.needs_root]
EXEC = "/v1/ephemeral/exec"
TARGET = {"provider": "far", "template": "host", "internet": False}


def serve(service, environment=None, **more):
    return atoll.Server(environment={"AWS_SECRET_ACCESS_KEY": lambda_service.SECRET, **(environment or {})},
                        flags=["--providers", f"native,far=lambda:{service.options(**more)}"])


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    service = lambda_service.Service(tmp_path_factory.mktemp("lambda"))
    yield service
    assert service.mistakes() == []
    service.close()


@pytest.fixture(scope="module")
def server(service):
    server = serve(service, lambda_workspace_project="default").start()
    yield server
    try:
        # A sandbox of one call is deleted after its answer.
        atoll.wait_for(lambda: server.rows(server.api()) == [], 30, "no sandboxes")
    finally:
        server.remove_all()


@pytest.fixture
def api(server, service):
    with contextlib.closing(server.api()) as connection:
        yield connection
    service.fault = None


def run(api, command, target=None, **more):
    return api.post(EXEC, {"command": command, "sandbox": {**TARGET, **(target or {})}, **more})


def refused(call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as caught:
        call(*arguments, **options)
    return caught.value


# ---- what works ----


@pytest.mark.smoke
def test_a_command_has_output_status_and_input(api):
    said = run(api, "cat; echo out; echo err >&2; exit 7", stdin="in\n")
    assert (said["stdout"], said["stderr"], said["exit_code"]) == ("in\nout\n", "err\n", 7), said


def test_the_function_follows_workspace_and_network(api, service):
    for target, more, name in [({}, {}, "fn-nonet"), ({"internet": True}, {}, "fn-net"), ({}, {"workspace": "notes"}, "fn-mount-nonet"),
                               ({"internet": True}, {"workspace": "notes"}, "fn-mount-net")]:
        before = service.calls()
        run(api, "true", target, **more)
        assert {key: count - before[key] for key, count in service.calls().items() if count > before[key]} == {name: 1}


@pytest.mark.smoke
def test_a_workspace_keeps_its_files_and_is_where_commands_begin(api):
    run(api, "echo kept > file", workspace="stays")
    said = run(api, "pwd; cat file", workspace="stays")
    assert said["stdout"] == "/mnt/workspaces/stays\nkept\n"
    tool = api.post("/v1/tools/bash", {"input": {"command": "cat file"}, "workspace": "stays", "sandbox": TARGET})
    assert "kept" in json.dumps(tool), tool


def test_code_tools_and_streams_run(api):
    said = api.post("/v1/ephemeral/code", {"language": "python", "code": "print(6*7)", "sandbox": TARGET})
    assert said["stdout"] == "42\n", said
    assert "hi" in json.dumps(api.post("/v1/tools/bash", {"input": {"command": "echo hi"}, "ephemeral": True, "sandbox": TARGET}))
    answer = api.raw("POST", EXEC, {"command": "echo streamed", "sandbox": TARGET}, headers={"Accept": "application/x-ndjson"})
    assert answer.status == 200 and b"streamed" in answer.body, answer.body


def test_environment_comes_to_the_command_and_the_servers_keys_do_not(api):
    said = run(api, "env", env={"FOO": "bar"})
    assert "FOO=bar" in said["stdout"] and "AWS" not in said["stdout"] and lambda_service.SECRET not in json.dumps(said)


def test_a_long_input_is_sent_whole(api):
    said = run(api, "wc -c", stdin="x" * 700_000)
    assert said["stdout"].strip() == "700000"


def test_output_beyond_the_limit_is_cut_and_counted(api):
    said = run(api, "head -c 1000000 /dev/zero | tr '\\0' x", outputLimitBytes=1 << 20)
    assert said["truncated"] and 0 < len(said["stdout"]) <= 262144 + 200, (said["truncated"], len(said["stdout"]))


def test_a_timeout_ends_the_command(api):
    begun = time.monotonic()
    said = run(api, "echo a; sleep 60", timeoutMs=600)
    assert said["timed_out"] and said["stdout"] == "a\n" and time.monotonic() - begun < 10


def test_a_missing_program_is_as_in_a_shell(api):
    said = api.post(EXEC, {"cmd": "no-such-program", "sandbox": TARGET})
    assert said["exit_code"] == 127 and "not found" in said["stderr"]


def test_a_config_names_it(api):
    config = api.post("/accounts/me/sandboxes", {"name": "fn", "config": {"provider": "far", "internet": False, "timeout": 30,
                                                                          "runtimes": ["bash", "python"]}})
    said = api.post(EXEC, {"config": config["name"], "command": "echo configured", "sandbox": {"template": "host"}})
    assert said["stdout"] == "configured\n", said


# ---- what is refused ----


def test_a_long_living_sandbox_is_refused_by_name(api):
    failure = refused(api.create, provider="far", template="host", internet=False)
    assert failure.status == 501 and "ephemeral calls only" in failure.message, failure


def test_more_memory_than_functions_have_is_refused(api):
    failure = refused(run, api, "true", {"resources": {"memory_mb": 2048}})
    assert failure.status == 501 and "1024 MB" in failure.message, failure


def test_a_terminal_a_user_and_files_are_refused(api):
    assert "as the user of its functions" in refused(run, api, "true", user="root").message
    assert "terminal" in refused(run, api, "true", tty=True).message
    failure = refused(api.post, "/v1/tools/write", {"input": {"path": "a", "content": "b"}, "workspace": "stays", "sandbox": TARGET})
    assert "runs commands only" in failure.message or "files" in failure.message, failure


def test_what_the_functions_do_not_have_is_refused(service):
    server = serve(service, lambda_workspace_project="other", lambda_templates="base").start()
    try:
        with contextlib.closing(server.api()) as api:
            assert "it stands for: base" in refused(run, api, "true").message
    finally:
        server.remove_all()
    options = {"lambda_workspace_project": "other"}
    server = atoll.Server(environment={"AWS_SECRET_ACCESS_KEY": lambda_service.SECRET}, flags=[
        "--providers", "native,far=lambda:" + service.options(**options).replace("sandbox_fn_nomount_net=fn-net;", "")]).start()
    try:
        with contextlib.closing(server.api()) as api:
            failure = refused(run, api, "true", workspace="stays")
            assert failure.status == 501 and "share one file system" in failure.message, failure
            failure = refused(run, api, "true", {"internet": True})
            assert failure.status == 501 and "sandbox_fn_nomount_net" in failure.hint, failure
    finally:
        server.remove_all()


# ---- faults of the service ----


@pytest.mark.parametrize("fault, status, says", [
    ("cut", 503, "AWS Lambda"), ("half", 503, "AWS Lambda"), ("garbled", 503, "does not answer as"),
    ((500, {"message": "broken"}), 503, "broken"), ((502, b"<html>"), 503, "502"),
    ((403, {"Message": "no"}, [("x-amzn-ErrorType", "AccessDeniedException")]), 503, "AccessDenied"),
    ((413, {"message": "too large"}, [("x-amzn-ErrorType", "RequestTooLargeException")]), 413, "too large"),
    ((404, {"Message": "Function not found"}, [("x-amzn-ErrorType", "ResourceNotFoundException:http://x/")]), 503, "ResourceNotFoundException"),
    ((200, {"errorMessage": "2026 x Task timed out after 300.00 seconds"}, [("X-Amz-Function-Error", "Unhandled")]), 504, "its own time limit"),
    ((200, {"errorType": "Runtime.ExitError", "errorMessage": "RequestId: x Error: Runtime exited with error: signal: killed"},
      [("X-Amz-Function-Error", "Unhandled")]), 503, "signal: killed"),
    ((200, {"hello": "of another function"}), 503, "does not answer as"),
    ((200, {"ok": True, "exit_code": 999, "stdout": "", "stderr": ""}), 503, "does not answer as")])
def test_a_failure_is_told_in_plain_words(api, service, fault, status, says):
    service.fault = lambda path, headers: fault if headers.get("x-amz-invocation-type") == "RequestResponse" else None
    failure = refused(run, api, "true")
    assert failure.status == status and says in failure.message, failure
    service.fault = None
    assert run(api, "echo on")["stdout"] == "on\n"


@pytest.mark.smoke
def test_a_call_is_made_once(api, service):
    seen = len([1 for _, _, headers in service.seen if headers.get("x-amz-invocation-type") == "RequestResponse"])
    service.fault = lambda path, headers: "cut"
    refused(run, api, "true")
    service.fault = None
    assert len([1 for _, _, headers in service.seen if headers.get("x-amz-invocation-type") == "RequestResponse"]) == seen + 1


def test_a_limit_of_calls_is_obeyed(api, service):
    told = []

    def limit(path, headers):
        if headers.get("x-amz-invocation-type") == "RequestResponse" and len(told) < 2:
            told.append(time.monotonic())
            return 429, {"message": "Rate Exceeded."}, [("Retry-After", "1"), ("x-amzn-ErrorType", "TooManyRequestsException")]
        return None
    service.fault = limit
    assert run(api, "echo later")["stdout"] == "later\n"
    assert len(told) == 2 and time.monotonic() - told[0] >= 1.9


def test_a_long_limit_fails_with_the_time_and_creates_go_elsewhere(service):
    server = serve(service).start()
    try:
        with contextlib.closing(server.api()) as api:
            service.fault = lambda path, headers: (429, {"message": "Rate Exceeded."}, [("Retry-After", "60"), ("x-amzn-ErrorType", "TooManyRequestsException")])
            failure = refused(run, api, "true")
            assert failure.status == 503 and "TooManyRequestsException" in failure.message, failure
            service.fault = None
            failure = refused(run, api, "true")
            assert failure.status == 503 and "no more calls" in failure.message, failure
            assert api.post(EXEC, {"command": "echo on", "sandbox": {"provider": "native", "template": "host", "internet": False}})["stdout"] == "on\n"
    finally:
        service.fault = None
        server.remove_all()


def test_a_wrong_key_costs_only_its_own_calls_and_says_so(service):
    server = serve(service, {"AWS_SECRET_ACCESS_KEY": "wrong"}).start()
    try:
        with contextlib.closing(server.api()) as api:
            failure = refused(run, api, "true")
            assert failure.status == 503 and "InvalidSignatureException" in failure.message and "lambda_secret_access_key" in failure.hint, failure
            assert api.post(EXEC, {"command": "echo on", "sandbox": {"provider": "native", "template": "host", "internet": False}})["stdout"] == "on\n"
    finally:
        server.remove_all()


def test_a_service_that_hangs_takes_no_worker(service):
    server = serve(service).start()
    service.released.clear()
    try:
        service.fault = lambda path, headers: "hang"
        before = len(service.seen)

        def wait_in_vain(_):
            with contextlib.closing(server.api(timeout=60)) as api:
                return refused(run, api, "true").status
        pool = concurrent.futures.ThreadPoolExecutor(40)
        hung = [pool.submit(wait_in_vain, number) for number in range(40)]
        assert atoll.wait_for(lambda: len(service.seen) - before == 40, 20, "calls that hang")
        with contextlib.closing(server.api(timeout=10)) as api:
            for _ in range(3):
                begun = time.monotonic()
                assert api.post(EXEC, {"command": "echo on", "sandbox": {"provider": "native", "template": "host", "internet": False}})["stdout"] == "on\n"
                assert time.monotonic() - begun < 5
        service.released.set()
        assert {call.result(timeout=30) for call in hung} == {503}
    finally:
        service.released.set()
        service.fault = None
        server.remove_all()


def test_a_new_key_is_taken_without_a_restart(service):
    server = atoll.Server().start()
    try:
        with contextlib.closing(server.api()) as api:
            options = dict(pair.split("=", 1) for pair in service.options().split(";"))
            api.post("/v1/providers", {"name": "fn", "kind": "lambda", "settings": {**options, "lambda_secret_access_key": "wrong"}})
            target = {"provider": "fn"}
            assert "InvalidSignature" in refused(run, api, "true", target).message
            api.call("PATCH", "/v1/providers/fn", {"settings": {"lambda_secret_access_key": lambda_service.SECRET}})
            assert run(api, "echo on", target)["stdout"] == "on\n"
            assert lambda_service.SECRET not in json.dumps(api.get("/v1/providers"))
    finally:
        server.remove_all()
