/* SPDX-License-Identifier: Apache-2.0 */
/* What a provider promises about files that outlive a sandbox: snapshots and volumes. */
#include "contract.h"

#include <string.h>

#include "provider/entries.h"
#include "provider/snapshots.h"
#include "provider/volume.h"

static size_t count_id(const struct provider_list *list, const char *id)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		count += strcmp(list->entries[i].id, id) == 0;
	return count;
}

static size_t count_sandboxes(struct fixture *f, const char *id)
{
	struct provider_list list = {0};

	CHECK_OK(f->ops->list(f->p, &f->arena, &list, &err));
	return count_id(&list, id);
}

static size_t count_snapshots(struct fixture *f, const char *id)
{
	struct provider_list list = {0};

	CHECK_OK(f->ops->snapshots->list(f->p, &f->arena, &list, &err));
	return count_id(&list, id);
}

static size_t count_volumes(struct fixture *f, const char *id)
{
	struct provider_list list = {0};

	CHECK_OK(f->ops->volumes->list(f->p, &f->arena, &list, &err));
	return count_id(&list, id);
}

static void take_snapshot(struct fixture *f, const char *id)
{
	const struct provider_snapshot request = {f->id.text, id, true};
	struct provider_snapshot_made made;

	CHECK_OK(f->ops->snapshots->take(f->p, &request, contract_soon(), &made, &err));
	assert_true(made.depth >= 1 && made.method[0]);
}

/* The fixture becomes that of a second sandbox; the first one's id is returned. */
static struct id use_second_sandbox(struct fixture *f)
{
	struct id first = f->id;

	f->id = id_new();
	f->spec.id = f->id.text;
	return first;
}

static void use_sandbox(struct fixture *f, struct id id)
{
	f->id = id;
	f->spec.id = f->id.text;
}

static void destroy_sandbox(struct fixture *f)
{
	CHECK_OK(f->ops->destroy(f->p, f->id.text, contract_soon(), &err));
	assert_int_equal(count_sandboxes(f, f->id.text), 0);
}

static void a_snapshot_has_the_files_of_its_moment(struct fixture *f)
{
	struct id snapshot = id_new(), first;

	contract_create(f);
	(void)contract_shell(f, "cd && echo one > file && sync; sleep 3456789 >/dev/null 2>&1 &");
	take_snapshot(f, snapshot.text);
	assert_int_equal(count_snapshots(f, snapshot.text), 1);
	assert_int_equal(count_sandboxes(f, snapshot.text), 0);
	assert_string_equal(contract_shell(f, "cd && cat file && echo two > file"), "one\n");
	first = use_second_sandbox(f);
	f->spec.snapshot = snapshot.text;
	contract_create(f);
	assert_string_equal(contract_shell(f, "cd && cat file && echo three > file"), "one\n");
	/* Its files are no other sandbox's, and outlive the snapshot. */
	CHECK_OK(f->ops->snapshots->remove(f->p, snapshot.text, contract_soon(), &err));
	CHECK_OK(f->ops->snapshots->remove(f->p, snapshot.text, contract_soon(), &err));
	assert_int_equal(count_snapshots(f, snapshot.text), 0);
	assert_string_equal(contract_shell(f, "cd && cat file"), "three\n");
	destroy_sandbox(f);
	f->spec.snapshot = NULL;
	use_sandbox(f, first);
	assert_string_equal(contract_shell(f, "cd && cat file"), "two\n");
	destroy_sandbox(f);
}

static void stop_sandbox(struct fixture *f)
{
	CHECK_OK(f->ops->stop(f->p, f->id.text, 1000, contract_soon(), &err));
}

static void start_sandbox(struct fixture *f)
{
	struct provider_created created;

	CHECK_OK(f->ops->start(f->p, &f->spec, contract_soon(), &created, &err));
}

/* To the files of the template, which is a declared gap of virtual machines. */
static void check_reset(struct fixture *f)
{
	struct error why = {0};

	if (f->ops->memory) {
		assert_int_equal(
		        f->ops->snapshots->restore(f->p, f->id.text, "", contract_soon(), &why),
		        -1);
		assert_int_equal(why.code, ERROR_UNSUPPORTED);
		return;
	}
	CHECK_OK(f->ops->snapshots->restore(f->p, f->id.text, "", contract_soon(), &err));
	start_sandbox(f);
	assert_string_equal(contract_shell(f, "cd && ls file 2>&- || echo gone"), "gone\n");
}

static bool is_far(const struct fixture *f)
{
	return strcmp(f->ops->isolation, "remote") == 0 || strcmp(f->ops->name, "kubernetes") == 0;
}

/* A declared gap of accounts at other services, and of clusters. */
static bool refuses_restore(struct fixture *f, const char *snapshot)
{
	const struct snapshot_ops *snapshots = f->ops->snapshots;
	struct error why = {0};

	if (!is_far(f))
		return false;
	assert_int_equal(snapshots->can_restore(f->p, f->id.text, snapshot, contract_soon(), &why),
	                 -1);
	assert_int_equal(why.code, ERROR_UNSUPPORTED);
	why = (struct error){0};
	assert_int_equal(snapshots->restore(f->p, f->id.text, snapshot, contract_soon(), &why), -1);
	assert_int_equal(why.code, ERROR_UNSUPPORTED);
	return true;
}

static void a_restore_gives_the_files_back(struct fixture *f)
{
	const struct snapshot_ops *snapshots = f->ops->snapshots;
	struct id snapshot = id_new();

	contract_create(f);
	(void)contract_shell(f, "cd && echo one > file && sync");
	take_snapshot(f, snapshot.text);
	(void)contract_shell(f, "cd && echo two > file && echo more > other");
	stop_sandbox(f);
	if (refuses_restore(f, snapshot.text)) {
		destroy_sandbox(f);
		CHECK_OK(snapshots->remove(f->p, snapshot.text, contract_soon(), &err));
		return;
	}
	CHECK_OK(snapshots->can_restore(f->p, f->id.text, snapshot.text, contract_soon(), &err));
	CHECK_OK(snapshots->restore(f->p, f->id.text, snapshot.text, contract_soon(), &err));
	assert_int_equal(count_sandboxes(f, f->id.text), 1);
	start_sandbox(f);
	assert_string_equal(contract_shell(f, "cd && cat file; ls other 2>&- || echo gone"),
	                    "one\ngone\n");
	stop_sandbox(f);
	check_reset(f);
	destroy_sandbox(f);
	CHECK_OK(snapshots->remove(f->p, snapshot.text, contract_soon(), &err));
}

static void what_is_not_there_takes_no_snapshot(struct fixture *f)
{
	const struct snapshot_ops *snapshots = f->ops->snapshots;
	struct id missing = id_new(), snapshot = id_new();
	const struct provider_snapshot request = {missing.text, snapshot.text, false};
	struct provider_snapshot_made made;
	struct provider_created created;
	struct error err = {0};

	assert_int_equal(snapshots->take(f->p, &request, contract_soon(), &made, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(count_snapshots(f, snapshot.text), 0);
	err = (struct error){0};
	f->spec.snapshot = missing.text;
	assert_int_equal(f->ops->create(f->p, &f->spec, contract_soon(), &created, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(count_sandboxes(f, f->id.text), 0);
	f->spec.snapshot = NULL;
	contract_create(f);
	stop_sandbox(f);
	err = (struct error){0};
	assert_int_equal(
	        snapshots->can_restore(f->p, f->id.text, missing.text, contract_soon(), &err), -1);
	assert_int_equal(err.code, is_far(f) ? ERROR_UNSUPPORTED : ERROR_NOT_FOUND);
	destroy_sandbox(f);
}

static void a_snapshot_outlives_its_server(struct fixture *f)
{
	struct id snapshot = id_new();

	contract_create(f);
	(void)contract_shell(f, "cd && echo one > file && sync");
	take_snapshot(f, snapshot.text);
	destroy_sandbox(f);
	f->ops->close(f->p);
	assert_int_equal(contract_open(f), 0);
	assert_int_equal(count_snapshots(f, snapshot.text), 1);
	f->spec.snapshot = snapshot.text;
	contract_create(f);
	assert_string_equal(contract_shell(f, "cd && cat file"), "one\n");
	destroy_sandbox(f);
	CHECK_OK(f->ops->snapshots->remove(f->p, snapshot.text, contract_soon(), &err));
	assert_int_equal(count_snapshots(f, snapshot.text), 0);
}

static void change_volume(struct fixture *f, const char *id, enum provider_volume_verb verb)
{
	const struct provider_volume request = {.verb = verb, .id = id};
	struct provider_volume_state state = {0};

	CHECK_OK(f->ops->volumes->run(f->p, &request, contract_soon(), &state, &err));
}

/* Services of accounts mount for writing alone: a declared gap. */
static void check_read_only_is_refused(struct fixture *f)
{
	struct provider_created created;
	struct error err = {0};

	assert_int_equal(f->ops->create(f->p, &f->spec, contract_soon(), &created, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_int_equal(count_sandboxes(f, f->spec.id), 0);
}

static void files_of_a_volume_outlive_its_sandboxes(struct fixture *f)
{
	struct id volume = id_new();
	struct sandbox_mount mount = {.volume_id = volume.text, .path = "/data"};

	change_volume(f, volume.text, PROVIDER_VOLUME_MAKE);
	change_volume(f, volume.text, PROVIDER_VOLUME_MAKE);
	assert_int_equal(count_volumes(f, volume.text), 1);
	f->spec.mounts = &mount;
	f->spec.mount_count = 1;
	contract_create(f);
	assert_string_equal(contract_shell(f, "echo kept > /data/file && cat /data/file"),
	                    "kept\n");
	destroy_sandbox(f);
	assert_int_equal(count_volumes(f, volume.text), 1);
	(void)use_second_sandbox(f);
	mount.is_read_only = true;
	if (is_far(f))
		check_read_only_is_refused(f);
	mount.is_read_only = !is_far(f);
	contract_create(f);
	assert_string_equal(contract_shell(f, "cat /data/file"), "kept\n");
	if (!is_far(f))
		assert_string_equal(contract_shell(f, "(echo x > /data/file) 2>&- || echo refused; "
		                                      "cat /data/file"),
		                    "refused\nkept\n");
	destroy_sandbox(f);
	change_volume(f, volume.text, PROVIDER_VOLUME_REMOVE);
	change_volume(f, volume.text, PROVIDER_VOLUME_REMOVE);
	assert_int_equal(count_volumes(f, volume.text), 0);
}

static void a_stop_keeps_the_volumes(struct fixture *f)
{
	struct id volume = id_new();
	const struct sandbox_mount mount = {.volume_id = volume.text, .path = "/data"};

	change_volume(f, volume.text, PROVIDER_VOLUME_MAKE);
	f->spec.mounts = &mount;
	f->spec.mount_count = 1;
	contract_create(f);
	(void)contract_shell(f, "cd && echo own > file; echo kept > /data/file");
	stop_sandbox(f);
	start_sandbox(f);
	assert_string_equal(contract_shell(f, "cd && cat file /data/file"), "own\nkept\n");
	destroy_sandbox(f);
	change_volume(f, volume.text, PROVIDER_VOLUME_REMOVE);
}

static void a_missing_volume_is_refused(struct fixture *f)
{
	struct id volume = id_new();
	const struct sandbox_mount mount = {.volume_id = volume.text, .path = "/data"};
	struct provider_created created;
	struct error err = {0};

	f->spec.mounts = &mount;
	f->spec.mount_count = 1;
	assert_int_equal(f->ops->create(f->p, &f->spec, contract_soon(), &created, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(count_sandboxes(f, f->id.text), 0);
	assert_int_equal(count_volumes(f, volume.text), 0);
}

#define SNAPSHOTS (PROVIDER_CAN_SNAPSHOT | REAL_COMMANDS)
#define VOLUMES (PROVIDER_CAN_VOLUME | REAL_COMMANDS)
const struct check contract_kept_checks[] = {
        ROW(a_snapshot_has_the_files_of_its_moment, SNAPSHOTS),
        ROW(a_restore_gives_the_files_back, SNAPSHOTS | PROVIDER_CAN_STOP),
        ROW(what_is_not_there_takes_no_snapshot, SNAPSHOTS | PROVIDER_CAN_STOP),
        ROW(a_snapshot_outlives_its_server, SNAPSHOTS | PROVIDER_SURVIVES),
        ROW(files_of_a_volume_outlive_its_sandboxes, VOLUMES),
        ROW(a_stop_keeps_the_volumes, VOLUMES | PROVIDER_CAN_STOP),
        ROW(a_missing_volume_is_refused, VOLUMES),
        {.name = NULL},
};
