#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kubernetes_build.sh [FOLDER] — makes the programs of a cluster from Debian's source package "kubernetes", for the tests of
# provider kubernetes: kube-apiserver, kube-controller-manager, kube-scheduler, kubelet. Once, into a folder that is kept
# (ATOLL_KUBERNETES_BIN, else ~/.cache/atoll/kubernetes). Takes 7 to 25 minutes on two cores, and 5 GB meanwhile.
#
# Needs the packages golang-1.19-go, make, rsync and patch; the source comes by apt-get source.
set -euo pipefail

programs=(kube-apiserver kube-controller-manager kube-scheduler kubelet)
target=$(realpath -m "${1:-${ATOLL_KUBERNETES_BIN:-$HOME/.cache/atoll/kubernetes}}")
work=$(mktemp -d /var/tmp/atoll-kubernetes-XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir -p "$target" "$work"/{lists/partial,cache/archives/partial,go/src/k8s.io}

for program in /usr/lib/go-1.19/bin/go make rsync patch; do
	command -v "$program" >/dev/null || { echo "$program is missing: apt-get install golang-1.19-go make rsync patch" >&2; exit 1; }
done

# A list of sources of its own: the machine's stays as it is.
sed 's/^Types: deb$/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >"$work/debian.sources"
own_apt=(apt-get -qq -o "Dir::Etc::sourcelist=$work/debian.sources" -o Dir::Etc::sourceparts=/dev/null
	-o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
cd "$work"
"${own_apt[@]}" update
"${own_apt[@]}" source --download-only kubernetes
mkdir tree
tar xzf kubernetes_*.orig.tar.gz -C tree --strip-components=1
tar xJf kubernetes_*.debian.tar.xz -C tree
while read -r name; do
	patch -d tree -p1 -s <"tree/debian/patches/$name"
done < <(grep -v '^#' tree/debian/patches/series)

# Since Go 1.18 the runtime takes the iterator of a map from its caller. The vendored library calls it without one: an
# API server that encodes a custom resource would write to an arbitrary address.
library=tree/vendor/github.com/modern-go/reflect2
sed -i -e 's/^func mapiterinit(\(.*\)) \*hiter$/func mapiterinit(\1, it *hiter)/' \
	-e 's|^\t// rest fields are ignored$|\tpointers [6]unsafe.Pointer\n\tnumbers  [6]uintptr|' $library/unsafe_link.go
sed -i -e 's/^\treturn &UnsafeMapIterator{$/\tit := new(hiter)\n\tmapiterinit(type2.rtype, *(*unsafe.Pointer)(obj), it)\n&/' \
	-e 's/^\t\thiter: .*mapiterinit(.*$/\t\thiter: it,/' $library/unsafe_map.go
grep -q 'it \*hiter)$' $library/unsafe_link.go && grep -q 'hiter: it,$' $library/unsafe_map.go ||
	{ echo "$library is not as this script knows it" >&2; exit 1; }

# Modules are vendored, in the form of a GOPATH; the generated files are not in the source package.
ln -s "$work/tree" go/src/k8s.io/kubernetes
export PATH=/usr/lib/go-1.19/bin:$PATH CGO_ENABLED=0 GO111MODULE=off GOPROXY=off GOPATH=$work/go GOCACHE=$work/gocache
cd go/src/k8s.io/kubernetes
make generated_files >"$work/generated.log" 2>&1 || { tail -n 20 "$work/generated.log" >&2; exit 1; }
version=$(sed -n 's/^Version: .*really\([0-9.]*\)-.*/\1/p' "$work"/kubernetes_*.dsc)
flags="-s -w"
for package in component-base/version client-go/pkg/version; do
	name=k8s.io/kubernetes/vendor/k8s.io/$package
	flags+=" -X $name.gitVersion=v$version -X $name.gitMajor=1 -X $name.gitMinor=$(cut -d. -f2 <<<"$version")"
done
for program in "${programs[@]}"; do
	go build -trimpath -ldflags "$flags" -o "$work/$program" "./cmd/$program"
	mv "$work/$program" "$target/$program"
	echo "$target/$program"
done
