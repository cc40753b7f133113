#!/bin/sh
set -eu
if [ "$(id -u)" = 0 ]; then
	echo "this image does not run as root" >&2
	exit 1
fi
mkdir -p public
sed -n 's/^title *= *//p' settings.ini >public/title.txt
exec "$@"
