# SPDX-License-Identifier: Apache-2.0
# ./dev test — build and test everything, the named suites, or the named files. The last line is the sum.

source tools/dev/check.sh

SUITES=(checks system escape fault asan fuzz)
# "./dev test deep" runs these before a release; each takes minutes and runs by its own name, too.
DEEP_SUITES=(tidy analyzer tsan full providers console long operator newest ide package templates fuzz)
# Only by name: asan runs the tests of unit, and system those of examples.
NAMED_SUITES=(quick unit examples kubernetes)
# The unit tests of the process that has threads. Of the store those with several users: the rest,
# two thirds of the time here, is one thread with a database.
TSAN_TESTS='^((base|loop|worker|json|http|sandbox|config|account|image|provider|fleet|webhook|terminal|job|edge|calls|surface|api|daemon)/'
TSAN_TESTS+='|store/test_(concurrency|postgres|faults|log_sync)$)'

# System tests that use many threads of atolld at once.
TSAN_FILES=(tests/system/test_{lifecycle,bodies,host_provider,causes,exec,files,sessions,restart,store_pairing,undo,trash,own_labels}.py)

# Undefined behaviour fails a unit test. A fuzz target only tells of it.
UBSAN_STRICT=print_stacktrace=1:halt_on_error=1

# Of the suites of this run (dev_test).
is_chosen()
{
	[[ " ${suites[*]} " == *" $1 "* ]]
}

# As many unit tests at once: they compute for a fifth of their time, and wait for the rest.
UNIT_RUNS=${UNIT_RUNS:-$(($(nproc) * 3))}

# run_unit SUITE KIND MESON-SUITE [TEST…]: cmocka, through meson.
run_unit()
{
	local suite=$1 folder=${BUILD_FOLDER[$2]} programs=$3
	shift 3
	rm -f "$folder/meson-logs/testlog.json"
	${WRAP:-} meson test -C "$folder" --no-rebuild --num-processes "$UNIT_RUNS" \
		--timeout-multiplier "${UNIT_TIMES:-1}" \
		--suite "$programs" --print-errorlogs "$@" >&2 || true
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
	run_unit unit gcc unit
}

# What tests less with a sanitizer is tested as gcc builds it, too (tests/meson.build).
test_plain()
{
	build_kind gcc plain || { result failed unit build "the gcc build failed"; return; }
	step "unit tests that a sanitizer hinders"
	run_unit unit gcc plain
}

run_unit_asan()
{
	step "unit tests under ASan and UBSan"
	UBSAN_OPTIONS=$UBSAN_STRICT run_unit asan asan unit
	: >"$RESULTS/asan-tested"
}

# Beside the tests of servers, which often wait, as soon as clang has built the unit tests.
asan_beside_servers()
{
	if [ -z "${BEHIND_PID:-}" ] || ! is_chosen asan; then
		return
	fi
	while kill -0 "$BEHIND_PID" 2>/dev/null && [ ! -e "$RESULTS/asan-built" ]; do
		sleep 0.5
	done
	if [ "$(cat "$RESULTS/asan-built" 2>/dev/null)" = 0 ]; then
		UNIT_RUNS=$(nproc) UNIT_TIMES=2 run_unit_asan
	fi
}

suite_asan()
{
	build_asan || { result failed asan "build without warnings" "see above"; return; }
	result passed asan "build without warnings"
	[ -e "$RESULTS/asan-tested" ] || run_unit_asan
	is_chosen unit || test_plain
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
	# TSan makes calls several times slower; what measures time is not among these files.
	TSAN_OPTIONS="log_path=$reports/report" ATOLL_BUILD=$PWD/build-tsan/mixed PYTEST_WRAP=$WRAP \
		run_built_pytest tsan tsan-system 900 "${TSAN_FILES[@]}"
	if [ -n "$(ls "$reports")" ]; then
		cat "$reports"/* >"$RESULTS/tsan-races.log"
		head -n 80 "$RESULTS/tsan-races.log" >&2
		result failed tsan "system tests" "data races: see $RESULTS/tsan-races.log"
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
	if ! build_kind tsan $(sed 's|/|_|g; s|^|tests/unit_|' <<<"$tests"); then
		result failed tsan build "the build failed"
		return
	fi
	step "unit tests of the api process under TSan"
	# shellcheck disable=SC2086
	TSAN_OPTIONS=halt_on_error=1 run_unit tsan tsan unit $tests
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
	build_asan fuzzers || { result failed fuzz build "the build failed"; return; }
	step "fuzz targets: their seeds, and ${FUZZ_SECONDS:-0} s of search each"
	export -f fuzz_one result
	export RESULTS
	find build-asan/tests -name 'fuzz_*' -type f -executable | sort |
		xargs -P "$(nproc)" -n 1 bash -c 'fuzz_one "$0"'
}

# run_built_pytest SUITE REPORT SECONDS FOLDER-OR-FILE…
run_built_pytest()
{
	local suite=$1 name=$2 seconds=$3 report=$RESULTS/$2.xml
	shift 3
	step "$name tests"
	# shellcheck disable=SC2086 # words
	timeout --kill-after=20 "$seconds" ${PYTEST_WRAP:-} python3 -m pytest -q -p no:cacheprovider --tb=short \
		-rs --junitxml="$report" "$@" >&2 || true
	if [ -s "$report" ]; then
		results_add junit "$suite" "$report"
	else
		result failed "$suite" "$name" "it did not end within $seconds s, or did not start"
	fi
}

# The longest files of the suites that start servers. They go in front, so that no run is left with
# one of them when the others have ended.
LONG_FILES=(system/test_console system/test_daytona system/test_undo system/test_server_backup system/test_images
	fault/test_operator fault/test_ephemeral fault/test_kills fault/test_volumes
	system/test_usage system/test_mcp system/test_templates contract/test_providers
	fault/test_orphans fault/test_storm fault/test_leases fault/test_peer_backups fault/test_backups
	system/test_languages system/test_warm_javascript system/test_signature system/test_surface
	system/test_postgres system/test_dockerfile_features system/test_flatten fault/test_builds
	system/test_events system/test_tls fault/test_full_middle system/test_mcp_conformance
	system/test_lifecycle_pause escape/test_warm_ahead escape/test_warm escape/test_code)
# They measure how long calls take beside others, or look at the whole host: nothing runs beside them.
LONE_FILES=(system/test_processor system/test_fairness escape/alone/test_bombs fault/alone/test_last_server)
# Most of the time a run waits for a process, a clock or a lock, so there are several for each processor: seven for two.
SERVED_RUNS=${SERVED_RUNS:-$(($(nproc) * 3))}

# files_of SUITE FILE…: those of the suite.
files_of()
{
	local suite=$1
	shift
	printf 'tests/%s.py\n' "$@" | grep "^tests/$suite/" || true
}

# The files of a suite without those that run alone; pytest would run twice what is named twice.
shared_files()
{
	{
		files_of "$1" "${LONG_FILES[@]}"
		[ "$1" != system ] || files_of contract "${LONG_FILES[@]}"
		find "tests/$1" -name 'test_*.py' | sort
		[ "$1" != system ] || find tests/contract -name 'test_*.py'
	} | awk '!seen[$0]++' | grep -vxF "$(files_of "$1" "${LONE_FILES[@]}")"
}

# run_shared SUITE FILE…: the files in several runs at once, of which each writes a report (tests/conftest.py).
run_shared()
{
	local suite=$1 i
	shift
	step "$suite tests"
	timeout --kill-after=20 2400 python3 -m pytest -q -p no:cacheprovider --tb=short -rs \
		--junitxml="$RESULTS/$suite.xml" "$@" >&2 || true
	if [ -s "$RESULTS/$suite.xml" ]; then # it did not come to its runs
		results_add junit "$suite" "$RESULTS/$suite.xml"
		return
	fi
	for ((i = 1; i <= ATOLL_TEST_RUNS; i++)); do
		if [ -s "$RESULTS/$suite-$i.xml" ]; then
			results_add junit "$suite" "$RESULTS/$suite-$i.xml"
		else
			result failed "$suite" "$suite-$i" "it did not end within 2400 s, or did not start"
		fi
	done
}

# The tests of real servers. Several files at once, for these often wait for a server or a clock.
# test_servers SUITE…
test_servers()
{
	local suite files pids=()
	build_programs gcc || { result failed "$1" build "the gcc build failed"; return; }
	ATOLL_TEST_RUNS=$SERVED_RUNS ATOLL_TEST_SLOTS=$(mktemp -d /tmp/atoll-slots-XXXXXX)
	export ATOLL_TEST_RUNS ATOLL_TEST_SLOTS ATOLL_TEST_TIMES=$PWD/$RESULTS/times.tsv
	busy_begin
	for suite in "$@"; do
		mapfile -t files < <(shared_files "$suite")
		run_shared "$suite" "${files[@]}" &
		pids+=($!)
	done
	asan_beside_servers &
	pids+=($!)
	wait "${pids[@]}"
	busy_note
	rm -rf "$ATOLL_TEST_SLOTS"
	unset ATOLL_TEST_RUNS ATOLL_TEST_SLOTS
	for suite in "$@"; do
		mapfile -t files < <(files_of "$suite" "${LONE_FILES[@]}")
		run_built_pytest "$suite" "$suite-alone" 300 "${files[@]}"
	done
}

# Of the named suites those that start servers share their runs.
SERVED_SUITES=(system escape fault)

served_suites()
{
	printf '%s\n' "$@" | grep -xF "$(printf '%s\n' "${SERVED_SUITES[@]}")" | awk '!seen[$0]++'
}

# Only when it is named: the storms, of which ./dev test has less.
suite_long()
{
	build_programs gcc || { result failed long build "the gcc build failed"; return; }
	ATOLL_SLOW=1 STORM_KILLS=${STORM_KILLS:-300} LEASE_SECONDS=${LEASE_SECONDS:-60} run_built_pytest long long 2400 \
		tests/fault/test_{storm,leases}.py
	ATOLL_SLOW=1 run_built_pytest long providers 3600 tests/fault/test_{fail_over_storm,provider_kills,far_fail_over}.py
}

# Only when it is named: the whole of what the suites system and fault run a part of (atoll.sample, atoll.IS_SLOW).
FULL_FILES=(tests/system/test_{clients,flatten,undo,live_lists,credential_programs}
	tests/fault/test_{kills,volumes,ephemeral,backups,peer_backups,host_provider,fail_over,docker_storm})
suite_full()
{
	build_programs gcc || { result failed full build "the gcc build failed"; return; }
	ATOLL_SLOW=1 run_built_pytest full full 3600 "${FULL_FILES[@]/%/.py}"
}

# Only when it is named: every page of the console in Chromium. The frames of long lists are measured
# alone, so their file is the last.
suite_console()
{
	build_programs gcc || { result failed console build "the gcc build failed"; return; }
	ATOLL_SLOW=1 run_built_pytest console console 1200 tests/system/test_console{,_sandbox,_manage,_credentials,_scroll}.py
}

# Only when it is named: what npm has may change any day.
suite_newest()
{
	build_programs gcc || { result failed newest build "the gcc build failed"; return; }
	ATOLL_NEWEST=1 run_built_pytest newest newest 500 \
		tests/system/test_{interpreter,e2b,envd,tls,daytona,daytona_clients}.py
}

# Only when it is named: code-server takes minutes to be installed.
suite_ide()
{
	build_programs gcc || { result failed ide build "the gcc build failed"; return; }
	run_built_pytest ide ide 900 tests/ide
}

# Only when it is named: the default templates are gigabytes of packages.
suite_templates()
{
	build_programs gcc || { result failed templates build "the gcc build failed"; return; }
	ATOLL_SLOW=1 run_built_pytest templates templates 4200 \
		tests/system/test_{templates,example_dockerfiles}.py tests/fault/test_images.py
}

# Only when it is named: a Debian is made, and the packages are built for it.
suite_package()
{
	"$PWD/dev" package || { result failed package build "the packages could not be made"; return; }
	ensure_test_packages
	ATOLL_BUILD=$PWD/build-package run_built_pytest package package 1200 tests/package
}

# Only when it is named: what operators get wrong, with the slow part that suite_fault leaves out.
suite_operator()
{
	build_programs gcc || { result failed operator build "the gcc build failed"; return; }
	ATOLL_SLOW=1 run_built_pytest operator operator 1200 tests/fault/test_operator.py \
		tests/system/test_{store_pairing,undo}.py tests/operator
}

# The kernel of virtual machines, unpacked from Debian's package: installed, it would become the host's.
unpack_machine_kernel()
{
	local folder=build/machine-kernel name
	if [ ! -d "$folder/boot" ]; then
		name=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image/ { print $2; exit }')
		mkdir -p "$folder"
		(cd "$folder" && apt-get download -q "$name" && dpkg-deb -x "$name"_*.deb . && rm "$name"_*.deb) \
			>"$RESULTS/machine-kernel.log" 2>&1 || return 1
	fi
	export ATOLL_MICROVM_KERNEL=$PWD/$folder
}

# The longest first. Three at once, because they mostly wait for daemons and for machines that boot.
PROVIDER_FILES=(contract/test_providers system/test_microvm isolation/test_page fault/test_docker_storm
	system/test_microvm_{memory,images} system/test_gvisor_{previews,images} isolation/test_table
	system/test_docker system/test_docker_{gpus,runtimes,snapshots,volumes}
	system/test_{host,e2b,daytona,lambda}_provider system/test_{lambda_offline,recorded_exchanges}
	system/test_gvisor system/test_gvisor_{files,names,network} system/test_{source_address,egress_cut}_{gvisor,microvm}
	escape/test_gvisor_egress fault/test_{gvisor,microvm}_kills)
PROVIDER_RUNS=${PROVIDER_RUNS:-3}

# The programs of a cluster that Debian has no package of: made once, and kept.
ensure_cluster()
{
	local folder=${ATOLL_KUBERNETES_BIN:-$HOME/.cache/atoll/kubernetes} program
	for program in kube-apiserver kube-controller-manager kube-scheduler kubelet; do
		[ -x "$folder/$program" ] && continue
		step "programs of a Kubernetes cluster, once (7 to 25 minutes)"
		apt_install golang-1.19-go make rsync patch &&
			tests/kubernetes_build.sh "$folder" >"$RESULTS/kubernetes-build.log" 2>&1 && return
		tail -n 20 "$RESULTS/kubernetes-build.log" >&2
		return 1
	done
}

# Only when it is named: a cluster of one node.
suite_kubernetes()
{
	local package
	build_programs gcc || { result failed kubernetes build "the gcc build failed"; return; }
	for package in etcd-server containerd runc umoci skopeo containernetworking-plugins busybox-static \
		golang-go; do
		dpkg -s "$package" >/dev/null 2>&1 || apt_install "$package" ||
			note "without $package its tests are skipped"
	done
	# Other packages have this program, too, and would be in its way.
	command -v kubectl >/dev/null || apt_install kubernetes-client || note "without kubectl its tests are skipped"
	ensure_cluster || { result failed kubernetes build "tests/kubernetes_build.sh failed"; return; }
	# The servers of the manifests are those of the Debian package.
	"$PWD/dev" package >"$RESULTS/kubernetes-package.log" 2>&1 ||
		{ result failed kubernetes package "see $RESULTS/kubernetes-package.log"; return; }
	ATOLL_SLOW=1 run_built_pytest kubernetes kubernetes 5400 \
		tests/contract/test_kubernetes_contract.py tests/system/test_kubernetes*.py tests/fault/test_kubernetes_storm.py \
		tests/kubernetes
}

# Only when it is named: every provider with a server of its own kind.
suite_providers()
{
	local program files
	declare -A packages=([dockerd]=docker.io [docker-registry]=docker-registry [podman]=podman
		[runsc]=runsc [qemu-system-x86_64]=qemu-system-x86 [qemu-img]=qemu-utils)
	build_programs gcc || { result failed providers build "the gcc build failed"; return; }
	mapfile -t files < <(printf 'tests/%s.py\n' "${PROVIDER_FILES[@]}")
	for program in "${!packages[@]}"; do
		command -v "$program" >/dev/null || apt_install "${packages[$program]}" ||
			note "without ${packages[$program]} its tests are skipped"
	done
	unpack_machine_kernel || note "without a kernel the tests of virtual machines are skipped"
	# The figures of the tables are measured with nothing beside them.
	if [ -n "${ATOLL_WRITE_TABLES:-}" ]; then
		ATOLL_SLOW=1 run_built_pytest providers providers 3600 "${files[@]}"
		return
	fi
	ATOLL_TEST_RUNS=$PROVIDER_RUNS ATOLL_TEST_SLOTS=$(mktemp -d /tmp/atoll-slots-XXXXXX)
	export ATOLL_TEST_RUNS ATOLL_TEST_SLOTS
	ATOLL_SLOW=1 run_shared providers "${files[@]}"
	rm -rf "$ATOLL_TEST_SLOTS"
	unset ATOLL_TEST_RUNS ATOLL_TEST_SLOTS
}

# Only when it is named: what a change breaks most often, in less than two minutes once it is built.
suite_quick()
{
	quick_checks
	build_kind gcc || { result failed unit build "the gcc build failed"; return; }
	check_programs
	step "unit tests"
	run_unit unit gcc unit
	run_built_pytest system quick 120 tests/contract tests/system/test_{lifecycle,exec,files}.py
}

# A program is named by the folder that lists it, which may be above the one that the file is in.
unit_program()
{
	local folder
	folder=$(dirname "$1")
	while [ ! -f "$folder/meson.build" ]; do
		folder=$(dirname "$folder")
	done
	echo "${folder#tests/unit/}/$(basename "$1" .c)"
}

# run_file FILE[::CASE]: one file of unit tests or of pytest's.
run_file()
{
	local file=${1%%::*} name= program
	[ "$file" = "$1" ] || name=${1#*::}
	[ -f "$file" ] || die "there is no file '$file'" "example: ./dev test tests/unit/base/test_buf.c"
	case $file in
	*.py)
		build_programs gcc || { result failed file build "the gcc build failed"; return; }
		ATOLL_SLOW=1 run_built_pytest file "$(basename "$file" .py)" 1800 "$1"
		;;
	tests/unit/*.c)
		program=$(unit_program "$file")
		build_kind gcc "tests/unit_${program//\//_}" ||
			{ result failed file build "the gcc build failed"; return; }
		UNIT_CASE=$name run_unit file gcc unit "$program"
		;;
	*) die "'$file' is no test" "tests are tests/unit/**/*.c and tests/**/test_*.py" ;;
	esac
}

# An example is done by its own script; 77 means that it cannot run here, for the reason in its
# last line.
run_example()
{
	local name=$1 status=0 log=$RESULTS/example-$1.log
	ATOLL=$PWD/build/atoll timeout --kill-after=20 600 "examples/$name/run" >"$log" 2>&1 ||
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

# With a server of their own; the suite system runs them on one of its servers, which has built their
# template already.
suite_examples()
{
	local run
	build_programs gcc || { result failed examples build "the gcc build failed"; return; }
	step "examples"
	for run in examples/*/run; do
		run_example "$(basename "$(dirname "$run")")"
	done
}

dev_test()
{
	local suite suites=() files=() served
	for suite in "$@"; do
		if [ "$suite" = --write-tables ]; then
			export ATOLL_WRITE_TABLES=1
		elif [ "$suite" = deep ]; then
			suites+=("${DEEP_SUITES[@]}")
			: "${FUZZ_SECONDS:=30}"
		elif [[ $suite = tests/* ]]; then
			files+=("$suite")
		else
			printf '%s\n' "${SUITES[@]}" "${NAMED_SUITES[@]}" "${DEEP_SUITES[@]}" | grep -qxF "$suite" ||
				die "there is no suite '$suite'" "suites: ${SUITES[*]}" \
					"by name only: ${NAMED_SUITES[*]} deep ${DEEP_SUITES[*]}" \
					"files: tests/FOLDER/FILE[::TEST]"
			suites+=("$suite")
		fi
	done
	[ $# -gt 0 ] || suites=("${SUITES[@]}")
	export FUZZ_SECONDS
	ensure_test_packages
	STEP_CLOCK=1
	results_begin
	mapfile -t served < <(served_suites "${suites[@]}")
	# From npm, while gcc compiles. A test that needs them waits for the same lock.
	[ ${#served[@]} = 0 ] || python3 tests/clients.py >"$RESULTS/clients.log" 2>&1 &
	for suite in "${suites[@]}"; do
		case $suite in
		"${served[0]:-}") test_servers "${served[@]}" ;;
		system | escape | fault) ;;
		*) "suite_$suite" ;;
		esac
	done
	for suite in "${files[@]}"; do
		run_file "$suite"
	done
	behind_wait
	results_end
}
