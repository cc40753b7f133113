/* SPDX-License-Identifier: Apache-2.0 */
/* calls/files.h — file calls of a sandbox as replies, for every surface. The agent opens the files,
 * inside the sandbox and as the named user.
 *
 * Each call takes the target's hold over and answers with a stream. Calls that change files or
 * transfer their content are recorded as activity; calls that look (STAT, LIST, GLOB, WATCH) are
 * not. */
#pragma once

#include "base/bytes.h"
#include "wire/agent_files.h"

struct activity_note;
struct api_target;
struct fleet_hold;
struct reply;
struct request;

typedef void files_entry_writer(struct buf *out, const struct agent_file *file, const char *path);
struct files_call {
	uint16_t type; /* AGENT_READ, … */
	struct agent_path path;
	files_entry_writer *write_entry; /* NULL: files_write_entry */
	int status;                      /* of the answer; 0 = 200 */
	/* READ of a folder fails with ERROR_INVALID, for surfaces without ERROR_CONFLICT. */
	bool folder_is_invalid;
	bool as_zip;        /* TAR_OUT: a ZIP stream */
	bool as_gzip;       /* READ: compress the reply; a Range header is then ignored */
	const char **names; /* TAR_OUT with AGENT_PATH_NAMES: only these files of the folder */
};

/* The absolute path for a path of the native API, which may be relative to the default folder. */
MUST_CHECK int files_resolve(struct request *rq, const struct api_target *t, const char *path,
                             const char **ret, struct error *err);
/* {"path":…,"name":…,"type":"file|directory|symlink|other","size":…,"mode":"0644",…} */
void files_write_entry(struct buf *out, const struct agent_file *file, const char *path);

/* STAT, MKDIR, REMOVE, RENAME, COPY, and WRITE of `content`. The reply is the entry or
 * {"count":N}. */
MUST_CHECK int files_answer(struct request *rq, struct api_target *t, const struct files_call *call,
                            struct span content, struct reply *reply, struct error *err);
/* Several WRITEs on one connection; the first failure ends the call. The reply is {"count":N}. */
struct files_write {
	struct agent_path path;
	struct span content;
};
MUST_CHECK int files_write_all(struct request *rq, struct api_target *t,
                               const struct files_write *writes, size_t count, struct reply *reply,
                               struct error *err);
/* WRITE and TAR_IN of the request's body, while it arrives. */
MUST_CHECK int files_upload(struct request *rq, struct api_target *t, const struct files_call *call,
                            struct reply *reply, struct error *err);
/* WRITE of every file in a multipart/form-data body, below call->path.path. */
MUST_CHECK int files_upload_form(struct request *rq, struct api_target *t,
                                 const struct files_call *call, struct reply *reply,
                                 struct error *err);
/* READ and TAR_OUT as the reply's body. A READ honours a Range header. */
MUST_CHECK int files_download(struct request *rq, struct api_target *t,
                              const struct files_call *call, struct reply *reply,
                              struct error *err);
/* LIST and GLOB: {"items":[entry…],"truncated":…}; `paths_only`: {"paths":["a",…],…}. */
struct files_list_options {
	uint64_t max;
	bool paths_only;
};
MUST_CHECK int files_list(struct request *rq, struct api_target *t, const struct files_call *call,
                          const struct files_list_options *options, struct reply *reply,
                          struct error *err);
/* WATCH as events, server-sent or NDJSON: {"event":"ready"}, then
 * {"event":"created","path":…,"type":…} … */
MUST_CHECK int files_watch(struct request *rq, struct api_target *t, const struct files_call *call,
                           bool as_sse, struct reply *reply, struct error *err);

/* READ as JSON. by_lines: at most line_count lines from first_line (counted from 1), and at most
 * bytes_max bytes. Otherwise the bytes that call->path names. */
struct files_read_options {
	const char *path; /* as in the request */
	int64_t first_line, line_count;
	size_t bytes_max;
	bool by_lines, as_base64;
};
MUST_CHECK int files_read(struct request *rq, struct api_target *t, const struct files_call *call,
                          const struct files_read_options *options, struct reply *reply,
                          struct error *err);

/* Appends the content as DATA and DATA_END. */
void files_add_content(struct buf *out, struct span content);
/* Opens a connection to the agent for several calls. */
MUST_CHECK int files_connect(struct request *rq, const struct fleet_hold *hold, int *ret_fd,
                             struct error *err);
/* Opens a connection and sends the call. The caller's stream reads the replies. */
MUST_CHECK int files_open(struct request *rq, const struct fleet_hold *hold,
                          const struct files_call *call, int *ret_fd, struct error *err);
/* Begins the activity of a call; NULL for calls that only look. */
struct activity_note *files_begin_note(const struct request *rq, const struct api_target *t,
                                       const struct files_call *call);
/* Ends the note of a call that a worker has waited for. Returns `result`. */
MUST_CHECK int files_end_note(struct activity_note *n, int result, const struct error *err);
