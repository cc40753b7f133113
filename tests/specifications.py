# SPDX-License-Identifier: Apache-2.0
"""What is said on a wire, held against machine-readable specifications.

OpenApi and Protocol are specifications of HTTP and of Connect calls with JSON; Tap is a proxy that copies bytes
without a look at them and remembers them, so that an unmodified client can be listened to, streams and all."""

import base64
import contextlib
import gzip
import json
import re
import socket
import struct
import threading

import pytest

import atoll

# Beside the checkout, where there are any.
FOLDER = atoll.ROOT.parent / "shared/reference/specs"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
METHODS = ("get", "put", "post", "delete", "patch")


def load(name):
    """A YAML specification, or a skip that says what is missing."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    yaml = pytest.importorskip("yaml")
    return yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # libyaml's is ten times as fast


def of_swagger(document):
    """A document of version 2 in the form of version 3, as far as OpenApi looks at it."""
    def modern(operation):
        bodies = [p for p in operation.get("parameters", []) if p["in"] == "body"]
        wanted = {"parameters": [p for p in operation.get("parameters", []) if p["in"] != "body"],
                  "responses": {status: {"content": {kind: {"schema": answer["schema"]} for kind in operation.get("produces", []) if "schema" in answer}}
                                for status, answer in operation["responses"].items()}}
        return wanted | ({"requestBody": {"content": {"application/json": {"schema": bodies[0]["schema"]}}}} if bodies else {})

    paths = {path: {method: modern(operation) for method, operation in what.items()} for path, what in document["paths"].items()}
    return {**document, "paths": paths}


class OpenApi:
    """`same`: {(METHOD, path): path} of a newer generation that is as another one. `newer`: names of members and
    of parameters that the specification does not know yet."""

    def __init__(self, document, same=None, newer=()):
        self.document, self.same, self.newer = document, same or {}, set(newer)
        paths = dict(document["paths"])
        for (method, new), old in self.same.items():
            paths[new] = {**paths.get(new, {}), method.lower(): document["paths"][old][method.lower()]}
        self.paths = sorted(((re.compile(re.sub(r"{\w+}", "[^/]+", path) + "$"), path, what) for path, what in paths.items()),
                            key=lambda row: row[1].count("{"))

    def operations(self):
        """(METHOD, path) of all that is not the maker's own."""
        return {(method.upper(), path) for _, path, what in self.paths for method in METHODS
                if method in what and not what[method].get("x-internal")}

    def find(self, method, path):
        for pattern, name, what in self.paths:
            if pattern.match(path) and method.lower() in what:
                return name, what[method.lower()]
        raise AssertionError(f"{method} {path} is not in the specification")

    def resolve(self, schema):
        while "$ref" in schema:
            found = self.document
            for part in schema["$ref"].split("/")[1:]:
                found = found[part]
            schema = found
        return schema

    def check(self, value, schema, where):
        schema = self.resolve(schema)
        if value is None:
            assert schema.get("nullable") or not schema, f"{where} is null"
            return
        for part in schema.get("allOf", []):
            self.check(value, part, where)
        kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}
        kind = schema.get("type") or ("object" if "properties" in schema else None)
        if kind:
            assert isinstance(value, kinds[kind]) and (kind == "boolean" or not isinstance(value, bool)), f"{where}: {value!r} is no {kind}"
        assert "enum" not in schema or value in schema["enum"], f"{where}: {value!r} is none of {schema['enum']}"
        if schema.get("format") == "uuid":
            assert re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", value), f"{where}: {value!r}"
        if schema.get("format") == "date-time":
            assert TIME.fullmatch(value), f"{where}: {value!r}"
        if kind in ("integer", "number"):
            assert schema.get("minimum", value) <= value <= schema.get("maximum", value), f"{where}: {value!r}"
        if isinstance(value, list):
            for i, item in enumerate(value):
                self.check(item, schema.get("items", {}), f"{where}[{i}]")
        if isinstance(value, dict):
            missing = [name for name in schema.get("required", []) if name not in value]
            assert not missing, f"{where}: without {missing}"
            for name, item in value.items():
                own = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
                assert isinstance(own, dict) or name in self.newer or not schema.get("properties"), f"{where}: {name!r} is not in the specification"
                if isinstance(own, dict):
                    self.check(item, own, f"{where}.{name}")

    def check_query(self, operation, query, where):
        known = {}
        for parameter in map(self.resolve, operation.get("parameters", [])):
            if parameter["in"] == "query":
                known[parameter["name"]] = parameter
        given = {part.partition("=")[0] for part in query.split("&") if part}
        unknown = given - set(known) - self.newer
        assert not unknown, f"{where}: {unknown} is not in the specification"
        missing = {name for name, parameter in known.items() if parameter.get("required")} - given
        assert not missing, f"{where}: without {missing}"

    def check_failure(self, said, status, where):
        self.check(said, {"$ref": "#/components/schemas/Error"}, f"{where} {status}")
        assert str(said["code"]) == str(status), f"{where} {status}: {said}"

    def check_exchange(self, method, target, body, status, answer):
        """Returns the path as the specification has it."""
        path, _, query = target.partition("?")
        name, operation = self.find(method, path)
        where = f"{method} {path}"
        # The newest generation's own bodies may leave out more.
        content = self.resolve(operation.get("requestBody", {})).get("content", {}).get("application/json")
        if body and content and (method, name) not in self.same:
            self.check(json.loads(body), content["schema"], f"{where} body")
        if status >= 400:
            self.check_failure(json.loads(answer), status, where)
            return name
        if (method, name) not in self.same:
            self.check_query(operation, query, where)
        assert str(status) in operation["responses"], f"{where}: {status} is none of {list(operation['responses'])}"
        content = self.resolve(operation["responses"][str(status)]).get("content", {}).get("application/json")
        if content:
            self.check(json.loads(answer), content["schema"], f"{where} {status}")
        return name


# ---- protocol buffers as JSON, over Connect ----

CODES = {"canceled": 499, "unknown": 500, "invalid_argument": 400, "deadline_exceeded": 504, "not_found": 404, "already_exists": 409,
         "permission_denied": 403, "resource_exhausted": 429, "failed_precondition": 400, "aborted": 409, "out_of_range": 400,
         "unimplemented": 501, "internal": 500, "unavailable": 503, "data_loss": 500, "unauthenticated": 401}
WHOLE = {"int32", "uint32", "sint32", "fixed32", "sfixed32"}
LONG = {"int64", "uint64", "sint64", "fixed64", "sfixed64"}


def camel(name):
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


class Protocol:
    """Of .proto files that are written as E2B's are: proto3, one line a field, no options."""

    def __init__(self, *names):
        self.messages, self.enums, self.methods = {}, {}, {}
        for name in names:
            path = FOLDER / name
            if not path.exists():
                pytest.skip(f"{path} is not there")
            self.read(path.read_text())

    def read(self, text):
        package, scopes = "", []
        for line in text.splitlines():
            line = line.partition("//")[0].strip()
            if found := re.fullmatch(r"package (\w+);", line):
                package = found[1]
            elif found := re.fullmatch(r"(service|message|enum|oneof) (\w+) {(})?", line):
                if found[1] == "message":
                    self.messages[".".join([package, *(name for kind, name in scopes if kind == "message"), found[2]])] = []
                if found[1] == "enum":
                    self.enums[f"{package}.{found[2]}"] = {}
                if not found[3]:
                    scopes.append((found[1], found[2]))
            elif line == "}":
                scopes.pop()
            elif found := re.fullmatch(r"rpc (\w+)\((stream )?(\w+)\) returns \((stream )?(\w+)\);", line):
                kinds = (f"{package}.{found[3]}", bool(found[2]), f"{package}.{found[5]}", bool(found[4]))
                self.methods[f"/{package}.{scopes[-1][1]}/{found[1]}"] = kinds
            elif found := re.fullmatch(r"(\w+) = (\d+);", line):
                self.enums[f"{package}.{scopes[-1][1]}"][found[1]] = int(found[2])
            elif found := re.fullmatch(r"(optional |repeated )?(map<string, (\w+)>|[\w.]+) (\w+) = \d+;", line):
                inside = ".".join([package, *(name for kind, name in scopes if kind == "message")])
                oneof = scopes[-1][1] if scopes[-1][0] == "oneof" else None
                kind = "map" if found[3] else "list" if found[1] == "repeated " else "one"
                self.messages[inside].append((found[4], kind, found[3] or found[2], oneof))
            else:
                assert not line or line.startswith(("syntax", "import")), line

    def find_type(self, name, inside):
        """A name as it is seen from inside a message."""
        parts = inside.split(".")
        for size in range(len(parts), 0, -1):
            full = ".".join([*parts[:size], name])
            if full in self.messages or full in self.enums:
                return full
        raise AssertionError(f"{name} is no type of {inside}")

    def check(self, value, message, where):
        assert isinstance(value, dict), f"{where}: {value!r} is no message"
        fields, seen = {}, {}
        for name, kind, of, oneof in self.messages[message]:
            fields[camel(name)] = fields[name] = (kind, of, oneof)
        for name, item in value.items():
            assert name in fields, f"{where}: {name!r} is not in {message}"
            kind, of, oneof = fields[name]
            assert not oneof or seen.setdefault(oneof, name) == name, f"{where}: both {seen[oneof]} and {name}"
            if kind == "list":
                for i, one in enumerate(item):
                    self.check_one(one, of, message, f"{where}.{name}[{i}]")
            elif kind == "map":
                for key, one in item.items():
                    self.check_one(one, of, message, f"{where}.{name}[{key!r}]")
            else:
                self.check_one(item, of, message, f"{where}.{name}")

    def check_one(self, value, of, inside, where):
        if of in WHOLE:
            good = isinstance(value, int) and not isinstance(value, bool)
        elif of in LONG:
            good = isinstance(value, str) and re.fullmatch(r"-?\d+", value)
        elif of == "bool":
            good = isinstance(value, bool)
        elif of == "bytes":
            good = isinstance(value, str) and base64.b64decode(value, validate=True) is not None
        elif of == "string":
            good = isinstance(value, str)
        elif of == "google.protobuf.Timestamp":
            good = isinstance(value, str) and TIME.fullmatch(value)
        elif (name := self.find_type(of, inside)) in self.enums:
            good = value in self.enums[name]
        else:
            return self.check(value, name, where)
        assert good, f"{where}: {value!r} is no {of}"

    def check_failure(self, value, where, status=None):
        assert set(value) <= {"code", "message", "details"} and value["code"] in CODES and isinstance(value.get("message", ""), str), f"{where}: {value}"
        assert status is None or CODES[value["code"]] == status, f"{where}: {status} is not that of {value['code']}"

    def check_stream(self, body, message, where, is_request):
        got = list(envelopes(body))
        for i, (flags, text) in enumerate(got):
            if flags == 0:
                self.check(json.loads(text), message, f"{where}[{i}]")
                continue
            assert not is_request and flags == 2 and i == len(got) - 1, f"{where}: an envelope with flags {flags}"
            end = json.loads(text)
            assert set(end) <= {"error", "metadata"}, f"{where}: {end}"
            if "error" in end:
                self.check_failure(end["error"], where)

    def check_exchange(self, path, headers, body, status, answer):
        """Of a call that failed only the failure is looked at."""
        asks, asks_stream, tells, tells_stream = self.methods[path]
        is_stream = headers["content-type"] == "application/connect+json"
        assert is_stream == (asks_stream or tells_stream), f"{path} as {headers['content-type']}"
        if status >= 400:
            return self.check_failure(json.loads(answer), path, status)
        if is_stream:
            self.check_stream(body, asks, f"{path} body", True)
            return self.check_stream(answer, tells, path, False)
        self.check(json.loads(body), asks, f"{path} body")
        self.check(json.loads(answer), tells, path)


def envelopes(data):
    """(flags, text) of each that is whole."""
    while len(data) >= 5:
        flags, size = struct.unpack(">BI", data[:5])
        if len(data) < 5 + size:
            return
        yield flags, data[5:5 + size]
        data = data[5 + size:]


# ---- listening ----


class Tap:
    """A proxy of 127.0.0.1:port that remembers what goes through; `port` is its own."""

    def __init__(self, port):
        self.target, self.heard = port, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        said = (bytearray(), bytearray())
        with client, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.target)) as server:
            self.heard.append(said)
            other = threading.Thread(target=self.copy, args=(server, client, said[1], socket.SHUT_WR), daemon=True)
            other.start()
            # A client that is gone is gone for the server. A server that says no before it has heard all leaves
            # the client to say the rest: cut off, it would not read the answer.
            self.copy(client, server, said[0], socket.SHUT_RDWR)
            other.join()

    @staticmethod
    def copy(source, target, said, how):
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                said += piece
                with contextlib.suppress(OSError):
                    target.sendall(piece)
        with contextlib.suppress(OSError):
            target.shutdown(how)

    def close(self):
        self.listener.close()

    def exchanges(self):
        """(method, target, headers, body, status, answer) of each call whose both sides are whole."""
        for asked, answered in list(self.heard):
            answers = (message for message in messages(bytes(answered)) if not message[0].startswith("HTTP/1.1 1"))
            for (first, headers, body), (status, _, answer) in zip(messages(bytes(asked)), answers):
                method, target, _ = first.split(" ", 2)
                yield method, target, headers, body, int(status.split(" ")[1]), answer


def messages(data):
    """(first line, headers, body) of each message of HTTP/1.1 that is whole."""
    while (end := data.find(b"\r\n\r\n")) >= 0:
        first, *lines = data[:end].decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        data = data[end + 4:]
        body = b""
        if headers.get("transfer-encoding") == "chunked":
            size = -1
            while size:
                line, mark, data = data.partition(b"\r\n")
                if not mark or len(data) < int(line, 16) + 2:
                    return
                size = int(line, 16)
                body, data = body + data[:size], data[size + 2:]
        elif size := int(headers.get("content-length", 0)):
            if len(data) < size:
                return
            body, data = data[:size], data[size:]
        if first.startswith("HTTP/") and headers.get("content-encoding") == "gzip" and "json" in headers.get("content-type", ""):
            body = gzip.decompress(body)
        yield first, headers, body
