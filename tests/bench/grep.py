#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""grep, the tool, beside ripgrep itself in the same sandbox, over 50,000 files.

    tests/bench/grep.py [FILES] [ROUNDS]

Both are asked for over HTTP, one after the other in turns, so that what else the machine does meets both."""

import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import atoll  # noqa: E402

FILL = """
import os
for n in range({files}):
    folder = f'big/d{{n % 500}}'
    os.makedirs(folder, exist_ok=True)
    with open(f'{{folder}}/f{{n}}.c', 'w') as file:
        file.write('int main(void)\\n{{\\n' + f'\\treturn value_of({{n}});\\n' * 40)
        file.write('// needle\\n' if n % 100 == 0 else '')
"""


def took_ms(call):
    begun = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - begun)


def main(files, rounds):
    server = atoll.Server().start()
    try:
        api = server.api()
        box = api.create(internet=False, resources={"cpu": 2, "memory_mb": 2048, "disk_mb": 4096})["id"]
        filled = api.exec(box, cmd="python3", args=["-c", FILL.format(files=files)], timeout_ms=300000)
        assert filled["ok"], filled
        for mode, flag in (("files_with_matches", "-l"), ("content", "-n")):
            call = {"sandboxId": box, "input": {"pattern": "needle", "path": "big", "output_mode": mode, "head_limit": 10000}}
            rg, tool = [], []
            for _ in range(rounds):
                rg.append(took_ms(lambda: api.exec(box, cmd="rg", args=["--no-config", flag, "--", "needle", "./big"])))
                tool.append(took_ms(lambda: api.post("/v1/tools/grep", call)))
            rg, tool = statistics.median(rg), statistics.median(tool)
            print(f"{mode}: rg {rg:.0f} ms, grep {tool:.0f} ms, {tool / rg:.2f} times (at most 1.3)")
    finally:
        server.remove_all()


if __name__ == "__main__":
    main(*[int(word) for word in sys.argv[1:3]] + [50000, 15][len(sys.argv) - 1:])
