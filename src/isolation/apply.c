/* SPDX-License-Identifier: Apache-2.0 */
#include "isolation/apply.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "isolation/layer.h"
#include "isolation/plan.h"

struct applier {
	const int *fds;
	unsigned fd_count;
	int *prepared;
};

static int attach_mount(int mount, const char *target, struct error *err)
{
	if (move_mount(mount, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return FAIL_ERRNO(err, "attach a mount at '%s'", target);
	return 0;
}

static int find_descriptor(const struct applier *a, const struct setup_step *step, int *ret,
                           struct error *err)
{
	if (step->fd < a->fd_count)
		*ret = a->fds[step->fd];
	else if (step->fd == ISOLATION_FD_NONE && step->value < ISOLATION_PREPARED_MAX)
		*ret = a->prepared[step->value];
	else
		return FAIL(err, ERROR_INVALID, "step names descriptor %u of %u", step->fd,
		            a->fd_count);
	return 0;
}

static int run_prepare(struct applier *a, const struct setup_step *step, struct error *err)
{
	if (step->value >= ISOLATION_PREPARED_MAX)
		return FAIL(err, ERROR_INVALID, "step prepares mount %llu of %d",
		            (unsigned long long)step->value, ISOLATION_PREPARED_MAX);
	return layer_make(step->type, step->options, step->flags, &a->prepared[step->value], err);
}

/* Mounts the new root over the old one, enters it and swaps the two, which needs no folder for the
 * old one. The old root, on top now, is then unmounted with all mounts below it. */
static int run_root(struct applier *a, const struct setup_step *step, struct error *err)
{
	int root;

	if (find_descriptor(a, step, &root, err) < 0)
		return -1;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return FAIL_ERRNO(err, "make the mounts private");
	if (attach_mount(root, "/", err) < 0)
		return -1;
	if (fchdir(root) < 0)
		return FAIL_ERRNO(err, "enter the new root");
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return FAIL_ERRNO(err, "swap the roots");
	if (umount2(".", MNT_DETACH) < 0)
		return FAIL_ERRNO(err, "drop the old root");
	if (chdir("/") < 0)
		return FAIL_ERRNO(err, "enter the new root");
	return 0;
}

static int make_folder(const char *path, const struct setup_step *step, struct error *err)
{
	if (mkdir(path, step->flags) < 0)
		return errno == EEXIST ? 0 : FAIL_ERRNO(err, "make the folder '%s'", path);
	if (step->value && lchown(path, (uid_t)step->value, (gid_t)step->value) < 0)
		return FAIL_ERRNO(err, "give away the folder '%s'", path);
	return 0;
}

static int run_folder(UNUSED struct applier *a, const struct setup_step *step, struct error *err)
{
	char path[STEP_TEXT_MAX + 1];

	/* Most exist already. */
	if (access(step->target, F_OK) == 0)
		return 0;
	(void)snprintf(path, sizeof(path), "%s", step->target);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (make_folder(path, step, err) < 0)
			return -1;
		*slash = '/';
	}
	return make_folder(path, step, err);
}

/* A mount needs a file as its mount point; a template's own may be a dangling link. */
static int make_mount_file(const char *target, struct error *err)
{
	struct stat status;
	int fd;

	if (lstat(target, &status) == 0 && S_ISREG(status.st_mode))
		return 0;
	if (unlink(target) < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "replace '%s'", target);
	fd = open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return FAIL_ERRNO(err, "make the file '%s'", target);
	(void)close(fd);
	return 0;
}

static int run_file(UNUSED struct applier *a, const struct setup_step *step, struct error *err)
{
	struct layer_options options = {.map_fd = -1};
	const char *name = strrchr(step->target, '/');
	AUTO_CLOSE int fd = -1, mount = -1;
	char path[STEP_TEXT_MAX + sizeof(ISOLATION_FILES)];

	if (!name)
		return FAIL(err, ERROR_INVALID, "'%s' is not absolute", step->target);
	if (mkdir(ISOLATION_FILES, 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the folder '" ISOLATION_FILES "'");
	(void)snprintf(path, sizeof(path), ISOLATION_FILES "%s", name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, step->flags);
	if (fd < 0)
		return FAIL_ERRNO(err, "make the file '%s'", path);
	if (fd_write_all(fd, step->source, strlen(step->source), err) < 0 ||
	    make_mount_file(step->target, err) < 0 ||
	    layer_open(AT_FDCWD, path, &options, &mount, err) < 0)
		return -1;
	return attach_mount(mount, step->target, err);
}

static int run_attach(struct applier *a, const struct setup_step *step, struct error *err)
{
	int fd;

	if (find_descriptor(a, step, &fd, err) < 0)
		return -1;
	return attach_mount(fd, step->target, err);
}

static int run_mount(UNUSED struct applier *a, const struct setup_step *step, struct error *err)
{
	AUTO_CLOSE int fd = -1;

	if (layer_make(step->type, step->options, step->flags, &fd, err) < 0)
		return -1;
	return attach_mount(fd, step->target, err);
}

static int run_read_only(UNUSED struct applier *a, const struct setup_step *step, struct error *err)
{
	struct layer_options options = {.attributes = MOUNT_ATTR_RDONLY, .map_fd = -1};
	AUTO_CLOSE int fd = -1;

	if (layer_open(AT_FDCWD, step->target, &options, &fd, err) < 0)
		return -1;
	return attach_mount(fd, step->target, err);
}

/* The clone has the attributes of the mount that `source` lies on, and this takes one call. */
static int cover_file(const char *source, const char *target, struct error *err)
{
	if (mount(source, target, NULL, MS_BIND, NULL) < 0)
		return FAIL_ERRNO(err, "cover '%s' with '%s'", target, source);
	return 0;
}

static int mask_path(const char *source, const char *target, bool is_folder, struct error *err)
{
	char path[STEP_TEXT_MAX + 8];

	(void)snprintf(path, sizeof(path), "%s/%s", source, is_folder ? "folder" : "file");
	return cover_file(path, target, err);
}

static int run_mask(UNUSED struct applier *a, const struct setup_step *step, struct error *err)
{
	struct stat status;

	if (lstat(step->target, &status) < 0)
		return FAIL_ERRNO(err, "look at '%s'", step->target);
	return mask_path(step->source, step->target, S_ISDIR(status.st_mode), err);
}

static int run_cover(UNUSED struct applier *a, const struct setup_step *step, struct error *err)
{
	return cover_file(step->source, step->target, err);
}

/* Skips folders of processes, and links, whose targets are masked or shown themselves. */
static bool is_shown(const struct dirent *entry, const char *names)
{
	struct span rest = span_of(names), name;

	if (entry->d_type == DT_LNK || entry->d_name[0] == '.' ||
	    (entry->d_name[0] >= '0' && entry->d_name[0] <= '9'))
		return true;
	while (span_split(&rest, ' ', &name))
		if (span_equals_text(name, entry->d_name))
			return true;
	return span_equals_text(name, entry->d_name);
}

/* Files that only the host's root may read are unreadable inside, because their owner has no id
 * there. */
static bool is_readable(const char *path)
{
	struct stat status;

	return lstat(path, &status) < 0 || (status.st_mode & S_IROTH);
}

static int run_show(UNUSED struct applier *a, const struct setup_step *step, struct error *err)
{
	char path[STEP_TEXT_MAX + NAME_MAX + 2];
	struct dirent *entry;
	int status = 0;
	DIR *folder;

	folder = opendir(step->target);
	if (!folder)
		return FAIL_ERRNO(err, "list '%s'", step->target);
	while (status == 0 && (entry = readdir(folder))) {
		if (is_shown(entry, step->options))
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", step->target, entry->d_name);
		if (is_readable(path))
			status = mask_path(step->source, path, entry->d_type == DT_DIR, err);
	}
	(void)closedir(folder);
	return status;
}

static int run_text(UNUSED struct applier *a, const struct setup_step *step, struct error *err)
{
	AUTO_CLOSE int fd = open(step->target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	                         step->flags);

	if (fd < 0)
		return FAIL_ERRNO(err, "make the file '%s'", step->target);
	return fd_write_all(fd, step->source, strlen(step->source), err);
}

static int run_link(UNUSED struct applier *a, const struct setup_step *step, struct error *err)
{
	return link(step->source, step->target) < 0
	               ? FAIL_ERRNO(err, "make the second name '%s'", step->target)
	               : 0;
}

static int run_keep(struct applier *a, const struct setup_step *step, struct error *err)
{
	struct layer_options options = {.attributes = step->flags, .map_fd = -1, .recursive = true};

	if (step->value >= ISOLATION_PREPARED_MAX)
		return FAIL(err, ERROR_INVALID, "step keeps mount %llu of %d",
		            (unsigned long long)step->value, ISOLATION_PREPARED_MAX);
	fd_forget(&a->prepared[step->value]);
	return layer_open(AT_FDCWD, step->target, &options, &a->prepared[step->value], err);
}

static int run_poke(UNUSED struct applier *a, const struct setup_step *step, struct error *err)
{
	return file_poke(AT_FDCWD, step->target, step->source, err);
}

static int run_hostname(UNUSED struct applier *a, const struct setup_step *step, struct error *err)
{
	if (sethostname(step->source, strlen(step->source)) < 0)
		return FAIL_ERRNO(err, "set the host name '%s'", step->source);
	return 0;
}

static int run_rlimit(UNUSED struct applier *a, const struct setup_step *step, struct error *err)
{
	struct rlimit limit;
	rlim_t value = step->value;

	if (getrlimit((int)step->flags, &limit) < 0)
		return FAIL_ERRNO(err, "read the limit of resource %u", step->flags);
	/* Raising takes a capability over the host. */
	if (value > limit.rlim_max)
		value = limit.rlim_max;
	limit = (struct rlimit){value, value};
	if (setrlimit((int)step->flags, &limit) < 0)
		return FAIL_ERRNO(err, "limit resource %u", step->flags);
	return 0;
}

static int run_keyring(UNUSED struct applier *a, UNUSED const struct setup_step *step,
                       struct error *err)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0)
		return FAIL_ERRNO(err, "join a new session keyring");
	return 0;
}

static int run_no_privileges(UNUSED struct applier *a, UNUSED const struct setup_step *step,
                             struct error *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return FAIL_ERRNO(err, "set no_new_privs");
	return 0;
}

static int run_seccomp(UNUSED struct applier *a, UNUSED const struct setup_step *step,
                       struct error *err)
{
	return seccomp_load(err);
}

static int run_capabilities(UNUSED struct applier *a, UNUSED const struct setup_step *step,
                            struct error *err)
{
	uint64_t kept = isolation_capabilities();
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
	        {.effective = (uint32_t)kept, .permitted = (uint32_t)kept},
	        {.effective = (uint32_t)(kept >> 32), .permitted = (uint32_t)(kept >> 32)},
	};

	/* Up to the first capability that this kernel does not know. */
	for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		if (!(kept >> i & 1) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
			return FAIL_ERRNO(err, "drop capability %d for good", i);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return FAIL_ERRNO(err, "drop the ambient capabilities");
	if (syscall(SYS_capset, &head, data) < 0)
		return FAIL_ERRNO(err, "drop capabilities");
	/* No process inside may read the memory, descriptors or root of process 1. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return FAIL_ERRNO(err, "become undumpable");
	return 0;
}

/* The agent does this after the plan (agent/enclosure.h). */
static int run_enclose(UNUSED struct applier *a, UNUSED const struct setup_step *step,
                       UNUSED struct error *err)
{
	return 0;
}

typedef int run_step(struct applier *a, const struct setup_step *step, struct error *err);

static run_step *const runs[STEP_KIND_COUNT] = {
        [STEP_PREPARE] = run_prepare,    [STEP_ROOT] = run_root,
        [STEP_FOLDER] = run_folder,      [STEP_FILE] = run_file,
        [STEP_ATTACH] = run_attach,      [STEP_MOUNT] = run_mount,
        [STEP_READONLY] = run_read_only, [STEP_MASK] = run_mask,
        [STEP_COVER] = run_cover,        [STEP_SHOW] = run_show,
        [STEP_TEXT] = run_text,          [STEP_LINK] = run_link,
        [STEP_KEEP] = run_keep,          [STEP_POKE] = run_poke,
        [STEP_HOSTNAME] = run_hostname,  [STEP_RLIMIT] = run_rlimit,
        [STEP_KEYRING] = run_keyring,    [STEP_NO_PRIVILEGES] = run_no_privileges,
        [STEP_SECCOMP] = run_seccomp,    [STEP_CAPABILITIES] = run_capabilities,
        [STEP_ENCLOSE] = run_enclose,
};

static bool may_lack(const struct setup_step *step, const struct error *err)
{
	return step->optional == 2 ||
	       (step->optional && (err->sys_errno == ENOENT || err->sys_errno == ENOSYS ||
	                           err->sys_errno == EOPNOTSUPP));
}

static int apply_steps(struct applier *a, const struct setup_plan *plan, struct error *err)
{
	for (unsigned i = 0; i < plan->count; i++) {
		const struct setup_step *step = &plan->steps[i];

		if (step->kind >= STEP_KIND_COUNT || !runs[step->kind])
			return FAIL(err, ERROR_INVALID, "step %u is of the unknown kind %u", i + 1,
			            step->kind);
		if (runs[step->kind](a, step, err) == 0)
			continue;
		if (!may_lack(step, err))
			return FAIL_CONTEXT(err, "set-up step %u", i + 1);
		error_clear(err);
	}
	return 0;
}

int isolation_apply(const struct setup_plan *plan, const int *fds, unsigned fd_count,
                    struct isolation_prepared *prepared, struct error *err)
{
	struct applier a = {.fds = fds, .fd_count = fd_count, .prepared = prepared->fds};
	mode_t old_mask = umask(0);
	int status = apply_steps(&a, plan, err);

	(void)umask(old_mask);
	for (unsigned i = 0; i < fd_count; i++)
		(void)close(fds[i]);
	return status;
}

void isolation_prepared_close(struct isolation_prepared *prepared)
{
	for (unsigned i = 0; i < ISOLATION_PREPARED_MAX; i++)
		fd_forget(&prepared->fds[i]);
}
