/* SPDX-License-Identifier: Apache-2.0 */
/* A data folder and a store that know each other: what is refused, and what is not removed. */
#include "fleet/core/fleet_state.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/recovery/notes.h"
#include "fleet/recovery/trash.h"
#include "fleet/server/fleet.h"
#include "fleet/server/pair.h"
#include "fleet/template/templates.h"
#include "harness.h"
#include "store/folders.h"
#include "store/sandbox_record.h"
#include "store/templates.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODE "nodenodenodenodenode"

static int open_paired(void **state)
{
	struct harness *h;
	char folder[80];

	assert_int_equal(harness_open(state), 0);
	h = *state;
	(void)snprintf(h->data_dir, sizeof(h->data_dir), "/tmp/atoll-pairing.XXXXXX");
	assert_non_null(mkdtemp(h->data_dir));
	(void)snprintf(folder, sizeof(folder), "%s/pairing", h->data_dir);
	assert_int_equal(mkdir(folder, 0700), 0);
	h->node = NODE;
	harness_stop(h);
	harness_start(h);
	return 0;
}

static int close_paired(void **state)
{
	struct harness *h = *state;
	char path[96];
	struct dirent *entry;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "%s/pairing", h->data_dir);
	folder = opendir(path);
	assert_non_null(folder);
	while ((entry = readdir(folder)))
		(void)unlinkat(dirfd(folder), entry->d_name, 0);
	(void)closedir(folder);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(h->data_dir), 0);
	return harness_close(state);
}

static int start_again(struct harness *h, enum fleet_claim claim, struct error *err)
{
	harness_stop(h);
	harness_start(h);
	return fleet_pair(h->fleet, claim, err) < 0 ? -1 : fleet_recover(h->fleet, err);
}

static void forget_all(struct harness *h)
{
	harness_store(h, "sqlite::memory:");
}

static void a_pair_fits_again_and_again(void **state)
{
	struct error err = {0};
	struct sandbox_record r;

	assert_done(start_again(*state, FLEET_CLAIM_CHECK, &err));
	r = create(*state);
	for (unsigned i = 0; i < 3; i++)
		assert_done(start_again(*state, FLEET_CLAIM_CHECK, &err));
	assert_int_equal(find(*state, r.id).actual, SANDBOX_STARTED);
}

static void another_store_is_refused_until_it_is_adopted(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r;

	assert_done(start_again(h, FLEET_CLAIM_CHECK, &err));
	r = create(h);
	forget_all(h);
	assert_refused(start_again(h, FLEET_CLAIM_CHECK, &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "0 of 1 sandboxes"));
	assert_non_null(strstr(err.hint, "--adopt"));
	assert_string_equal(fake_has(&h->fake, r.id), "running");
	error_clear(&err);
	assert_done(start_again(h, FLEET_CLAIM_ADOPT, &err));
	assert_string_equal(fake_has(&h->fake, r.id), "nothing");
	assert_done(start_again(h, FLEET_CLAIM_CHECK, &err));
}

static void any_store_fits_a_folder_that_holds_nothing(void **state)
{
	struct error err = {0};

	assert_done(start_again(*state, FLEET_CLAIM_CHECK, &err));
	forget_all(*state);
	assert_done(start_again(*state, FLEET_CLAIM_CHECK, &err));
}

/* As after a kill in the middle of a first start. */
static void a_row_without_a_file_is_no_mismatch(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	char path[96];

	assert_done(start_again(h, FLEET_CLAIM_CHECK, &err));
	(void)create(h);
	(void)snprintf(path, sizeof(path), "%s/pairing/store", h->data_dir);
	assert_int_equal(unlink(path), 0);
	assert_done(start_again(h, FLEET_CLAIM_CHECK, &err));
	assert_int_equal(access(path, F_OK), 0);
}

/* The rows are gone, and the row of the folder: the database was truncated, or another one put in
 * its place, while the server runs. */
static void a_store_that_was_swapped_under_the_server_removes_nothing(void **state)
{
	struct harness *h = *state;
	struct folder_record other = {.node = NODE,
	                              .pairing = "anotheranotheranothe",
	                              .generation = 100,
	                              .instance = "x",
	                              .boot = "x",
	                              .place = "/other"};
	struct id orphan = id_new();
	struct error err = {0};

	assert_done(start_again(h, FLEET_CLAIM_CHECK, &err));
	fake_set(&h->fake, orphan.text, fake_files);
	assert_done(store_folder_put(h->store, &other, &err));
	fleet_tick(h->fleet);
	assert_string_equal(fake_has(&h->fake, orphan.text), "files");
	assert_int_equal(fleet_trash_counts_get(h->fleet).orphans, 0);
}

static void a_sweep_that_finds_more_orphans_than_the_bound_removes_none(void **state)
{
	struct harness *h = *state;
	struct id orphans[3] = {id_new(), id_new(), id_new()};
	struct error err = {0};

	h->config.orphans_max = 2;
	assert_done(start_again(h, FLEET_CLAIM_CHECK, &err));
	for (unsigned i = 0; i < 3; i++)
		fake_set(&h->fake, orphans[i].text, fake_files);
	fleet_tick(h->fleet);
	assert_string_equal(fake_has(&h->fake, orphans[0].text), "files");
	assert_int_equal(fleet_trash_counts_get(h->fleet).held, 3);
	assert_refused(start_again(h, FLEET_CLAIM_CHECK, &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "orphans_max"));
}

static void a_template_that_is_in_use_keeps_its_note(void **state)
{
	struct harness *h = *state;
	const struct template_record t = {.id = "templatetemplatetemp",
	                                  .project_id = PROJECT,
	                                  .name = "own",
	                                  .folder = "own",
	                                  .base_image = "",
	                                  .runtime = "",
	                                  .description = "",
	                                  .isolation = h->fleet->ops->isolation,
	                                  .state = TEMPLATE_READY,
	                                  .created_at = 1,
	                                  .updated_at = 1};
	struct error err = {0};
	struct sandbox_record r;
	char path[128];

	assert_done(start_again(h, FLEET_CLAIM_CHECK, &err));
	assert_done(store_template_insert(h->store, &t, &err));
	notes_of_owners(h->fleet);
	(void)snprintf(path, sizeof(path), "%s/pairing/template-%s", h->data_dir, t.id);
	assert_int_equal(access(path, F_OK), 0);
	r = create_with(h, (struct fleet_create){.template = "own"});
	assert_refused(fleet_template_remove(h->fleet, PROJECT, "own", &err), ERROR_CONFLICT);
	assert_int_equal(access(path, F_OK), 0);
	error_clear(&err);
	assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id},
	                         SANDBOX_REASON_USER, &err));
	assert_done(fleet_template_remove(h->fleet, PROJECT, "own", &err));
	assert_int_equal(access(path, F_OK), -1);
}

#undef EACH
#define EACH(name) cmocka_unit_test_setup_teardown(name, open_paired, close_paired)

int main(void)
{
	return RUN_EACH(EACH(a_pair_fits_again_and_again),
	                EACH(another_store_is_refused_until_it_is_adopted),
	                EACH(any_store_fits_a_folder_that_holds_nothing),
	                EACH(a_row_without_a_file_is_no_mismatch),
	                EACH(a_store_that_was_swapped_under_the_server_removes_nothing),
	                EACH(a_sweep_that_finds_more_orphans_than_the_bound_removes_none),
	                EACH(a_template_that_is_in_use_keeps_its_note));
}
