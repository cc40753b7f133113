/* SPDX-License-Identifier: Apache-2.0 */
/* agent/files.h — a file worker from the inside: one connection, one user, blocking calls.
 *
 * A row per message (files.c), a file per kind of operation. An operation sends its reply and
 * returns 1, or returns -1 and the caller sends AGENT_FAILED. When the client
 * disconnects the process ends at once (files_send does not return), as on SIGTERM. Only a
 * temporary file could be left behind; the signal handler knows its name (replace.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/base_dir.h"
#include "agent/user.h"
#include "base/bytes.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define WORKER_REST_MAX (2 * (WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX))
#define WORKER_REST_SIZE (sizeof(struct worker_rest) + WORKER_REST_MAX)
#define WORKER_GIVES_BACK 64 /* exit status */
#define FILES_ENTRIES_MAX 100000

/* Shared with the agent: frames that the worker has read but not served. */
struct worker_rest {
	size_t size;
	char bytes[];
};

struct files_options {
	int connection, root;
	uint64_t resolve;
	const char *host; /* the host folder's own path; every user is the agent's there; or NULL */
	struct span bytes;
	struct worker_rest *rest;
	/* Set in the standby process (standby.h): ends the call but not the process, and does not
	 * return. NULL in a worker. */
	void (*renew)(int status);
};

struct files {
	int connection;
	struct base_dir_rules rules;
	struct buf in;
	size_t taken;       /* of `in` */
	struct buf out;     /* DATA below the size of a frame */
	struct arena arena; /* of one request */
	bool no_users, is_user, is_standby;
	char user[257];
	char home[BASE_DIR_PATH_MAX]; /* that user's */
	struct user owner;            /* of the current request, if it names one */
	struct worker_rest *rest;
};

NORETURN void files_serve(const struct files_options *options);

/* 1 = a frame, 0 = the client has closed. The payload is valid until the next call. */
MUST_CHECK int files_next(struct files *f, uint16_t *ret_type, struct span *ret_payload,
                          struct error *err);
void files_send(struct files *f, uint16_t type, const struct wire_member *shape,
                const void *message);
void files_send_done(struct files *f, uint64_t count);
void files_send_failed(struct files *f, const struct error *err);
/* Bytes of a DATA sequence; sent when a frame is full, the rest by files_flush. */
void files_add_data(struct files *f, struct span bytes);
void files_flush(struct files *f);
/* Queues an AGENT_FILE; files_flush sends it at the latest. */
MUST_CHECK int files_add_file(struct files *f, const struct agent_file *file, struct error *err);

struct stat;
/* link may be "". */
struct agent_file file_describe(const char *path, const struct stat *status, const char *link);
void files_send_file(struct files *f, const char *path, const struct stat *status,
                     const char *link);
uint32_t file_type_of(const struct stat *status);
/* Target of a symbolic link, "" when it cannot be read. */
const char *file_link(struct arena *a, int folder, const char *name);

/* Names the open file, even if its path leads elsewhere by now. */
#define FILE_SELF_SIZE 40
void file_self_path(int fd, char out[FILE_SELF_SIZE]);
/* As many entries as the message asks for, at most FILES_ENTRIES_MAX. */
uint64_t files_entries_max(const struct agent_path *m);
/* For spot_open. */
static inline unsigned files_parents_flag(const struct agent_path *m)
{
	return m->flags & AGENT_PATH_PARENTS ? SPOT_MAKE_PARENTS : 0;
}

/* Receives the client's DATA up to DATA_END; `take` gets each. When `take` fails, AGENT_FAILED is
 * sent at once and the remaining DATA is dropped. 1 = complete, 0 = `take` failed. */
struct files_sink {
	int (*take)(void *context, struct span bytes, struct error *err);
	void *context;
	uint64_t size_max; /* 0 = no limit */
	uint64_t size;
};
MUST_CHECK int files_receive(struct files *f, struct files_sink *sink);

/* files_data.c */
int files_read(struct files *f, const struct agent_path *m, struct error *err);
int files_write(struct files *f, const struct agent_path *m, struct error *err);
/* files_list.c */
int files_stat(struct files *f, const struct agent_path *m, struct error *err);
int files_list(struct files *f, const struct agent_path *m, struct error *err);
int files_glob(struct files *f, const struct agent_path *m, struct error *err);
/* files_search.c */
int files_search(struct files *f, const struct agent_path *m, struct error *err);
/* files_inspect.c */
int files_inspect(struct files *f, const struct agent_path *m, struct error *err);
/* files_attributes.c */
int files_set_attributes(struct files *f, const struct agent_path *m, struct error *err);
/* The file's attributes with this prefix, as "name=value" without the prefix. Unreadable ones are
 * left out; never NULL. */
const char **file_attributes(struct arena *a, const char *path, const char *beginning);
/* files_change.c */
int files_mkdir(struct files *f, const struct agent_path *m, struct error *err);
int files_remove(struct files *f, const struct agent_path *m, struct error *err);
int files_rename(struct files *f, const struct agent_path *m, struct error *err);
/* files_copy.c */
int files_copy(struct files *f, const struct agent_path *m, struct error *err);
/* files_compare.c */
int files_compare(struct files *f, const struct agent_path *m, struct error *err);
int files_tar_base(struct files *f, const struct agent_path *m, struct error *err);
/* files_tar_out.c, files_tar.c */
int files_tar_out(struct files *f, const struct agent_path *m, struct error *err);
int files_tar_in(struct files *f, const struct agent_path *m, struct error *err);
/* files_watch.c */
int files_watch(struct files *f, const struct agent_path *m, struct error *err);
