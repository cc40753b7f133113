#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A language server that knows `def NAME` and nothing else: for daytona.mjs, as `pylsp` in a sandbox."""
import json
import re
import sys

documents = {}


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n%s" % (len(body), body))
    sys.stdout.buffer.flush()


def read():
    size = 0
    while (line := sys.stdin.buffer.readline()) != b"\r\n":
        if not line:
            sys.exit(1)
        if line.lower().startswith(b"content-length:"):
            size = int(line.split(b":")[1])
    return json.loads(sys.stdin.buffer.read(size))


def place(line, start, end):
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def symbols(uri):
    found = [(i, m) for i, line in enumerate(documents[uri].splitlines()) if (m := re.match(r"( *)def (\w+)", line))]
    return [{"name": m[2], "kind": 12, "range": place(i, 0, m.end()), "selectionRange": place(i, m.start(2), m.end(2)), "children": []}
            for i, m in found]


def answer(method, params):
    uri = params.get("textDocument", {}).get("uri")
    if method == "initialize":
        # It asks before it answers, as some do.
        send({"id": 1, "method": "workspace/configuration", "params": {"items": [{}, {}]}})
        while "method" in (reply := read()) or reply["id"] != 1:
            pass
        assert reply["result"] == [None, None]
        return {"capabilities": {}, "root": params["rootUri"]}
    if uri and uri not in documents:
        raise KeyError(f"no document {uri}")
    if method == "textDocument/documentSymbol":
        outer = symbols(uri)
        return [{**outer[0], "children": outer[1:]}]
    if method == "workspace/symbol":
        return [{"name": s["name"], "kind": s["kind"], "location": {"uri": uri, "range": s["range"]}}
                for uri in documents for s in symbols(uri) if params["query"] in s["name"]]
    if method == "textDocument/completion":
        return {"isIncomplete": False, "items": [{"label": s["name"], "kind": 3, "detail": f"at {params['position']['line']}"} for s in symbols(uri)]}
    return None


while True:
    message = read()
    method, params = message.get("method"), message.get("params") or {}
    if method == "exit":
        break
    if method == "textDocument/didOpen":
        documents[params["textDocument"]["uri"]] = params["textDocument"]["text"]
        send({"method": "textDocument/publishDiagnostics", "params": {"uri": params["textDocument"]["uri"], "diagnostics": []}})
    elif method == "textDocument/didClose":
        documents.pop(params["textDocument"]["uri"], None)
    elif "id" in message:
        try:
            send({"id": message["id"], "result": answer(method, params)})
        except KeyError as missing:
            send({"id": message["id"], "error": {"code": -32602, "message": str(missing)}})
