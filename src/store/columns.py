# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of columns (column.h) from the structs that queries take and give.

Each member of a struct is a column with its name, of the kind that its type says; a member that is
a struct itself stands for its members. A text that a query compares with NULL may be NULL. What no
type tells is said in the file of the queries, for all shapes that they name:

    -- secret: MEMBER of TABLE by OWNER   stored encrypted, bound to the table and to the member
                            OWNER; the same for all shapes of a table, or decryption fails
    -- prefix: PREFIX of MEMBER           the columns of this member, a struct, begin with it
"""

import re
import sys

KINDS = {
    "const char *": "COLUMN_TEXT",
    "int64_t": "COLUMN_WHOLE",
    "double": "COLUMN_NUMBER",
    "bool": "COLUMN_BOOL",
    "unsigned char[]": "COLUMN_HASH",
}
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.DOTALL | re.MULTILINE)
MEMBERS = re.compile(r"((?:(?:const|unsigned|struct|enum) )?\w+) ([^()]+)")
NAME = re.compile(r"(\*?)(\w+)(\[\w+\])?")
NOTE = re.compile(r"--\s*(secret|prefix):")
SECRET = re.compile(r"-- secret: (\w+) of (\w+) by (\w+)$")
PREFIX = re.compile(r"-- prefix: (\w+) of (\w+)$")


class Notes:
    """What a file of queries says of its shapes."""

    def __init__(self, lines=()):
        self.secrets, self.prefixes = {}, {}
        for line in lines:
            if found := SECRET.match(line):
                self.secrets[found[1]] = (found[2], found[3])
            elif found := PREFIX.match(line):
                self.prefixes[found[2]] = found[1]
            elif NOTE.match(line):
                sys.exit(f"'{line}' is not understood")

    def add(self, notes):
        self.secrets |= notes.secrets
        self.prefixes |= notes.prefixes


class Shape:
    """A struct that queries take or give."""

    def __init__(self, name):
        self.name, self.notes, self.filters = name, Notes(), set()
        self.columns = {}  # by their names: (path of the member, type)

    def collect(self, structs, struct, path="", prefix=""):
        for member, kind in structs[struct]:
            if kind.startswith("struct ") and kind[7:] in structs:
                self.collect(structs, kind[7:], f"{path}{member}.",
                             prefix + self.notes.prefixes.get(member, ""))
            elif kind in KINDS or kind.startswith("enum "):
                if self.columns.setdefault(prefix + member, (path + member, kind))[0] != path + member:
                    sys.exit(f"struct {self.name} has two columns '{prefix + member}'")

    def row(self, column):
        path, kind = self.columns[column]
        where = f"{self.name}, {path}"
        if kind.startswith("enum "):
            return f'CHOICE_({where}, {kind[5:]}, "{column}")'
        if column in self.notes.secrets:
            table, owner = self.notes.secrets[column]
            return f'SECRET_({where}, {self.columns[owner][0]}, "{column}", "{table}")'
        made = "COLUMN_FILTER" if column in self.filters else KINDS[kind]
        return f'COLUMN_({made}, {where}, {kind.replace("[]", "[COLUMN_HASH_SIZE]")}, "{column}")'

    def macro(self):
        rows = "".join(f" \\\n\t{self.row(column)}," for column in self.columns)
        return f"#define ROWS_OF_{self.name}{rows}\n"


def read_members(text):
    for declaration in text.split(";"):
        found = MEMBERS.fullmatch(" ".join(declaration.split()).replace("* ", "*"))
        for name in found[2].split(", ") if found else ():
            if parts := NAME.fullmatch(name):
                yield parts[2], found[1] + (" *" if parts[1] else "") + ("[]" if parts[3] else "")


def read_structs(paths):
    """Each struct's members, as pairs of name and type."""
    return {
        name: list(read_members(members))
        for path in paths
        for name, members in STRUCT.findall(COMMENT.sub("", path.read_text()))
    }


def is_compared_with_null(query, parameter):
    return bool(re.search(rf":{parameter} IS NULL|COALESCE\(:{parameter},", query.sql))


def check(queries, shapes):
    for query in queries:
        for name in query.parameters:
            if name not in shapes[query.takes].columns:
                sys.exit(f"{query.place}: struct {query.takes} has no column '{name}'")
        # A secret that no shape has is misspelt: the value would rest in plain text.
        for name, secret in query.notes.secrets.items():
            if not any(name in shape.columns and shape.notes.secrets.get(name) == secret
                       for shape in shapes.values()):
                sys.exit(f"{query.place}: no struct has the secret '{name}'")


def read_shapes(queries, structs):
    shapes = {}
    for query in queries:
        for name in filter(None, (query.takes, query.gives)):
            shapes.setdefault(name, Shape(name)).notes.add(query.notes)
        if query.takes:
            shapes[query.takes].filters |= {
                name for name in query.parameters if is_compared_with_null(query, name)
            }
    for shape in shapes.values():
        if shape.name not in structs:
            sys.exit(f"no struct {shape.name}")
        shape.collect(structs, shape.name)
    check(queries, shapes)
    return [shapes[name] for name in sorted(shapes)]
