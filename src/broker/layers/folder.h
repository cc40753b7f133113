/* SPDX-License-Identifier: Apache-2.0 */
/* broker/layers/folder.h — the folder of an upper layer: upper, work and its links. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "broker/host/host.h"

struct layer_stack;

struct layer_folder {
	const struct layer_stack *stack;
	int like; /* a folder whose owner and mode the upper layer gets; -1: a new one's */
	const char
	        *origin; /* see layer_stack_origin; NULL: it will not become a sandbox's folder */
	bool is_linked;  /* it gets links to files of other layers, so it has no project */
};

/* Makes the folder NAME with empty upper and work. */
MUST_CHECK int layer_folder_make(const struct host *host, enum host_folder which, const char *name,
                                 const struct layer_folder *with, struct error *err);
/* Opens the upper layer of a sandbox or a snapshot. */
MUST_CHECK int layer_folder_open_upper(const struct host *host, enum host_folder which,
                                       const char *id, int *ret_fd, struct error *err);
/* Swaps the names of a sandbox's folder and of another one, in one step. */
MUST_CHECK int layer_folder_swap(const struct host *host, const char *sandbox_id,
                                 enum host_folder which, const char *name, struct error *err);
/* Whether a sandbox has its files in a layer. ERROR_UNSUPPORTED when it has a disk of its own,
 * ERROR_NOT_FOUND when it has no files. */
MUST_CHECK int layer_folder_check(const struct host *host, const char *sandbox_id,
                                  struct error *err);
/* 1 to 63 of [a-z0-9._-], the first a letter or digit: never a path. */
MUST_CHECK int check_template_name(const char *name, struct error *err);
