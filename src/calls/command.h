/* SPDX-License-Identifier: Apache-2.0 */
/* calls/command.h — running a command in a sandbox and answering with what it does. Private to this
 * folder; shared by every surface that runs something.
 *
 * A command has alternatives: the first whose program exists inside runs (bash, else sh). When none
 * exists, a collected result says so as a shell would: exit code 127 and a line on stderr. */
#pragma once

#include "calls/output.h"
#include "edge/caller.h"
#include "wire/agent.h"

#define COMMAND_ALTERNATIVES_MAX 3

typedef int command_result_writer(const struct output_collector *c, const struct agent_process *p,
                                  struct buf *out, struct error *err);
enum command_language { COMMAND_PYTHON, COMMAND_JAVASCRIPT, COMMAND_TYPESCRIPT, COMMAND_BASH };
extern const char *const command_languages[]; /* names, NULL-terminated, in enum's order */

struct sandbox_command {
	struct {
		const char *runtime; /* in the result: "bash", "python", … */
		const char **args;
	} alternatives[COMMAND_ALTERNATIVES_MAX];
	unsigned count;
	bool may_be_warm;       /* code of a language that an interpreter may wait for */
	struct agent_exec exec; /* all but args and stdin; stdin may be long */
	struct span stdin_bytes;
	enum output_form form;
	int64_t output_limit;  /* bytes per stream; 0 = the configuration's */
	const char *keep_root; /* what changed below it is kept, and told before the end; NULL = is
	                          not */
	const char
	        *artifacts_root; /* OUTPUT_RESULT: tells what changed below it; NULL = does not */
	/* OUTPUT_RESULT, without the two above: the answer in another form; or NULL. */
	command_result_writer *write_result;
};
/* A shell line: by bash where it is, else by sh. */
void command_set_line(struct sandbox_command *c, struct arena *a, const char *line);
/* A program and its arguments, no shell. */
void command_set_program(struct sandbox_command *c, struct arena *a, const char *program,
                         const char *const *args);
/* A block of code. */
MUST_CHECK int command_set_code(struct sandbox_command *c, struct arena *a,
                                enum command_language language, const char *code,
                                struct error *err);
/* "" = the user's default folder; relative ones are below it. */
MUST_CHECK int command_set_cwd(struct sandbox_command *c, struct arena *a,
                               const struct api_target *t, const char *cwd, struct error *err);

/* The same command within the limits of its sandbox's config: for who starts it by other means. */
MUST_CHECK int command_limit(struct request *rq, const struct api_target *t,
                             const struct sandbox_command *c, struct sandbox_command *ret,
                             struct error *err);
/* Starts it; the reply is a collected result or a stream of events. Takes the target's hold. */
MUST_CHECK int command_start(struct request *rq, struct api_target *t,
                             const struct sandbox_command *c, struct reply *reply,
                             struct error *err);
/* Starts it and answers at once; *ret's texts are in the request's arena. */
MUST_CHECK int command_start_detached(struct request *rq, const struct api_target *t,
                                      const struct sandbox_command *c, struct agent_process *ret,
                                      struct error *err);

/* Attaches to one that was started before. */
struct command_attach {
	uint64_t process, since[2];
	enum output_form form;
	bool follow;          /* until its end; else what is there */
	int64_t wait_ms;      /* OUTPUT_RESULT: give up after so long; 0 = never */
	int64_t output_limit; /* as above */
};
MUST_CHECK int command_attach(struct request *rq, struct api_target *t,
                              const struct command_attach *attach, struct reply *reply,
                              struct error *err);
