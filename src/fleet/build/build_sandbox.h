/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/build/build_sandbox.h — the sandbox of a step, for the files of this folder, and what is
 * put into it. build_sandbox.c: from its creation to its layer. build_copy.c: files of stages, and
 * files that steps write. build_mounts.c: mounts of run steps. */
#pragma once

#include "fleet/build/build_parts.h"
#include "fleet/core/fleet_hold.h"

struct agent_exec;
struct agent_path;
struct agent_process;
struct agent_reader;
struct build_export_item;
struct compute_request;
struct fleet;
struct fleet_mount;

/* build_sandbox.c */

/* A sandbox with the files of the path. The build's row names it from before its creation until it
 * is deleted. */
struct build_sandbox {
	struct build *build;
	char id[ID_SIZE + 1];
	struct fleet_hold hold;
};
struct build_root {
	const char *template, *layer;
	const struct fleet_mount *mounts;
	size_t mount_count;
};
MUST_CHECK int build_sandbox_open_at(struct build *b, const struct build_root *root,
                                     struct build_sandbox *ret, struct error *err);
MUST_CHECK int build_sandbox_open(struct build *b, struct build_sandbox *ret, struct error *err);
/* Deletes the sandbox; zeroed is fine. */
void build_sandbox_close(struct build_sandbox *box);
/* Creates the missing folders of the path. */
MUST_CHECK int build_sandbox_make_folders(struct build_sandbox *box, struct error *err);
struct build_command {
	const char **args;
	const char *user;
	const struct json_map *env; /* over the path's; may be NULL */
	int64_t timeout_ms;
	uint32_t flags; /* enum agent_exec_flag */
};
/* Sends a request to the agent. The deadline of the build applies to the whole answer. */
MUST_CHECK int build_open_call(struct build_sandbox *box, struct agent_reader *ret,
                               const struct compute_request *request, struct error *err);
/* 1: a message is in `r`; 0: none came until `until`. Fails when the build is cancelled. */
MUST_CHECK int build_receive_message(struct build *b, struct agent_reader *r, int64_t until,
                                     struct error *err);
/* Handles a message of a command: output goes to the log. 1: the command has ended. */
MUST_CHECK int build_log_output(struct build_lines *lines, const struct agent_reader *r,
                                struct agent_process *ret, struct error *err);
/* Waits for `fd`, the deadline or a cancel. fd -1: only for the others. */
MUST_CHECK int build_wait_until(struct build *b, int fd, int64_t deadline, struct error *err);
/* The command as the agent takes it. */
struct agent_exec build_exec_of(struct build *b, struct arena *a,
                                const struct build_command *command);
/* Runs a command to its end. The texts of `ret` are empty. */
MUST_CHECK int build_sandbox_run(struct build_sandbox *box, const struct build_command *command,
                                 struct agent_process *ret, struct error *err);
/* Sends bytes of a file to the agent: AGENT_TAR_IN or AGENT_WRITE with this message. */
struct build_transfer {
	uint16_t type;
	const struct agent_path *message;
	int fd; /* -1: `text` */
	int64_t begin, end;
	struct span text;
};
MUST_CHECK int build_sandbox_send(struct build_sandbox *box, const struct build_transfer *upload,
                                  struct error *err);
/* Unpacks uploaded files into a folder. */
struct build_unpack {
	const char *files, *path, *user, *mode;
};
MUST_CHECK int build_sandbox_unpack(struct build_sandbox *box, const struct build_unpack *unpack,
                                    struct error *err);
uint32_t build_parse_mode(const char *mode); /* octal; 0 = not given */
/* Stops the sandbox and turns its changes into a pinned layer. */
MUST_CHECK int build_sandbox_keep(struct build_sandbox *box, struct build_layer *ret,
                                  struct error *err);

/* build_copy.c */

/* Files of a stage, in a file without a name: no two sandboxes run at once. */
struct build_export {
	int fd;
	struct build_export_item *items;
	size_t count, capacity;
};
/* `paths`: of the stage, with patterns. */
MUST_CHECK int build_export_open(struct build *b, const struct build_stage_end *stage,
                                 const char *const *paths, struct build_export *ret,
                                 struct error *err);
void build_export_close(struct build_export *e); /* fd -1 is fine */
bool build_export_is_file(const struct build_export *e);
/* As with Docker: the contents of folders go into the folder `path`, a single file becomes `path`
 * unless that is a folder. */
struct build_place {
	const char *path, *user, *mode;
	bool is_folder; /* `path` ends in '/' */
};
MUST_CHECK int build_export_place(struct build_sandbox *box, const struct build_export *e,
                                  const struct build_place *place, struct error *err);
/* A new file, in place of what has the name. */
struct build_file {
	const char *path, *owner;
	uint32_t mode;
	bool no_replace;
	struct span text;
};
MUST_CHECK int build_sandbox_write(struct build_sandbox *box, const struct build_file *file,
                                   struct error *err);

/* build_mounts.c */

/* A path that a mount added; what was there before, an empty folder, has an owner. */
struct build_added {
	const char *path, *owner;
	uint32_t mode;
};
/* The mounts of a run step. Opened before its sandbox, placed in it, removed after the command and
 * closed after the sandbox. */
struct build_mounts {
	struct build *build;
	const struct build_step *step;
	struct fleet_mount *volumes;
	size_t volume_count;
	const char **claims; /* of caches, sorted */
	size_t claim_count;
	struct build_export *exports; /* per mount */
	struct build_added *added;    /* to remove */
	size_t added_count;
	struct json_map env; /* of the step, and secrets */
};
MUST_CHECK int build_mounts_open(struct build *b, const struct build_step *step,
                                 struct build_mounts *ret, struct error *err);
MUST_CHECK int build_mounts_place(struct build_mounts *m, struct build_sandbox *box,
                                  struct error *err);
MUST_CHECK int build_mounts_remove(struct build_mounts *m, struct build_sandbox *box,
                                   struct error *err);
void build_mounts_close(struct build_mounts *m); /* zeroed is fine */
/* Removes caches that were not used for a week. */
void build_caches_tidy(struct fleet *f);
