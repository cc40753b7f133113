# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What every job needs: a sandbox that is gone at the end, files in, commands, files out.
# Sourced by NAME/run, which has set `set -euo pipefail`.

job=$(basename "$here")
atoll=${ATOLL:-$here/../../build/atoll}
out=${OUT:-$here/out}
sandbox=example-$job-$$
template=

say() { printf '\n== %s\n' "$*"; }

remove_sandbox() {
	local status=$?
	trap - EXIT
	"$atoll" rm --force "$sandbox" >/dev/null || status=1
	if ((status == 0)); then say "$job: all is well"; else say "$job: FAILED" >&2; fi
	exit "$status"
}

# Runs a command in the sandbox, with the project folder as its working folder.
inside() { "$atoll" exec "$sandbox" -- "$@"; }

# Makes the sandbox from the template TEMPLATE: `host`, this machine's own programs, which is there at
# once, or another one, which is built first. Arguments are options of `atoll run`.
begin() {
	[[ -x $atoll ]] || { echo "no '$atoll': ./dev build makes it" >&2; exit 1; }
	mkdir -p "$out"
	trap remove_sandbox EXIT
	template=${TEMPLATE:-host}
	if [[ $template == host ]]; then
		echo "template 'host'; TEMPLATE=base installs further packages, and takes minutes the first time"
	else
		"$atoll" template build "$template"
	fi
	say "$job: a sandbox from the template '$template'"
	"$atoll" run --keep --name "$sandbox" --template "$template" "$@" -- true
}

# Whether packages can be had from inside: tells it, and answers by its status.
can_install() {
	if inside "$@" >/dev/null 2>&1; then return 0; fi
	echo "no package registry can be reached from the sandbox (tried: $*)"
	return 1
}

copy_in() { "$atoll" cp "$@" "$sandbox:."; }
copy_out() {
	local name
	for name in "$@"; do "$atoll" cp "$sandbox:$name" "$out/"; done
}
