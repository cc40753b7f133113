/* SPDX-License-Identifier: Apache-2.0 */
/* config/file.h — a flat YAML file as lines of name and value. */
#pragma once

#include <stddef.h>

#include "base/bytes.h"

struct file_line {
	const char *name, *value; /* no NUL inside */
	size_t number;
};
struct file_lines {
	struct file_line *lines;
	size_t count;
};

/* Refuses anything but one mapping of scalars and of lists of mappings, and repeated names. A list
 * becomes "NAME=KIND:KEY=VALUE;…,…". Errors begin with "PATH:LINE:
 * ". */
MUST_CHECK int file_parse(struct arena *a, const char *path, struct span text,
                          struct file_lines *ret, struct error *err);
