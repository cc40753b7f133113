/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of a sandbox that runs: answered when what they refuse has ended. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../conntrack.h"
#include "base/log.h"
#include "broker/host/event.h"
#include "broker/host/host.h"
#include "broker/network/egress.h"
#include "broker/network/flows.h"
#include "broker/network/network.h"
#include "broker/sandbox/egress.h"
#include "broker/sandbox/run_state.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "unit.h"
#include "wire/broker_kind.h"

#define ID "aaaaaaaaaaaaaaaaaaaa"
#define DENY_TO "-127.0.0.9"
#define DENY_NEXT "-127.0.0.10"
/* Addresses that the host has, because packets by others are dropped. */
#define LEAVE_BY "@127.0.0.21"
#define LEAVE_BY_NEXT "@127.0.0.22"

/* Boxes with one that has FROM as its address, and what was answered. */
struct fixture {
	struct host host;
	struct host_network network;
	struct events events;
	struct sandboxes sandboxes;
	struct sandbox *sandbox;
	uint64_t answered[8];
	unsigned answered_count, wanted_count, flows_at_last;
	char runs[32]; /* the run folders; "" until give_run_folder */
};

static bool count_one(const void *context, UNUSED const struct flow *flow)
{
	unsigned *count = (void *)(uintptr_t)context;

	(*count)++;
	return false;
}

static unsigned count_flows(void)
{
	struct error err = {0};
	unsigned count = 0;

	assert_int_equal(network_flows_forget(FROM, count_one, &count, &err), 0);
	return count;
}

static void on_done(void *context, const struct pending_reply *reply)
{
	struct fixture *f = context;

	assert_true(f->answered_count < COUNT_OF(f->answered));
	f->answered[f->answered_count++] = reply->request;
	f->flows_at_last = count_flows();
	f->events.stopping = f->answered_count >= f->wanted_count;
}

static void setup(struct fixture *f)
{
	struct error err = {0};

	enter_namespace();
	*f = (struct fixture){.network = {.subnet = {0x7f000000u, 8}, .usable = true}};
	f->host.network = &f->network;
	assert_int_equal(events_open(&f->events, &err), 0);
	sandboxes_init(&f->sandboxes, &f->host, &f->events, NULL, NULL);
	f->sandboxes.on_done = on_done;
	f->sandboxes.context = f;
	f->sandbox = sandbox_new(&f->sandboxes, ID);
	f->sandbox->kind = BROKER_NATIVE;
	f->sandbox->internet = true;
	f->sandbox->phase = SANDBOX_RUNNING;
	f->sandbox->slot = FROM - 0x7f000002u;
	(void)map_put(&f->sandboxes.by_id, f->sandbox->id, f->sandbox);
}

static void give_run_folder(struct fixture *f)
{
	struct error err = {0};
	int *runs = &f->host.folders[FOLDER_RUN_SANDBOXES], folder;

	(void)snprintf(f->runs, sizeof(f->runs), "/tmp/atoll-cut-XXXXXX");
	assert_non_null(mkdtemp(f->runs));
	*runs = open(f->runs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(*runs, ID, 0700), 0);
	folder = openat(*runs, ID, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f->sandbox->pid = 1;
	(void)snprintf(f->host.boot_id, sizeof(f->host.boot_id), "11111111-2222");
	assert_int_equal(run_state_write(f->sandbox, folder, &err), 0);
	(void)close(folder);
	/* As after its start. */
	(void)close(f->sandbox->state_fd);
	f->sandbox->state_fd = -1;
}

/* What the next broker would read. */
static bool is_noted(const struct fixture *f)
{
	struct sandbox read = {.sandboxes = f->sandbox->sandboxes};
	char path[64], text[256] = "", boot_id[64];
	struct error err = {0};
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/" ID "/state", f->runs);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	(void)fclose(file);
	assert_int_equal(run_state_parse(&read, text, boot_id, &err), 0);
	return read.has_left_by_source;
}

static void remove_run_folder(struct fixture *f)
{
	int runs = f->host.folders[FOLDER_RUN_SANDBOXES];

	if (!*f->runs)
		return;
	assert_int_equal(unlinkat(runs, ID "/state", 0), 0);
	assert_int_equal(unlinkat(runs, ID, AT_REMOVEDIR), 0);
	assert_int_equal(rmdir(f->runs), 0);
	(void)close(runs);
}

static void teardown(struct fixture *f)
{
	remove_run_folder(f);
	sandboxes_close(&f->sandboxes);
	events_close(&f->events);
	(void)unsetenv("ATOLL_FAULT");
	/* No child is left. */
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
}

static int filter(struct fixture *f, uint64_t request, const char *egress, struct error *err)
{
	return sandboxes_set_egress(&f->sandboxes, &(struct pending_reply){.request = request}, ID,
	                            egress, err);
}

static void filter_well(struct fixture *f, uint64_t request, const char *egress)
{
	struct error err = {0};

	assert_int_equal(filter(f, request, egress, &err), 0);
}

static void run_until(struct fixture *f, unsigned count)
{
	struct error err = {0};

	f->wanted_count = count;
	f->events.stopping = f->answered_count >= count;
	assert_int_equal(events_run(&f->events, &err), 0);
	assert_int_equal(f->answered_count, count);
}

/* It has come to the step at which it stops. */
static void wait_stopped(const struct fixture *f)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)f->sandbox->cut->child.pid, &info, WSTOPPED | WNOWAIT),
	                 0);
}

TEST(the_answer_comes_when_what_is_refused_has_ended)
{
	struct fixture f;

	if (cannot())
		skip();
	setup(&f);
	send_to(FROM, TO, 9);
	send_to(FROM, TO + 1, 9);
	filter_well(&f, 1, DENY_TO);
	assert_int_equal(f.answered_count, 0);
	run_until(&f, 1);
	assert_int_equal(f.answered[0], 1);
	assert_int_equal(f.flows_at_last, 1);
	teardown(&f);
}

TEST(who_has_and_had_no_rules_is_answered_at_once)
{
	struct fixture f;

	if (cannot())
		skip();
	setup(&f);
	send_to(FROM, TO, 9);
	filter_well(&f, 1, "");
	assert_int_equal(f.answered_count, 1);
	filter_well(&f, 2, DENY_NEXT);
	run_until(&f, 2);
	/* What was led elsewhere by rules that have ended is to end, too. */
	send_to(FROM, TO, 53);
	filter_well(&f, 3, "");
	assert_int_equal(f.answered_count, 2);
	run_until(&f, 3);
	assert_int_equal(f.flows_at_last, 1);
	teardown(&f);
}

TEST(rules_that_change_meanwhile_are_answered_in_their_order_and_the_last_ones_hold)
{
	struct fixture f;

	if (cannot())
		skip();
	setup(&f);
	for (unsigned i = 0; i < 3; i++)
		send_to(FROM, TO + i, 9);
	(void)setenv("ATOLL_FAULT", "broker:egress-cut:stop", 1);
	filter_well(&f, 1, DENY_TO);
	wait_stopped(&f);
	(void)unsetenv("ATOLL_FAULT");
	filter_well(&f, 2, "");
	filter_well(&f, 3, DENY_NEXT);
	assert_string_equal(f.sandbox->egress, DENY_NEXT);
	assert_int_equal(f.answered_count, 0);
	assert_int_equal(count_flows(), 3);
	assert_int_equal(kill(f.sandbox->cut->child.pid, SIGCONT), 0);
	run_until(&f, 1);
	assert_int_equal(f.answered[0], 1);
	assert_int_equal(f.flows_at_last, 2);
	run_until(&f, 3);
	assert_int_equal(f.answered[1], 2);
	assert_int_equal(f.answered[2], 3);
	assert_int_equal(f.flows_at_last, 1);
	teardown(&f);
}

TEST(more_changes_than_can_wait_are_refused_and_change_nothing)
{
	struct fixture f;
	struct error err = {0};

	if (cannot())
		skip();
	setup(&f);
	send_to(FROM, TO, 9);
	(void)setenv("ATOLL_FAULT", "broker:egress-cut:stop", 1);
	for (unsigned i = 0; i < EGRESS_CUT_REPLIES_MAX; i++)
		filter_well(&f, i, DENY_TO);
	assert_int_equal(filter(&f, 99, DENY_NEXT, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_string_equal(f.sandbox->egress, DENY_TO);
	assert_int_equal(f.answered_count, 0);
	teardown(&f);
}

TEST(the_end_of_the_sandbox_ends_the_work_and_answers)
{
	struct fixture f;

	if (cannot())
		skip();
	setup(&f);
	send_to(FROM, TO, 9);
	(void)setenv("ATOLL_FAULT", "broker:egress-cut:stop", 1);
	filter_well(&f, 1, DENY_TO);
	filter_well(&f, 2, DENY_NEXT);
	sandbox_end_egress(f.sandbox);
	assert_int_equal(f.answered_count, 2);
	assert_int_equal(f.answered[1], 2);
	assert_int_equal(f.sandbox->cut->reply_count, 0);
	sandbox_end_egress(f.sandbox);
	assert_int_equal(f.answered_count, 2);
	teardown(&f);
}

TEST(what_a_child_that_is_killed_leaves_is_done_before_the_answer)
{
	struct fixture f;

	if (cannot())
		skip();
	setup(&f);
	send_to(FROM, TO, 9);
	(void)setenv("ATOLL_FAULT", "broker:egress-cut:kill", 1);
	filter_well(&f, 1, DENY_TO);
	run_until(&f, 1);
	assert_int_equal(f.flows_at_last, 0);
	teardown(&f);
}

TEST(a_source_address_is_noted_until_what_left_by_it_has_ended)
{
	struct fixture f;

	if (cannot())
		skip();
	setup(&f);
	give_run_folder(&f);
	send_to(FROM, TO, 9);
	assert_false(is_noted(&f));
	filter_well(&f, 1, LEAVE_BY);
	assert_true(is_noted(&f));
	run_until(&f, 1);
	assert_int_equal(f.flows_at_last, 0);
	assert_true(is_noted(&f));
	send_to(FROM, TO, 9);
	(void)setenv("ATOLL_FAULT", "broker:egress-cut:stop", 1);
	filter_well(&f, 2, "");
	wait_stopped(&f);
	(void)unsetenv("ATOLL_FAULT");
	assert_true(is_noted(&f));
	assert_int_equal(kill(f.sandbox->cut->child.pid, SIGCONT), 0);
	run_until(&f, 2);
	assert_false(is_noted(&f));
	teardown(&f);
}

TEST(a_broker_that_adopts_a_sandbox_ends_what_left_by_a_lost_source_address)
{
	struct fixture f;

	if (cannot())
		skip();
	setup(&f);
	give_run_folder(&f);
	send_to(FROM, TO, 9);
	/* As sandboxes_adopt sets it. */
	f.sandbox->has_left_by_source = true;
	f.sandbox->left_by = NETWORK_LEFT_BY_ANY;
	filter_well(&f, 1, "");
	run_until(&f, 1);
	assert_int_equal(f.flows_at_last, 0);
	assert_int_equal(f.sandbox->left_by, 0);
	assert_false(is_noted(&f));
	/* Once is enough. */
	send_to(FROM, TO, 9);
	filter_well(&f, 2, DENY_NEXT);
	run_until(&f, 2);
	assert_int_equal(f.flows_at_last, 1);
	teardown(&f);
}

TEST(two_source_addresses_that_are_lost_while_a_child_works_are_both_ended)
{
	struct fixture f;

	if (cannot())
		skip();
	setup(&f);
	give_run_folder(&f);
	filter_well(&f, 1, LEAVE_BY);
	run_until(&f, 1);
	send_to(FROM, TO, 9);
	(void)setenv("ATOLL_FAULT", "broker:egress-cut:stop", 1);
	filter_well(&f, 2, LEAVE_BY " " DENY_NEXT);
	wait_stopped(&f);
	(void)unsetenv("ATOLL_FAULT");
	filter_well(&f, 3, LEAVE_BY_NEXT);
	assert_int_equal(f.sandbox->left_by, 0x7f000015u);
	filter_well(&f, 4, "");
	assert_true(f.sandbox->left_by == NETWORK_LEFT_BY_ANY);
	assert_int_equal(kill(f.sandbox->cut->child.pid, SIGCONT), 0);
	run_until(&f, 4);
	assert_int_equal(f.sandbox->left_by, 0);
	assert_int_equal(f.flows_at_last, 0);
	teardown(&f);
}

int main(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	log_open("unit", LOG_INFO);
	return RUN(
	        CASE(the_answer_comes_when_what_is_refused_has_ended),
	        CASE(who_has_and_had_no_rules_is_answered_at_once),
	        CASE(rules_that_change_meanwhile_are_answered_in_their_order_and_the_last_ones_hold),
	        CASE(more_changes_than_can_wait_are_refused_and_change_nothing),
	        CASE(the_end_of_the_sandbox_ends_the_work_and_answers),
	        CASE(what_a_child_that_is_killed_leaves_is_done_before_the_answer),
	        CASE(a_source_address_is_noted_until_what_left_by_it_has_ended),
	        CASE(a_broker_that_adopts_a_sandbox_ends_what_left_by_a_lost_source_address),
	        CASE(two_source_addresses_that_are_lost_while_a_child_works_are_both_ended));
}
