#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The types and the version of both SDKs, from docs/api/openapi.json, whose version is meson.build's. --write brings them up to date; without it: are they?"""

import json
import keyword
import re
import sys

import tree

DOCUMENT = "docs/api/openapi.json"
NOTE = "Written by tools/sdk_types.py --write from docs/api/openapi.json."
SCALARS = {"string": ("string", "str"), "integer": ("number", "int"), "number": ("number", "float"),
           "boolean": ("boolean", "bool"), "null": ("null", "None")}


class Language:
    """How a type is said in one of the two."""

    def __init__(self, column):
        self.column = column
        self.any = ("unknown", "Any")[column]

    def union(self, parts):
        return " | ".join(dict.fromkeys(parts))

    def list_of(self, item):
        return f"list[{item}]" if self.column else f"({item})[]" if " | " in item else f"{item}[]"

    def map_of(self, item):
        return f"dict[str, {item}]" if self.column else f"Record<string, {item}>"

    def choices(self, values):
        texts = [json.dumps(v) for v in values if v is not None]
        said = f"Literal[{', '.join(texts)}]" if self.column else self.union(texts)
        return self.union([said, SCALARS["null"][self.column]]) if None in values else said

    def of(self, schema):
        """The type that a schema describes."""
        if "$ref" in schema:
            return schema["$ref"].rsplit("/", 1)[1]
        for several in ("allOf", "anyOf"):
            if several in schema:
                return self.union(self.of(part) for part in schema[several])
        if "enum" in schema:
            return self.choices(schema["enum"])
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        return self.union(self.one(kind, schema) for kind in kinds) if kinds else self.any

    def one(self, kind, schema):
        if kind == "array":
            return self.list_of(self.of(schema.get("items", {})))
        if kind == "object":
            item = schema.get("additionalProperties")
            return self.map_of(self.of(item) if isinstance(item, dict) else self.any)
        return SCALARS[kind][self.column]


def references(part):
    """The schemas that a part of the document names."""
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"].rsplit("/", 1)[1]
        part = part.values()
    if not isinstance(part, str) and hasattr(part, "__iter__"):
        for inner in part:
            yield from references(inner)


def sent_ones(document):
    """The schemas of which requests are made."""
    schemas = document["components"]["schemas"]
    todo = [name for path in document["paths"].values() for call in path.values()
            for name in references(call.get("requestBody", {}))]
    found = set()
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += references(schemas[name])
    return found


def members(schema, is_request):
    """(name, schema, whether it may be missing): of what is sent, what is not required; of an answer, what says so."""
    required = schema.get("required", [])
    for name, member in schema.get("properties", {}).items():
        optional = name not in required and (is_request or member.get("x-omitted-when-empty", False))
        yield name, member, optional


def typescript(schemas, sent):
    say = Language(0)
    out = ["// SPDX-License-Identifier: Apache-2.0", f"// What the API takes and answers. {NOTE}"]
    for name, schema in schemas.items():
        out += ["", f"/** {schema.get('description', name)} */", f"export interface {name} {{"]
        for member, inner, optional in members(schema, name in sent):
            if "description" in inner:
                out.append(f"  /** {inner['description'].replace('*/', '* /')} */")
            key = member if re.fullmatch(r"[A-Za-z_]\w*", member) else json.dumps(member)
            out.append(f"  {key}{'?' if optional else ''}: {say.of(inner)};")
        out.append("}")
    return "\n".join(out) + "\n"


def python_member(say, inner, optional):
    return f"NotRequired[{say.of(inner)}]" if optional else say.of(inner)


def python_text(text):
    """A type as a text, which may have texts in it."""
    return repr(text) if '"' in text else f'"{text}"'


def python(schemas, sent):
    say = Language(1)
    out = ["# SPDX-License-Identifier: Apache-2.0", f'"""What the API takes and answers. {NOTE}"""', "",
           "from __future__ import annotations", "",
           "from typing import Any, Literal, NotRequired, TypedDict"]
    for name, schema in schemas.items():
        rows = list(members(schema, name in sent))
        about = schema.get("description", name)
        if any(keyword.iskeyword(member) or not member.isidentifier() for member, _, _ in rows):
            # Not every name can be one of Python's: this form takes texts.
            out += ["", "", f"# {about}", f'{name} = TypedDict("{name}", {{']
            out += [f'    "{member}": {python_text(python_member(say, inner, optional))},' for member, inner, optional in rows]
            out.append("})")
            continue
        out += ["", "", f"class {name}(TypedDict):", f'    """{about}"""', ""]
        for member, inner, optional in rows:
            if "description" in inner:
                out.append(f"    # {inner['description']}")
            out.append(f"    {member}: {python_member(say, inner, optional)}")
    return "\n".join(out) + "\n"


PAGES = {"sdk/typescript/types.d.ts": typescript, "sdk/python/atoll_sdk/types.py": python}
VERSIONS = {"sdk/typescript/package.json": r'(?<="version": ")[^"]*', "sdk/python/pyproject.toml": r'(?<=^version = ")[^"]*'}


def pages(document):
    """(name, what the file should hold)"""
    for name, make in PAGES.items():
        yield name, make(document["components"]["schemas"], sent_ones(document))
    for name, version in VERSIONS.items():
        yield name, re.sub(version, document["info"]["version"], (tree.ROOT / name).read_text(), count=1, flags=re.M)


def main():
    document = json.loads((tree.ROOT / DOCUMENT).read_text())
    mistakes = []
    for name, now in pages(document):
        page = tree.ROOT / name
        if sys.argv[1:] == ["--write"]:
            page.write_text(now)
        lines = tree.difference(page, now)
        if lines:
            mistakes += lines[:20] + [f"{name} is stale: run tools/sdk_types.py --write"]
    tree.report(mistakes, "the SDKs' types and versions are the API's")


if __name__ == "__main__":
    main()
