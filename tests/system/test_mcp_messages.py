# SPDX-License-Identifier: Apache-2.0
"""What the server says of itself in the Model Context Protocol: the stream of a session, and messages while a call runs."""

import contextlib
import itertools
import json

import pytest

import atoll
from test_mcp import META, MODERN, Mcp


def open_stream(api, session, **headers):
    """The stream of a session, on a connection of its own."""
    connection = api.clone()
    return connection, connection.open("GET", "/mcp", None, {"Accept": "text/event-stream", "Mcp-Session-Id": session, **headers})


def next_message(response):
    """The next message of a stream, and its number."""
    number = None
    for line in response:
        if line.startswith(b"id: "):
            number = int(line[4:])
        if line.startswith(b"data: "):
            return json.loads(line[6:]), number
    raise AssertionError("the stream has ended")


def updates(response, wanted):
    """Messages up to one about the address that is wanted."""
    seen = []
    while True:
        message, number = next_message(response)
        seen.append(message["method"].removeprefix("notifications/resources/"))
        if message.get("params", {}).get("uri") == wanted:
            return seen, number


@pytest.fixture
def mcp(api):
    found = Mcp(api)
    abilities = found.initialize()["capabilities"]
    assert abilities["resources"] == {"listChanged": True, "subscribe": True} and abilities["logging"] == {}
    return found


def test_a_session_is_told_what_changes(mcp, api):
    with api.sandbox(internet=False) as watched, api.sandbox(internet=False) as other:
        name = api.get(f"/api/sandbox/instances/{watched}")["name"]
        by_id, by_name, elsewhere = (f"atoll://sandbox/{each}" for each in (watched, name, other))
        for uri in (by_id, by_name, by_id, elsewhere):
            assert mcp.old("resources/subscribe", {"uri": uri})["result"] == {}
        assert mcp.old("resources/unsubscribe", {"uri": elsewhere})["result"] == {}
        connection, stream = open_stream(api, mcp.session)
        with contextlib.closing(connection):
            assert stream.status == 200 and stream.headers["Content-Type"] == "text/event-stream"
            # One at a time, so that each message is sent once.
            second, refused = open_stream(api, mcp.session)
            assert refused.status == 409 and "stream already" in refused.read().decode()
            second.close()
            api.post(f"/api/sandbox/instances/{other}/pause")
            api.post(f"/api/sandbox/instances/{watched}/pause")
            seen, number = updates(stream, by_name)
            assert seen == ["updated", "updated"]
            with api.sandbox(internet=False):
                while next_message(stream)[0]["method"] != "notifications/resources/list_changed":
                    pass
            mcp.old("resources/unsubscribe", {"uri": by_name})
            api.post(f"/api/sandbox/instances/{watched}/resume")
            assert "list_changed" in updates(stream, by_id)[0]
        # What was missed is told after the number that was seen last.
        mcp.old("resources/unsubscribe", {"uri": by_id})
        mcp.old("resources/subscribe", {"uri": by_name})
        connection, stream = atoll.wait_for(lambda: (lambda pair: pair[1].status == 200 and pair)(
            open_stream(api, mcp.session, **{"Last-Event-ID": str(number)})), 10, "the end of the first stream")
        with contextlib.closing(connection):
            assert "list_changed" in updates(stream, by_name)[0]


def listen(mcp, **wanted):
    """A stream of the stateless era."""
    meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": "mine", "method": "subscriptions/listen", "params": {"_meta": meta, "notifications": wanted}}
    connection = mcp.api.clone()
    return connection, connection.open("POST", mcp.path, body, {"Accept": "application/json, text/event-stream",
                                                                "MCP-Protocol-Version": MODERN, "Mcp-Method": "subscriptions/listen"})


def test_a_stateless_client_listens_to_what_it_names(api):
    mcp = Mcp(api)
    assert mcp.new("server/discover")["result"]["capabilities"]["resources"] == {"listChanged": True, "subscribe": True}
    with api.sandbox(internet=False) as watched:
        uri = f"atoll://sandbox/{watched}"
        narrow, quiet = listen(mcp, resourceSubscriptions=[uri], toolsListChanged=True)
        wide, both = listen(mcp, resourceSubscriptions=[uri], resourcesListChanged=True)
        with contextlib.closing(narrow), contextlib.closing(wide):
            for stream, honored in ((quiet, {}), (both, {"resourcesListChanged": True})):
                message, number = next_message(stream)
                assert message["method"] == "notifications/subscriptions/acknowledged" and number is None
                assert message["params"] == {"_meta": {META + "subscriptionId": "mine"}, "notifications": {**honored, "resourceSubscriptions": [uri]}}
            with api.sandbox(internet=False):
                api.post(f"/api/sandbox/instances/{watched}/pause")
            seen = []
            while "list_changed" not in seen or "updated" not in seen:
                message = next_message(both)[0]
                assert message["params"]["_meta"] == {META + "subscriptionId": "mine"}
                seen.append(message["method"].removeprefix("notifications/resources/"))
            message = next_message(quiet)[0]
            assert message["method"] == "notifications/resources/updated" and message["params"]["uri"] == uri
    for wanted in ({"resourceSubscriptions": ["atoll://sandbox/nosuchsandbox"]}, {"resourceSubscriptions": ["x"]},
                   {"resourceSubscriptions": [uri] * 33}):
        connection, refused = listen(mcp, **wanted)
        assert json.loads(refused.read())["error"]["code"] == -32602, wanted
        connection.close()
    assert mcp.new("subscriptions/listen", {"notifications": {}}, status=406, headers={"Accept": "application/json"})["error"]["code"] == -32600
    assert mcp.new("subscriptions/listen", status=400)["error"]["code"] == -32602


@pytest.mark.parametrize("uri, code", [
    ("atoll://sandbox/nosuchsandbox", -32002), ("atoll://sandbox/x/files/y", -32602), ("test://watched-resource", -32602),
    ("", -32602), ("atoll://sandbox/" + "a" * 300, -32602)])
def test_what_is_not_watched_is_refused(mcp, uri, code):
    error = mcp.old("resources/subscribe", {"uri": uri})["error"]
    assert error["code"] == code and error["message"]


def test_subscriptions_and_streams_have_limits_and_owners(mcp, api, box):
    def written(*places):  # the same address, written in another way
        return "atoll://sandbox/" + "".join(f"%{ord(each):02x}" if at in places else each for at, each in enumerate(box))
    *most, last = [written(first, second) for first, second in itertools.islice(itertools.combinations(range(len(box)), 2), 33)]
    for uri in most:
        assert mcp.old("resources/subscribe", {"uri": uri})["result"] == {}
    assert "32 subscriptions" in mcp.old("resources/subscribe", {"uri": last})["error"]["message"]
    mcp.old("resources/unsubscribe", {"uri": most[0]})
    assert mcp.old("resources/subscribe", {"uri": last})["result"] == {}
    stranger = api.post("/api/sandbox/keys", {"name": "mcp-stream", "scopes": ["sandbox:read"]})
    connection, answer = open_stream(api.clone(stranger["key"]), mcp.session)
    assert answer.status == 404 and answer.read()
    connection.close()
    api.delete(f"/api/sandbox/keys/{stranger['id']}")
    for headers in ({}, {"Mcp-Session-Id": mcp.session}):  # without a session, or without Accept
        assert api.raw("GET", "/mcp", headers=headers).status == 405
    assert open_stream(api, "nosuchsession")[1].status == 404


def test_output_is_logged_for_a_client_that_asks_for_it(mcp, api, box):
    mcp.path = f"/mcp?sandbox={box}"
    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "bash", "arguments": {"command": "echo one; sleep 0.5; echo two"}}}
    # At first it asks for nothing: one object.
    assert mcp.post(call).headers["Content-Type"] == "application/json"
    assert mcp.old("logging/setLevel", {"level": "loud"})["error"]["code"] == -32602
    assert mcp.old("logging/setLevel", {"level": "debug"})["result"] == {}
    answer = mcp.post(call)
    assert answer.headers["Content-Type"] == "text/event-stream"
    messages = [json.loads(line[6:]) for line in answer.body.splitlines() if line.startswith(b"data: ")]
    logged = [message["params"] for message in messages[:-1]]
    assert all(message["method"] == "notifications/message" for message in messages[:-1])
    assert {each["level"] for each in logged} == {"debug"} and "".join(each["data"] for each in logged) == "one\ntwo\n"
    assert messages[-1]["id"] == 5 and messages[-1]["result"]["structuredContent"]["stdout"] == "one\ntwo\n"
    assert mcp.post(call, Accept="application/json").headers["Content-Type"] == "application/json"
    # In the stateless era each request says so itself.
    meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}, META + "logLevel": "debug"}
    answer = mcp.post({**call, "params": {**call["params"], "_meta": meta}}, MCP_Protocol_Version=MODERN, Mcp_Method="tools/call", Mcp_Name="bash")
    assert answer.headers["Content-Type"] == "text/event-stream" and b"notifications/message" in answer.body
    mcp.old("logging/setLevel", {"level": "info"})
    assert mcp.post(call).headers["Content-Type"] == "application/json"
