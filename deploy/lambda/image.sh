#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the image of the functions at FOLDER, as an OCI layout with the tag "atoll". It needs root, and the Debian packages
# mmdebstrap and umoci; the network is only that of Debian's mirror (MIRROR, default: as apt of this machine has it).
set -eu

usage='usage: image.sh FOLDER   (PROGRAM=build/atoll-lambda SUITE=bookworm MIRROR=)'
folder=${1:?$usage}
here=$(cd "$(dirname "$0")/../.." && pwd)
program=${PROGRAM:-$here/build/atoll-lambda}
suite=${SUITE:-bookworm}

[ "$(id -u)" = 0 ] || { echo "image.sh: root is needed, to make files of root" >&2; exit 1; }
[ ! -e "$folder" ] || { echo "image.sh: '$folder' exists already" >&2; exit 1; }
[ -x "$program" ] || { echo "image.sh: no program at '$program': run ./dev build" >&2; exit 1; }
for tool in mmdebstrap umoci; do
	command -v "$tool" > /dev/null || { echo "image.sh: package $tool is missing: apt-get install $tool" >&2; exit 1; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
umoci init --layout "$folder"
umoci new --image "$folder:atoll"
umoci unpack --image "$folder:atoll" "$work/bundle"
# shellcheck disable=SC2086 # without MIRROR there is no such argument
mmdebstrap --mode=root --variant=minbase --include=bash,ca-certificates,coreutils,curl,findutils,git,grep,jq,nodejs,procps,python3,ripgrep,sed,tar,xz-utils \
	--aptopt='APT::Install-Recommends "false"' "$suite" "$work/root" ${MIRROR:-}
rm -rf "$work"/root/var/cache/apt/* "$work"/root/var/lib/apt/lists/* "$work"/root/usr/share/doc/* "$work"/root/usr/share/man/*
mkdir -p "$work/root/mnt/workspaces" "$work/root/var/task"
install -m 0755 "$program" "$work/root/usr/bin/atoll-lambda"
cp -a "$work/root/." "$work/bundle/rootfs/"
umoci repack --image "$folder:atoll" "$work/bundle"
umoci config --image "$folder:atoll" --config.entrypoint /usr/bin/atoll-lambda --config.workingdir /var/task \
	--config.env PATH=/usr/local/bin:/usr/bin:/bin
umoci gc --layout "$folder"
echo "$folder: an OCI image with the tag 'atoll'"
