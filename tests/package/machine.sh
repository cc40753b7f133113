#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# machine.sh ROOT: a Debian root as the "/" of own mount and pid namespaces, until it is killed. The file
# /run/is-up says that it is there.
set -e

root=$1
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mkdir -p "$root/.old"
cd "$root"
pivot_root . .old
cd /
umount -l /.old
rmdir /.old
touch /run/is-up
exec sleep infinity
