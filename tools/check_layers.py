#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every #include of src/ against LAYERS, and a few rules that a compiler does not know.

- a folder includes only its own headers, and the public headers of the folders its line names;
- an include names its folder ("base/bytes.h"), never "..";
- an outside library is included only by the folders named here, so that it can be replaced;
- X.c includes its own X.h first, so that every header stands by itself;
- a header that begins with its path has the right one;
- no drawer: nothing is called util, common, misc or helper.
"""

import re

import tree

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
OWN_NAME = re.compile(r"^/\* ([a-z0-9_/]+\.h) —", re.MULTILINE)
DRAWER = re.compile(r"(^|_)(utils?|common|misc|helpers?)(_|$)")
# Header or folder of headers -> the only folders of src/ that may include it.
LIBRARIES = {
    "jansson.h": ["json"],
    "yaml.h": ["config", "provider"],
    "curl": ["http"],
    "vterm.h": ["terminal"],
    "wslay": ["http"],
    "llhttp.h": ["http"],
    "libpq-fe.h": ["store"],
    "sqlite3.h": ["store"],
    "sodium.h": ["account", "audit", "cli", "connect", "daemon", "edge", "fleet", "image", "job", "provider", "seal",
                 "sign_in", "signature", "surface", "tool", "webhook"],
    "seccomp.h": ["daemon", "isolation"],
    "archive.h": ["cli", "image"],
    "archive_entry.h": ["cli", "image"],
    "nghttp2": ["credential"],
    "openssl": ["http", "sign_in"],
    "zlib.h": ["compression"],
    "zstd.h": ["compression"],
}


def check_names(layers):
    for path in tree.c_files("src", "tests"):
        parts = [path.stem] + [parent.name for parent in path.relative_to(tree.ROOT).parents]
        for part in parts:
            if DRAWER.search(part):
                yield f"{tree.name_of(path)}: '{part}' says nothing; name it after its noun"
    folders = {path.parent.relative_to(tree.ROOT / "src") for path in tree.c_files("src")}
    for folder in sorted(folders):
        if not tree.layer_of(layers, folder / "file") and folder.name != "programs":
            yield f"src/{folder}: not in LAYERS"


def check_order(layers):
    seen = set()
    for layer in layers.values():
        for below in layer.below:
            if below not in seen:
                yield f"LAYERS: {layer.folder} may not use {below}, which is not below it"
        seen.add(layer.folder)


def is_generated(folder, target):
    """Whether the folder's build makes this header; it then lies in no folder of src/."""
    recipe = tree.ROOT / "src" / folder / "meson.build"
    return recipe.exists() and f"'{target}'" in recipe.read_text()


def folder_of(layers, path):
    """A main counts to the folder that src/programs/meson.build links it with."""
    inner = path.relative_to(tree.ROOT / "src")
    if inner.parts[0] != "programs":
        return tree.layer_of(layers, inner)
    recipe = (path.parent / "meson.build").read_text()
    return re.search(rf"'{path.stem}': \['(\w+)'", recipe)[1]


def why_refused(layers, folder, target):
    """Why a file in `folder` may not include "target", or None."""
    if ".." in target.split("/"):
        return "'..' in an include"
    if "/" not in target:
        if is_generated(folder, target):
            return None
        return f'name its folder: "{folder}/{target}"'
    other = tree.layer_of(layers, target)
    if other == folder:
        return None
    if not other:
        return f"there is no folder src/{target.partition('/')[0]}"
    if other not in layers[folder].below:
        return f"LAYERS does not let {folder} use {other}"
    header = target[len(other) + 1:]
    if header not in layers[other].headers:
        return f"{header} is private to {other}"
    return None


def why_library_refused(folder, target):
    owners = LIBRARIES.get(target.split("/")[0])
    if owners and folder not in owners and folder.partition("/")[0] not in owners:
        return f"only src/{' and src/'.join(owners)} may use this library"
    return None


def check_first(path, includes):
    header = path.with_suffix(".h")
    if path.suffix != ".c" or not header.exists() or not includes:
        return None
    own = str(header.relative_to(tree.ROOT / "src"))
    return None if includes[0][1] == own else f'the first include must be "{own}"'


def check_file(layers, path):
    text = path.read_text()
    folder = folder_of(layers, path)
    includes = [(m.start(), m[1], m[2]) for m in INCLUDE.finditer(text)]
    for at, quote, target in includes:
        if quote == '"':
            why = why_refused(layers, folder, target)
        else:
            why = why_library_refused(folder, target)
        if why:
            line = text.count("\n", 0, at) + 1
            yield f"{tree.name_of(path)}:{line}: {target}: {why}"
    why = check_first(path, [(quote, target) for _, quote, target in includes])
    if why:
        yield f"{tree.name_of(path)}: {why}"
    if not text.startswith("/* SPDX-License-Identifier: Apache-2.0 */\n"):
        yield f"{tree.name_of(path)}:1: the first line must be the SPDX line"
    own = OWN_NAME.search(text) if path.suffix == ".h" else None
    if own and tree.name_of(path) != f"src/{own[1]}":
        yield f"{tree.name_of(path)}: it calls itself {own[1]}"
    if path.suffix == ".h" and "\n#pragma once\n" not in text:
        yield f"{tree.name_of(path)}: no #pragma once"


def main():
    layers = tree.layers()
    mistakes = list(check_order(layers)) + list(check_names(layers))
    count = 0
    for path in tree.c_files("src"):
        count += 1
        mistakes += check_file(layers, path)
    tree.report(mistakes, f"{count} files keep to {len(layers)} layers")


if __name__ == "__main__":
    main()
