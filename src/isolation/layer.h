/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/layer.h — layers: detached mounts, which no process sees until they are attached. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct layer_options {
	uint64_t attributes; /* MOUNT_ATTR_* */
	int map_fd;          /* user namespace to map ids with, or -1 */
	bool recursive;
};
/* A clone of the tree at `path`, relative to `folder`. */
MUST_CHECK int layer_open(int folder, const char *path, const struct layer_options *options,
                          int *ret_fd, struct error *err);
/* A new filesystem; options as for mount(8). */
MUST_CHECK int layer_make(const char *type, const char *options, uint64_t attributes, int *ret_fd,
                          struct error *err);
/* Sets the options of a layer that no other process uses, without a clone. */
MUST_CHECK int layer_set(int fd, const struct layer_options *options, struct error *err);

#define OVERLAY_LOWERS_MAX 66
/* Overlayfs before Linux 6.15 takes only attached mounts: they are attached below the folder
 * `scratch` for a moment, in the caller's own mount namespace. */
struct overlay_options {
	const int *lowers; /* layers, the topmost first */
	unsigned lower_count;
	int upper; /* a layer with the folders upper and work; -1: none, with two lowers at least */
	int scratch;
};
MUST_CHECK int layer_overlay(const struct overlay_options *options, int *ret_fd, struct error *err);
/* The way for older kernels alone, for tests. */
MUST_CHECK int layer_overlay_placed(const struct overlay_options *options, int *ret_fd,
                                    struct error *err);
