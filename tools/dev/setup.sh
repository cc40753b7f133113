# SPDX-License-Identifier: Apache-2.0
# ./dev setup — the Debian packages that a list names. A stamp that is newer than the list and
# than dpkg's own records says that nothing is to be done.

SETUP_STAMPS=build/.setup

# By itself, or inside another: Node.js from elsewhere often brings npm, and refuses Debian's.
package_is_installed()
{
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ||
		dpkg-query -W -f '${db:Status-Status} ${Provides}\n' |
		grep -E "^installed (.*, )?$1( \\(|,|\$)" >/dev/null # -q ends the pipe early
}

package_is_known()
{
	apt-cache show "$1" >/dev/null 2>&1
}

# One line of a list: the first of "a | b" that is installed, else the first that Debian has.
package_of_line()
{
	local name
	for name in ${1//|/ }; do
		if package_is_installed "$name"; then
			return
		fi
	done
	for name in ${1//|/ }; do
		if package_is_known "$name"; then
			echo "$name"
			return
		fi
	done
	echo "${1%% *}"
}

packages_missing()
{
	local line
	grep -vE '^(#|$)' "$1" | while read -r line; do
		package_of_line "$line"
	done
}

stamp_is_good()
{
	[ "$1" -nt "$2" ] && [ "$1" -nt /var/lib/dpkg/status ]
}

# apt's many lines as one line per package; all of them are in the log.
show_progress()
{
	tee -a "$1" | stdbuf -oL grep -E '^(Get:|Setting up |E:|Err:)' |
		stdbuf -oL sed -E 's/^Get:[0-9]+ \S+ (\S+ \S+ )?\S+ (\S+).*/download \2/; s/ \(.*//' |
		while read -r line; do note "$line"; done
}

as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo -n "$@"
	fi
}

require_root()
{
	if [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; then
		return
	fi
	die "these Debian packages are missing and only root can install them" \
		"apt-get install --no-install-recommends $*"
}

# require_debian LIST
require_debian()
{
	command -v apt-get >/dev/null && return
	die "this machine has no apt; ./dev knows Debian only" \
		"install what $1 names by your system's means"
}

apt_install()
{
	local log=build/setup.log
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends \
		-o Dpkg::Use-Pty=0 install "$@" 2>&1 | show_progress "$log"
}

apt_update()
{
	note "reading the lists of packages"
	as_root apt-get update >>build/setup.log 2>&1
}

install_packages()
{
	require_root "$@"
	step "installing $# Debian packages (everything is in build/setup.log)"
	if apt_install "$@"; then
		return
	fi
	if apt_update && apt_install $(packages_missing "$list"); then
		return
	fi
	die "apt-get failed: is there a network, or a mirror in /etc/apt? See build/setup.log" \
		"by hand: apt-get install --no-install-recommends $*"
}

# ensure_packages LIST: all of them, or ./dev ends.
ensure_packages()
{
	local list=$1 missing stamp
	stamp=$SETUP_STAMPS/$(basename "$list")
	if stamp_is_good "$stamp" "$list"; then
		return
	fi
	require_debian "$list"
	mkdir -p "$SETUP_STAMPS"
	missing=$(packages_missing "$list")
	if [ -n "$missing" ]; then
		install_packages $missing
	fi
	touch "$stamp"
}

# What testing needs, which is more than building does.
ensure_test_packages()
{
	ensure_packages tools/packages.txt
	ensure_packages tools/packages-test.txt
}

dev_setup()
{
	ensure_test_packages
	note "everything that building and testing needs is here"
}
