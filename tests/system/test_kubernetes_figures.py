# SPDX-License-Identifier: Apache-2.0
"""What operators see of warm pods and of nodes. A small API server of this file stands for the cluster: its pods run at once
on one node, and no agent answers in them."""

import contextlib
import http.server
import itertools
import json
import re
import threading
import time
import urllib.parse

import pytest

import atoll
import kubernetes_cluster

pytestmark = pytest.mark.needs_root
NODE, SPACE = "worker-7.example", "atoll-figures"
WARM = "atoll.warm"


class Cluster(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects, self.events, self.changed = {}, [], threading.Condition()
        self.versions, self.is_closed = itertools.count(1), False
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass

    def note(self, kind, path, item):
        with self.changed:
            item["metadata"]["resourceVersion"] = str(next(self.versions))
            if kind == "DELETED":
                self.objects.pop(path, None)
            else:
                self.objects[path] = item
            self.events.append((int(item["metadata"]["resourceVersion"]), path, {"type": kind, "object": json.loads(json.dumps(item))}))
            self.changed.notify_all()

    def warm(self):
        with self.changed:
            return [item for path, item in self.objects.items() if "/pods/" in path and WARM in item["metadata"].get("labels", {})]

    def close(self):
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def say(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def fail(self, status, reason):
        self.say(status, {"kind": "Status", "code": status, "reason": reason, "message": reason})

    def serve(self):
        cluster, (path, _, query) = self.server, self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        value = json.loads(body) if body.startswith((b"{", b"[")) else {}
        if "agents.x-k8s.io" in path or self.headers.get("Upgrade"):
            self.close_connection = True
            return self.fail(404, "NotFound")
        query = urllib.parse.parse_qs(query)
        if "watch" in query:
            return self.watch(path, int(query["resourceVersion"][0] or 0))
        if self.command == "POST":
            name = f"{path}/{value['metadata']['name']}"
            if name in cluster.objects:
                return self.fail(409, "AlreadyExists")
            value["metadata"] |= {"uid": f"uid-{next(cluster.versions)}", "creationTimestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
            if path.endswith("/pods"):
                value["spec"]["nodeName"] = NODE
                running = {"running": {"startedAt": value["metadata"]["creationTimestamp"]}}
                value["status"] = {"phase": "Running", "containerStatuses": [{"name": "main", "state": running}]}
            cluster.note("ADDED", name, value)
            return self.say(201, value)
        if self.command == "GET" and path not in cluster.objects and re.search("/(pods|networkpolicies|persistentvolumeclaims)$", path):
            wanted = query.get("labelSelector", [""])[0].split(",")
            with cluster.changed:
                items = [item for name, item in cluster.objects.items() if name.startswith(path + "/") and self.matches(item, wanted)]
                return self.say(200, {"metadata": {"resourceVersion": str(next(cluster.versions))}, "items": items})
        item = cluster.objects.get(path)
        if not item:
            return self.fail(404, "NotFound")
        if self.command == "DELETE":
            cluster.note("DELETED", path, item)
        elif self.command == "PUT":
            item = {**item, "spec": value["spec"]}
            cluster.note("MODIFIED", path, item)
        elif self.command == "PATCH":
            item = json.loads(json.dumps(item))
            if not self.patch(item, value):
                return self.fail(422, "Invalid")
            cluster.note("MODIFIED", path, item)
        return self.say(200, item)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

    @staticmethod
    def matches(item, wanted):
        labels = item["metadata"].get("labels", {})
        return all(labels.get(name) == value if mark else name in labels for name, mark, value in (one.partition("=") for one in wanted if one))

    @staticmethod
    def patch(item, operations):
        for one in operations if isinstance(operations, list) else []:
            *parents, last = (part.replace("~1", "/") for part in one["path"].strip("/").split("/"))
            place = item
            for part in parents:
                place = place.setdefault(part, {})
            if one["op"] == "test" and place.get(last) != one["value"]:
                return False
            if one["op"] == "remove":
                del place[last]
            if one["op"] == "add":
                place[last] = one["value"]
        return True

    def watch(self, path, version):
        cluster = self.server
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(OSError):
            while not cluster.is_closed:
                with cluster.changed:
                    found = [event for number, name, event in cluster.events if number > version and name.startswith(path + "/")]
                    version = max([version, *(number for number, *_ in cluster.events)])
                    if not found:
                        cluster.changed.wait(5)
                        continue
                for event in found:
                    self.wfile.write(json.dumps(event).encode() + b"\n")


@pytest.fixture
def cluster():
    made = Cluster()
    yield made
    made.close()


@pytest.fixture
def server(cluster, tmp_path):
    config = tmp_path / "config"
    config.write_text(f"""{{"current-context": "c", "contexts": [{{"name": "c", "context": {{"cluster": "c", "user": "u"}}}}],
 "users": [{{"name": "u", "user": {{"token": "t"}}}}], "clusters": [{{"name": "c", "cluster": {{"server": "http://127.0.0.1:{cluster.server_port}"}}}}]}}""")
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)
    config.chmod(0o644)
    cluster.readable = config
    chosen = kubernetes_cluster.options(cluster, SPACE, kubernetes_storage_class="none", kubernetes_warm_pods="2", allow_weaker="true")
    server = atoll.Server(flags=["--providers", f"native,pods=kubernetes:{chosen}"]).start()
    yield server
    server.remove_all()


def figures(api):
    found = re.findall(r'^atoll_provider_warm(?:_claims_total)?\{provider="([^"]+)",(?:state|result)="(\w+)"\} (\d+)$',
                       api.raw("GET", "/metrics").body.decode(), re.M)
    assert {name for name, *_ in found} == {"pods"}, found  # provider native keeps none
    return {what: int(number) for _, what, number in found}


def begin_create(server, name):
    """No agent answers, so that it goes on until it fails."""
    def run():
        with contextlib.closing(server.api(timeout=120)) as api, contextlib.suppress(atoll.ApiError, OSError):
            api.create(name=name, provider="pods", internet=False)
    threading.Thread(target=run, daemon=True).start()


def test_warm_pods_are_counted_and_the_node_is_told(server, cluster):
    with contextlib.closing(server.api()) as api:
        assert figures(api) == {"ready": 0, "starting": 0, "wanted": 0, "hit": 0, "miss": 0}
        begin_create(server, "first")
        atoll.wait_for(lambda: figures(api) == {"ready": 2, "starting": 0, "wanted": 2, "hit": 0, "miss": 1}, 30, "two warm pods")
        begin_create(server, "second")
        atoll.wait_for(lambda: figures(api) == {"ready": 2, "starting": 0, "wanted": 2, "hit": 1, "miss": 1}, 30, "a pod that was claimed")
        (told,) = [one for one in api.get("/v1/providers")["items"] if one["name"] == "pods"]
        assert told["warm"] == {"ready": 2, "starting": 0, "wanted": 2, "hits": 1, "misses": 1}
        (other,) = [one for one in api.get("/v1/providers")["items"] if one["name"] == "native"]
        assert other["warm"] is None
        place = atoll.wait_for(lambda: api.get("/api/sandbox/instances/second")["place"], 20, "its place")
        assert place["node"] == NODE and place["object"].startswith("atoll-warm-") and place["region"] is None, place
        assert place["object"] not in [pod["metadata"]["name"] for pod in cluster.warm()]
        local = api.create(provider="native", internet=False)
        assert local["place"] is None
        api.remove(local["id"])
