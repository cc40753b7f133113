/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of machines: the broker's snapshots of their shells. The processors are stopped
 * meanwhile, so that disk and memory are of one moment. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "provider/compute.h"
#include "provider/entries.h"
#include "provider/microvm/accelerator.h"
#include "provider/microvm/kept.h"
#include "provider/microvm/machine.h"
#include "provider/microvm/memory.h"
#include "provider/microvm/shell.h"
#include "provider/native/broker_provider.h"
#include "provider/snapshots.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define UNDO_MS 30000
#define METHOD "memory"

static struct provider *shells_of(struct provider *p)
{
	return as_microvm(p)->shells;
}

/* *ret_running: its processors run. */
static int check_state(struct provider *p, const struct provider_snapshot *request,
                       bool *ret_running, struct error *err)
{
	struct provider_entry found;

	if (memory_find_shell(p, request->sandbox, &found, err) < 0)
		return -1;
	*ret_running = found.running && !found.paused;
	if (request->memory && !*ret_running)
		return FAIL(err, ERROR_CONFLICT,
		            "only the memory of a started sandbox can be in a snapshot");
	return 0;
}

static int stop_processors(struct provider *p, const struct provider_snapshot *request,
                           const char *name, int64_t deadline, struct error *err)
{
	static const char *const stop[] = {"stop", NULL};
	char folder[MEMORY_FOLDER_SIZE];
	const char *const save[] = {"save", folder, NULL};

	memory_folder(name, folder);
	return microvm_control(p, request->sandbox, request->memory ? save : stop, deadline, err);
}

static int take_snapshot(struct provider *p, const struct provider_snapshot *request,
                         int64_t deadline, struct provider_snapshot_made *ret, struct error *err)
{
	struct microvm_kept kept = {.is_ready = false};
	int64_t began_us = clock_monotonic_ns() / 1000;
	struct error second = {0};
	bool runs;
	int status;

	if (check_state(p, request, &runs, err) < 0)
		return -1;
	if (!runs)
		return broker_snapshots.take(shells_of(p), request, deadline, ret, err);
	(void)snprintf(kept.name, sizeof(kept.name), "%s", request->snapshot);
	microvm_sync_files(p, request->sandbox, deadline);
	if (kept_note(as_microvm(p), request->sandbox, &kept, err) < 0)
		return -1;
	fault_point("api", "memory-noted");
	status =
	        stop_processors(p, request, kept.name, deadline, err) < 0 ||
	                        broker_snapshots.take(shells_of(p), request, deadline, ret, err) < 0
	                ? -1
	                : 0;
	fault_point("api", "memory-taken");
	if (memory_continue(p, request->sandbox, kept.name, deadline_after(UNDO_MS), &second) < 0 ||
	    kept_forget(as_microvm(p), request->sandbox, &second) < 0)
		log_warning("a virtual machine is not as before its snapshot",
		            TEXT("sandbox", request->sandbox), FAILURE(&second));
	if (status < 0)
		return -1;
	ret->frozen_us = clock_monotonic_ns() / 1000 - began_us;
	if (request->memory)
		(void)snprintf(ret->method, sizeof(ret->method), METHOD);
	return 0;
}

static int restore_snapshot(struct provider *p, const char *sandbox, const char *snapshot,
                            int64_t deadline, struct error *err)
{
	if (!*snapshot)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "provider 'microvm' cannot do this: reset sandbox '%s' to the files of "
		            "its template",
		            sandbox);
	return broker_snapshots.restore(shells_of(p), sandbox, snapshot, deadline, err);
}

static int can_restore(struct provider *p, const char *sandbox, const char *snapshot,
                       int64_t deadline, struct error *err)
{
	if (!*snapshot)
		return restore_snapshot(p, sandbox, snapshot, deadline, err);
	return broker_snapshots.can_restore(shells_of(p), sandbox, snapshot, deadline, err);
}

static int remove_snapshot(struct provider *p, const char *snapshot, int64_t deadline,
                           struct error *err)
{
	return broker_snapshots.remove(shells_of(p), snapshot, deadline, err);
}

static int list_snapshots(struct provider *p, struct arena *a, struct provider_list *ret,
                          struct error *err)
{
	return broker_snapshots.list(shells_of(p), a, ret, err);
}

static int check_memory(struct provider *p, int64_t deadline, struct error *err)
{
	(void)p, (void)deadline, (void)err;
	return 0;
}

const struct snapshot_ops microvm_snapshots = {
        .take = take_snapshot,
        .restore = restore_snapshot,
        .can_restore = can_restore,
        .remove = remove_snapshot,
        .list = list_snapshots,
        .memory = check_memory,
};

static int find_file(struct provider *p, const char *id, const char *path, int64_t deadline,
                     bool *ret_found, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct agent_path message = {.path = path};
	const struct compute_file request = {
	        .type = AGENT_STAT, .path = &message, .deadline = deadline};
	struct agent_file file;

	*ret_found = compute_file(shells_of(p), id, &arena, &request, &file, err) == 0;
	if (*ret_found)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

int memory_start_snapshot(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                          bool *ret_continues, struct error *err)
{
	struct provider_created ignored;
	char folder[MEMORY_FOLDER_SIZE], state[160];
	bool has_kvm, is_machine, has_memory = false;

	if (microvm_accelerator_choose(as_microvm(p)->accelerator, &has_kvm, err) < 0)
		return -1;
	struct sandbox_spec shell = microvm_shell_of(spec, has_kvm);
	shell.snapshot = spec->snapshot;
	memory_folder(spec->snapshot, folder);
	(void)snprintf(state, sizeof(state), "%s/state", folder);
	if (broker_provider_create(shells_of(p), &shell, deadline, &ignored, err) < 0)
		return -1;
	if (find_file(p, spec->id, MICROVM_DISK, deadline, &is_machine, err) < 0 ||
	    find_file(p, spec->id, state, deadline, &has_memory, err) < 0)
		return -1;
	if (!is_machine)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "snapshot '%s' is of no virtual machine: provider 'microvm' cannot "
		            "use it",
		            spec->snapshot);
	struct machine_start start = {.spec = spec,
	                              .mode = has_memory ? MACHINE_RESTORE : MACHINE_BOOT,
	                              .has_kvm = has_kvm,
	                              .is_new = true,
	                              .saved = has_memory ? folder : NULL,
	                              .deadline = deadline};
	*ret_continues = has_memory;
	if (has_memory && microvm_saved_check(p, &start, err) < 0)
		return -1;
	return microvm_machine_start(p, &start, err);
}
