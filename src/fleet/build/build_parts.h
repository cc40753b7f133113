/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/build/build_parts.h — builds, for their own files. build.c: queue, cancel, end.
 * build_run.c: from stage to stage and step to step. build_sandbox.h: the sandbox of a step.
 * build_finish.c: the start and ready commands, and the template. build_spec.c, build_key.c: pure
 * rules. build_log.c, build_files.c, build_cache.c. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "fleet/build/build.h"
#include "fleet/core/work_lane.h"
#include "store/builds.h"
#include "store/templates.h"

struct agent_output;
struct build_log;
struct fleet;
struct work_lane;

#define BUILD_KEY_SIZE 64 /* hexadecimal digits */
#define BUILD_WAITING_MAX 64
#define BUILD_TIMEOUT_MS (INT64_C(3600) * 1000)
#define BUILD_TIMEOUT_MAX_MS (INT64_C(24) * 3600 * 1000)
#define BUILD_READY_TIMEOUT_MS INT64_C(60000)

/* The in-flight table: all builds of this server that have not ended. */
struct builds_in_flight {
	pthread_mutex_t mutex;  /* over all of this */
	pthread_cond_t moved;   /* a build has ended, or released a claim */
	struct work_lane *lane; /* NULL until the first one comes */
	struct list live;
	struct map claims; /* "PROJECT/KEY" -> the build that executes the step */
	atomic_bool is_leaving;
};

/* The result of the steps so far. Texts in the build's arena. */
struct build_path {
	char key[BUILD_KEY_SIZE + 1];
	const char *layer; /* "" = the source's folder alone */
	int64_t depth;     /* layers below */
	struct json_map env;
	const char *workdir, *user;
	const char **missing; /* folders that the next sandbox creates */
	size_t missing_count;
	bool is_fresh; /* the cache is not used from here on */
	int64_t size_bytes;
};

/* A stage that has ended. Its layer is pinned until the build ends. */
struct build_stage_end {
	const char *name;
	struct template_record source;
	struct build_path path;
};

struct build {
	struct list link; /* of the in-flight table, as is the next */
	bool is_taken;    /* by its thread, or by a cancel before the thread began */
	struct work_lane_task task;
	struct fleet *fleet;
	struct arena arena;
	struct build_record record; /* owned by its thread once it is queued */
	struct build_spec spec;
	struct build_log *log;
	int cancel_fd; /* readable once it is cancelled */
	atomic_bool is_cancelled;
	int64_t deadline;
	/* of its thread: */
	struct template_record source; /* of the current stage, as is the next */
	struct build_path path;
	struct build_stage_end *ends;
	size_t end_count;
	const char *replaced; /* the layer that the template had before; or NULL */
};

/* build.c */

bool build_is_cancelled(const struct build *b);
/* "cancelled", or that the server is being stopped; always -1. */
int build_refuse_cancelled(const struct build *b, struct error *err);
/* Writes the record; a failure is only logged. */
void build_write_record(struct build *b);

/* build_run.c */

/* From the first step to the template. */
MUST_CHECK int build_run(struct build *b, struct error *err);
/* Unpins the layers. */
void build_drop_stages(struct build *b);
/* An earlier stage; the spec was checked, so there is one. */
const struct build_stage_end *build_find_stage(const struct build *b, const char *name);
/* An absolute path, from one relative to the folder of the current step. */
MUST_CHECK int build_resolve_path(struct build *b, const char *path, const char **ret,
                                  struct error *err);

/* build_log.c: lines */

struct build_log *build_log_new(void);
struct build_log *build_log_ref(struct build_log *log);
enum build_stream { BUILD_OWN, BUILD_STDOUT, BUILD_STDERR };
/* Adds one line; long lines are cut into several. */
void build_log_add(struct build_log *log, int64_t step, enum build_stream stream, struct span line);
/* Adds a line of the build itself. */
void build_log_say(struct build *b, const char *format, ...) PRINTF(2, 3);
/* Writes new lines to the store if there are many or they are old; `all`: in any case. */
void build_log_store(struct build *b, bool all);
void build_log_end(struct build_log *log); /* no line follows */
/* Splits output of a command into lines. */
struct build_lines {
	struct build *build;
	struct buf rest[2]; /* begun lines of stdout and stderr */
};
void build_lines_init(struct build_lines *l, struct build *b);
void build_lines_add(struct build_lines *l, const struct agent_output *output);
void build_lines_done(struct build_lines *l); /* adds the unfinished lines */

/* build_key.c */

/* The key of a build that begins with this template. */
void build_key_first(const struct template_record *source, bool internet,
                     char ret[BUILD_KEY_SIZE + 1]);
/* Replaces the key by that of the next step. */
void build_key_next(char key[BUILD_KEY_SIZE + 1], const struct build_step *step);
/* Adds a stage whose files the step uses. */
void build_key_add_stage(char key[BUILD_KEY_SIZE + 1], const struct build_path *stage);
/* "RUN make", for logs. */
const char *build_step_text(struct arena *a, const struct build_step *step);

/* build_finish.c */

/* Checks early whether the template can get its names. */
MUST_CHECK int build_check_names(struct build *b, struct error *err);
MUST_CHECK int build_check_start(struct build *b, struct error *err);
MUST_CHECK int build_make_template(struct build *b, struct error *err);

/* build_files.c */

MUST_CHECK int build_files_open(const struct build *b, const char *hash, int *ret_fd,
                                struct error *err);
void build_files_tidy(struct fleet *f);

/* build_cache.c */

/* What a step has made. */
struct build_layer {
	const char *id;
	int64_t depth, size_bytes;
};

/* Waits until no other build executes the step, then claims it. Fails by timeout or cancel. */
MUST_CHECK int layer_claim(struct build *b, struct error *err);
void layer_unclaim(struct build *b);
/* The same for any name. *ret_waited: another build had it. */
MUST_CHECK int build_claim(struct build *b, const char *name, bool *ret_waited, struct error *err);
void build_unclaim(struct build *b, const char *name);
/* Finds the layer of the path's key: 1, and it is pinned; or 0. */
MUST_CHECK int layer_find(struct build *b, struct build_layer *ret, struct error *err);
/* Caches the layer under the path's key, and trims the cache. */
MUST_CHECK int layer_keep(struct build *b, const struct build_layer *layer, struct error *err);
