/* SPDX-License-Identifier: Apache-2.0 */
/* dockerfile/dockerfile.h — translates a Dockerfile into the body of a build. Pure.
 *
 * Instructions that a build by steps supports are translated; the others are refused together, in
 * one error with their lines. The body is that of POST …/templates/builds without its name. Copy
 * steps from the context have "source": ["…"] in place of "files", bind mounts of run steps have
 * "context": ["…"]; the caller replaces them with the files. A name with ':', '/' or '@' is that of
 * an image; another name is that of a template or, if there is none, of an image. Stages that the
 * result does not need are left out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

struct dockerfile {
	const char *name; /* in messages */
	struct span text;
	const char *from;   /* replaces each name after FROM that is no stage; NULL = keep it */
	const char *target; /* the stage to build, by name or number; NULL = the last */
	const char *const *build_args; /* "NAME=value", NULL-terminated; may be NULL */
	bool has_no_files;             /* no files are available: copy instructions are refused */
};
/* `notes`: after a failure, one line for each instruction that was refused. Instructions that are
 * ignored are the member "notes" of the body, for the log of the build. */
MUST_CHECK int dockerfile_translate(struct arena *a, const struct dockerfile *file, struct buf *out,
                                    struct buf *notes, struct error *err);

struct docker_variable {
	const char *name, *value;
	bool is_arg; /* of ARG; else of ENV */
};
struct docker_variables {
	struct docker_variable *items;
	size_t count, capacity;
};
void docker_variable_set(struct arena *a, struct docker_variables *vars,
                         const struct docker_variable *variable);
const char *docker_variable_get(const struct docker_variables *vars, struct span name);
/* Splits a line into words: resolves quotes and backslashes, replaces $NAME, ${NAME}, ${NAME:-text}
 * and ${NAME:+text}. `whole`: the line is one word, blanks included. NULL-terminated. */
MUST_CHECK int docker_words(struct arena *a, const char *text, const struct docker_variables *vars,
                            bool whole, const char ***ret, struct error *err);
/* Replaces variables as docker_words does and keeps all else; "\$" is a '$'. */
MUST_CHECK int docker_expand(struct arena *a, const char *text, const struct docker_variables *vars,
                             const char **ret, struct error *err);
