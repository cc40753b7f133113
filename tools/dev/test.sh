# SPDX-License-Identifier: Apache-2.0
# ./dev test — build and test everything, or the named suites. The last line is the sum.

source tools/dev/check.sh

SUITES=(checks unit asan fuzz system escape fault examples)
# Only when they are named, because each takes minutes.
LONG_SUITES=(tsan analyzer newest ide)
# The unit tests of the process that has threads. Of the store those with several users: the rest,
# two thirds of the time here, is one thread with a database.
TSAN_TESTS='^((base|loop|worker|json|http|sandbox|config|account|image|provider|fleet|webhook|terminal|job|api|daemon)/'
TSAN_TESTS+='|store/test_(concurrency|postgres|faults|log_sync)$)'

# run_unit SUITE KIND [TEST…]: cmocka, through meson.
run_unit()
{
	local suite=$1 folder=${BUILD_FOLDER[$2]}
	shift 2
	rm -f "$folder/meson-logs/testlog.json"
	${WRAP:-} meson test -C "$folder" --no-rebuild --suite unit --print-errorlogs "$@" >&2 || true
	if [ -s "$folder/meson-logs/testlog.json" ]; then
		results_add meson "$suite" "$folder/meson-logs/testlog.json"
	else
		result failed "$suite" "meson test" "it left no results"
	fi
}

suite_unit()
{
	build_kind gcc || { result failed unit build "the gcc build failed"; return; }
	step "unit tests"
	run_unit unit gcc
}

suite_asan()
{
	build_kind asan || { result failed asan "build without warnings" "see above"; return; }
	result passed asan "build without warnings"
	step "unit tests under ASan and UBSan"
	UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 run_unit asan asan
}

# The process with threads as TSan built it, the programs that enter sandboxes as they are.
mixed_build()
{
	local program
	mkdir -p build-tsan/mixed
	for program in $(basename -s .c -a src/programs/*.c); do
		cp "build/$program" build-tsan/mixed/ || return 1
	done
	cp build-tsan/atolld build-tsan/mixed/
}

# The system tests that exercise atolld's threads once more, for what TSan has to say.
tsan_system()
{
	local reports
	if [ "$(id -u)" != 0 ]; then
		result skipped tsan "system tests" "needs root: the broker makes namespaces"
		return
	fi
	build_programs gcc && build_kind tsan atolld && mixed_build || {
		result failed tsan "system tests" "the build failed"
		return
	}
	# atolld reports as the user that it has become, who may see nothing of this tree.
	reports=$(mktemp -d /tmp/atoll-tsan-XXXXXX)
	chmod 1777 "$reports"
	# shellcheck disable=SC2086
	TSAN_OPTIONS="log_path=$reports/report" ATOLL_BUILD=$PWD/build-tsan/mixed \
		timeout --kill-after=20 300 $WRAP python3 -m pytest -q -p no:cacheprovider \
		--tb=no tests/system/test_[1-5]*.py >"$RESULTS/tsan-system.log" 2>&1 || true
	tail -n 1 "$RESULTS/tsan-system.log" >&2
	if [ -n "$(ls "$reports")" ]; then
		cat "$reports"/* >"$RESULTS/tsan-races.log"
		head -n 80 "$RESULTS/tsan-races.log" >&2
		result failed tsan "system tests" "data races: see $RESULTS/tsan-races.log"
	elif ! grep -q ' passed' "$RESULTS/tsan-system.log"; then
		result failed tsan "system tests" "none passed; see $RESULTS/tsan-system.log"
	else
		result passed tsan "system tests without a data race"
	fi
	rm -rf "$reports"
}

# TSan wants its shadow at fixed addresses, which address randomisation of new kernels may take.
fixed_addresses()
{
	setarch -R true 2>/dev/null && echo "setarch -R"
}

suite_tsan()
{
	local tests WRAP
	WRAP=$(fixed_addresses || true)
	build_configure tsan || { result failed tsan build "the build failed"; return; }
	tests=$(meson test -C build-tsan --list 2>/dev/null | sed 's|.* / ||' |
		grep -E "$TSAN_TESTS" || true)
	# shellcheck disable=SC2046 # words
	if ! build_kind tsan $(sed 's|/|_|; s|^|tests/unit_|' <<<"$tests"); then
		result failed tsan build "the build failed"
		return
	fi
	step "unit tests of the api process under TSan"
	# shellcheck disable=SC2086
	TSAN_OPTIONS=halt_on_error=1 run_unit tsan tsan $tests
	step "system tests with atolld under TSan"
	tsan_system
}

fuzz_one()
{
	local name=${1##*/fuzz_}
	mkdir -p "$RESULTS/fuzz"
	if tools/dev/fuzz.sh "$1" >"$RESULTS/fuzz/$name.log" 2>&1; then
		result passed fuzz "$name"
	else
		tail -n 25 "$RESULTS/fuzz/$name.log" >&2
		result failed fuzz "$name" "see $RESULTS/fuzz/$name.log"
	fi
}

suite_fuzz()
{
	build_kind asan fuzzers || { result failed fuzz build "the build failed"; return; }
	step "fuzz targets, ${FUZZ_SECONDS:-2} s each"
	export -f fuzz_one result
	export RESULTS
	find build-asan/tests -name 'fuzz_*' -type f -executable | sort |
		xargs -P "$(nproc)" -n 1 bash -c 'fuzz_one "$0"'
}

# run_built_pytest SUITE SECONDS FOLDER-OR-FILE…
run_built_pytest()
{
	local suite=$1 seconds=$2 folder folders=() report=$RESULTS/$1.xml
	shift 2
	for folder in "$@"; do
		if [ -e "$folder" ]; then
			folders+=("$folder")
		fi
	done
	step "$suite tests"
	timeout --kill-after=20 "$seconds" python3 -m pytest -q -p no:cacheprovider --tb=short \
		-rs --junitxml="$report" "${folders[@]}" >&2 || true
	if [ -s "$report" ]; then
		results_add junit "$suite" "$report"
	else
		result failed "$suite" pytest "it did not end within $seconds s, or did not start"
	fi
}

# run_shared_pytest SUITE RUNS SECONDS FILE…: several at once, for these often wait for a server or
# a clock. Each file is run by whoever comes to it first: the longest go in front, and may be named
# again, which pytest would take as a wish to run them twice.
run_shared_pytest()
{
	local suite=$1 runs=$2 seconds=$3 share i files pids=()
	shift 3
	mapfile -t files < <(printf '%s\n' "$@" | awk '!seen[$0]++')
	share=$(mktemp -d /tmp/atoll-share-XXXXXX)
	for ((i = 1; i <= runs; i++)); do
		ATOLL_TEST_SHARE=$share run_built_pytest "$suite-$i" "$seconds" "${files[@]}" &
		pids+=($!)
	done
	wait "${pids[@]}"
	rm -rf "$share"
}

# The longest, which builds the template "base", begins first.
suite_system()
{
	build_programs gcc || { result failed system build "the gcc build failed"; return; }
	# shellcheck disable=SC2046 # words
	run_shared_pytest system 3 900 tests/system/test_80_templates.py \
		$(find tests/system tests/contract -name 'test_*.py' | sort)
}

# Only when it is named: what npm has may change any day.
suite_newest()
{
	build_programs gcc || { result failed newest build "the gcc build failed"; return; }
	ATOLL_NEWEST=1 run_built_pytest newest 400 \
		tests/system/test_{71_interpreter,81_e2b,82_envd,83_daytona,83_daytona_clients,86_clients}.py
}

# Only when it is named: code-server takes minutes to be installed.
suite_ide()
{
	build_programs gcc || { result failed ide build "the gcc build failed"; return; }
	run_built_pytest ide 900 tests/ide
}

# Bombs count what all of the host runs.
suite_escape()
{
	build_programs gcc || { result failed escape build "the gcc build failed"; return; }
	run_shared_pytest escape 2 480 tests/escape/test_{warm_ahead,warm,code}.py \
		tests/escape/test_*.py
	run_built_pytest escape-alone 180 tests/escape/alone
}

# Those that look at the whole host are alone.
suite_fault()
{
	build_programs gcc || { result failed fault build "the gcc build failed"; return; }
	run_shared_pytest fault 3 900 tests/fault/test_{kills,volumes,leases}.py tests/fault/test_*.py
	run_built_pytest fault-alone 180 tests/fault/alone
}

# An example is done by its own script; 77 means that it cannot run here, for the reason in its
# last line.
run_example()
{
	local name=$1 status=0 log=$RESULTS/example-$1.log
	ATOLL=$PWD/build/atoll timeout --kill-after=20 300 "examples/$name/run" >"$log" 2>&1 ||
		status=$?
	case $status in
	0) result passed examples "$name" ;;
	77) result skipped examples "$name" "$(tail -n 1 "$log")" ;;
	*)
		tail -n 25 "$log" >&2
		result failed examples "$name" "exit status $status; see $log"
		;;
	esac
}

suite_examples()
{
	local run
	build_programs gcc || { result failed examples build "the gcc build failed"; return; }
	step "examples"
	for run in examples/*/run; do
		run_example "$(basename "$(dirname "$run")")"
	done
}

# Tests of real servers, three runs at once on two cores, wait for clocks and for each other. Up to
# UNSTABLE_MAX of them may fail and yet pass twice, alone: they are named, not hidden, and are a
# defect of the test or a rare one of the program. More is a broken tree, and so is any other test.
UNSTABLE_MAX=2
UNSTABLE_SUITES='^(system|escape|fault)-'

passes_alone()
{
	timeout --kill-after=20 120 python3 -m pytest -q -p no:cacheprovider --tb=short "$1" \
		>&2 </dev/null
}

run_failed_again()
{
	local suite case all
	all=$(results_failed)
	if [ -z "$all" ] || [ "$(wc -l <<<"$all")" -gt "$UNSTABLE_MAX" ] ||
		grep -qvE "$UNSTABLE_SUITES" <<<"$all"; then
		return
	fi
	while IFS=$'\t' read -r suite case; do
		step "$case again, alone"
		if passes_alone "$case" && passes_alone "$case"; then
			results_unstable "$suite" "$case"
		fi
	done <<<"$all"
}

dev_test()
{
	local suite suites=("$@")
	[ $# -gt 0 ] || suites=("${SUITES[@]}")
	for suite in "${suites[@]}"; do
		declare -F "suite_$suite" >/dev/null || die "there is no suite '$suite'" \
			"suites: ${SUITES[*]}; longer ones, run only by name: ${LONG_SUITES[*]}"
	done
	ensure_test_packages
	STEP_CLOCK=1
	results_begin
	for suite in "${suites[@]}"; do
		"suite_$suite"
	done
	tidy_wait
	run_failed_again
	results_end
}
