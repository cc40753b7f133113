/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/microvm/memory.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "provider/agent_links.h"
#include "provider/entries.h"
#include "provider/memory.h"
#include "provider/microvm/accelerator.h"
#include "provider/microvm/kept.h"
#include "provider/microvm/machine.h"
#include "provider/microvm/shell.h"
#include "provider/native/broker_provider.h"
#include "provider/snapshots.h"

#define UNDO_MS 30000

void memory_folder(const char *name, char ret[MEMORY_FOLDER_SIZE])
{
	(void)snprintf(ret, MEMORY_FOLDER_SIZE, MICROVM_KEPT "/%.40s", name);
}

static struct provider *shells_of(struct provider *p)
{
	return as_microvm(p)->shells;
}

int memory_remove(struct provider *p, const char *id, const char *name, int64_t deadline,
                  struct error *err)
{
	char folder[MEMORY_FOLDER_SIZE];
	const char *const args[] = {"/bin/rm", "-rf", folder, NULL};
	const struct shell_program program = {
	        .args = args, .doing = "remove memory of the machine", .deadline = deadline};

	memory_folder(name, folder);
	return shell_run(p, id, &program, err);
}

int memory_continue(struct provider *p, const char *id, const char *name, int64_t deadline,
                    struct error *err)
{
	static const char *const words[] = {"continue", NULL};

	if (microvm_control(p, id, words, deadline, err) < 0)
		return -1;
	return memory_remove(p, id, name, deadline, err);
}

static int save_memory(struct provider *p, const char *id, const struct microvm_kept *kept,
                       int64_t deadline, struct error *err)
{
	char folder[MEMORY_FOLDER_SIZE];
	const char *const words[] = {"save", folder, NULL};

	memory_folder(kept->name, folder);
	if (kept_note(as_microvm(p), id, kept, err) < 0)
		return -1;
	fault_point("api", "memory-noted");
	if (microvm_control(p, id, words, deadline, err) < 0)
		return -1;
	fault_point("api", "memory-saved");
	return 0;
}

/* The machine runs afterwards; a note that is left is settled at the next start of the server. */
static void undo_save(struct provider *p, const char *id, const struct microvm_kept *kept)
{
	struct error err = {0};

	if (memory_continue(p, id, kept->name, deadline_after(UNDO_MS), &err) < 0 ||
	    kept_forget(as_microvm(p), id, &err) < 0)
		log_warning("a virtual machine is not as before its memory was saved",
		            TEXT("sandbox", id), FAILURE(&err));
}

int memory_find_shell(struct provider *p, const char *id, struct provider_entry *ret,
                      struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct provider_list list;

	if (broker_provider_list(shells_of(p), &arena, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		if (strcmp(list.entries[i].id, id) == 0) {
			*ret = list.entries[i];
			return 0;
		}
	return FAIL(err, ERROR_NOT_FOUND, "there is no sandbox '%s'", id);
}

static struct microvm_kept draw_kept(void)
{
	struct microvm_kept kept = {.is_ready = false};
	struct id name = id_new();

	memcpy(kept.name, name.text, ID_SIZE);
	return kept;
}

static int keep_memory(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	struct microvm_provider *m = as_microvm(p);
	struct provider_entry entry;
	struct microvm_kept kept;

	if (kept_find(m, id, &kept) && kept.is_ready)
		return broker_provider_stop(m->shells, id, 0, deadline, err);
	if (memory_find_shell(p, id, &entry, err) < 0 ||
	    (entry.paused && broker_provider_resume(m->shells, id, deadline, err) < 0))
		return -1;
	kept = draw_kept();
	/* A stop in place of a resume must find them. */
	microvm_sync_files(p, id, deadline);
	agent_links_drop(m->links, id);
	if (save_memory(p, id, &kept, deadline, err) < 0) {
		undo_save(p, id, &kept);
		return -1;
	}
	kept.is_ready = true;
	if (kept_note(m, id, &kept, err) < 0) {
		undo_save(p, id, &kept);
		return -1;
	}
	fault_point("api", "memory-kept");
	broker_provider_forget(m->shells, id);
	return broker_provider_stop(m->shells, id, 0, deadline, err);
}

/* From the state that is loaded to processors that run, which makes the memory on disk worthless.
 */
static int continue_machine(struct provider *p, const struct machine_start *start,
                            const struct microvm_kept *kept, struct error *err)
{
	static const char *const words[] = {"continue", NULL};
	struct microvm_kept note = *kept;

	note.is_ready = false;
	fault_point("api", "memory-loaded");
	if (kept_note(as_microvm(p), start->spec->id, &note, err) < 0)
		return -1;
	fault_point("api", "memory-used");
	if (microvm_control(p, start->spec->id, words, start->deadline, err) < 0) {
		/* The processors have not run. */
		(void)!kept_note(as_microvm(p), start->spec->id, kept, &(struct error){0});
		return -1;
	}
	fault_point("api", "memory-continued");
	return microvm_identify(p, start, err);
}

static int resume_kept(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                       struct error *err)
{
	struct provider *shells = shells_of(p);
	struct microvm_kept kept;
	struct provider_created ignored;
	char folder[MEMORY_FOLDER_SIZE];
	bool has_kvm;

	if (!kept_find(as_microvm(p), spec->id, &kept) || !kept.is_ready)
		return FAIL(err, ERROR_CONFLICT, "no memory of sandbox '%s' is on disk", spec->id);
	if (microvm_accelerator_choose(as_microvm(p)->accelerator, &has_kvm, err) < 0)
		return -1;
	const struct sandbox_spec shell = microvm_shell_of(spec, has_kvm);
	struct machine_start start = {.spec = spec,
	                              .mode = MACHINE_LOAD,
	                              .has_kvm = has_kvm,
	                              .saved = folder,
	                              .deadline = deadline};

	memory_folder(kept.name, folder);
	broker_provider_forget(shells, spec->id);
	/* A shell of a resume that was cut off may be there. */
	if (broker_provider_stop(shells, spec->id, 0, deadline, err) < 0 ||
	    broker_provider_start(shells, &shell, deadline, &ignored, err) < 0)
		return -1;
	if (microvm_saved_check(p, &start, err) == 0 &&
	    microvm_machine_start(p, &start, err) == 0 &&
	    continue_machine(p, &start, &kept, err) == 0) {
		if (memory_remove(p, spec->id, kept.name, deadline, err) < 0 ||
		    kept_forget(as_microvm(p), spec->id, err) < 0) {
			log_warning("memory of a virtual machine is left on disk",
			            TEXT("sandbox", spec->id), FAILURE(err));
			error_clear(err);
		}
		return 0;
	}
	broker_provider_forget(shells, spec->id);
	(void)broker_provider_stop(shells, spec->id, 0, deadline_after(UNDO_MS),
	                           &(struct error){0});
	if (err->code == ERROR_CONFLICT)
		error_hint(err, "stop the sandbox and start it: its files are kept");
	return -1;
}

static bool is_kept(struct provider *p, const char *id)
{
	struct microvm_kept kept;

	return kept_find(as_microvm(p), id, &kept) && kept.is_ready;
}

const struct memory_ops microvm_memory = {
        .keep = keep_memory,
        .resume = resume_kept,
        .is_kept = is_kept,
};
