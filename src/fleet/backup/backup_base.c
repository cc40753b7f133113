/* SPDX-License-Identifier: Apache-2.0 */
/* The template of an imported backup. The unpacking program compares its files. */
#include <string.h>
#include <unistd.h>

#include "fleet/backup/backup.h"
#include "fleet/backup/backups.h"
#include "fleet/core/fleet_state.h"
#include "fleet/template/import.h"
#include "fleet/template/templates.h"

/* Digits of the digest that are added to the name of another template. */
#define DIGEST_SHOWN 8
#define NAME_SHOWN 48

static int await_template(struct fleet *f, struct arena *a, struct template_record *t,
                          struct error *err)
{
	return fleet_template_ready(f, a, t, deadline_after(TEMPLATE_TIMEOUT_MS), err);
}

/* Left by an interrupted import of a full backup. */
static bool is_leftover(const struct backup_record *b, const struct template_record *t)
{
	return b->is_full && t->state == TEMPLATE_FAILED &&
	       strcmp(t->project_id, b->project_id) == 0 &&
	       strcmp(t->base_image, image_format_name(IMAGE_BACKUP)) == 0;
}

static int find_template(struct fleet *f, struct arena *a, const struct backup_record *b,
                         const char *name, struct template_record *ret, struct error *err)
{
	const struct fleet_ref ref = {b->project_id, name};

	if (*name && template_find(f, a, &ref, ret, err) == 0) {
		if (!is_leftover(b, ret))
			return 0;
		if (fleet_template_remove(f, b->project_id, ret->id, err) < 0)
			return -1;
	} else if (*name && err->code != ERROR_NOT_FOUND) {
		return -1;
	}
	error_clear(err);
	return FAIL_MISSING(err, "template", name);
}

int backup_base_find(struct fleet *f, struct arena *a, const struct fleet_backup_import *request,
                     const struct backup_record *b, struct backup_base *ret, struct error *err)
{
	struct template_record *t = &ret->record;

	*ret = (struct backup_base){.is_made = false};
	if (request->template)
		return find_template(f, a, b, request->template, t, err) < 0
		               ? -1
		               : await_template(f, a, t, err);
	if (find_template(f, a, b, b->template_id, t, err) == 0)
		return await_template(f, a, t, err);
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	if (find_template(f, a, b, b->template_name, t, err) == 0) {
		ret->is_guess = b->is_full;
		/* An unused default template would be built first, from today's packages. */
		if (t->state == TEMPLATE_READY || !b->is_full)
			return await_template(f, a, t, err);
		(void)FAIL(err, ERROR_NOT_FOUND, "template '%s' is not built", t->name);
	}
	if (err->code != ERROR_NOT_FOUND || b->is_full)
		return -1;
	error_clear(err);
	(void)FAIL(err, ERROR_NOT_FOUND, "backup '%s' was made on template '%s', which is not here",
	           b->name, b->template_name);
	return FAIL_HINT(err, "import the same image as a template and name it: \"template\"");
}

/* The same name for each backup of that template, so that the next import finds it. */
static const char *name_of(struct arena *a, const struct backup_record *b)
{
	const char *name = b->template_name;

	if (image_name_check(name, &(struct error){0}) < 0)
		name = "imported";
	return arena_format(a, "%.*s-%.*s", NAME_SHOWN, name, DIGEST_SHOWN, b->template_digest);
}

int backup_base_make(struct fleet *f, struct arena *a, const struct fleet_backup_import *request,
                     const struct backup_record *b, struct backup_base *ret, struct error *err)
{
	const char *name = request->template ? request->template : name_of(a, b);
	const struct blob_range all = {0, -1};
	AUTO_CLOSE int fd = -1;
	int64_t size;

	*ret = (struct backup_base){.is_made = false};
	if (!request->template && find_template(f, a, b, name, &ret->record, err) == 0)
		return await_template(f, a, &ret->record, err);
	if (err->code != ERROR_NONE && err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	if (blob_get(f->blobs, fleet_backup_blob(a, b->id), all, &fd, &size, err) < 0)
		return -1;
	ret->is_made = true;
	return fleet_template_import(
	        f, a,
	        &(struct fleet_import){
	                .project_id = b->project_id,
	                .name = name,
	                .description = arena_format(a, "of backup '%s'", b->name),
	                .format = IMAGE_BACKUP,
	                .source_fd = fd,
	        },
	        &ret->record, err);
}
