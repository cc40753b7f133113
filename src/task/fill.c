/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the file systems in memory that sandboxes share (broker/layers/shared.h): /dev, /sys, and
 * the root of the template "host". Of the host's /etc only the files listed here are copied, and
 * only those that all users may read. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/path.h"
#include "task/kinds.h"
#include "wire/task.h"

#define COPY_MAX (4 * 1024 * 1024)
#define TREE_DEPTH_MAX 8

struct folder_row {
	const char *path;
	mode_t mode;
	uid_t owner;
};
struct link_row {
	const char *path, *target;
};
struct file_row {
	const char *path;
	mode_t mode;
	const char *text;
};

static int make_folders(int root, const struct folder_row *rows, unsigned count, struct error *err)
{
	for (unsigned i = 0; i < count; i++) {
		if (mkdirat(root, rows[i].path, 0700) < 0)
			return FAIL_ERRNO(err, "make '%s'", rows[i].path);
		if (fchownat(root, rows[i].path, rows[i].owner, rows[i].owner, 0) < 0 ||
		    fchmodat(root, rows[i].path, rows[i].mode, 0) < 0)
			return FAIL_ERRNO(err, "set the owner of '%s'", rows[i].path);
	}
	return 0;
}

static int make_links(int root, const struct link_row *rows, unsigned count, struct error *err)
{
	for (unsigned i = 0; i < count; i++)
		if (symlinkat(rows[i].target, root, rows[i].path) < 0)
			return FAIL_ERRNO(err, "make the link '%s'", rows[i].path);
	return 0;
}

static int make_file(int root, const char *path, mode_t mode, struct span text, struct error *err)
{
	AUTO_CLOSE int fd =
	        openat(root, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || fchmod(fd, mode) < 0)
		return FAIL_ERRNO(err, "make the file '%s'", path);
	return fd_write_all(fd, text.data, text.size, err);
}

static int make_node(const char *name, dev_t device, struct error *err)
{
	if (mknodat(TASK_INPUT_FD, name, S_IFCHR | 0666, device) < 0 ||
	    fchmodat(TASK_INPUT_FD, name, 0666, 0) < 0)
		return FAIL_ERRNO(err, "make the device '%s'", name);
	return 0;
}

static int fill_dev(struct error *err)
{
	static const struct {
		const char *name;
		unsigned major, minor;
	} nodes[] = {{"null", 1, 3},   {"zero", 1, 5},    {"full", 1, 7},
	             {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0}};
	static const struct folder_row folders[] = {{"pts", 0755, 0}, {"shm", 0755, 0}};
	static const struct link_row links[] = {
	        {"ptmx", "pts/ptmx"},          {"fd", "/proc/self/fd"},
	        {"stdin", "/proc/self/fd/0"},  {"stdout", "/proc/self/fd/1"},
	        {"stderr", "/proc/self/fd/2"}, {"core", "/dev/null"}};
	const int root = TASK_INPUT_FD;

	for (unsigned i = 0; i < COUNT_OF(nodes); i++)
		if (make_node(nodes[i].name, makedev(nodes[i].major, nodes[i].minor), err) < 0)
			return -1;
	return make_folders(root, folders, COUNT_OF(folders), err) < 0
	               ? -1
	               : make_links(root, links, COUNT_OF(links), err);
}

/* QEMU runs as a user without rights in its sandbox, so the mode allows all users. */
static int fill_kvm(struct error *err)
{
	return fill_dev(err) < 0 ? -1 : make_node("kvm", makedev(10, 232), err);
}

/* There is no sysfs, because it tells much about the host and accepts writes. Programs read the
 * list of processors. */
static int fill_sys(struct error *err)
{
	static const struct folder_row folders[] = {
	        {"devices", 0755, 0}, {"devices/system", 0755, 0}, {"devices/system/cpu", 0755, 0},
	        {"fs", 0755, 0},      {"fs/cgroup", 0755, 0},      {"class", 0755, 0},
	        {"kernel", 0755, 0}};
	static const char *const copied[] = {"online", "possible", "present"};
	const int root = TASK_INPUT_FD;
	AUTO_CLOSE int source = -1;

	if (make_folders(root, folders, COUNT_OF(folders), err) < 0)
		return -1;
	source = open("/sys/devices/system/cpu", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (unsigned i = 0; source >= 0 && i < COUNT_OF(copied); i++) {
		AUTO(buf_done) struct buf text = BUF(4096);
		char path[64];

		(void)snprintf(path, sizeof(path), "devices/system/cpu/%s", copied[i]);
		if (file_read(source, copied[i], &text, err) < 0 ||
		    make_file(root, path, 0444, buf_span(&text), err) < 0)
			return -1;
	}
	return 0;
}

static const struct folder_row host_folders[] = {{"usr", 0755, 0},
                                                 {"etc", 0755, 0},
                                                 {"proc", 0555, 0},
                                                 {"sys", 0555, 0},
                                                 {"dev", 0755, 0},
                                                 {"run", 0755, 0},
                                                 {"tmp", 01777, 0},
                                                 {"root", 0700, 0},
                                                 {"home", 0755, 0},
                                                 {"home/user", 0755, 1000},
                                                 {"home/user/project", 0755, 1000},
                                                 {"mnt", 0755, 0},
                                                 {"opt", 0755, 0},
                                                 {"srv", 0755, 0},
                                                 {"var", 0755, 0},
                                                 {"var/tmp", 01777, 0},
                                                 {"var/lib", 0755, 0},
                                                 {"var/log", 0755, 0},
                                                 {"var/cache", 0755, 0},
                                                 {"etc/ssl", 0755, 0},
                                                 {"etc/pam.d", 0755, 0},
                                                 {"etc/sudoers.d", 0750, 0}};

static const struct link_row host_links[] = {
        {"bin", "usr/bin"},      {"sbin", "usr/sbin"}, {"lib", "usr/lib"},
        {"lib64", "usr/lib64"},  {"var/run", "/run"},  {"etc/mtab", "../proc/self/mounts"},
        {"home/daytona", "user"}};

static const char pam_permit[] = "auth sufficient pam_permit.so\n"
                                 "account sufficient pam_permit.so\n"
                                 "session optional pam_permit.so\n";

static const struct file_row host_files[] = {
        {"etc/passwd", 0644,
         "root:x:0:0:root:/root:/bin/bash\n"
         "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
         "user:x:1000:1000:user:/home/user:/bin/bash\n"
         "daytona:x:1000:1000:user:/home/daytona:/bin/bash\n"
         "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
        {"etc/group", 0644,
         "root:x:0:\ndaemon:x:1:\ntty:x:5:\nsudo:x:27:user\nusers:x:100:\nuser:x:1000:\n"
         "nogroup:x:65534:\n"},
        {"etc/shadow", 0600, "root:*:19000:0:99999:7:::\nuser:*:19000:0:99999:7:::\n"},
        {"etc/nsswitch.conf", 0644,
         "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
         "protocols: files\nservices: files\n"},
        {"etc/shells", 0644, "/bin/sh\n/bin/bash\n"},
        {"etc/hostname", 0644, ""}, /* places of mounts, as the next three */
        {"etc/machine-id", 0644, ""},
        {"etc/hosts", 0644, ""},
        {"etc/resolv.conf", 0644, ""},
        {"etc/profile", 0644, "export PS1='\\u@\\h:\\w\\$ '\n"},
        {"etc/sudoers", 0440,
         "Defaults env_reset\nDefaults "
         "secure_path=\"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\"\n"
         "root ALL=(ALL:ALL) ALL\nuser ALL=(ALL:ALL) NOPASSWD:ALL\n"},
        {"etc/pam.d/sudo", 0644, pam_permit},
        {"etc/pam.d/su", 0644, pam_permit},
        {"etc/pam.d/other", 0644, pam_permit},
};

/* What programs need of the host's /etc; public content only. */
static const char *const host_copies[] = {
        "etc/ld.so.cache",     "etc/ld.so.conf", "etc/alternatives",   "etc/ssl/certs",
        "etc/ssl/openssl.cnf", "etc/protocols",  "etc/services",       "etc/mime.types",
        "etc/localtime",       "etc/timezone",   "etc/debian_version", "etc/os-release",
        "etc/bash.bashrc",     "etc/inputrc",    "etc/magic",          "etc/fonts",
};

static int copy_tree(int from, int to, const char *path, unsigned depth, struct error *err);

static int copy_entries(int from, int to, const char *path, unsigned depth, struct error *err)
{
	AUTO(folder_list_done) DIR *folder = folder_list_at(from, path);
	struct dirent *entry;
	int status = 0;

	if (!folder)
		return FAIL_ERRNO(err, "list '%s'", path);
	while (status == 0 && (entry = readdir(folder))) {
		char child[PATH_SIZE_MAX];

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
		status = copy_tree(from, to, child, depth + 1, err);
	}
	return status;
}

static int copy_link(int from, int to, const char *path, struct error *err)
{
	char target[PATH_SIZE_MAX];
	ssize_t size = readlinkat(from, path, target, sizeof(target) - 1);

	if (size < 0)
		return FAIL_ERRNO(err, "read the link '%s'", path);
	target[size] = '\0';
	return symlinkat(target, to, path) < 0 ? FAIL_ERRNO(err, "copy the link '%s'", path) : 0;
}

static int copy_file(int from, int to, const char *path, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(COPY_MAX);
	AUTO_CLOSE int fd = openat(from, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", path);
	if (fd_read_to_end(fd, &text, err) < 0)
		return FAIL_CONTEXT(err, "'%s'", path);
	return make_file(to, path, 0644, buf_span(&text), err);
}

/* Copies only what all users may read; links as they are, never what they lead to. */
static int copy_tree(int from, int to, const char *path, unsigned depth, struct error *err)
{
	struct stat status;

	if (fstatat(from, path, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : FAIL_ERRNO(err, "look at '%s'", path);
	if (S_ISLNK(status.st_mode))
		return copy_link(from, to, path, err);
	if (!(status.st_mode & S_IROTH))
		return 0;
	if (S_ISREG(status.st_mode))
		return status.st_size > COPY_MAX ? 0 : copy_file(from, to, path, err);
	if (!S_ISDIR(status.st_mode) || !(status.st_mode & S_IXOTH) || depth > TREE_DEPTH_MAX)
		return 0;
	if (mkdirat(to, path, 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make '%s'", path);
	return copy_entries(from, to, path, depth, err);
}

static int fill_host(struct error *err)
{
	const int root = TASK_INPUT_FD;
	AUTO_CLOSE int from = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (from < 0)
		return FAIL_ERRNO(err, "open '/'");
	if (make_folders(root, host_folders, COUNT_OF(host_folders), err) < 0 ||
	    make_links(root, host_links, COUNT_OF(host_links), err) < 0)
		return -1;
	for (unsigned i = 0; i < COUNT_OF(host_files); i++)
		if (make_file(root, host_files[i].path, host_files[i].mode,
		              span_of(host_files[i].text), err) < 0)
			return -1;
	for (unsigned i = 0; i < COUNT_OF(host_copies); i++)
		if (copy_tree(from, root, host_copies[i], 0, err) < 0)
			return -1;
	return 0;
}

int task_fill(char **words, UNUSED struct task_report *report, struct error *err)
{
	static const struct {
		const char *name;
		int (*fill)(struct error *err);
	} fills[] = {{"dev", fill_dev}, {"kvm", fill_kvm}, {"sys", fill_sys}, {"host", fill_host}};

	for (unsigned i = 0; i < COUNT_OF(fills); i++)
		if (strcmp(fills[i].name, words[0]) == 0)
			return fills[i].fill(err);
	return FAIL(err, ERROR_INVALID, "unknown file system '%s'", words[0]);
}
