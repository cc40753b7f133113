#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The manifests of deploy/kubernetes are what the chart of deploy/helm/atoll renders, and name what exists.

- deploy/kubernetes/10-atoll.yaml and optional/disruption.yaml are the chart with its default values, `--write`
  writes them. This part needs Go (Debian's golang-go) and is left out, with a word, where there is none.
- The Role allows what the provider calls, and nothing else: PROVIDER_CALLS below repeats the provider's
  sources, in which each resource is named.
- Probes name routes that exist, without a key. Options of the ConfigMap exist.
- values.yaml fits values.schema.json, and the schema names each of its values.
"""

import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys

import yaml

import tree

CHART = tree.ROOT / "deploy/helm/atoll"
PLAIN = tree.ROOT / "deploy/kubernetes"
# The second one apart: clusters before 1.21 do not know policy/v1.
WRITTEN = {PLAIN / "10-atoll.yaml": lambda part: "kind: PodDisruptionBudget" not in part,
           PLAIN / "optional/disruption.yaml": lambda part: "kind: PodDisruptionBudget" in part}
HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# Atoll on Kubernetes: the chart of deploy/helm/atoll with its default values, written by
# tools/check_manifests.py --write. docs/kubernetes.md says how it is used.
"""

# What src/provider/kubernetes asks of the API server, by resource.
PROVIDER_CALLS = {
    "pods": {"create", "delete", "get", "list", "patch", "watch"},
    "persistentvolumeclaims": {"create", "delete", "get", "list", "patch"},
    "networkpolicies": {"create", "delete", "get", "list", "patch", "update"},
    "sandboxes": {"create", "delete", "get", "list", "patch"},
    "pods/exec": {"create", "get"},
    "pods/portforward": {"create", "get"},
}
# And with sandboxes.snapshotClass alone.
SNAPSHOT_CALLS = {"volumesnapshots": {"create", "delete", "get", "list"}}
# How the sources name them.
NAMES_IN_SOURCES = {"pods": '"pods"', "persistentvolumeclaims": '"persistentvolumeclaims"', "networkpolicies": '"networkpolicies"', "sandboxes": '"sandboxes"',
                    "pods/exec": "exec?", "pods/portforward": "portforward?", "volumesnapshots": "/volumesnapshots"}


def find_go():
    return shutil.which("go") or next((str(path) for path in sorted(pathlib.Path("/usr/lib").glob("go-1.*/bin/go"))), None)


@functools.cache
def renderer():
    """The program that renders, built once; None without Go."""
    go = find_go()
    if not go:
        return None
    folder = tree.ROOT / "build/chart"  # not in /tmp, where another user could have put the cache
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "render_chart"
    subprocess.run([go, "build", "-o", program, tree.ROOT / "tools/render_chart.go"], check=True,
                   env={"PATH": "/usr/bin:/bin", "GO111MODULE": "off", "GOCACHE": str(folder / "cache"), "GOFLAGS": "", "HOME": str(folder)})
    return program


def merge(values, changes):
    for key, value in changes.items():
        values[key] = merge(dict(values[key]), value) if isinstance(value, dict) and isinstance(values.get(key), dict) else value
    return values


def render(changes=None, name="atoll", namespace="atoll"):
    """The chart as text, with values changed; None without Go."""
    program = renderer()
    if not program:
        return None
    values = merge(yaml.safe_load((CHART / "values.yaml").read_text()), changes or {})
    done = subprocess.run([program, CHART, name, namespace], input=json.dumps(values), text=True, capture_output=True)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())
    return done.stdout


def objects_of(text):
    return [item for item in yaml.safe_load_all(text) if item]


def check_text(mistakes):
    text = render()
    if text is None:
        print("manifests: not compared with the chart, because there is no Go")
        return
    parts = [part for part in re.split(r"^---\n", text, flags=re.MULTILINE) if part]
    for path, belongs in WRITTEN.items():
        expected = HEAD + "".join("---\n" + part for part in parts if belongs(part))
        if "--write" in sys.argv:
            path.write_text(expected)
        if not path.exists() or path.read_text() != expected:
            mistakes.append(f"{path.relative_to(tree.ROOT)} is not what the chart renders: tools/check_manifests.py --write")
    # Every condition of the templates is met once.
    other = render({"sandboxes": {"createNamespace": False, "runtimeClass": "gvisor", "storageClass": "fast", "snapshotClass": "quick", "images": {"a": "b:1", "c": "d:2"}},
                    "networkPolicy": {"from": [{"namespaceSelector": {}}]}, "nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}],
                    "image": {"pullSecrets": ["login"]}, "config": {"log_level": "debug"}})
    kinds = [item["kind"] for item in objects_of(other)]
    if "ClusterRole" not in kinds or "Namespace" in kinds:
        mistakes.append("the chart does not follow sandboxes.runtimeClass or sandboxes.createNamespace")
    check_config(objects_of(other), mistakes)
    check_rights(objects_of(other), PROVIDER_CALLS | SNAPSHOT_CALLS, mistakes)


def one(objects, kind):
    return next(item for item in objects if item["kind"] == kind)


def check_rights(objects, calls, mistakes):
    allowed = {}
    for rule in one(objects, "Role")["rules"]:
        for resource in rule["resources"]:
            allowed.setdefault(resource, set()).update(rule["verbs"])
    for resource in sorted(allowed.keys() | calls.keys()):
        if allowed.get(resource, set()) != calls.get(resource, set()):
            mistakes.append(f"the Role allows {sorted(allowed.get(resource, []))} on {resource}, the provider calls "
                            f"{sorted(calls.get(resource, []))}")


def check_role(objects, mistakes):
    check_rights(objects, PROVIDER_CALLS, mistakes)
    folder = tree.ROOT / "src/provider/kubernetes"
    sources = "".join(path.read_text() for path in sorted(folder.glob("*.c")))
    for resource, text in NAMES_IN_SOURCES.items():
        if sources and text not in sources:
            mistakes.append(f"the provider's sources do not name {resource}")
    for plural in re.findall(r'\{"/apis?/[\w./]+", "(\w+)"\}', sources):
        if plural not in PROVIDER_CALLS:
            mistakes.append(f"the provider calls {plural}, which the Role does not allow")


def check_probes(objects, mistakes):
    document = json.loads((tree.ROOT / "docs/api/openapi.json").read_text())
    container = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
        path = container[kind]["httpGet"]["path"]
        operation = document["paths"].get(path, {}).get("get")
        if not operation:
            mistakes.append(f"{kind} asks for {path}, which is no route")
        elif operation.get("security"):
            mistakes.append(f"{kind} asks for {path}, which needs a key")


def check_config(objects, mistakes):
    known = set(re.findall(r'_OPTION\(\s*"(\w+)"', (tree.ROOT / "src/config/options.c").read_text()))
    for name in yaml.safe_load(one(objects, "ConfigMap")["data"]["atoll.yaml"]):
        if name not in known and (not name.startswith("kubernetes_") or (tree.ROOT / "src/provider/kubernetes").is_dir()):
            mistakes.append(f"the ConfigMap sets '{name}', which is no option")


def check_schema(schema, values, where, mistakes):
    for name, value in values.items():
        known = schema.get("properties", {}).get(name)
        if known is None:
            if "properties" in schema:
                mistakes.append(f"values.schema.json does not know '{where}{name}'")
        elif isinstance(value, dict) and "properties" in known:
            check_schema(known, value, f"{where}{name}.", mistakes)
        elif "enum" in known and value not in known["enum"]:
            mistakes.append(f"'{where}{name}' is {value!r}, which values.schema.json refuses")


def check_files(mistakes):
    """Returns the objects that the chart makes."""
    for path in sorted(PLAIN.rglob("*.yaml")):
        for item in objects_of(path.read_text()):
            if not item.get("apiVersion") or not item.get("kind") or not item.get("metadata", {}).get("name"):
                mistakes.append(f"{path.relative_to(tree.ROOT)}: an object lacks apiVersion, kind or name")
            if item.get("kind") == "Secret":
                mistakes.append(f"{path.relative_to(tree.ROOT)}: a Secret does not belong into a file")
    return [item for path in WRITTEN for item in objects_of(path.read_text())]


def main():
    mistakes = []
    check_text(mistakes)
    objects = check_files(mistakes)
    check_role(objects, mistakes)
    check_probes(objects, mistakes)
    check_config(objects, mistakes)
    check_schema(json.loads((CHART / "values.schema.json").read_text()), yaml.safe_load((CHART / "values.yaml").read_text()), "", mistakes)
    for mistake in mistakes:
        print(mistake, file=sys.stderr)
    if mistakes:
        print(f"{len(mistakes)} mistakes", file=sys.stderr)
        sys.exit(1)
    print(f"{len(objects)} objects of deploy/kubernetes name what exists")


if __name__ == "__main__":
    main()
