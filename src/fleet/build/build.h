/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/build/build.h — builds: templates made by steps. Each step that changes files runs in its
 * own sandbox on top of the result of the step before; its changes become a layer, which is a
 * snapshot. The template is based on the last layer. The result of a step is cached under a key of
 * everything it depends on. A build belongs to the server that runs it; builds wait in a queue for
 * one of a few threads. */
#pragma once

#include "image/image.h"
#include "json/json.h"

struct build_files;
struct build_log;
struct build_record;
struct fleet;
struct fleet_ref;

#define BUILD_STEPS_MAX 200 /* of all stages together */
#define BUILD_STAGES_MAX 64
#define BUILD_MOUNTS_MAX 16 /* of a run step */
#define BUILD_SECRETS_MAX 32
#define BUILD_NOTES_MAX 200
/* Layers of a template; they count towards the layers of its sandboxes. */
#define BUILD_LAYERS_MAX 24
#define BUILD_ALSO_MAX 16
#define BUILD_FILES_HASH_SIZE 64 /* hexadecimal digits */
#define BUILD_FILES_MAX (INT64_C(2) << 30)
#define BUILD_LOG_MAX ((size_t)4 << 20)

enum build_step_type {
	BUILD_RUN,     /* command or args, as user, with env and mounts */
	BUILD_COPY,    /* files, or paths of a stage, to path, owned by user, with mode */
	BUILD_ENV,     /* env: of what follows, and of the template */
	BUILD_WORKDIR, /* path: of what follows, and of the template; made if missing */
	BUILD_USER,    /* user: of the commands that follow, and of the template */
	BUILD_WRITE,   /* text to the file path, owned by user, with mode */
	BUILD_FOLDER,  /* path, made if missing */
	BUILD_STEP_COUNT,
};
enum build_mount_type {
	BUILD_MOUNT_CACHE,  /* a volume of the project that later builds have, too */
	BUILD_MOUNT_BIND,   /* files, or source of a stage */
	BUILD_MOUNT_SECRET, /* a file with a secret of the request, or a variable */
	BUILD_MOUNT_TMPFS,  /* an empty folder */
	BUILD_MOUNT_COUNT,
};
/* What is at `path` while a command runs, and not in its layer. */
struct build_mount {
	int type;         /* enum build_mount_type */
	const char *id;   /* of the cache or secret */
	const char *path; /* relative to the folder of the step */
	const char *from, *source;
	const char *files;
	bool is_file; /* `files` is one file, which becomes `path` */
	const char *env, *user, *mode;
	bool required; /* the build fails without this secret */
};
/* "" and 0: not given. build_spec_check checks which members a type takes. */
struct build_step {
	int type;            /* enum build_step_type */
	const char *command; /* for /bin/sh -c */
	const char **args;   /* instead: a program, and no shell */
	struct json_map env;
	const char *files; /* hash under which the files were uploaded */
	const char *from;  /* instead: `paths` of this earlier stage */
	const char **paths;
	const char *text;
	struct json_list mounts; /* of struct build_mount */
	const char *path, *user, *mode;
	int64_t timeout_ms;
	bool force; /* do not use the cache for this step and all after it */
};
/* Steps that lead to files which later stages use. */
struct build_stage {
	const char *name;
	const char *from, *image; /* as in build_spec; `from` may be an earlier stage */
	struct json_list steps;
};
struct build_resources {
	double cpu;
	int64_t memory_mb, disk_mb, pids;
};
struct build_spec {
	const char *name, *from, *description;
	/* What `from` is pulled from when it is not there; without `from`: the template of this
	 * image. */
	const char *image;
	struct image_login login; /* at its registry; no username = none */
	const char **also;        /* further names of the same */
	struct json_list stages;  /* of struct build_stage; each may use those before it */
	struct json_list steps;   /* of struct build_step */
	const char *start;        /* the entrypoint, for /bin/sh -c */
	const char **entrypoint;  /* instead: a program, and no shell */
	const char *ready;        /* tried until it succeeds, once the entrypoint runs */
	int64_t ready_timeout_ms, timeout_ms;
	struct build_resources resources; /* of the template, and of its build */
	struct span ports;
	const char **notes;      /* lines for the log */
	struct json_map secrets; /* by id; in memory only */
	bool no_cache;
	bool pull;     /* ask the registries for newer images */
	bool internet; /* of the build; not given: config's */
	uint64_t present;
};
enum build_spec_row { BUILD_SPEC_INTERNET };
extern const struct json_shape build_spec_shape, build_login_shape;
/* Sets each `from` that is not given beside an image: the name of its template. */
void build_name_images(struct arena *a, struct build_spec *spec);
/* Checks everything that can be checked without a sandbox. */
MUST_CHECK int build_spec_check(const struct fleet *fleet, const struct build_spec *spec,
                                struct error *err);

struct fleet_build {
	const char *project_id;
	const char *id;     /* a new one; NULL = generated */
	const char *key_id; /* the caller's; NULL = none */
	const struct build_spec *spec;
};
/* Returns while the build is queued. */
MUST_CHECK int fleet_build_start(struct fleet *fleet, struct arena *a,
                                 const struct fleet_build *request, struct build_record *ret,
                                 struct error *err);
MUST_CHECK int fleet_build_find(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                struct build_record *ret, struct error *err);
/* Ends the build at once; succeeds if it has ended already. */
MUST_CHECK int fleet_build_cancel(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                  struct build_record *ret, struct error *err);
/* Cancels the build if it runs, and removes it with its log. */
MUST_CHECK int fleet_build_remove(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                  struct error *err);

/* logs: NDJSON lines, counted from 0 */

/* The log of a build that runs on this server; NULL otherwise. Close it afterwards. */
struct build_log *fleet_build_log_open(struct fleet *fleet, const char *id);
void fleet_build_log_close(struct build_log *log);
struct build_log_position {
	int64_t next;  /* line to go on with */
	bool is_whole; /* there is no more, and will be none */
};
/* Appends the lines from `since`, as many as fit into the buffer. Any thread; waits for nothing. */
struct build_log_position fleet_build_log_read(struct build_log *log, int64_t since,
                                               struct buf *out);
/* fleet_build_log_read from the store, where lines arrive later. */
MUST_CHECK int fleet_build_log_load(struct fleet *fleet, const char *id, int64_t since,
                                    struct buf *out, int64_t *ret_next, struct error *err);

/* files for copy steps: a tar, under a name that says what is in it */

/* Checks the form: 64 hexadecimal digits. The content is not compared with the hash. */
MUST_CHECK int build_files_check(const char *hash, struct error *err);
/* Whether this server has the files; also extends the time that they are kept. */
MUST_CHECK int fleet_build_files_find(struct fleet *fleet, const char *project_id, const char *hash,
                                      bool *ret_found, int64_t *ret_size, struct error *err);
/* A file without a name, to write to. The input may be compressed by gzip or zstd and is stored as
 * a plain tar: at most BUILD_FILES_MAX, and at most 200 times the input. */
MUST_CHECK int fleet_build_files_new(struct fleet *fleet, struct build_files **ret,
                                     struct error *err);
MUST_CHECK int fleet_build_files_write(struct build_files *files, struct span bytes,
                                       struct error *err);
void fleet_build_files_free(struct build_files *files);
/* Call it after all bytes: gives the file its name. Succeeds if the name exists already. */
MUST_CHECK int fleet_build_files_keep(struct build_files *files, const char *project_id,
                                      const char *hash, int64_t *ret_size, struct error *err);
