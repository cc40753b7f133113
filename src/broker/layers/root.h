/* SPDX-License-Identifier: Apache-2.0 */
/* broker/layers/root.h — the root filesystem of a sandbox: a template below, snapshots on it, the
 * sandbox's own files on top. */
#pragma once

#include "base/error.h"

struct host;
struct layer_stack;

struct root_options {
	const char *template_name;
	const struct layer_stack *stack; /* NULL: none */
	int upper_fd;                    /* the folder with upper and work, or its parent … */
	const char *upper_name; /* … and its name; NULL: upper_fd is a mount of its own */
	int ids_fd, stored_fd;  /* user namespaces: maps of the template's and of stored files */
	/* Closes a layer. That takes the kernel 0.05 ms each, so the caller may hand it to another
	 * process. NULL: the layer is closed at once. */
	void (*let_go)(void *context, int layer_fd);
	void *context;
};
/* The overlay as a detached mount. */
MUST_CHECK int host_root_open(const struct host *host, const struct root_options *options,
                              int *ret_fd, struct error *err);
/* The same layers, for reading only. `upper_name` NULL: without an upper layer; `template_name`
 * NULL: without a template. */
MUST_CHECK int host_tree_open(const struct host *host, const struct root_options *options,
                              int *ret_fd, struct error *err);
