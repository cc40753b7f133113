"""Runs the code cells of a notebook in one namespace, as `jupyter nbconvert --execute` does."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    notebook = json.load(file)
names = {"__name__": "__main__"}
for number, cell in enumerate(notebook["cells"], 1):
    if cell["cell_type"] != "code":
        continue
    print(f"cell {number}", flush=True)
    exec(compile("".join(cell["source"]), f"cell-{number}", "exec"), names)
