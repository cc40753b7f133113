# SPDX-License-Identifier: Apache-2.0
# ./dev build — one folder per kind of build, so that switching costs nothing.

source tools/dev/setup.sh
source tools/dev/console.sh

declare -A BUILD_FOLDER=(
	[gcc]=build [asan]=build-asan [tsan]=build-tsan
)
# The build for ASan is clang's, so that both compilers have seen all without a warning, and has the
# fuzz targets, so that nothing is compiled once more for them. Its reports name functions and lines;
# what a debugger would want to know of variables is left out, for it makes every link longer.
declare -A BUILD_COMPILER=([gcc]=gcc [asan]=clang [tsan]=gcc)
declare -A BUILD_OPTIONS=(
	[gcc]="-Dbuildtype=debugoptimized"
	[asan]="-Dwerror=true -Doptimization=0 -Ddebug=false -Db_sanitize=address,undefined
		-Db_lundef=false -Dfuzz=true -Dc_args=['-fsanitize=fuzzer-no-link','-g1']"
	[tsan]="-Doptimization=1 -Db_sanitize=thread -Db_lundef=false"
)

# A file that this folder has compiled before is taken from ccache, where that is installed.
compiler_cache()
{
	command -v ccache || true
}

# The folder also holds logs and stamps, so that it may be there without a build in it.
build_configure()
{
	local kind=$1 folder=${BUILD_FOLDER[$1]}
	if [ -f "$folder/build.ninja" ]; then
		return
	fi
	note "configuring $folder"
	mkdir -p "$folder"
	# shellcheck disable=SC2086 # the options are words
	CC="$(compiler_cache) ${BUILD_COMPILER[$kind]}" meson setup ${BUILD_OPTIONS[$kind]} "$folder" \
		>"$folder/configure.log" 2>&1 || {
		tail -n 20 "$folder/configure.log" >&2
		return 1
	}
}

# Ninja rewrites one line on a terminal; elsewhere its many lines go to a log.
build_ninja()
{
	local folder=$1 log=$1/build.log
	shift
	if [ -t 2 ]; then
		${WRAP:-} ninja -C "$folder" "$@" >&2
		return
	fi
	if ! ${WRAP:-} ninja -C "$folder" -k 0 "$@" >"$log" 2>&1; then
		grep -vE '^\[[0-9]+/[0-9]+\]' "$log" | tail -n 40 >&2
		return 1
	fi
}

# build_kind KIND [TARGET…]
build_kind()
{
	local kind=$1
	shift
	ensure_packages tools/packages.txt
	build_console || return 1
	step "build in ${BUILD_FOLDER[$kind]}"
	build_configure "$kind" || return 1
	build_ninja "${BUILD_FOLDER[$kind]}" "$@"
}

# What an installation has and needs to be built, without the tests.
program_targets()
{
	basename -s .c -a src/programs/*.c
	echo atoll-guest-memory.so
}

# build_programs KIND
build_programs()
{
	# shellcheck disable=SC2046 # the targets are words
	build_kind "$1" $(program_targets)
}

dev_build()
{
	local kind kinds=()
	# Kinds other than gcc's want the other compiler and the sanitizers.
	[ $# = 0 ] || ensure_test_packages
	for kind in "$@"; do
		kind=${kind#--}
		[ -n "${BUILD_FOLDER[$kind]:-}" ] || die "there is no build --$kind" \
			"kinds: ${!BUILD_FOLDER[*]}"
		kinds+=("$kind")
	done
	for kind in "${kinds[@]:-gcc}"; do
		build_programs "$kind" || die "the $kind build failed"
		note "what was built is in ${BUILD_FOLDER[$kind]}/"
	done
}
