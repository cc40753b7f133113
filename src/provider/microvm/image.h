/* SPDX-License-Identifier: Apache-2.0 */
/* provider/microvm/image.h — what all machines of one template and size begin with. Private to this
 * folder.
 *
 * An image is a snapshot of a shell: the kernel, the template as a disk, and the memory of a
 * machine that has booted from it. A create clones it: no file is copied, and machines share the
 * memory that they do not write. Images are made once, by a thread of their own, and are known by a
 * key of all that they are made from. The broker keeps them; the lists of native sandboxes and
 * snapshots leave them out (base/id.h).
 *
 * There are at most MICROVM_IMAGES_MAX; the one that was not used for the longest time is removed.
 * Machines that run keep the layers of a removed image. Any thread may call. */
#pragma once

#include <stdbool.h>

#include "base/id.h"
#include "provider/microvm/microvm.h"

#define MICROVM_IMAGES_MAX 16
/* QEMU splits more memory in two parts. */
#define MICROVM_SAVED_MEMORY_MAX_MB 3071
#define MICROVM_KEY_MAX 512

struct microvm_image {
	char id[ID_SIZE + 1]; /* of the snapshot */
	char key[MICROVM_KEY_MAX];
	bool has_memory;
	bool has_kvm; /* its memory continues only under KVM, else only emulated */
};

/* The id of a sandbox that no list shows, and that microvm_images_clean_up removes. */
struct id microvm_hidden_id(void);
struct microvm_images *microvm_images_new(struct provider *p);
/* Once, before the first image is made: removes sandboxes of an earlier server that made images. */
MUST_CHECK int microvm_images_clean_up(struct microvm_images *images, struct error *err);
/* Waits for images that are being made. */
void microvm_images_free(struct microvm_images *images);
/* Makes the image if there is none. The making goes on when the deadline passes. */
MUST_CHECK int microvm_image_get(struct microvm_images *images, const struct sandbox_spec *spec,
                                 int64_t deadline, struct microvm_image *ret, struct error *err);
/* The image does not work: the next create makes it again. */
void microvm_image_drop(struct microvm_images *images, const char *id);
/* The template's files are gone or others now. */
void microvm_images_forget_template(struct microvm_images *images, const char *folder);
/* Images that are ready. */
unsigned microvm_images_count(struct microvm_images *images);
/* image_make.c. Makes the image's snapshot; nothing is left when that fails. */
MUST_CHECK int microvm_image_make(struct provider *p, const struct sandbox_spec *spec,
                                  const struct microvm_image *image, int64_t deadline,
                                  struct error *err);
