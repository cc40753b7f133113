# SPDX-License-Identifier: Apache-2.0
# ./dev check — what can be said without running anything.

source tools/dev/results.sh
source tools/dev/build.sh

# clang-tidy without clang's analyzer, which takes six times as long and is a suite of its own.
TIDY_CHECKS=-clang-analyzer-*
# Seconds for clang-tidy; files it does not reach are reported as skipped.
TIDY_SECONDS=${TIDY_SECONDS:-7200}
TIDY_CACHE=build-asan/tidy
# States of one function that clang's analyzer looks at before it gives up: its own limit, 225000,
# takes four times as long, for what a few functions with many branches do beyond the first 30000.
TIDY_NODES=${TIDY_NODES:-30000}

c_files()
{
	git ls-files --cached --others --exclude-standard "$@" | while read -r file; do
		[ -f "$file" ] && echo "$file"
	done
}

check_format()
{
	c_files 'src/*.[ch]' 'tests/*.[ch]' | xargs -P "$(nproc)" -n 40 clang-format --dry-run -Werror
}

# cppcheck 2.10 cannot expand __VA_OPT__ and would skip every file that logs, so it is given copies
# of the headers that use it with GNU's older spelling.
cppcheck_headers()
{
	local header
	rm -rf build/cppcheck
	grep -rl --include='*.h' __VA_OPT__ src | while read -r header; do
		mkdir -p "build/cppcheck/$(dirname "${header#src/}")"
		sed 's/{__VA_ARGS__ __VA_OPT__(, ){/{{.kind = LOG_FIELD_END}, ##__VA_ARGS__, {/' \
			"$header" >"build/cppcheck/${header#src/}"
	done
}

check_cppcheck()
{
	cppcheck_headers
	cppcheck --quiet -j "$(nproc)" --std=c11 --enable=warning,performance,portability \
		--suppressions-list=tools/cppcheck.txt --inline-suppr --error-exitcode=1 \
		-D_GNU_SOURCE -D__x86_64__ -Ibuild/cppcheck -Isrc \
		--template='{file}:{line}: {id}: {message}' src
}

# What clang-tidy says about a file depends on the file, the headers and the checks.
tidy_key()
{
	cat "$1" build-asan/tidy/.common | sha256sum | cut -c 1-32
}

# Several files at once: clang-tidy takes as long to start as to look at a small file.
tidy_some()
{
	local file key files=() keys=()
	for file in "$@"; do
		key=$TIDY_CACHE/$(tidy_key "$file")
		if [ ! -e "$key" ]; then
			files+=("$file")
			keys+=("$key")
		fi
	done
	[ ${#files[@]} -gt 0 ] || return 0
	if [ "$(date +%s)" -ge "$TIDY_DEADLINE" ]; then
		printf '%s\n' "${files[@]}" >>"$TIDY_CACHE/.late"
		return
	fi
	clang-tidy --quiet --checks="$TIDY_CHECKS" -p build-asan --extra-arg=-Xclang --extra-arg=-analyzer-config \
		--extra-arg=-Xclang --extra-arg="max-nodes=$TIDY_NODES" "${files[@]}" 2>/dev/null &&
		touch "${keys[@]}"
}

check_tidy()
{
	mkdir -p "$TIDY_CACHE"
	rm -f "$TIDY_CACHE/.late"
	{ cat .clang-tidy; echo "$TIDY_NODES $TIDY_CHECKS"; c_files 'src/*.h' | xargs cat; } | sha256sum >"$TIDY_CACHE/.common"
	TIDY_DEADLINE=$(($(date +%s) + TIDY_SECONDS))
	export TIDY_DEADLINE TIDY_CACHE TIDY_CHECKS TIDY_NODES
	export -f tidy_some tidy_key
	# Newest first: what was just changed is looked at even when time runs out.
	c_files 'src/*.c' | xargs ls -t | xargs -P "$(nproc)" -n 8 bash -c 'tidy_some "$@"' tidy || return
	if [ -e "$TIDY_CACHE/.late" ]; then
		result skipped checks tidy-rest \
			"$(wc -l <"$TIDY_CACHE/.late") files not reached in $TIDY_SECONDS s"
	fi
}

run_check()
{
	local name=$1
	shift
	note "$name"
	if "$@" >"$RESULTS/$name.log" 2>&1; then
		result passed checks "$name"
	else
		tail -n 40 "$RESULTS/$name.log" >&2
		result failed checks "$name" "see $RESULTS/$name.log"
	fi
}

# What only computes goes on behind the tests that wait for servers and clocks, with what these leave
# of the machine: a session of its own with the least weight, for Linux shares the processors among
# sessions where it is not told otherwise. behind_start COMMAND…
behind_start()
{
	setsid bash tools/dev/behind.sh "$@" 2> >(cat >&2) & # no terminal: its lines go to logs
	BEHIND_PID=$!
	trap 'kill -- "-$BEHIND_PID" 2>/dev/null || true' EXIT
}

# behind_share idle|other: what is left of the processors, or as much as everybody gets. Others may
# leave nothing, so that nobody may wait for what has only that.
behind_share()
{
	local pid nice=19
	[ "$1" = idle ] || nice=0
	for pid in $(ps -o pid= -s "$BEHIND_PID"); do
		chrt "--$1" --pid 0 "$pid" 2>/dev/null || true
	done
	{ echo "$nice" >"/proc/$BEHIND_PID/autogroup"; } 2>/dev/null || true
}

behind_wait()
{
	[ -n "${BEHIND_PID:-}" ] || return 0
	step "waiting for the checks that take long"
	behind_share other
	wait "$BEHIND_PID" || true
	trap - EXIT
	BEHIND_PID=
}

# build_asan [TARGET…]: builds them, or waits for the checks behind, which build everything.
build_asan()
{
	if [ -z "${BEHIND_PID:-}" ]; then
		build_kind asan "$@"
		return
	fi
	step "waiting for the build in ${BUILD_FOLDER[asan]}"
	behind_share other
	while kill -0 "$BEHIND_PID" 2>/dev/null && [ ! -e "$RESULTS/asan-built" ]; do
		sleep 0.2
	done
	behind_share idle
	[ "$(cat "$RESULTS/asan-built" 2>/dev/null)" = 0 ]
}

# Behind the tests.
check_behind()
{
	local status=0
	build_kind asan || status=1
	echo "$status" >"$RESULTS/asan-built.new"
	mv "$RESULTS/asan-built.new" "$RESULTS/asan-built"
	[ "$status" = 0 ] || note "the build of clang failed"
	run_check format check_format
}

# cppcheck and clang-tidy over every file. clang-tidy reads how each file is compiled, and the headers
# that the build makes.
suite_tidy()
{
	step "cppcheck"
	run_check cppcheck check_cppcheck
	build_kind asan || note "the build of clang failed; clang-tidy looks all the same"
	step "clang-tidy"
	run_check tidy check_tidy
}

# clang's analyzer over every file.
suite_analyzer()
{
	build_kind asan || note "the build of clang failed; clang-tidy looks all the same"
	step "clang's analyzer"
	TIDY_CHECKS=''
	run_check analyzer check_tidy
}

# The console's layers, sizes and client; types and unit tests where its packages are installed.
# A build behind these checks installs the packages at the same time, so that both wait for one install.
check_console()
{
	build_console || return 1
	node console/build/check.mjs && node console/generate/client.mjs || return 1
	[ -f console/node_modules/.atoll-lock ] || return 0
	(cd console && node node_modules/typescript/bin/tsc --noEmit && node tests/unit/run.mjs)
}

# The checks that read the sources alone, in a second.
quick_checks()
{
	step "checks"
	run_check layers tools/check_layers.py
	run_check sizes tools/check_sizes.py
	run_check banned tools/check_banned.py
	run_check names tools/check_names.py
	run_check links tools/check_links.py
	run_check suites tools/check_suites.py
	run_check console check_console
}

# Those of what was built.
check_programs()
{
	run_check symbols tools/check_symbols.py
	run_check privileged tools/check_privileged.py
	run_check headers tools/check_headers.py
	run_check reference tools/check_reference.py
	run_check manifests tools/check_manifests.py
}

suite_checks()
{
	behind_start check_behind
	quick_checks
	if build_programs gcc; then
		check_programs
	else
		result failed checks symbols "the gcc build failed"
		result failed checks reference "the gcc build failed"
	fi
}

dev_check()
{
	ensure_test_packages
	results_begin
	suite_checks
	run_check cppcheck check_cppcheck
	behind_wait
	results_end
}
