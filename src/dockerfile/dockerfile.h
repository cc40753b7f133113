/* SPDX-License-Identifier: Apache-2.0 */
/* dockerfile/dockerfile.h — a Dockerfile as the body of a build. Pure.
 *
 * What a build by steps can do is translated; everything else is refused with its file and line and
 * what would be right. The body is that of POST …/templates/builds but for its name, and for copy
 * steps, which have "source": ["…"] in place of "files": who has the files puts them there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"

struct dockerfile {
	const char *name; /* for messages */
	struct span text;
	const char *from;              /* in place of what FROM says; NULL = that */
	const char *const *build_args; /* "NAME=value", NULL-terminated; may be NULL */
	bool may_name_image;           /* FROM, which is told as it is; else only a template */
	bool has_no_files;             /* so that nothing can be copied */
};
/* `notes`: a line for each thing that is left out because nothing here needs it. */
MUST_CHECK int dockerfile_translate(struct arena *a, const struct dockerfile *file, struct buf *out,
                                    struct buf *notes, struct error *err);

/* ---- words.c ---- */

struct docker_variable {
	const char *name, *value;
	bool is_arg; /* else of ENV */
};
struct docker_variables {
	struct docker_variable *items;
	size_t count, capacity;
};
void docker_variable_set(struct arena *a, struct docker_variables *vars,
                         const struct docker_variable *variable);
const char *docker_variable_get(const struct docker_variables *vars, struct span name);
/* Words apart, quotes and backslashes resolved, $NAME, ${NAME}, ${NAME:-text} and ${NAME:+text}
 * replaced. `whole`: one word, blanks included. NULL-terminated. */
MUST_CHECK int docker_words(struct arena *a, const char *text, const struct docker_variables *vars,
                            bool whole, const char ***ret, struct error *err);
