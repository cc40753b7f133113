/* SPDX-License-Identifier: Apache-2.0 */
/* provider/microvm/microvm.h — the provider that runs each sandbox as a virtual machine. Private to
 * this folder.
 *
 * The virtual machine is QEMU, which runs in a native sandbox of its own: the shell. So what breaks
 * out of the machine is still in a native sandbox, with its limits and without a network. The shell
 * holds the kernel, the initial memory disk and the disk with the sandbox's files below
 * MICROVM_DIR. The broker keeps and lists the shells, by the id of the sandbox.
 *
 * The agent is process 1 of the machine (agent/machine.h). QEMU listens on the loopback interface
 * of the shell and passes each connection to the agent's listener. */
#pragma once

#include "provider/kinds.h"

struct agent_links;

#define MICROVM_DIR "/machine"
#define MICROVM_DISK MICROVM_DIR "/disk"

/* What a machine boots. Whole files, read once. */
struct microvm_boot {
	struct buf kernel, memory_disk;
};
struct microvm_boot_options {
	const char *folder; /* holds boot/ and lib/modules/ of a Debian kernel */
	const char *agent;  /* path of its program */
};
MUST_CHECK int microvm_boot_load(const struct microvm_boot_options *options,
                                 struct microvm_boot *ret, struct error *err);
void microvm_boot_done(struct microvm_boot *boot);

struct microvm_provider {
	struct provider base;
	struct provider *shells; /* the native provider */
	struct microvm_boot boot;
	struct agent_links *links;
};

static inline struct microvm_provider *as_microvm(struct provider *p)
{
	return (struct microvm_provider *)p;
}

/* machine.c. Makes the disk in a new shell from the tree that its review shows. */
MUST_CHECK int microvm_disk_make(struct provider *p, const struct sandbox_spec *spec,
                                 int64_t deadline, struct error *err);
/* Starts the machine in a shell that runs, and returns when its agent listens. When the machine
 * ends, the shell ends. */
MUST_CHECK int microvm_machine_start(struct provider *p, const struct sandbox_spec *spec,
                                     int64_t deadline, struct error *err);
/* A connection to the agent of the machine. */
MUST_CHECK int microvm_connect(struct provider *p, const char *id, int64_t deadline, int *ret_fd,
                               struct error *err);
