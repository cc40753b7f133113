/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/microvm/image.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/path.h"
#include "base/thread.h"
#include "provider/entries.h"
#include "provider/microvm/accelerator.h"
#include "provider/microvm/machine.h"
#include "provider/native/broker_provider.h"
#include "provider/snapshots.h"
#include "wire/broker.h"

#define MAKE_MS 180000
#define CALL_MS 10000
#define MAKINGS_MAX 4 /* at once */
#define TAG_SIZE 4    /* of the id, for the template; the rest is for the whole key */
#define TAG_AT (sizeof(ID_IMAGE_PREFIX) - 1)
#define HASH_AT (TAG_AT + TAG_SIZE)
#define HASH_SIZE 7 /* of the id, for the key */
/* What follows is random: the layers of a removed image stay as long as a machine uses them. */
#define RANDOM_AT (HASH_AT + HASH_SIZE)

struct known_image {
	char id[ID_SIZE + 1];
	int64_t used_ms;
};

/* An image that a thread makes. The thread and each waiting create use it. */
struct image_making {
	struct list item;
	struct microvm_images *images;
	struct microvm_image image;
	struct arena arena;
	struct sandbox_spec spec; /* texts in the arena */
	struct error err;         /* set when it failed */
	bool is_done;
	unsigned users;
};

struct microvm_images {
	struct provider *provider;
	pthread_mutex_t mutex;  /* guards all below */
	pthread_cond_t changed; /* a making has ended */
	struct list makings;
	struct known_image ready[MICROVM_IMAGES_MAX];
	unsigned ready_count;
	unsigned running; /* threads */
};

struct microvm_images *microvm_images_new(struct provider *p)
{
	struct microvm_images *images = memory_new(sizeof(*images));

	images->provider = p;
	pthread_mutex_init(&images->mutex, NULL);
	thread_condition_init(&images->changed);
	list_init(&images->makings);
	return images;
}

void microvm_images_free(struct microvm_images *images)
{
	if (!images)
		return;
	pthread_mutex_lock(&images->mutex);
	while (images->running > 0)
		thread_wait(&images->changed, &images->mutex, deadline_after(1000));
	pthread_mutex_unlock(&images->mutex);
	pthread_cond_destroy(&images->changed);
	pthread_mutex_destroy(&images->mutex);
	free(images);
}

int microvm_images_clean_up(struct microvm_images *images, struct error *err)
{
	struct provider *shells = as_microvm(images->provider)->shells;
	AUTO(arena_done) struct arena arena = {0};
	struct provider_list list;

	if (broker_provider_list_entries(shells, BROKER_LIST, &arena, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		if (!id_is_of_image(list.entries[i].id))
			continue;
		log_info("the making of an image was interrupted",
		         TEXT("sandbox", list.entries[i].id));
		if (broker_provider_destroy(shells, list.entries[i].id, deadline_after(CALL_MS),
		                            err) < 0)
			return -1;
	}
	return 0;
}

/* `count` characters of an id. */
static void add_hash(char *out, unsigned count, const char *text)
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char hash[crypto_generichash_BYTES];

	(void)crypto_generichash(hash, sizeof(hash), (const unsigned char *)text, strlen(text),
	                         NULL, 0);
	for (unsigned i = 0; i < count; i++)
		out[i] = alphabet[hash[i] % 32];
}

/* What a file that changes is: it differs after each change. Zeroes for a missing file. */
static struct stat read_status(const char *path)
{
	struct stat file = {0};

	if (stat(path, &file) < 0)
		memset(&file, 0, sizeof(file));
	return file;
}

/* All that the machine's memory and disk depend on. */
static int describe_image(const struct microvm_provider *m, const struct sandbox_spec *spec,
                          struct microvm_image *ret, struct error *err)
{
	char path[PATH_SIZE_MAX];
	bool has_kvm;
	const struct stat qemu = read_status(MICROVM_QEMU);

	(void)snprintf(path, sizeof(path), "%.3000s/templates/.%.255s.json", m->data_dir,
	               spec->template_dir);
	const struct stat files = read_status(path);
	if (microvm_accelerator_choose(m->accelerator, &has_kvm, err) < 0)
		return -1;
	*ret = (struct microvm_image){.has_memory = spec->resources.memory_mb <=
	                                            MICROVM_SAVED_MEMORY_MAX_MB,
	                              .has_kvm = has_kvm};
	(void)snprintf(ret->key, sizeof(ret->key),
	               "template=%.255s:%llu:%lld cpus=%u memory=%lld disk=%lld accelerator=%s "
	               "qemu=%lld:%lld programs=%016llx",
	               spec->template_dir, (unsigned long long)files.st_ino,
	               (long long)files.st_mtime, microvm_processors(spec),
	               (long long)spec->resources.memory_mb, (long long)spec->resources.disk_mb,
	               has_kvm ? "kvm" : "tcg", (long long)qemu.st_size, (long long)qemu.st_mtime,
	               (unsigned long long)m->boot.digest);
	memcpy(ret->id, ID_IMAGE_PREFIX, TAG_AT);
	add_hash(ret->id + TAG_AT, TAG_SIZE, spec->template_dir);
	add_hash(ret->id + HASH_AT, HASH_SIZE, ret->key);
	id_random_text(ret->id + RANDOM_AT, ID_SIZE - RANDOM_AT + 1);
	return 0;
}

static bool has_same_key(const char *id, const char *other)
{
	return memcmp(id, other, RANDOM_AT) == 0;
}

/* One with the key of this id. Called with the mutex held. */
static struct known_image *find_ready(struct microvm_images *images, const char *id)
{
	for (unsigned i = 0; i < images->ready_count; i++)
		if (has_same_key(images->ready[i].id, id))
			return &images->ready[i];
	return NULL;
}

static void forget_ready(struct microvm_images *images, const char *id)
{
	struct known_image *known = find_ready(images, id);

	if (known && strcmp(known->id, id) == 0)
		*known = images->ready[--images->ready_count];
}

/* The place of the one that was not used for the longest time is taken when there is no other. */
static struct known_image *take_place(struct microvm_images *images)
{
	struct known_image *oldest = &images->ready[0];

	if (images->ready_count < MICROVM_IMAGES_MAX)
		return &images->ready[images->ready_count++];
	for (unsigned i = 1; i < MICROVM_IMAGES_MAX; i++)
		if (images->ready[i].used_ms < oldest->used_ms)
			oldest = &images->ready[i];
	return oldest;
}

static void note_ready(struct microvm_images *images, const char *id)
{
	struct known_image *known = find_ready(images, id);

	if (!known)
		known = take_place(images);
	memcpy(known->id, id, sizeof(known->id));
	known->used_ms = clock_monotonic_ms();
}

static int list_images(struct microvm_images *images, struct arena *a, struct provider_list *ret,
                       struct error *err)
{
	struct provider_list all;

	if (broker_provider_list_entries(as_microvm(images->provider)->shells, BROKER_SNAPSHOT_LIST,
	                                 a, &all, err) < 0)
		return -1;
	*ret = (struct provider_list){.entries = all.entries};
	for (size_t i = 0; i < all.count; i++)
		if (id_is_of_image(all.entries[i].id))
			ret->entries[ret->count++] = all.entries[i];
	return 0;
}

static void remove_image(struct microvm_images *images, const char *id)
{
	struct error err = {0};

	pthread_mutex_lock(&images->mutex);
	forget_ready(images, id);
	pthread_mutex_unlock(&images->mutex);
	if (broker_snapshots.remove(as_microvm(images->provider)->shells, id,
	                            deadline_after(CALL_MS), &err) < 0)
		log_warning("an image of a virtual machine is left", TEXT("image", id),
		            FAILURE(&err));
}

static int64_t used_ms_of(struct microvm_images *images, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&images->mutex);
	const struct known_image *known = find_ready(images, id);

	return known ? known->used_ms : 0;
}

/* The entry that was not used for the longest time. */
static size_t find_oldest(struct microvm_images *images, const struct provider_list *list)
{
	size_t oldest = 0;

	for (size_t i = 1; i < list->count; i++)
		if (used_ms_of(images, list->entries[i].id) <
		    used_ms_of(images, list->entries[oldest].id))
			oldest = i;
	return oldest;
}

/* Leaves room for one more. */
static void remove_oldest(struct microvm_images *images, struct provider_list *list)
{
	while (list->count >= MICROVM_IMAGES_MAX) {
		size_t oldest = find_oldest(images, list);

		remove_image(images, list->entries[oldest].id);
		list->entries[oldest] = list->entries[--list->count];
	}
}

static void leave_making(struct image_making *making)
{
	if (--making->users > 0)
		return;
	list_remove(&making->item);
	arena_done(&making->arena);
	free(making);
}

static int find_or_make(struct image_making *making, struct error *err)
{
	struct microvm_images *images = making->images;
	AUTO(arena_done) struct arena arena = {0};
	int64_t began_ms = clock_monotonic_ms();
	struct provider_list list;

	if (list_images(images, &arena, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		if (has_same_key(list.entries[i].id, making->image.id)) {
			memcpy(making->image.id, list.entries[i].id, ID_SIZE);
			return 0;
		}
	remove_oldest(images, &list);
	if (microvm_image_make(images->provider, &making->spec, &making->image,
	                       deadline_after(MAKE_MS), err) < 0)
		return -1;
	log_info("an image of virtual machines is made", TEXT("image", making->image.id),
	         TEXT("key", making->image.key),
	         NUMBER("took_ms", clock_monotonic_ms() - began_ms));
	return 0;
}

static void *run_making(void *context)
{
	struct image_making *making = context;
	struct microvm_images *images = making->images;
	struct error err = {0};
	int status = find_or_make(making, &err);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&images->mutex);

	if (status < 0)
		making->err = err;
	else
		note_ready(images, making->image.id);
	making->is_done = true;
	leave_making(making);
	images->running--;
	pthread_cond_broadcast(&images->changed);
	return NULL;
}

static struct image_making *find_making(struct microvm_images *images, const char *id)
{
	LIST_EACH (&images->makings, struct image_making, m, item)
		if (!m->is_done && has_same_key(m->image.id, id))
			return m;
	return NULL;
}

static int start_making(struct microvm_images *images, const struct sandbox_spec *spec,
                        const struct microvm_image *image, struct image_making **ret,
                        struct error *err)
{
	struct image_making *making;
	pthread_t thread;

	if (images->running >= MAKINGS_MAX)
		return FAIL(err, ERROR_LIMIT, "%u images of virtual machines are being made",
		            images->running);
	making = memory_new(sizeof(*making));
	*making = (struct image_making){.images = images, .image = *image, .users = 1};
	making->spec = (struct sandbox_spec){.template_dir =
	                                             arena_text(&making->arena, spec->template_dir),
	                                     .resources = spec->resources};
	list_init(&making->item);
	list_append(&images->makings, &making->item);
	int failed = thread_start(&thread, NULL, run_making, making);
	if (failed) {
		leave_making(making);
		errno = failed;
		return FAIL_ERRNO(err, "start a thread");
	}
	(void)pthread_detach(thread);
	images->running++;
	*ret = making;
	return 0;
}

static int await_making(struct image_making *making, int64_t deadline, struct error *err)
{
	struct microvm_images *images = making->images;

	while (!making->is_done && deadline_poll_ms(deadline) > 0)
		thread_wait(&images->changed, &images->mutex, deadline);
	if (!making->is_done)
		return FAIL(err, ERROR_TIMEOUT,
		            "the image of the virtual machine is still being made");
	if (making->err.code == ERROR_NONE)
		return 0;
	*err = making->err;
	return -1;
}

int microvm_image_get(struct microvm_images *images, const struct sandbox_spec *spec,
                      int64_t deadline, struct microvm_image *ret, struct error *err)
{
	struct image_making *making;

	if (describe_image(as_microvm(images->provider), spec, ret, err) < 0)
		return -1;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&images->mutex);
	const struct known_image *known = find_ready(images, ret->id);
	if (known) {
		memcpy(ret->id, known->id, ID_SIZE);
		note_ready(images, ret->id);
		return 0;
	}
	making = find_making(images, ret->id);
	if (!making && start_making(images, spec, ret, &making, err) < 0)
		return -1;
	making->users++;
	int status = await_making(making, deadline, err);
	memcpy(ret->id, making->image.id, ID_SIZE);
	leave_making(making);
	return status;
}

void microvm_image_drop(struct microvm_images *images, const char *id)
{
	remove_image(images, id);
}

void microvm_images_forget_template(struct microvm_images *images, const char *folder)
{
	AUTO(arena_done) struct arena arena = {0};
	struct provider_list list = {0};
	struct error err = {0};
	char tag[TAG_SIZE];

	add_hash(tag, TAG_SIZE, folder);
	if (list_images(images, &arena, &list, &err) < 0)
		log_warning("images of a removed template are left", TEXT("template", folder),
		            FAILURE(&err));
	for (size_t i = 0; i < list.count; i++)
		if (memcmp(list.entries[i].id + TAG_AT, tag, TAG_SIZE) == 0)
			remove_image(images, list.entries[i].id);
}

unsigned microvm_images_count(struct microvm_images *images)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&images->mutex);

	return images->ready_count;
}
