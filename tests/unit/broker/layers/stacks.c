/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/host/host.h"
#include "broker/host/options.h"
#include "broker/layers/stack.h"
#include "broker/layers/stacks.h"
#include "broker/layers/trash.h"
#include "broker/layers/trash_note.h"
#include "unit.h"
#include "wire/broker_trash.h"

#define A "aaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccc"
#define BOX "dddddddddddddddddddd"
#define OTHER "eeeeeeeeeeeeeeeeeeee"

struct data {
	struct host host;
	struct layer_stacks stacks;
	char path[64];
};

static void data_make(struct data *d)
{
	static const struct broker_options options;
	static const struct {
		enum host_folder which;
		const char *name;
	} rows[] = {{FOLDER_SNAPSHOTS, "snapshots"},   {FOLDER_SANDBOXES, "sandboxes"},
	            {FOLDER_HOST_FILES, "host-files"}, {FOLDER_TRASH, "trash"},
	            {FOLDER_KEPT, "trash/kept"},       {FOLDER_RUN_SANDBOXES, "run"}};

	memset(d, 0, sizeof(*d));
	d->host.options = &options;
	(void)snprintf(d->path, sizeof(d->path), "/tmp/atoll-chains.XXXXXX");
	assert_non_null(mkdtemp(d->path));
	for (unsigned i = 0; i < COUNT_OF(rows); i++) {
		char path[128];

		(void)snprintf(path, sizeof(path), "%s/%s", d->path, rows[i].name);
		assert_int_equal(mkdir(path, 0700), 0);
		d->host.folders[rows[i].which] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(d->host.folders[rows[i].which] >= 0);
	}
	layer_stacks_init(&d->stacks, &d->host);
}

static void data_done(struct data *d)
{
	layer_stacks_close(&d->stacks);
	(void)close(d->host.folders[FOLDER_SNAPSHOTS]);
	(void)close(d->host.folders[FOLDER_SANDBOXES]);
	(void)close(d->host.folders[FOLDER_HOST_FILES]);
	(void)close(d->host.folders[FOLDER_TRASH]);
	(void)close(d->host.folders[FOLDER_KEPT]);
	(void)close(d->host.folders[FOLDER_RUN_SANDBOXES]);
	unit_remove_folder(d->path);
}

/* As the broker of before has left them. */
static void put(struct data *d, enum host_folder which, const char *id, const char *stack)
{
	int folder = d->host.folders[which];
	char path[64];

	assert_int_equal(mkdirat(folder, id, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/" LAYER_STACK_LINK, id);
	if (*stack)
		assert_int_equal(symlinkat(stack, folder, path), 0);
}

static void keep(struct data *d, const char *id)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/" KEPT_LINK, id);
	assert_int_equal(symlinkat("snapshot", d->host.folders[FOLDER_SNAPSHOTS], path), 0);
}

static bool is_there(const struct data *d, const char *id)
{
	return faccessat(d->host.folders[FOLDER_SNAPSHOTS], id, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

TEST(a_chain_comes_back_as_it_was_written)
{
	struct layer_stack stack = {.count = 2, .ids = {A, B}}, read;
	struct error err = {0};
	struct data d;

	data_make(&d);
	put(&d, FOLDER_SANDBOXES, BOX, "");
	assert_int_equal(
	        layer_stack_read(d.host.folders[FOLDER_SANDBOXES], BOX "/chain", &read, &err), 0);
	assert_int_equal(read.count, 0);
	assert_int_equal(
	        layer_stack_write(d.host.folders[FOLDER_SANDBOXES], BOX "/chain", &stack, &err), 0);
	assert_int_equal(
	        layer_stack_read(d.host.folders[FOLDER_SANDBOXES], BOX "/chain", &read, &err), 0);
	assert_int_equal(read.count, 2);
	assert_string_equal(read.ids[0], A);
	assert_string_equal(read.ids[1], B);
	data_done(&d);
}

TEST(what_is_no_chain_is_refused)
{
	static const char *const bad[] = {
	        "../../etc/passwd/x/y",
	        A " ../../etc/passwd/x/y",
	        A "," B,
	        A "  " B,
	        "short",
	        A "x",
	        "AAAAAAAAAAAAAAAAAAAA",
	        "1aaaaaaaaaaaaaaaaaaa",
	};
	struct error err = {0};
	struct layer_stack stack;

	for (unsigned i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(layer_stack_parse(&stack, bad[i], &err), -1);
	assert_int_equal(layer_stack_parse(&stack, "", &err), 0);
	assert_int_equal(stack.count, 0);
}

TEST(a_chain_has_an_end)
{
	struct layer_stack stack = {.count = 0}, longer;
	struct error err = {0};

	for (unsigned i = 0; i < LAYER_STACK_MAX; i++) {
		assert_int_equal(layer_stack_put(&longer, A, &stack, &err), 0);
		stack = longer;
	}
	assert_int_equal(stack.count, LAYER_STACK_MAX);
	assert_int_equal(layer_stack_put(&longer, A, &stack, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
}

TEST(a_layer_goes_with_the_last_that_lies_on_it)
{
	struct error err = {0};
	struct layer_stack stack;
	struct data d;

	data_make(&d);
	put(&d, FOLDER_SNAPSHOTS, A, "");
	keep(&d, A);
	put(&d, FOLDER_SNAPSHOTS, B, A);
	keep(&d, B);
	assert_int_equal(layer_stacks_add(&d.stacks, A, &err), 0);
	assert_int_equal(layer_stacks_add(&d.stacks, B, &err), 0);
	assert_int_equal(layer_stacks_find(&d.stacks, B, &stack, &err), 0);
	assert_int_equal(stack.count, 2);
	layer_stacks_set(&d.stacks, BOX, &stack);
	assert_int_equal(layer_stacks_remove(&d.stacks, A, &err), 0);
	assert_int_equal(layer_stacks_remove(&d.stacks, B, &err), 0);
	assert_int_equal(layer_stacks_find(&d.stacks, B, &stack, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_true(is_there(&d, A) && is_there(&d, B));
	/* once more is fine */
	assert_int_equal(layer_stacks_remove(&d.stacks, B, &err), 0);
	layer_stacks_set(&d.stacks, BOX, NULL);
	assert_false(is_there(&d, A) || is_there(&d, B));
	data_done(&d);
}

TEST(what_something_began_with_is_found_in_its_own_chain_too)
{
	struct error err = {0};
	struct layer_stack stack;
	struct data d;

	data_make(&d);
	put(&d, FOLDER_SNAPSHOTS, A, "");
	put(&d, FOLDER_SNAPSHOTS, B, A);
	put(&d, FOLDER_SNAPSHOTS, C, B " " A);
	keep(&d, C);
	put(&d, FOLDER_SANDBOXES, BOX, C " " B " " A);
	assert_int_equal(layer_stacks_adopt(&d.stacks, &err), 0);
	assert_int_equal(layer_stacks_find_origin(&d.stacks, BOX, "", &stack, &err), 0);
	assert_int_equal(stack.count, 0);
	/* A snapshot no more, but it lies on it. */
	assert_int_equal(layer_stacks_find_origin(&d.stacks, BOX, B, &stack, &err), 0);
	assert_int_equal(stack.count, 2);
	assert_string_equal(stack.ids[0], B);
	assert_string_equal(stack.ids[1], A);
	/* Of somebody who does not lie on it. */
	assert_int_equal(layer_stacks_find_origin(&d.stacks, OTHER, C, &stack, &err), 0);
	assert_int_equal(stack.count, 3);
	assert_int_equal(layer_stacks_find_origin(&d.stacks, OTHER, B, &stack, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	data_done(&d);
}

TEST(what_is_merged_takes_the_place_of_all_below)
{
	struct layer_stack stack = {.count = 3, .ids = {A, B, C}};

	assert_false(layer_stack_replace(&stack, OTHER, BOX));
	assert_int_equal(stack.count, 3);
	assert_true(layer_stack_replace(&stack, B, BOX));
	assert_int_equal(stack.count, 2);
	assert_string_equal(stack.ids[0], A);
	assert_string_equal(stack.ids[1], BOX);
	assert_true(layer_stack_replace(&stack, A, C));
	assert_int_equal(stack.count, 1);
	assert_string_equal(stack.ids[0], C);
}

static bool agree(void *context, const char *sandbox, const struct layer_stack *old)
{
	const char *refused = context;

	assert_int_equal(old->count, 3);
	return !refused || strcmp(sandbox, refused) != 0;
}

#define MERGED "mmmmmmmmmmmmmmmmmmmm"

/* C is a snapshot on B and A; BOX and OTHER lie on all three. */
static void data_make_long(struct data *d)
{
	struct error err = {0};

	data_make(d);
	put(d, FOLDER_SNAPSHOTS, A, "");
	put(d, FOLDER_SNAPSHOTS, B, A);
	put(d, FOLDER_SNAPSHOTS, C, B " " A);
	keep(d, C);
	put(d, FOLDER_SANDBOXES, BOX, C " " B " " A);
	put(d, FOLDER_SANDBOXES, OTHER, C " " B " " A);
	assert_int_equal(layer_stacks_adopt(&d->stacks, &err), 0);
	put(d, FOLDER_SNAPSHOTS, MERGED, "");
}

TEST(layer_stacks_that_are_replaced_let_go_of_their_layers)
{
	struct error err = {0};
	struct layer_stack stack;
	struct data d;

	data_make_long(&d);
	layer_stacks_replace(&d.stacks, B, MERGED, agree, NULL);
	assert_false(is_there(&d, A) || is_there(&d, B));
	assert_true(is_there(&d, MERGED) && is_there(&d, C));
	assert_int_equal(layer_stacks_of(&d.stacks, BOX)->count, 2);
	assert_int_equal(
	        layer_stack_read(d.host.folders[FOLDER_SANDBOXES], BOX "/chain", &stack, &err), 0);
	assert_string_equal(stack.ids[1], MERGED);
	assert_int_equal(
	        layer_stack_read(d.host.folders[FOLDER_SNAPSHOTS], C "/chain", &stack, &err), 0);
	assert_int_equal(stack.count, 1);
	assert_string_equal(stack.ids[0], MERGED);
	data_done(&d);
}

TEST(who_does_not_agree_keeps_his_layers)
{
	struct data d;

	data_make_long(&d);
	layer_stacks_replace(&d.stacks, B, MERGED, agree, (char[]){BOX});
	assert_int_equal(layer_stacks_of(&d.stacks, BOX)->count, 3);
	assert_int_equal(layer_stacks_of(&d.stacks, OTHER)->count, 2);
	assert_true(is_there(&d, A) && is_there(&d, B) && is_there(&d, MERGED));
	layer_stacks_set(&d.stacks, BOX, NULL);
	assert_false(is_there(&d, A) || is_there(&d, B));
	data_done(&d);
}

TEST(what_nobody_wanted_merged_goes)
{
	struct data d;

	data_make_long(&d);
	layer_stacks_replace(&d.stacks, "nnnnnnnnnnnnnnnnnnnn", MERGED, agree, NULL);
	assert_false(is_there(&d, MERGED));
	assert_true(is_there(&d, A) && is_there(&d, B) && is_there(&d, C));
	data_done(&d);
}

TEST(what_is_mounted_and_what_it_began_with_is_in_use_too)
{
	struct error err = {0};
	struct layer_stack stack;
	struct data d;

	data_make(&d);
	put(&d, FOLDER_SNAPSHOTS, A, "");
	put(&d, FOLDER_SNAPSHOTS, B, "");
	put(&d, FOLDER_SNAPSHOTS, C, "");
	put(&d, FOLDER_SANDBOXES, BOX, C);
	assert_int_equal(symlinkat(A, d.host.folders[FOLDER_SANDBOXES], BOX "/origin"), 0);
	put(&d, FOLDER_SANDBOXES, OTHER, "");
	assert_int_equal(symlinkat("none", d.host.folders[FOLDER_SANDBOXES], OTHER "/origin"), 0);
	assert_int_equal(mkdirat(d.host.folders[FOLDER_RUN_SANDBOXES], BOX, 0700), 0);
	assert_int_equal(symlinkat(B, d.host.folders[FOLDER_RUN_SANDBOXES], BOX "/layers"), 0);
	assert_int_equal(layer_stacks_adopt(&d.stacks, &err), 0);
	assert_true(is_there(&d, A) && is_there(&d, B) && is_there(&d, C));
	assert_int_equal(layer_stacks_find_origin(&d.stacks, BOX, A, &stack, &err), 0);
	assert_string_equal(stack.ids[0], A);
	layer_stacks_unpin(&d.stacks, BOX);
	assert_false(is_there(&d, B));
	layer_stacks_set_role(&d.stacks, BOX, LAYER_STACK_ORIGIN, NULL);
	assert_false(is_there(&d, A));
	assert_true(is_there(&d, C));
	data_done(&d);
}

TEST(a_snapshot_that_is_not_whole_is_none)
{
	struct error err = {0};
	struct data d;

	data_make(&d);
	put(&d, FOLDER_SNAPSHOTS, A, "");
	assert_int_equal(layer_stacks_add(&d.stacks, A, &err), -1);
	assert_int_equal(layer_stacks_add(&d.stacks, B, &err), -1);
	data_done(&d);
}

TEST(what_a_dead_broker_left_is_known_and_what_is_nobodys_goes)
{
	struct error err = {0};
	struct data d;

	data_make(&d);
	put(&d, FOLDER_SNAPSHOTS, A, ""); /* below a sandbox, no snapshot any more */
	put(&d, FOLDER_SNAPSHOTS, B, A);  /* a snapshot */
	keep(&d, B);
	put(&d, FOLDER_SNAPSHOTS, C, B); /* was being made */
	put(&d, FOLDER_SNAPSHOTS, "strange name", "");
	put(&d, FOLDER_SANDBOXES, BOX, A);
	put(&d, FOLDER_SANDBOXES, OTHER, "");
	assert_int_equal(layer_stacks_adopt(&d.stacks, &err), 0);
	assert_true(is_there(&d, A) && is_there(&d, B));
	assert_false(is_there(&d, C) || is_there(&d, "strange name"));
	assert_int_equal(layer_stacks_of(&d.stacks, BOX)->count, 1);
	assert_null(layer_stacks_of(&d.stacks, OTHER));
	data_done(&d);
}

TEST(while_a_chain_cannot_be_read_nothing_is_thrown_away)
{
	struct error err = {0};
	struct data d;

	data_make(&d);
	put(&d, FOLDER_SNAPSHOTS, A, "");
	put(&d, FOLDER_SANDBOXES, BOX, "not a chain");
	assert_int_equal(layer_stacks_adopt(&d.stacks, &err), 0);
	assert_true(is_there(&d, A));
	data_done(&d);
}

/* As a broker leaves it that is killed before it moves the files. */
static void put_empty_entry(struct data *d, const char *name)
{
	assert_int_equal(mkdirat(d->host.folders[FOLDER_KEPT], name, 0700), 0);
}

TEST(layers_stay_as_long_as_an_entry_of_the_trash_has_files_on_them)
{
	const struct trash_note note = {BROKER_TRASH_DELETED, 1000};
	struct error err = {0};
	struct data d;

	data_make(&d);
	put(&d, FOLDER_SNAPSHOTS, A, "");
	put(&d, FOLDER_SANDBOXES, BOX, A);
	assert_int_equal(layer_stacks_adopt(&d.stacks, &err), 0);
	put_empty_entry(&d, "sandbox." BOX ".5.deleted");
	assert_int_equal(trash_put_sandbox(&d.stacks, BOX, &note, &err), 0);
	trash_trim(&d.stacks, 0, 0);
	assert_true(is_there(&d, A));
	assert_int_equal(layer_stacks_of(&d.stacks, BOX)->count, 1);
	assert_true(trash_has_sandbox(&d.host, BOX));
	assert_int_equal(trash_bring_back(&d.stacks, BROKER_TRASH_SANDBOX, BOX, &err), 0);
	assert_false(trash_has_sandbox(&d.host, BOX));
	assert_int_equal(trash_put_sandbox(&d.stacks, BOX, &note, &err), 0);
	assert_int_equal(trash_purge(&d.stacks, BROKER_TRASH_SANDBOX, BOX, &err), 0);
	assert_false(is_there(&d, A));
	data_done(&d);
}

TEST(an_entry_of_the_trash_that_holds_nothing_brings_nothing_back)
{
	struct error err = {0};
	struct data d;

	data_make(&d);
	put(&d, FOLDER_SNAPSHOTS, A, "");
	put_empty_entry(&d, "sandbox." BOX ".99999999999.deleted");
	put_empty_entry(&d, "snapshot." B ".99999999999.deleted");
	assert_int_equal(layer_stacks_adopt(&d.stacks, &err), 0);
	assert_false(is_there(&d, A)); /* the entries name no layers that could be this one */
	assert_int_equal(trash_bring_back(&d.stacks, BROKER_TRASH_SANDBOX, BOX, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	data_done(&d);
}

static void put_sized_entry(struct data *d, const char *name, const char *bytes)
{
	char path[128];

	put_empty_entry(d, name);
	(void)snprintf(path, sizeof(path), "%s/bytes", name);
	assert_int_equal(symlinkat(bytes, d->host.folders[FOLDER_KEPT], path), 0);
}

static bool is_kept(const struct data *d, const char *name)
{
	return faccessat(d->host.folders[FOLDER_KEPT], name, F_OK, 0) == 0;
}

static void count_entry(void *context, UNUSED const struct trash_entry *entry)
{
	(*(unsigned *)context)++;
}

/* The broker was killed between the two steps of a removal. */
TEST(an_entry_without_files_is_gone_after_a_start)
{
	struct trash_entry entry = {.kind = BROKER_TRASH_SANDBOX,
	                            .reason = BROKER_TRASH_DELETED,
	                            .until_s = 4000000000,
	                            .id = BOX};
	char name[TRASH_NAME_SIZE], files[TRASH_NAME_SIZE + 16];
	struct error err = {0};
	unsigned count = 0;
	struct data d;

	data_make(&d);
	trash_name_format(&entry, name);
	assert_int_equal(mkdirat(d.host.folders[FOLDER_KEPT], name, 0700), 0);
	entry.until_s++;
	trash_name_format(&entry, name);
	(void)snprintf(files, sizeof(files), "%s/sandboxes", name);
	assert_int_equal(mkdirat(d.host.folders[FOLDER_KEPT], name, 0700), 0);
	assert_int_equal(mkdirat(d.host.folders[FOLDER_KEPT], files, 0700), 0);
	assert_int_equal(trash_adopt(&d.stacks, &err), 0);
	trash_each(&d.host, count_entry, &count);
	assert_int_equal(count, 1);
	assert_int_equal(faccessat(d.host.folders[FOLDER_KEPT], files, F_OK, 0), 0);
	data_done(&d);
}

TEST(orphans_are_the_last_that_a_full_trash_gives_up)
{
	static const char orphan[] = "sandbox." BOX ".99999999990.orphan";
	static const char early[] = "sandbox." OTHER ".99999999991.deleted";
	static const char late[] = "sandbox." A ".99999999992.deleted";
	struct data d;

	data_make(&d);
	put_sized_entry(&d, orphan, "100");
	put_sized_entry(&d, early, "100");
	put_sized_entry(&d, late, "100");
	trash_trim(&d.stacks, 0, 0);
	assert_true(is_kept(&d, orphan) && is_kept(&d, early) && is_kept(&d, late));
	trash_trim(&d.stacks, 250, 0);
	assert_true(is_kept(&d, orphan) && !is_kept(&d, early) && is_kept(&d, late));
	trash_trim(&d.stacks, 150, 0);
	assert_true(is_kept(&d, orphan) && !is_kept(&d, late));
	trash_trim(&d.stacks, 99, 0);
	assert_false(is_kept(&d, orphan));
	data_done(&d);
}

int main(void)
{
	return RUN(CASE(a_chain_comes_back_as_it_was_written), CASE(what_is_no_chain_is_refused),
	           CASE(a_chain_has_an_end), CASE(a_layer_goes_with_the_last_that_lies_on_it),
	           CASE(what_something_began_with_is_found_in_its_own_chain_too),
	           CASE(what_is_merged_takes_the_place_of_all_below),
	           CASE(layer_stacks_that_are_replaced_let_go_of_their_layers),
	           CASE(who_does_not_agree_keeps_his_layers), CASE(what_nobody_wanted_merged_goes),
	           CASE(what_is_mounted_and_what_it_began_with_is_in_use_too),
	           CASE(a_snapshot_that_is_not_whole_is_none),
	           CASE(what_a_dead_broker_left_is_known_and_what_is_nobodys_goes),
	           CASE(while_a_chain_cannot_be_read_nothing_is_thrown_away),
	           CASE(layers_stay_as_long_as_an_entry_of_the_trash_has_files_on_them),
	           CASE(an_entry_of_the_trash_that_holds_nothing_brings_nothing_back),
	           CASE(an_entry_without_files_is_gone_after_a_start),
	           CASE(orphans_are_the_last_that_a_full_trash_gives_up));
}
