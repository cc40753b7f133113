# SPDX-License-Identifier: Apache-2.0
# The web console: console/dist, from the lock file, when npm is there. atolld embeds what is in it.

CONSOLE_SOURCES=(console/src console/public console/build console/generate console/index.html
	console/package.json console/package-lock.json console/tsconfig.json console/vite.config.ts)

# One text for all sources, so that a change of branch is seen, too.
console_key()
{
	find "${CONSOLE_SOURCES[@]}" -type f | sort | xargs sha256sum | sha256sum | cut -c 1-32
}

# Packages as the lock file has them; their scripts are not run.
console_install()
{
	local stamp=console/node_modules/.atoll-lock
	if [ -f "$stamp" ] && cmp -s "$stamp" console/package-lock.json; then
		return
	fi
	note "installing the console's npm packages"
	rm -f "$stamp"
	(cd console && npm ci --ignore-scripts --no-audit --no-fund) >>build/console.log 2>&1 &&
		cp console/package-lock.json "$stamp"
}

console_make()
{
	rm -rf console/dist.new
	(cd console && node build/build.mjs "$PWD/dist.new") >>build/console.log 2>&1 || return 1
	echo "$1" >console/dist.new/.key
	rm -rf console/dist
	mv console/dist.new console/dist
}

# Builds the console when its sources have changed. Without npm, or where npm reaches no registry,
# atolld is built without it and says so on its page.
build_console()
{
	local key
	key=$(console_key)
	if [ "$(cat console/dist/.key 2>/dev/null)" = "$key" ]; then
		return
	fi
	if ! command -v npm >/dev/null; then
		note "npm is not installed: atolld gets no web console (apt-get install npm)"
		return
	fi
	step "build of the web console"
	mkdir -p build
	: >build/console.log
	(
		flock 9
		[ "$(cat console/dist/.key 2>/dev/null)" = "$key" ] ||
			{ console_install && console_make "$key"; }
	) 9<console/package.json && return
	tail -n 20 build/console.log >&2
	# Packages that cannot be had are no fault of the tree; sources that do not build are.
	[ -d console/node_modules/vite ] && return 1
	note "npm cannot install the console's packages: atolld gets no web console (build/console.log)"
}
