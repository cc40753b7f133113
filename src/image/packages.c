/* SPDX-License-Identifier: Apache-2.0 */
#include "image/packages.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/fd.h"
#include "image/command.h"
#include "image/recipes.h"
#include "image/work.h"

/* Runs in the jail, whose mounts end with it: ROOT SCRATCH PACKAGES NPM-PACKAGES. The lines "I: …"
 * are phases of the progress. The first npm is Debian's, for the time of the installation. npm's
 * packages are installed one by one, because each may need the Node.js and npm before it. The first
 * npm leaves its settings in the second. */
static const char script[] =
        "set -e\n"
        "root=$1 scratch=$2 packages=$3 npm=$4\n"
        "mount -t tmpfs -o mode=755 tmpfs \"$root/dev\"\n"
        "for name in null zero full random urandom tty; do\n"
        "	: >\"$root/dev/$name\"\n"
        "	mount --bind \"/dev/$name\" \"$root/dev/$name\"\n"
        "done\n"
        "ln -s /proc/self/fd \"$root/dev/fd\"\n"
        "mkdir \"$root/dev/shm\"\n"
        "mount -t proc proc \"$root/proc\"\n"
        "mount -t tmpfs tmpfs \"$root/run\"\n"
        "mount -t tmpfs -o mode=1777 tmpfs \"$root/tmp\"\n"
        "mkdir \"$root/run/build\"\n"
        "mount --bind \"$scratch\" \"$root/run/build\"\n"
        "[ ! -e /etc/resolv.conf ] || mount --bind /etc/resolv.conf \"$root/etc/resolv.conf\"\n"
        "export NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt\n"
        "export HOME=/root APT_CONFIG=/run/build/" PACKAGES_OPTIONS "\n"
        "sources=\n"
        "if [ -s \"$scratch/" PACKAGES_SOURCES "\" ]; then\n"
        "	sources='-o Dir::Etc::SourceList=/run/build/" PACKAGES_SOURCES "'\n"
        "	sources=\"$sources -o Dir::Etc::SourceParts=/dev/null\"\n"
        "fi\n"
        "apt() {\n"
        "	chroot \"$root\" apt-get -q -y $sources \"$@\"\n"
        "}\n"
        "echo 'I: reading the lists of packages'\n"
        "apt update\n"
        "echo 'I: installing the packages'\n"
        "apt install $packages\n"
        "if [ -n \"$npm\" ]; then\n"
        "	mkdir -p \"$root/usr/local/etc\"\n"
        "	ln -sf /etc/npmrc \"$root/usr/local/etc/npmrc\"\n"
        "	echo 'I: installing npm'\n"
        "	[ -e \"$root/usr/local/bin/npm\" ] || apt install npm\n"
        "	echo 'I: installing the packages of npm'\n"
        "	for package in $npm; do\n"
        "		chroot \"$root\" npm install --global --prefix /usr/local \\\n"
        "			--ignore-scripts --no-audit --no-fund --no-update-notifier "
        "\"$package\"\n"
        "	done\n"
        "	if [ -e \"$root/usr/bin/npm\" ]; then\n"
        "		echo 'I: removing the other npm'\n"
        "		apt purge --auto-remove npm\n"
        "		rm -f \"$root/usr/local/lib/node_modules/npm/npmrc\"\n"
        "	fi\n"
        "fi\n"
        "echo 'I: cleaning up'\n"
        "apt clean\n"
        "rm -rf \"$root/var/lib/apt/lists/\"* \"$root/var/log/apt\" \"$root/root/.npm\"\n";

int packages_copy_root(const struct work *w, const struct image_recipe *recipe, struct error *err)
{
	char name[IMAGE_NAME_MAX + sizeof("/" IMAGE_ROOT)];
	struct fd_open_options options = {.flags = O_RDONLY | O_DIRECTORY};
	AUTO_CLOSE int from = -1;
	static const char *const argv[] = {
	        "cp", "--archive", "--reflink=auto", "/proc/self/fd/3/.", WORK_ROOT, NULL};
	struct image_command command = {.argv = argv, .folder_fd = w->folder};

	(void)snprintf(name, sizeof(name), "%s/" IMAGE_ROOT, recipe->from);
	if (fd_open_beneath(w->templates, name, &options, &from, err) < 0)
		return FAIL_CONTEXT(err, "open template '%s'", recipe->from);
	command.source_fd = from;
	return command_run(w->spec, &command, err);
}

int packages_install(const struct work *w, const struct image_recipe *recipe,
                     void (*on_line)(void *context, const char *line), void *context,
                     struct error *err)
{
	const char *argv[] = {
	        "sh",      "-c",         script,           "sh",
	        WORK_ROOT, WORK_SCRATCH, recipe->packages, recipe->npm ? recipe->npm : "",
	        NULL};
	struct image_command command = {.argv = argv,
	                                .folder_fd = w->folder,
	                                .network = true,
	                                .source_fd = -1,
	                                .on_line = on_line,
	                                .line_context = context};

	return command_run(w->spec, &command, err);
}
