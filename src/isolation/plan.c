/* SPDX-License-Identifier: Apache-2.0 */
#include "isolation/plan.h"

#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "base/bytes.h"
#include "isolation/enclosure_config.h"
#include "isolation/identity_texts.h"
#include "isolation/plan_kernel.h"

#define USER_ID 1000
#define NOFILE_MAX 16384
#define MEMLOCK_MAX (8 * 1024 * 1024)
#define SAFE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define SAFE_DATA (SAFE | MOUNT_ATTR_NOEXEC)
struct planner {
	struct setup_plan *plan;
	const struct isolation_spec *spec;
	bool failed; /* sticky: more steps or descriptors than fit */
};

static bool is_enclosed(const struct isolation_spec *s)
{
	return s->runsc_fd != ISOLATION_FD_NONE;
}

static void add_step(struct planner *p, struct setup_step step)
{
	if (p->plan->count == PLAN_STEPS_MAX) {
		p->failed = true;
		return;
	}
	if (step.kind != STEP_ATTACH && step.kind != STEP_ROOT)
		step.fd = ISOLATION_FD_NONE;
	p->plan->steps[p->plan->count++] = step;
}

/* The plan's number of a descriptor of the spec. */
static uint32_t number_of(struct planner *p, uint32_t fd)
{
	for (unsigned i = 0; i < p->plan->fd_count; i++)
		if (p->plan->fds[i] == fd)
			return i;
	if (p->plan->fd_count == PLAN_FDS_MAX) {
		p->failed = true;
		return ISOLATION_FD_NONE;
	}
	p->plan->fds[p->plan->fd_count] = fd;
	return p->plan->fd_count++;
}

static void add_folder(struct planner *p, const char *target, uint32_t mode, uint64_t owner)
{
	add_step(p, (struct setup_step){
	                    .kind = STEP_FOLDER, .target = target, .flags = mode, .value = owner});
}

static void add_attached(struct planner *p, uint32_t fd, const char *target)
{
	if (fd == ISOLATION_FD_NONE)
		return;
	add_folder(p, target, 0755, 0);
	add_step(p, (struct setup_step){
	                    .kind = STEP_ATTACH, .fd = number_of(p, fd), .target = target});
}

static void add_prepared(struct planner *p, uint64_t number, const char *target)
{
	add_step(p, (struct setup_step){.kind = STEP_ATTACH,
	                                .fd = ISOLATION_FD_NONE,
	                                .value = number,
	                                .target = target});
}

/* Memory filesystems count to the sandbox's memory; their own size is a second limit. */
static void add_memory(struct planner *p, const char *target, unsigned mode, uint64_t attributes)
{
	const struct isolation_spec *s = p->spec;
	uint64_t bytes = s->memory_bytes ? s->memory_bytes / 2 : UINT64_C(64) << 20;

	add_folder(p, target, 0755, 0);
	add_step(p, (struct setup_step){.kind = STEP_MOUNT,
	                                .target = target,
	                                .type = "tmpfs",
	                                .options = arena_format(p->plan->arena,
	                                                        "mode=%o,size=%llu,nr_inodes=%llu",
	                                                        mode, (unsigned long long)bytes,
	                                                        (unsigned long long)(bytes / 4096)),
	                                .flags = (uint32_t)attributes});
}

static void add_host_parts(struct planner *p)
{
	const struct isolation_spec *s = p->spec;

	if (!s->host_template)
		return;
	add_attached(p, s->usr_fd, "/usr");
	add_attached(p, s->sudo_lib_fd, s->sudo_lib_dir);
	if (s->sudo_fd != ISOLATION_FD_NONE)
		add_step(p, (struct setup_step){.kind = STEP_ATTACH,
		                                .fd = number_of(p, s->sudo_fd),
		                                .target = "/usr/bin/sudo"});
}

static void add_filesystems(struct planner *p)
{
	const struct isolation_spec *s = p->spec;

	add_folder(p, "/proc", 0555, 0);
	add_prepared(p, PREPARED_PROC, "/proc");
	add_attached(p, s->dev_fd, "/dev");
	add_step(p, (struct setup_step){.kind = STEP_MOUNT,
	                                .target = "/dev/pts",
	                                .type = "devpts",
	                                .options = "ptmxmode=0666,mode=0620,gid=5",
	                                .flags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC});
	add_attached(p, s->sys_fd, "/sys");
	add_prepared(p, PREPARED_CPU, "/sys/devices/system/cpu");
	add_prepared(p, PREPARED_CGROUP, "/sys/fs/cgroup");
	add_host_parts(p);
	add_memory(p, "/dev/shm", 01777, SAFE_DATA);
	add_memory(p, "/run", 0755, SAFE);
	add_memory(p, "/tmp", 01777, SAFE);
}

/* Comes before the files of this start, which lie above it whatever the paths mean inside. */
static void add_volumes(struct planner *p)
{
	const struct isolation_spec *s = p->spec;

	for (unsigned i = 0; i < s->volume_count; i++)
		add_attached(p, s->volume_fds[i], s->volume_paths[i]);
}

/* Whether the project's folder is on a volume, where it may not exist yet. */
static bool project_is_on_volume(const struct isolation_spec *s)
{
	for (unsigned i = 0; i < s->volume_count; i++) {
		size_t size = strlen(s->volume_paths[i]);

		if (strncmp(s->project_dir, s->volume_paths[i], size) == 0 &&
		    s->project_dir[size] == '/')
			return true;
	}
	return false;
}

static void add_file(struct planner *p, const char *target, const char *text)
{
	add_step(p, (struct setup_step){
	                    .kind = STEP_FILE, .target = target, .source = text, .flags = 0644});
}

/* Comes after /run, in whose memory these files lie. They belong to this start only and cost no
 * inode of the disk, which would be the most expensive part of a start. */
static void add_files(struct planner *p)
{
	const struct isolation_spec *s = p->spec;
	struct arena *a = p->plan->arena;
	struct identity_file files[ISOLATION_IDENTITY_FILES];

	add_folder(p, "/etc", 0755, 0);
	identity_texts(a, &(struct isolation_identity){s->hostname, s->machine_id}, files);
	for (unsigned i = 0; i < ISOLATION_IDENTITY_FILES; i++)
		add_file(p, files[i].target, files[i].text);
	add_file(p, "/etc/resolv.conf", s->resolv_conf);
	if (!s->started_before || project_is_on_volume(s))
		add_folder(p, s->project_dir, 0755, USER_ID);
	add_step(p, (struct setup_step){.kind = STEP_HOSTNAME, .source = s->hostname});
}

static void add_limits(struct planner *p)
{
	const struct isolation_spec *s = p->spec;
	const struct {
		uint32_t resource;
		uint64_t value;
		bool wanted;
	} rows[] = {
	        {RLIMIT_NOFILE, NOFILE_MAX, true},
	        {RLIMIT_CORE, 0, true},
	        {RLIMIT_MEMLOCK, MEMLOCK_MAX, true},
	        {RLIMIT_RTPRIO, 0, true},
	        {RLIMIT_NICE, 0, true},
	        /* In gVisor it would limit the file that holds the sandbox's memory. */
	        {RLIMIT_FSIZE, s->disk_bytes,
	         s->disk_is_advisory && s->disk_bytes > 0 && !is_enclosed(s)},
	};

	for (unsigned i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].wanted)
			add_step(p, (struct setup_step){.kind = STEP_RLIMIT,
			                                .flags = rows[i].resource,
			                                .value = rows[i].value});
}

/* gVisor has its own /proc, /dev and /sys; the rest is as without gVisor. */
static void add_inner_filesystems(struct planner *p)
{
	add_folder(p, "/proc", 0555, 0);
	add_folder(p, "/dev", 0755, 0);
	add_folder(p, "/sys", 0755, 0);
	add_host_parts(p);
	add_memory(p, "/run", 0755, SAFE);
	add_memory(p, "/tmp", 01777, SAFE);
}

static void add_mount_file(struct planner *p, const char *target, const char *text)
{
	add_step(p, (struct setup_step){
	                    .kind = STEP_TEXT, .target = target, .source = text, .flags = 0644});
}

/* gVisor mounts each volume by itself, so that it looks again at files that other sandboxes may
 * change, as it does not in the root. */
static void keep_volumes(struct planner *p)
{
	const struct isolation_spec *s = p->spec;

	if (s->volume_count > PREPARED_VOLUMES_MAX) {
		p->failed = true;
		return;
	}
	for (unsigned i = 0; i < s->volume_count; i++)
		add_step(p, (struct setup_step){.kind = STEP_KEEP,
		                                .target = s->volume_paths[i],
		                                .value = PREPARED_VOLUMES + i});
}

static void add_kept_volumes(struct planner *p)
{
	for (unsigned i = 0; i < p->spec->volume_count; i++) {
		const char *target = arena_format(p->plan->arena, ENCLOSURE_VOLUMES "/%u", i);

		add_folder(p, target, 0755, 0);
		add_prepared(p, PREPARED_VOLUMES + i, target);
	}
}

/* The sandbox's root becomes a folder of a small root, which has what gVisor needs and nothing of
 * the host. The kernel lets gVisor mount its own proc only while an unmasked one is visible. */
static void add_enclosure(struct planner *p)
{
	const struct isolation_spec *s = p->spec;
	struct arena *a = p->plan->arena;

	add_mount_file(p, ENCLOSURE_AGENT, "");
	add_step(p, (struct setup_step){.kind = STEP_ATTACH,
	                                .fd = number_of(p, s->agent_fd),
	                                .target = ENCLOSURE_AGENT});
	keep_volumes(p);
	add_step(p, (struct setup_step){.kind = STEP_KEEP, .target = "/", .value = PREPARED_INNER});
	add_step(p, (struct setup_step){
	                    .kind = STEP_ROOT, .fd = ISOLATION_FD_NONE, .value = PREPARED_OUTER});
	add_folder(p, "/proc", 0555, 0);
	add_prepared(p, PREPARED_WHOLE_PROC, "/proc");
	/* runsc puts its two parts into namespaces of their own; the agent forbids it afterwards.
	 */
	add_step(p, (struct setup_step){.kind = STEP_POKE,
	                                .source = ENCLOSURE_NAMESPACES,
	                                .target = ENCLOSURE_NAMESPACES_FILE,
	                                .optional = 1});
	add_attached(p, s->dev_fd, "/dev");
	add_folder(p, "/tmp", 01777, 0);
	add_folder(p, ENCLOSURE_STATE, 0700, 0);
	add_folder(p, ENCLOSURE_BUNDLE "/rootfs", 0755, 0);
	add_prepared(p, PREPARED_INNER, ENCLOSURE_BUNDLE "/rootfs");
	add_kept_volumes(p);
	add_mount_file(p, ENCLOSURE_BUNDLE "/config.json", enclosure_config(a, s));
	add_mount_file(p, ENCLOSURE_PROGRAM, "");
	add_step(p, (struct setup_step){.kind = STEP_ATTACH,
	                                .fd = number_of(p, s->runsc_fd),
	                                .target = ENCLOSURE_PROGRAM});
}

static void plan_enclosed(struct planner *p)
{
	add_step(p, (struct setup_step){.kind = STEP_PREPARE,
	                                .type = "proc",
	                                .value = PREPARED_WHOLE_PROC,
	                                .flags = SAFE_DATA});
	add_step(p, (struct setup_step){.kind = STEP_PREPARE,
	                                .type = "tmpfs",
	                                .options = "mode=0755,size=1m,nr_inodes=256",
	                                .value = PREPARED_OUTER,
	                                .flags = SAFE});
	add_step(p, (struct setup_step){.kind = STEP_ROOT, .fd = number_of(p, p->spec->root_fd)});
	add_inner_filesystems(p);
	add_volumes(p);
	add_files(p);
	add_file(p, "/etc/ld.so.preload", "");
	add_enclosure(p);
	add_limits(p);
	add_step(p, (struct setup_step){.kind = STEP_KEYRING, .optional = 1});
	add_step(p, (struct setup_step){.kind = STEP_NO_PRIVILEGES});
	add_step(p, (struct setup_step){.kind = STEP_ENCLOSE, .value = p->spec->internet});
}

static void plan_native(struct planner *p)
{
	add_step(p, (struct setup_step){.kind = STEP_ROOT, .fd = number_of(p, p->spec->root_fd)});
	add_filesystems(p);
	add_volumes(p);
	add_files(p);
	add_limits(p);
	add_step(p, (struct setup_step){.kind = STEP_KEYRING, .optional = 1});
	if (p->spec->no_privileges)
		add_step(p, (struct setup_step){.kind = STEP_NO_PRIVILEGES});
	add_step(p, (struct setup_step){.kind = STEP_SECCOMP});
	add_step(p, (struct setup_step){.kind = STEP_CAPABILITIES});
}

int isolation_plan(struct arena *a, const struct isolation_spec *spec, struct setup_plan *ret,
                   struct error *err)
{
	struct planner p = {.plan = ret, .spec = spec};

	if (spec->root_fd == ISOLATION_FD_NONE)
		return FAIL(err, ERROR_INVALID, "a plan needs a root");
	if (spec->dev_fd == ISOLATION_FD_NONE)
		return FAIL(err, ERROR_INVALID, "a plan needs devices");
	if (spec->sys_fd == ISOLATION_FD_NONE)
		return FAIL(err, ERROR_INVALID, "a plan needs what stands for /sys");
	if (spec->project_dir[0] != '/')
		return FAIL(err, ERROR_INVALID, "project folder '%s' is not absolute",
		            spec->project_dir);
	ret->count = ret->fd_count = 0;
	ret->arena = a;
	if (is_enclosed(spec))
		plan_enclosed(&p);
	else
		plan_native(&p);
	if (p.failed)
		return FAIL(err, ERROR_LIMIT, "plan has more than %d steps or %d descriptors",
		            PLAN_STEPS_MAX, PLAN_FDS_MAX);
	return 0;
}

static const char *const kind_names[STEP_KIND_COUNT] = {
        [STEP_END] = "end",           [STEP_PREPARE] = "prepare",
        [STEP_ROOT] = "root",         [STEP_FOLDER] = "folder",
        [STEP_FILE] = "file",         [STEP_ATTACH] = "attach",
        [STEP_MOUNT] = "mount",       [STEP_READONLY] = "read-only",
        [STEP_MASK] = "mask",         [STEP_POKE] = "poke",
        [STEP_HOSTNAME] = "hostname", [STEP_RLIMIT] = "rlimit",
        [STEP_KEYRING] = "keyring",   [STEP_NO_PRIVILEGES] = "no-privileges",
        [STEP_SECCOMP] = "seccomp",   [STEP_CAPABILITIES] = "capabilities",
        [STEP_COVER] = "cover",       [STEP_SHOW] = "show-only",
        [STEP_TEXT] = "text",         [STEP_LINK] = "link",
        [STEP_KEEP] = "keep",         [STEP_ENCLOSE] = "enclose",
};

/* Replaces line ends, so that the value stays a single line. */
static void print_text(struct buf *out, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	buf_addf(out, " %s=\"", key);
	for (; *text; text++) {
		if (*text == '\n')
			buf_add_text(out, "\\n");
		else if (*text == '\t')
			buf_add_text(out, "\\t");
		else
			buf_add(out, text, 1);
	}
	buf_add_text(out, "\"");
}

static void print_numbers(struct buf *out, const struct setup_step *step)
{
	if (step->fd != ISOLATION_FD_NONE)
		buf_addf(out, " fd=%u", step->fd);
	if (step->kind == STEP_RLIMIT)
		buf_addf(out, " resource=%u limit=%llu", step->flags,
		         (unsigned long long)step->value);
	else if (step->kind == STEP_FOLDER)
		buf_addf(out, " mode=%04o owner=%llu", step->flags,
		         (unsigned long long)step->value);
	else if (step->kind == STEP_MOUNT || step->kind == STEP_PREPARE)
		buf_addf(out, " attributes=0x%x", step->flags);
}

void plan_print(struct buf *out, const struct setup_plan *plan)
{
	for (unsigned i = 0; i < plan->count; i++) {
		const struct setup_step *step = &plan->steps[i];

		buf_addf(out, "%2u %-13s", i + 1, kind_names[step->kind]);
		print_text(out, "target", step->target);
		print_text(out, "type", step->type);
		print_text(out, "options", step->options);
		print_text(out, "text", step->source);
		print_numbers(out, step);
		buf_add_text(out, step->optional ? " optional\n" : "\n");
	}
}
