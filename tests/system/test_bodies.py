# SPDX-License-Identifier: Apache-2.0
"""What the reference says of bodies is what the server does: one that is not required may be left out."""

# Without them something else than the body would be wrong.
QUERIES = {"/files/content": "path=/tmp/file", "/files/tar": "path=/", "/files/upload": "path=/tmp",
           "/templates/import": "name=imported&format=tar"}


def things(api, box):
    """What a path's parameters name, by the part before them, so that nothing but the body can be wrong."""
    instance = f"/api/sandbox/instances/{box}"
    api.exec(box, "git init -q /home/user/project")
    process = api.exec(box, "cat", background=True, stdin_open=True)
    api.post(f"{instance}/windows/main/run", {"command": "true"})
    other = api.create(internet=False, name="other")["id"]
    api.post(f"/api/sandbox/instances/{other}/snapshot", {"name": "kept"})
    api.post("/api/sandbox/volumes", {"name": "kept"})
    api.post("/api/sandbox/projects", {"id": "bodies", "name": "bodies"})
    api.post("/v1/leases/acquire", {"key": "lease", "template": "host", "internet": False})
    return {
        "instances": box, "snapshots": "kept", "volumes": "kept", "projects": "bodies", "leases": "lease",
        "keys": api.post("/api/sandbox/keys", {"name": "rotated"})["id"],
        "webhooks": api.post("/v1/webhooks", {"url": "https://example.com/", "events": ["*"], "enabled": False})["id"],
        "budgets": api.post("/v1/budgets", {"limit_usd": 1})["id"],
        "sandboxes": api.post("/accounts/me/sandboxes", {"name": "config"})["id"],
        "templates": "host", "pools": "host", "windows": "main", "services": "web", "tools": "bash",
        "processes": str(process["process"]),
    }


def fill(path, known):
    """A path that leads to what is there; of the few kinds that are not it is not found, which says less."""
    parts = path.split("/")
    for i, part in enumerate(parts):
        if part.startswith("{"):
            parts[i] = "project" if part == "{scope}" else known.get(parts[i - 1], "absent")
    query = next((q for end, q in QUERIES.items() if path.endswith(end)), None)
    return "/".join(parts) + (f"?{query}" if query else "")


def test_a_body_is_required_where_the_reference_says_so_and_nowhere_else(api):
    document = api.get("/openapi.json")
    wrong, tried = [], 0
    with api.sandbox(internet=False) as box:
        known = things(api, box)
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                if "requestBody" not in operation:
                    continue
                answer = api.raw(method.upper(), fill(path, known))
                tried += 1
                if operation["requestBody"]["required"] != (answer.status == 400):
                    wrong.append(f"{method} {path}: {answer.status} {answer.body[:160]}")
    assert not wrong, "\n".join(wrong)
    assert tried > 80
