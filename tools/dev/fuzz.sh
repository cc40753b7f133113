#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh PROGRAM — one fuzz target: every input that ever broke it, its seeds, then FUZZ_SECONDS (0) of search.
# What breaks it now is kept; move it to tests/fuzz/regression/NAME/ with the fix.
set -euo pipefail

program=$1
name=$(basename "$program")
name=${name#fuzz_}
found=$PWD/build/results/fuzz/$name # a target may change its working folder
mkdir -p "$found/corpus"

limits=(-timeout=10 -rss_limit_mb=2048 -artifact_prefix="$found/")
shopt -s nullglob
regressions=(tests/fuzz/regression/"$name"/*)
if [ ${#regressions[@]} -gt 0 ]; then
	"$program" "${limits[@]}" "${regressions[@]}"
fi
seeds=()
if [ -d "tests/fuzz/seeds/$name" ]; then
	seeds=("$PWD/tests/fuzz/seeds/$name")
fi
search=(-runs=0)
if [ "${FUZZ_SECONDS:-0}" -gt 0 ]; then
	search=(-max_total_time="$FUZZ_SECONDS")
fi
exec "$program" "${limits[@]}" -max_len=4096 -print_final_stats=1 "${search[@]}" "$found/corpus" "${seeds[@]}"
