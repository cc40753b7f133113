/* SPDX-License-Identifier: Apache-2.0 */
/* agent/tar_out.h — sends the entries of a walk as a tar stream, between READY and DONE. */
#pragma once

#include "agent/files.h"
#include "agent/walk.h"

/* A file with several names, under its first one. */
struct tar_linked {
	dev_t device;
	ino_t inode;
	const char *name;
};

struct tar_out {
	struct files *files;
	struct tar_linked *linked;
	size_t linked_count, linked_capacity;
	bool by_name; /* AGENT_PATH_NAMES */
	uint64_t count;
};

/* Leaves out everything but files, folders and links. */
MUST_CHECK int tar_out_add(struct tar_out *t, const struct walk_entry *entry, struct error *err);
/* Sends the end of the stream and DONE. */
void tar_out_end(struct tar_out *t);
void tar_out_done(struct tar_out *t);
