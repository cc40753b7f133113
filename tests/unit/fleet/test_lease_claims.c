/* SPDX-License-Identifier: Apache-2.0 */
/* Claims of leases: who is late, who is taken over, what nobody finished. */
#include "base/id.h"
#include "base/log.h"
#include "leases.h"
#include "store/sandboxes.h"
#include "fleet/lease/lease.h"
#include "fleet/server/fleet.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct captured {
	int ends[2], saved;
	char text[16384];
};

static void capture(struct captured *c)
{
	assert_int_equal(pipe2(c->ends, O_CLOEXEC | O_NONBLOCK), 0);
	c->saved = dup(STDERR_FILENO);
	assert_true(c->saved >= 0 && dup2(c->ends[1], STDERR_FILENO) >= 0);
	log_open("test", LOG_WARNING);
}

/* The log from there to here. */
static void capture_end(struct captured *c)
{
	ssize_t got;

	log_open("test", LOG_ERROR);
	assert_true(dup2(c->saved, STDERR_FILENO) >= 0);
	(void)close(c->saved);
	got = read(c->ends[0], c->text, sizeof(c->text) - 1);
	c->text[got > 0 ? got : 0] = '\0';
	(void)close(c->ends[0]);
	(void)close(c->ends[1]);
}

static unsigned count_warnings(const struct captured *c)
{
	unsigned count = 0;

	for (const char *at = c->text; (at = strstr(at, "warning ")); at++)
		count++;
	return count;
}

static void who_waits_for_another_process_gives_up_at_its_deadline(void **state)
{
	struct harness *h = *state;
	struct fleet_lease request = ask(KEY);
	struct error err = {0};
	struct fleet_leased leased;

	foreign_claim(h, 0);
	request.wait_ms = 150;
	assert_refused(fleet_lease_acquire(h->fleet, &h->arena, &request, &leased, &err),
	               ERROR_TIMEOUT);
	assert_int_equal(h->fake.calls[CALL_CREATE], 0);
}

static void a_claim_that_is_too_old_is_taken_over(void **state)
{
	struct harness *h = *state;
	struct lease_record old = foreign_claim(h, LEASE_CREATING_MAX_MS + 1000);
	struct captured log;
	struct fleet_leased leased;
	struct error err = {0};

	capture(&log);
	leased = acquire(h);
	capture_end(&log);
	assert_non_null(strstr(log.text, "a lease was taken over from one who did not come back"));
	assert_non_null(strstr(log.text, old.sandbox_id));
	assert_int_equal(count_warnings(&log), 1);
	assert_true(leased.created);
	assert_int_equal(leased.lease.epoch, 2);
	assert_string_not_equal(leased.sandbox.id, old.sandbox_id);
	/* The other one comes after all, and sees that it has lost. */
	assert_refused(store_lease_finish(h->store, &old, &err), ERROR_CONFLICT);
	assert_int_equal(count_strays(h), 1);
}

static void a_loser_deletes_the_sandbox_that_it_comes_with(void **state)
{
	struct harness *h = *state;
	struct rival late = {.h = h};
	struct lease_record r;
	struct fleet_leased leased;
	struct error err = {0};

	fake_gate(&h->fake, true);
	assert_int_equal(pthread_create(&late.thread, NULL, compete, &late), 0);
	fake_wait_at_gate(&h->fake);
	/* Another process takes over, and dies. */
	r = look(h);
	r.sandbox_id = "zzzzzzzzzzzzzzzzzzzz";
	r.epoch++;
	r.creating_since = clock_unix_ms() - LEASE_CREATING_MAX_MS - 1000;
	assert_done(store_lease_replace(h->store, &r, &err));
	fake_gate(&h->fake, false);
	pthread_join(late.thread, NULL);
	leased = acquire(h);
	assert_string_equal(late.id, leased.sandbox.id);
	assert_int_equal(leased.lease.epoch, 3);
	assert_int_equal(h->fake.calls[CALL_CREATE], 2);
	assert_int_equal(h->fake.sandboxes.count, 1);
}

static void a_sandbox_whose_maker_died_before_saying_so_is_adopted(void **state)
{
	struct harness *h = *state;
	struct lease_record claim = foreign_claim(h, 0);
	struct sandbox_record made = create_with(h, (struct fleet_create){.id = claim.sandbox_id});

	assert_string_equal(made.id, claim.sandbox_id);
	harness_restart(h);
	assert_int_equal(look(h).status, LEASE_READY);
	assert_string_equal(acquire(h).sandbox.id, claim.sandbox_id);
	assert_int_equal(h->fake.calls[CALL_CREATE], 1);
}

static void a_claim_whose_sandbox_failed_is_given_up_at_boot(void **state)
{
	struct harness *h = *state;
	struct lease_record claim = foreign_claim(h, 0), r;
	struct error err = {0};
	struct fleet_create request = {
	        .project_id = PROJECT, .id = claim.sandbox_id, .internet = -1, .wait = true};
	struct sandbox_record made;

	fake_fail(&h->fake, CALL_CREATE, true);
	assert_refused(fleet_create(h->fleet, &h->arena, &request, &made, &err), ERROR_SYSTEM);
	fake_fail(&h->fake, CALL_CREATE, false);
	harness_restart(h);
	assert_refused(fleet_lease_find(h->fleet, &h->arena, REF, &r, &err), ERROR_NOT_FOUND);
	assert_gone(h, claim.sandbox_id);
	reconcile_strays(h);
}

static void a_claim_that_is_too_old_is_given_up_by_the_tick(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct lease_record r;
	struct captured log;

	foreign_claim(h, LEASE_CREATING_MAX_MS - 5000);
	fleet_tick(h->fleet);
	assert_int_equal(look(h).status, LEASE_CREATING);
	r = look(h);
	r.creating_since -= 6000;
	assert_done(store_lease_stray_forget(h->store, r.sandbox_id, &err));
	assert_done(store_lease_replace(h->store, &r, &err));
	capture(&log);
	fleet_tick(h->fleet);
	fleet_tick(h->fleet);
	capture_end(&log);
	assert_non_null(strstr(log.text, "a lease's maker did not come back"));
	assert_int_equal(count_warnings(&log), 1);
	assert_refused(fleet_lease_find(h->fleet, &h->arena, REF, &r, &err), ERROR_NOT_FOUND);
}

/* Of this process's own, at the gate of the provider. */
static struct lease_record hang_for_too_long(struct harness *h, struct rival *maker)
{
	struct error err = {0};
	struct lease_record r;

	maker->h = h;
	fake_gate(&h->fake, true);
	assert_int_equal(pthread_create(&maker->thread, NULL, compete, maker), 0);
	fake_wait_at_gate(&h->fake);
	r = look(h);
	r.creating_since -= LEASE_CREATING_MAX_MS + 1;
	assert_done(store_lease_replace(h->store, &r, &err));
	return look(h);
}

static void a_maker_who_hangs_here_is_given_up_as_well(void **state)
{
	struct harness *h = *state;
	struct rival maker = {0};
	struct error err = {0};
	struct lease_record r;

	hang_for_too_long(h, &maker);
	fleet_lease_tick(h->fleet);
	assert_refused(fleet_lease_find(h->fleet, &h->arena, REF, &r, &err), ERROR_NOT_FOUND);
	fake_gate(&h->fake, false);
	pthread_join(maker.thread, NULL);
	/* He has come late, and made another one, which is the lease's. */
	assert_string_equal(look(h).sandbox_id, maker.id);
	assert_int_equal(h->fake.sandboxes.count, 1);
}

static void a_maker_who_hangs_here_is_taken_over_by_who_asks(void **state)
{
	struct harness *h = *state;
	struct rival maker = {0}, taker = {.h = h};
	struct lease_record old = hang_for_too_long(h, &maker);

	assert_int_equal(pthread_create(&taker.thread, NULL, compete, &taker), 0);
	pthread_mutex_lock(&h->fake.mutex);
	while (h->fake.at_gate < 2)
		pthread_cond_wait(&h->fake.changed, &h->fake.mutex);
	pthread_mutex_unlock(&h->fake.mutex);
	assert_int_equal(look(h).epoch, old.epoch + 1);
	fake_gate(&h->fake, false);
	pthread_join(taker.thread, NULL);
	pthread_join(maker.thread, NULL);
	assert_string_equal(taker.id, maker.id);
	assert_string_equal(look(h).sandbox_id, taker.id);
	assert_int_equal(h->fake.sandboxes.count, 1);
}

static void another_servers_claim_is_given_up_when_its_time_is_over(void **state)
{
	struct harness *h = *state;
	struct lease_record claim = foreign_claim(h, LEASE_CREATING_MAX_MS + 1000), r;
	struct sandbox_record elsewhere = create(h);
	struct error err = {0};

	elsewhere.id = claim.sandbox_id;
	elsewhere.name = "elsewhere";
	elsewhere.node = "another";
	elsewhere.actual = SANDBOX_PENDING;
	elsewhere.started_at = 0;
	assert_done(store_sandbox_insert(h->store, &elsewhere, 0, &err));
	fleet_lease_tick(h->fleet);
	assert_refused(fleet_lease_find(h->fleet, &h->arena, REF, &r, &err), ERROR_NOT_FOUND);
}

static void a_sandbox_of_an_earlier_claim_goes_though_the_store_has_lost_the_claim(void **state)
{
	struct harness *h = *state;
	struct fleet_leased leased = acquire(h);
	struct lease_record r = look(h);
	struct sandbox_record next = create(h);
	struct error err = {0};

	r.sandbox_id = next.id;
	r.epoch++;
	assert_done(store_lease_replace(h->store, &r, &err));
	assert_done(store_lease_stray_forget(h->store, leased.sandbox.id, &err));
	harness_restart(h);
	assert_gone(h, leased.sandbox.id);
	assert_string_equal(fake_has(&h->fake, next.id), "running");
}

static void the_sandbox_of_a_lease_and_those_of_nobody_stay(void **state)
{
	struct harness *h = *state;
	struct fleet_leased leased = acquire(h);
	struct sandbox_record other = create(h);

	harness_restart(h);
	assert_string_equal(fake_has(&h->fake, leased.sandbox.id), "running");
	assert_string_equal(fake_has(&h->fake, other.id), "running");
}

static void a_sandbox_that_no_lease_wants_is_deleted_by_the_tick(void **state)
{
	struct harness *h = *state;
	struct fleet_leased leased = acquire(h);
	struct lease_record r = look(h);
	struct error err = {0};

	/* The process died between the two halves of a delete. */
	assert_done(store_lease_remove(h->store, &r, &err));
	harness_restart(h);
	assert_gone(h, leased.sandbox.id);
	assert_int_equal(count_strays(h), 0);
}

int main(void)
{
	return RUN_EACH(
	        EACH(who_waits_for_another_process_gives_up_at_its_deadline),
	        EACH(a_claim_that_is_too_old_is_taken_over),
	        EACH(a_loser_deletes_the_sandbox_that_it_comes_with),
	        EACH(a_sandbox_whose_maker_died_before_saying_so_is_adopted),
	        EACH(a_claim_whose_sandbox_failed_is_given_up_at_boot),
	        EACH(a_claim_that_is_too_old_is_given_up_by_the_tick),
	        EACH(a_maker_who_hangs_here_is_given_up_as_well),
	        EACH(a_maker_who_hangs_here_is_taken_over_by_who_asks),
	        EACH(another_servers_claim_is_given_up_when_its_time_is_over),
	        EACH(a_sandbox_of_an_earlier_claim_goes_though_the_store_has_lost_the_claim),
	        EACH(the_sandbox_of_a_lease_and_those_of_nobody_stay),
	        EACH(a_sandbox_that_no_lease_wants_is_deleted_by_the_tick));
}
