# SPDX-License-Identifier: Apache-2.0
# ./dev package — in build-package/: Debian packages atoll (server and command line) and atoll-cli, the
# SDKs as a wheel and a tarball of npm.

source tools/dev/build.sh

BUILD_FOLDER[package]=build-package
BUILD_COMPILER[package]=gcc
BUILD_OPTIONS[package]="-Dbuildtype=debugoptimized --prefix=/usr --libexecdir=libexec --sysconfdir=/etc"

PACKAGE_ROOT=build-package/root

# The libraries that programs link, as dpkg names their packages. package_libraries PROGRAM…
package_libraries()
{
	local folder=build-package/shlibs
	mkdir -p "$folder/debian"
	printf 'Source: atoll\n\nPackage: atoll\nArchitecture: any\n' >"$folder/debian/control"
	local programs=()
	for program in "$@"; do
		programs+=("$PWD/$program")
	done
	# It warns of static programs, which need no library.
	(cd "$folder" && dpkg-shlibdeps -O "${programs[@]}" 2>dpkg-shlibdeps.log) |
		sed 's/^shlibs:Depends=//'
}

# The file "control" of the package whose files are in a folder. package_control NAME FOLDER
package_control()
{
	local name=$1 folder=$2 libraries
	libraries=$(package_libraries $(find "$folder" -type f -path '*/libexec/atoll/*')) || return 1
	cat packaging/debian/control "packaging/debian/$name" | sed \
		-e "s|@PACKAGE@|$name|; s|@VERSION@|$PACKAGE_VERSION|" \
		-e "s|@ARCHITECTURE@|$(dpkg --print-architecture)|; s|@LIBRARIES@|$libraries|" \
		-e "s|@SIZE@|$(du -sk --apparent-size "$folder" | cut -f1)|"
}

package_documents()
{
	local documents=$2/usr/share/doc/$1
	install -d "$documents"
	install -m 644 packaging/debian/copyright "$documents/copyright"
	gzip -9nc CHANGELOG.md >"$documents/changelog.gz"
	find "$2/usr/share/man" -type f -exec gzip -9nf {} +
}

# package_make NAME FOLDER
package_make()
{
	local name=$1 folder=$2 script
	package_documents "$name" "$folder"
	install -d "$folder/DEBIAN"
	package_control "$name" "$folder" >"$folder/DEBIAN/control" || return 1
	for script in postinst prerm postrm; do
		[ ! -f "packaging/debian/$name.$script" ] ||
			install -m 755 "packaging/debian/$name.$script" "$folder/DEBIAN/$script"
	done
	(cd "$folder" && find etc -type f 2>/dev/null | sed 's|^|/|') >"$folder/DEBIAN/conffiles"
	[ -s "$folder/DEBIAN/conffiles" ] || rm "$folder/DEBIAN/conffiles"
	dpkg-deb --root-owner-group -Zxz --build "$folder" build-package >/dev/null || return 1
	note "build-package/${name}_${PACKAGE_VERSION}_$(dpkg --print-architecture).deb"
}

# The command line alone, from the files of the server's package.
package_split_cli()
{
	local path
	for path in usr/bin/atoll usr/libexec/atoll/atoll usr/libexec/atoll/atoll-attempts usr/share/man/man1/atoll.1; do
		install -d "$2/$(dirname "$path")"
		cp -a "$1/$path" "$2/$path"
	done
}

# A copy of an SDK beside the license, which both package managers take along.
package_copy_sdk()
{
	local copy=build-package/sdk/$1
	install -d "$copy"
	cp -r "sdk/$1/." LICENSE "$copy"
	find "$copy" -name __pycache__ -exec rm -r {} +
}

# Both need nothing from a registry.
package_sdks()
{
	local log=$PWD/build-package/sdk.log
	rm -rf build-package/sdk build-package/atoll?sdk-*
	package_copy_sdk python
	package_copy_sdk typescript
	python3 -m pip wheel --quiet --no-deps --no-index --no-build-isolation --wheel-dir build-package \
		./build-package/sdk/python >"$log" 2>&1 || return 1
	npm pack --silent --offline --ignore-scripts --pack-destination build-package \
		./build-package/sdk/typescript >>"$log" 2>&1 || return 1
	note "$(ls build-package/atoll_sdk-*.whl)"
	note "$(ls build-package/atoll-sdk-*.tgz)"
}

dev_package()
{
	ensure_packages tools/packages-package.txt
	# shellcheck disable=SC2046 # the targets are words
	build_kind package $(program_targets) packaging/atoll.1 || die "the build failed"
	PACKAGE_VERSION=$(build-package/atolld --version | sed 's/.* //')
	# Reproducible: files have the time of the commit.
	SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
	export SOURCE_DATE_EPOCH
	step "packages"
	rm -rf "$PACKAGE_ROOT" "$PACKAGE_ROOT-cli"
	meson install -C build-package --no-rebuild --strip --quiet --destdir root >build-package/install.log 2>&1 ||
		die "the installation into $PACKAGE_ROOT failed" "see build-package/install.log"
	package_split_cli "$PACKAGE_ROOT" "$PACKAGE_ROOT-cli"
	package_make atoll "$PACKAGE_ROOT" && package_make atoll-cli "$PACKAGE_ROOT-cli" ||
		die "the packages could not be made"
	package_sdks || die "the SDKs could not be packed" "see build-package/sdk.log"
}
