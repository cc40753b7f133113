/* SPDX-License-Identifier: Apache-2.0 */
/* provider/microvm/memory.h — moves the memory of machines to the disk and back: memory_ops and
 * snapshot_ops of this provider. Private to this folder. */
#pragma once

#include "provider/microvm/microvm.h"

extern const struct memory_ops microvm_memory;
extern const struct snapshot_ops microvm_snapshots;

struct provider_entry;

/* Of the shell of a sandbox: whether it runs or is paused. */
MUST_CHECK int memory_find_shell(struct provider *p, const char *id, struct provider_entry *ret,
                                 struct error *err);
#define MEMORY_FOLDER_SIZE 128
/* The folder of memory `name` in the shell. */
void memory_folder(const char *name, char ret[MEMORY_FOLDER_SIZE]);

/* Lets the processors run again, and removes the folder of memory `name`. */
MUST_CHECK int memory_continue(struct provider *p, const char *id, const char *name,
                               int64_t deadline, struct error *err);
/* In the shell of the sandbox, which runs. NAME: id of a snapshot, or random. */
MUST_CHECK int memory_remove(struct provider *p, const char *id, const char *name, int64_t deadline,
                             struct error *err);
/* A machine with the files of a snapshot; with its memory, if the snapshot has it. */
MUST_CHECK int memory_start_snapshot(struct provider *p, const struct sandbox_spec *spec,
                                     int64_t deadline, bool *ret_continues, struct error *err);
