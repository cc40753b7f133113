#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The operations of the API as a C table: operations.py OUTPUT docs/api/openapi.json.

tools/check_reference.py compares the document with the server's routes and their shapes."""

import json
import sys

METHODS = ("get", "post", "put", "patch", "delete")
KINDS = {"string": "TEXT", "integer": "WHOLE", "number": "NUMBER", "boolean": "BOOL"}


def kind_of(schema):
    if schema.get("type") == "array":
        return "TEXTS" if schema.get("items", {}).get("type") == "string" else "JSON"
    kinds = schema.get("type", [])
    kind = kinds if isinstance(kinds, str) else next((one for one in kinds if one != "null"), "")
    return KINDS.get(kind, "JSON")


def row(name, schema, is_required, in_query):
    flags = ", .is_required = true" * is_required + ", .in_query = true" * in_query
    return f'\t{{"{name}", MEMBER_{kind_of(schema)}, {schema.get("minimum", 0)}{flags}}},'


def members_of(document, operation):
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "query":
            yield row(parameter["name"], parameter["schema"], parameter["required"], True)
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body:
        shape = document["components"]["schemas"][body["schema"]["$ref"].rsplit("/", 1)[1]]
        for name, schema in shape.get("properties", {}).items():
            yield row(name, schema, name in shape.get("required", []), False)


def main():
    output, source = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        document = json.load(file)
    tables, rows = [], []
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                members = list(members_of(document, item[method]))
                table = f"members_{len(tables)}" if members else "NULL"
                if members:
                    tables.append(f"static const struct operation_member {table}[] = {{\n" + "\n".join(members) + "\n\t{0},\n};")
                rows.append(f'\t{{"{method.upper()} {path}", {table}}},')
    with open(output, "w", encoding="utf-8") as file:
        file.write('#include "cli/core/operations.h"\n\n#include <stddef.h>\n\n' + "\n".join(tables) + "\n\n")
        file.write("const struct api_operation api_operations[] = {\n" + "\n".join(rows) + "\n\t{0},\n};\n")


if __name__ == "__main__":
    main()
