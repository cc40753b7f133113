/* SPDX-License-Identifier: Apache-2.0 */
/* calls/command.h — runs a command in a sandbox and answers with its output, for all surfaces.
 *
 * A command has alternatives: the first one whose program exists in the sandbox runs (bash, else
 * sh). When no program exists, a collected result says so as a shell does: exit code 127 and a line
 * on stderr. */
#pragma once

#include "calls/output.h"
#include "wire/agent.h"

struct api_target;
struct reply;
struct request;

#define COMMAND_ALTERNATIVES_MAX 3

typedef int command_result_writer(const struct output_collector *c, const struct agent_process *p,
                                  struct buf *out, struct error *err);
enum command_language {
	COMMAND_PYTHON,
	COMMAND_JAVASCRIPT,
	COMMAND_TYPESCRIPT,
	COMMAND_BASH,
	COMMAND_R,
	COMMAND_JAVA,
};
extern const char *const command_languages[]; /* in the enum's order, NULL-terminated */

struct sandbox_command {
	struct {
		const char *runtime; /* in the result: "bash", "python", …; static */
		const char **args;
	} alternatives[COMMAND_ALTERNATIVES_MAX];
	unsigned count;
	bool may_be_warm;       /* code that a waiting interpreter may run */
	struct agent_exec exec; /* without args and stdin */
	struct span stdin_bytes;
	enum output_form form;
	int64_t output_limit; /* bytes of each stream; 0 = the configuration's */
	/* Files changed below this folder are stored as artifacts, and listed before the end. NULL:
	 * no file is stored. */
	const char *keep_root;
	/* OUTPUT_RESULT: files changed below this folder are listed in the result. NULL: no list.
	 */
	const char *artifacts_root;
	/* OUTPUT_RESULT without the two folders: writes the answer in another form; or NULL. */
	command_result_writer *write_result;
	bool is_recorded; /* as asciicast: command_recorder.h */
	/* For the record of activity: the line or the code as the caller gave it; or NULL. */
	const char *line, *code;
};
/* A shell line, for bash or else sh. */
void command_set_line(struct sandbox_command *c, struct arena *a, const char *line);
/* A program and its arguments, without a shell. */
void command_set_program(struct sandbox_command *c, struct arena *a, const char *program,
                         const char *const *args);
/* A block of code. */
MUST_CHECK int command_set_code(struct sandbox_command *c, struct arena *a,
                                enum command_language language, const char *code,
                                struct error *err);
/* The working folder: "" is the user's default; a relative path is below the default. */
MUST_CHECK int command_set_cwd(struct sandbox_command *c, struct arena *a,
                               const struct api_target *t, const char *cwd, struct error *err);

/* A copy of the command within the limits of its sandbox's config. command_start applies them;
 * other ways to start a command must call this. */
MUST_CHECK int command_limit(struct request *rq, const struct api_target *t,
                             const struct sandbox_command *c, struct sandbox_command *ret,
                             struct error *err);
/* Starts the command. The reply is a collected result or a stream of events. Takes the target's
 * hold. */
MUST_CHECK int command_start(struct request *rq, struct api_target *t,
                             const struct sandbox_command *c, struct reply *reply,
                             struct error *err);

/* Attaches to a process that was started before. */
struct command_attach {
	uint64_t process, since[2];
	enum output_form form;
	bool follow;          /* until the process ends; false: only the output so far */
	int64_t wait_ms;      /* OUTPUT_RESULT: ERROR_TIMEOUT after this time; 0 = never */
	int64_t output_limit; /* bytes of each stream; 0 = the configuration's */
};
MUST_CHECK int command_attach(struct request *rq, struct api_target *t,
                              const struct command_attach *attach, struct reply *reply,
                              struct error *err);
