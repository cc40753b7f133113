/* SPDX-License-Identifier: Apache-2.0 */
/* The template of a registry's image: found by name, or imported. */
#include <ctype.h>
#include <sodium.h>
#include <string.h>

#include "base/id.h"
#include "config/config.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/sandboxes.h"
#include "fleet/recovery/pairing.h"
#include "fleet/template/image_parts.h"
#include "fleet/template/templates.h"
#include "provider/provider.h"
#include "store/templates.h"

/* Limit for callers that import the same image and fail one after the other. */
#define IMPORT_TRIES 16
/* Callers may remove the template, or have made it, between two looks. */
#define FIND_TRIES 8
#define NAME_DIGITS 12 /* hexadecimal digits of the digest in a long name */
/* Waiters still read why a pull has failed. */
#define FAILED_KEEP_MS (60 * 1000)
/* A create that has found the template may not have written its sandbox's row yet. */
#define YOUNG_MS (3 * TEMPLATE_USED_WITHIN_MS)
#define SWEEP_COUNT 1000

/* An imported file may be of any image. The base_image of a default template is its recipe. */
static bool is_of_image(const struct template_record *t, const char *image)
{
	enum image_format format;

	if (!*t->project_id)
		return false;
	return image_reference_is_same(t->base_image, image) ||
	       image_format_parse(t->base_image, &format, &(struct error){0}) == 0;
}

static int fail_other_image(const struct template_record *t, const char *image, struct error *err)
{
	(void)FAIL(err, ERROR_CONFLICT,
	           "image '%.200s' would be the template '%s', which is of '%.100s'", image,
	           t->name, t->base_image);
	return FAIL_HINT(err, "remove that template, or name it in place of the image");
}

int fleet_template_check_image(const struct template_record *t, const char *image,
                               struct error *err)
{
	if (strcmp(t->name, image) == 0 || is_of_image(t, image))
		return 0;
	return fail_other_image(t, image, err);
}

/* The template exists: checks its image and waits until it is ready. */
static int take_imported(struct fleet *f, struct arena *a, const struct fleet_import *request,
                         int64_t deadline, struct template_record *t, struct error *err)
{
	if (store_template_find(f->store, a, request->project_id, request->name, t, err) < 0 ||
	    fleet_template_check_image(t, request->reference, err) < 0)
		return -1;
	return fleet_template_ready(f, a, t, deadline, err);
}

/* Another caller may start the import between the lookup and this import, and may fail while this
 * one waits; then the row is gone. */
int fleet_template_of_image(struct fleet *fleet, struct arena *a,
                            const struct fleet_import *request, int64_t deadline,
                            struct template_record *ret, struct error *err)
{
	for (unsigned i = 1;; i++) {
		if (take_imported(fleet, a, request, deadline, ret, err) == 0)
			return 0;
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		if (fleet_template_import(fleet, a, request, ret, err) == 0)
			return 0;
		if (err->code != ERROR_CONFLICT || i == IMPORT_TRIES ||
		    clock_monotonic_ms() >= deadline)
			return -1;
		error_clear(err);
	}
}

/* Without what is implied, so that all spellings of an image share its template. */
static const char *short_reference(const char *reference)
{
	static const char *const implied[] = {"docker.io/", "index.docker.io/", "library/"};

	for (size_t i = 0; i < COUNT_OF(implied); i++)
		if (strncmp(reference, implied[i], strlen(implied[i])) == 0)
			reference += strlen(implied[i]);
	return reference;
}

/* A reference that does not fit, such as one with a digest, gets a digest as its name. */
const char *fleet_image_name(struct arena *a, const char *reference)
{
	const char *image = short_reference(reference);
	unsigned char digest[crypto_hash_sha256_BYTES];
	char *name = arena_text(a, image), hex[2 * sizeof(digest) + 1];
	bool is_same = strlen(image) <= IMAGE_NAME_MAX;

	for (char *c = name; *c; c++) {
		if (*c == ':' || *c == '/' || *c == '@')
			*c = '-';
		is_same = is_same && !isupper((unsigned char)*c);
		*c = (char)tolower((unsigned char)*c);
	}
	if (is_same)
		return name;
	crypto_hash_sha256(digest, (const unsigned char *)image, strlen(image));
	sodium_bin2hex(hex, sizeof(hex), digest, sizeof(digest));
	return arena_format(a, "%.*s-%.*s", IMAGE_NAME_MAX - 1 - NAME_DIGITS, name, NAME_DIGITS,
	                    hex);
}

int image_insert_pulled(struct fleet *f, const struct fleet_image *image, const char *name,
                        struct error *err)
{
	struct id id = id_new();
	int64_t now = clock_unix_ms();
	const struct template_record t = {
	        .id = id.text,
	        .project_id = image->project_id,
	        .name = name,
	        .folder = id.text,
	        .base_image = image->reference,
	        .runtime = "image",
	        .description = "",
	        .user = "",
	        .workdir = "",
	        .state = TEMPLATE_PENDING,
	        .node = f->node,
	        .is_pulled = true,
	        .used_at = now,
	        .created_at = now,
	        .updated_at = now,
	};

	return store_template_insert(f->store, &t, err);
}

int fleet_image_template(struct fleet *fleet, struct arena *a, const struct fleet_image *image,
                         struct template_record *ret, struct error *err)
{
	const char *name = image->name ? image->name : fleet_image_name(a, image->reference);
	const struct fleet_ref ref = {image->project_id, name};

	if (image_reference_check(image->reference, err) < 0 || image_name_check(name, err) < 0)
		return -1;
	for (unsigned i = 1; template_find(fleet, a, &ref, ret, err) < 0; i++) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		if (image_insert_pulled(fleet, image, name, err) == 0)
			continue;
		if (err->code != ERROR_CONFLICT || i == FIND_TRIES)
			return -1;
		error_clear(err);
	}
	return is_of_image(ret, image->reference) ? 0
	                                          : fail_other_image(ret, image->reference, err);
}

int fleet_image_cached(struct fleet *fleet, struct arena *a, const struct fleet_image *image,
                       struct template_record *ret, struct error *err)
{
	const char *name = image->name ? image->name : fleet_image_name(a, image->reference);
	const struct fleet_ref ref = {image->project_id, name};

	if (image_reference_check(image->reference, err) < 0 || image_name_check(name, err) < 0)
		return -1;
	if (template_find(fleet, a, &ref, ret, err) == 0 &&
	    (!ret->is_pulled || ret->state == TEMPLATE_READY))
		return is_of_image(ret, image->reference)
		               ? 0
		               : fail_other_image(ret, image->reference, err);
	if (err->code != ERROR_NONE && err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	(void)FAIL(err, ERROR_NOT_FOUND,
	           "image '%.200s' is not on this server, and pull is 'never'", image->reference);
	return FAIL_HINT(err, "pull: \"missing\" pulls it");
}

int fleet_image_use(struct fleet *fleet, const struct template_record *t, struct error *err)
{
	int64_t now = clock_unix_ms();

	if (!t->is_pulled || now - t->used_at < TEMPLATE_USED_WITHIN_MS)
		return 0;
	if (store_template_touch(fleet->store, t->id, now, err) < 0)
		return -1;
	templates_changed(fleet);
	return 0;
}

static bool is_left(const struct fleet *f, const struct template_record *t, int64_t now)
{
	/* A newer image has taken its name. */
	if (strcmp(t->name, t->id) == 0)
		return true;
	if (t->state == TEMPLATE_READY)
		return f->config->image_keep_ms > 0 && now - t->used_at > f->config->image_keep_ms;
	return t->state == TEMPLATE_FAILED ? now - t->updated_at > FAILED_KEEP_MS
	                                   : t->state == TEMPLATE_PENDING;
}

static int remove_pulled(struct fleet *f, const struct template_record *t, struct error *err)
{
	if (fleet_template_remove(f, t->project_id, t->id, err) == 0) {
		log_info("a pulled image is removed", TEXT("template", t->id),
		         TEXT("image", t->base_image));
		return 1;
	}
	/* A sandbox has been made of it meanwhile, or another server has removed it. */
	if (err->code != ERROR_CONFLICT && err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

static int sweep_images(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct pulled_filter filter = {f->node, SWEEP_COUNT};
	int64_t bytes = 0, now = clock_unix_ms();
	struct template_list list;

	if (store_template_touch_pulled(f->store, now, err) < 0 ||
	    store_template_pulled_list(f->store, &arena, &filter, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		bytes += list.items[i].size_bytes;
	for (size_t i = 0; i < list.count; i++) {
		const struct template_record *t = &list.items[i];
		bool is_old = t->state == TEMPLATE_FAILED || now - t->used_at > YOUNG_MS;
		bool is_due = is_left(f, t, now) || bytes > f->config->image_cache_bytes_max;
		int removed = is_old && is_due ? remove_pulled(f, t, err) : 0;

		if (removed < 0)
			return -1;
		if (removed > 0)
			bytes -= t->size_bytes;
	}
	return 0;
}

void images_sweep(struct fleet *f)
{
	struct error err = {0};

	/* With a store that does not match the folder, a missing row proves nothing. */
	if (pairing_holds(f) && sweep_images(f, &err) < 0)
		log_warning("pulled images that nothing uses are left", FAILURE(&err));
}
