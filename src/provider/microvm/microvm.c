/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/microvm/microvm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "provider/agent_links.h"
#include "provider/agent_stop.h"
#include "provider/compute.h"
#include "provider/entries.h"
#include "provider/microvm/accelerator.h"
#include "provider/microvm/image.h"
#include "provider/microvm/kept.h"
#include "provider/microvm/machine.h"
#include "provider/microvm/memory.h"
#include "provider/native/broker_provider.h"
#include "provider/reports.h"
#include "wire/agent.h"

#define SPARE_MEMORY_MB 256 /* of QEMU itself and of its translated code */
#define SPARE_DISK_MB 64    /* of what describes the disk */
#define SPARE_PIDS 64       /* threads of QEMU */
#define CLEAN_UP_MS 10000
#define STOP_SPARE_MS 3000 /* for the kernel of the machine to end */
#define STOP_LOOK_MS 20

static struct provider *shells_of(struct provider *p)
{
	return as_microvm(p)->shells;
}

static int refuse_ability(enum provider_ability ability, struct error *err)
{
	return FAIL(err, ERROR_UNSUPPORTED, "provider 'microvm' cannot do this: %s",
	            provider_ability_name(ability));
}

static int check_spec(const struct sandbox_spec *spec, struct error *err)
{
	if (spec->mount_count > 0)
		return refuse_ability(PROVIDER_CAN_VOLUME, err);
	if (spec->review)
		return refuse_ability(PROVIDER_CAN_REVIEW, err);
	if (strcmp(spec->template_dir, "host") == 0)
		return FAIL(
		        err, ERROR_UNSUPPORTED,
		        "provider 'microvm' needs a template with files of its own, not 'host'");
	return 0;
}

struct sandbox_spec microvm_shell_of(const struct sandbox_spec *spec, bool has_kvm)
{
	struct sandbox_spec shell = *spec;

	shell.template_dir = "host";
	shell.privileges = false;
	shell.warm = NULL;
	shell.has_kvm = has_kvm;
	shell.resources.memory_mb += SPARE_MEMORY_MB;
	/* Memory that goes to the disk while older memory from there is still mapped. */
	shell.resources.disk_mb += SPARE_DISK_MB + 2 * spec->resources.memory_mb;
	shell.resources.pids += SPARE_PIDS;
	return shell;
}

static struct provider_created created_of(const struct sandbox_spec *spec, int64_t began_ns)
{
	return (struct provider_created){.effective = spec->resources,
	                                 .took_us = (clock_monotonic_ns() - began_ns) / 1000};
}

static int microvm_destroy(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	agent_links_drop(as_microvm(p)->links, id);
	if (broker_provider_destroy(shells_of(p), id, deadline, err) < 0)
		return -1;
	return kept_forget(as_microvm(p), id, err);
}

static int start_from_image(struct provider *p, const struct sandbox_spec *spec,
                            const struct microvm_image *image, int64_t deadline, struct error *err)
{
	const struct machine_start start = {.spec = spec,
	                                    .mode = image->has_memory ? MACHINE_RESTORE
	                                                              : MACHINE_BOOT,
	                                    .has_kvm = image->has_kvm,
	                                    .is_new = true,
	                                    .key = image->key,
	                                    .deadline = deadline};
	struct sandbox_spec shell = microvm_shell_of(spec, image->has_kvm);
	struct provider_created ignored;

	shell.snapshot = image->id;
	if (broker_provider_create(shells_of(p), &shell, deadline, &ignored, err) < 0)
		return -1;
	if (microvm_machine_start(p, &start, err) == 0)
		return 0;
	(void)microvm_destroy(p, spec->id, deadline_after(CLEAN_UP_MS), &(struct error){0});
	return -1;
}

/* An image that does not work, or was removed meanwhile, is made again, once. */
static int create_machine(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                          struct error *err)
{
	struct microvm_images *images = as_microvm(p)->images;
	struct microvm_image image;

	if (microvm_image_get(images, spec, deadline, &image, err) < 0)
		return -1;
	if (start_from_image(p, spec, &image, deadline, err) == 0)
		return 0;
	if (err->code != ERROR_SYSTEM && err->code != ERROR_NOT_FOUND)
		return -1;
	log_warning("an image of virtual machines does not work and is made again",
	            TEXT("image", image.id), FAILURE(err));
	microvm_image_drop(images, image.id);
	error_clear(err);
	if (microvm_image_get(images, spec, deadline, &image, err) < 0)
		return -1;
	return start_from_image(p, spec, &image, deadline, err);
}

static int create_from_snapshot(struct provider *p, const struct sandbox_spec *spec,
                                int64_t deadline, bool *ret_continues, struct error *err)
{
	if (memory_start_snapshot(p, spec, deadline, ret_continues, err) == 0)
		return 0;
	(void)microvm_destroy(p, spec->id, deadline_after(CLEAN_UP_MS), &(struct error){0});
	return -1;
}

static int microvm_create(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                          struct provider_created *ret, struct error *err)
{
	int64_t began_ns = clock_monotonic_ns();
	bool continues = false;

	if (check_spec(spec, err) < 0)
		return -1;
	if (spec->snapshot ? create_from_snapshot(p, spec, deadline, &continues, err) < 0
	                   : create_machine(p, spec, deadline, err) < 0)
		return -1;
	*ret = created_of(spec, began_ns);
	ret->continues = continues;
	return 0;
}

static int microvm_start(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                         struct provider_created *ret, struct error *err)
{
	int64_t began_ns = clock_monotonic_ns();
	struct provider_stats stats;
	struct provider_created ignored;
	bool has_kvm;

	if (check_spec(spec, err) < 0 ||
	    microvm_accelerator_choose(as_microvm(p)->accelerator, &has_kvm, err) < 0)
		return -1;
	const struct sandbox_spec shell = microvm_shell_of(spec, has_kvm);
	if (broker_provider_stats(shells_of(p), spec->id, &stats, &(struct error){0}) < 0) {
		if (broker_provider_start(shells_of(p), &shell, deadline, &ignored, err) < 0)
			return -1;
		/* A boot makes the memory of an earlier moment worthless. */
		if (kept_forget(as_microvm(p), spec->id, err) < 0)
			return -1;
		const struct machine_start start = {.spec = spec,
		                                    .mode = MACHINE_BOOT,
		                                    .has_kvm = has_kvm,
		                                    .deadline = deadline};

		if (microvm_machine_start(p, &start, err) < 0) {
			(void)broker_provider_stop(shells_of(p), spec->id, 0,
			                           deadline_after(CLEAN_UP_MS), &(struct error){0});
			return -1;
		}
	}
	*ret = created_of(spec, began_ns);
	return 0;
}

/* The machine ends after its files are on its disk, and the shell with it. */
static void await_end(struct provider *p, const char *id, int64_t deadline)
{
	const struct timespec pause = {.tv_nsec = STOP_LOOK_MS * 1000000};
	struct provider_stats stats;

	while (deadline_poll_ms(deadline) > 0 &&
	       broker_provider_stats(shells_of(p), id, &stats, &(struct error){0}) == 0)
		(void)nanosleep(&pause, NULL);
}

static bool is_paused(struct provider *p, const char *id)
{
	struct provider_entry entry;

	return memory_find_shell(p, id, &entry, &(struct error){0}) == 0 && entry.paused;
}

static int microvm_stop(struct provider *p, const char *id, int64_t grace_ms, int64_t deadline,
                        struct error *err)
{
	int64_t until = deadline_after((grace_ms > 0 ? grace_ms : 0) + STOP_SPARE_MS);
	AUTO_CLOSE int agent = -1;

	broker_provider_forget(shells_of(p), id);
	agent_links_drop(as_microvm(p)->links, id);
	if (!is_paused(p, id))
		agent = agent_stop_begin(p, id, grace_ms);
	if (agent >= 0)
		await_end(p, id, until < deadline ? until : deadline);
	if (broker_provider_stop(shells_of(p), id, 0, deadline, err) < 0)
		return -1;
	return kept_forget(as_microvm(p), id, err);
}

static int microvm_pause(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	return broker_provider_pause(shells_of(p), id, deadline, err);
}

static int microvm_resume(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	return broker_provider_resume(shells_of(p), id, deadline, err);
}

static int microvm_limit(struct provider *p, const char *id,
                         const struct sandbox_resources *resources, int64_t deadline,
                         struct error *err)
{
	(void)p, (void)resources, (void)deadline;
	(void)FAIL(err, ERROR_UNSUPPORTED,
	           "provider 'microvm' cannot do this: change the limits of sandbox '%s' while it "
	           "runs",
	           id);
	return FAIL_HINT(err, "stop it, change them, and start it again");
}

static int microvm_filter(struct provider *p, const char *id, const char *egress, int64_t deadline,
                          struct error *err)
{
	return broker_provider_filter(shells_of(p), id, egress, deadline, err);
}

static int microvm_list(struct provider *p, struct arena *a, struct provider_list *ret,
                        struct error *err)
{
	return broker_provider_list(shells_of(p), a, ret, err);
}

/* What is used is that of QEMU; the limits are the machine's. */
static int microvm_stats(struct provider *p, const char *id, struct provider_stats *ret,
                         struct error *err)
{
	struct provider_stats stats;

	if (broker_provider_stats(shells_of(p), id, &stats, err) < 0)
		return -1;
	stats.memory_limit_bytes -= (uint64_t)SPARE_MEMORY_MB << 20;
	stats.disk_limit_bytes -= ((uint64_t)SPARE_DISK_MB << 20) + 2 * stats.memory_limit_bytes;
	stats.pids_limit -= SPARE_PIDS;
	*ret = stats;
	return 0;
}

static int microvm_measure(struct provider *p, enum provider_measured_kind kind, const char *id,
                           int64_t deadline, uint64_t *ret, struct error *err)
{
	return broker_provider_measure(shells_of(p), kind, id, deadline, ret, err);
}

static int microvm_health(struct provider *p, struct error *err)
{
	return broker_provider_health(shells_of(p), err);
}

static int microvm_template(struct provider *p, const struct provider_template *request,
                            int64_t deadline, struct error *err)
{
	return broker_provider_template(shells_of(p), request, deadline, err);
}

static void microvm_template_gone(struct provider *p, const char *folder)
{
	microvm_images_forget_template(as_microvm(p)->images, folder);
}

static void microvm_accelerator(struct provider *p, struct provider_accelerator *ret)
{
	microvm_accelerator_describe(as_microvm(p)->accelerator, ret);
}

static void microvm_last_calls(struct provider *p)
{
	broker_provider_last_calls(shells_of(p));
}

static void microvm_close(struct provider *p)
{
	struct microvm_provider *m = as_microvm(p);

	if (!p)
		return;
	microvm_accelerator_close(m->accelerator);
	microvm_images_free(m->images);
	kept_close(m);
	broker_provider_close(m->shells);
	agent_links_free(m->links);
	microvm_boot_done(&m->boot);
	free(m);
}

static int take_link(struct provider *p, const char *id)
{
	return agent_links_take(as_microvm(p)->links, id);
}

static void give_back_link(struct provider *p, const char *id, int fd)
{
	agent_links_give_back(as_microvm(p)->links, id, fd);
}

static int check_programs(struct error *err)
{
	static const char *const programs[][2] = {
	        {MICROVM_QEMU, "install qemu-system-x86"},
	        {"/usr/bin/qemu-img", "install qemu-utils"},
	        {"/usr/sbin/mke2fs", "install e2fsprogs"},
	};

	for (size_t i = 0; i < COUNT_OF(programs); i++)
		if (access(programs[i][0], X_OK) < 0) {
			(void)FAIL(err, ERROR_UNSUPPORTED,
			           "provider 'microvm' needs '%s', which is not there",
			           programs[i][0]);
			return FAIL_HINT(err, "%s", programs[i][1]);
		}
	return 0;
}

static int check_vmm(const struct microvm_options *options, struct error *err)
{
	if (!options->vmm || strcmp(options->vmm, "qemu") == 0)
		return 0;
	return FAIL(err, ERROR_UNSUPPORTED,
	            "microvm_vmm: provider 'microvm' cannot use '%.60s'; it can use: qemu",
	            options->vmm);
}

static int open_parts(struct microvm_provider *m, const struct provider_options *options,
                      struct error *err)
{
	if (!options->microvm)
		return FAIL(err, ERROR_INVALID, "provider 'microvm' has no options");
	return check_vmm(options->microvm, err) < 0 || check_programs(err) < 0 ||
	                       microvm_boot_load(options->microvm, &m->boot, err) < 0 ||
	                       broker_provider_open(options, &provider_native, BROKER_NATIVE,
	                                            &m->shells, err) < 0
	               ? -1
	               : 0;
}

static int microvm_open(const struct provider_options *options, struct provider **ret,
                        struct error *err)
{
	struct microvm_provider *m = memory_new(sizeof(*m));

	m->base.ops = &provider_microvm;
	m->links = agent_links_new("");
	m->kept_fd = -1;
	m->data_dir = options->data_dir;
	m->images = microvm_images_new(&m->base);
	if (open_parts(m, options, err) < 0 || microvm_images_clean_up(m->images, err) < 0 ||
	    kept_recover(m, err) < 0 ||
	    microvm_accelerator_open(&m->base, options->microvm, &m->accelerator, err) < 0) {
		microvm_close(&m->base);
		return -1;
	}
	*ret = &m->base;
	return 0;
}

static const struct compute_ops microvm_compute = {
        .connect = microvm_connect,
        .carries_dials = true,
        .take = take_link,
        .give_back = give_back_link,
};

static const struct report_ops microvm_reports = {.accelerator = microvm_accelerator};

const struct provider_ops provider_microvm = {
        .name = "microvm",
        .isolation = "microvm",
        .place = "broker",
        .abilities = PROVIDER_CAN_STOP | PROVIDER_CAN_EXEC | PROVIDER_CAN_PTY | PROVIDER_CAN_FILES |
                     PROVIDER_CAN_STATS | PROVIDER_CAN_BLOCK_NETWORK | PROVIDER_CAN_LIMIT |
                     PROVIDER_CAN_LIMIT_DISK | PROVIDER_CAN_ISOLATE | PROVIDER_SURVIVES |
                     PROVIDER_CAN_TEMPLATE | PROVIDER_CAN_PAUSE | PROVIDER_CAN_MEASURE |
                     PROVIDER_CAN_FILTER | PROVIDER_CAN_LEAVE_BY | PROVIDER_CAN_DIAL |
                     PROVIDER_CAN_SNAPSHOT | PROVIDER_CAN_KEEP_MEMORY | PROVIDER_CAN_CUT,
        .open = microvm_open,
        .close = microvm_close,
        .last_calls = microvm_last_calls,
        .create = microvm_create,
        .destroy = microvm_destroy,
        .stop = microvm_stop,
        .start = microvm_start,
        .pause = microvm_pause,
        .resume = microvm_resume,
        .limit = microvm_limit,
        .filter = microvm_filter,
        .list = microvm_list,
        .stats = microvm_stats,
        .measure = microvm_measure,
        .health = microvm_health,
        .template_make = microvm_template,
        .template_gone = microvm_template_gone,
        .reports = &microvm_reports,
        .snapshots = &microvm_snapshots,
        .memory = &microvm_memory,
        .compute = &microvm_compute,
};
