# SPDX-License-Identifier: Apache-2.0
# ./dev screenshots [NAME…] — the pages of the web console as pictures in docs/console/, from the same journeys that test them.

source tools/dev/build.sh

dev_screenshots()
{
	local wanted=${1:-}
	ensure_test_packages
	build_programs gcc || die "the build failed"
	step "screenshots"
	rm -rf build/screenshots
	ATOLL_SLOW=1 ATOLL_SCREENSHOTS=$PWD/build/screenshots python3 -m pytest -q -p no:cacheprovider \
		tests/system/test_console{,_sandbox,_manage,_credentials}.py -k "test_pages${wanted:+ and $wanted}" >&2 ||
		note "some journeys failed; their pictures may be old"
	python3 tools/shrink_pictures.py build/screenshots docs/console
	note "the pictures are in docs/console/: look at them"
}
