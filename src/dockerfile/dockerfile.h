/* SPDX-License-Identifier: Apache-2.0 */
/* dockerfile/dockerfile.h — translates a Dockerfile into the body of a build. Pure.
 *
 * Instructions that a build by steps supports are translated; others are refused with file, line
 * and a hint. The body is that of POST …/templates/builds without its name. Copy steps have
 * "source": ["…"] in place of "files"; the caller replaces them with the files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"

struct dockerfile {
	const char *name; /* in messages */
	struct span text;
	const char *from;              /* replaces the name after FROM; NULL = keep it */
	const char *const *build_args; /* "NAME=value", NULL-terminated; may be NULL */
	bool may_name_image; /* FROM may name an image, copied as it is; else it must name a
	                        template */
	bool has_no_files;   /* no files are available: copy instructions are refused */
};
/* `notes`: one line for each instruction that is ignored. */
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
