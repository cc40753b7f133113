/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/recovery/jump.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "config/config.h"
#include "fleet/core/fleet_state.h"
#include "fleet/recovery/pairing.h"
#include "fleet/recovery/pairing_state.h"
#include "fleet/recovery/retention.h"
#include "store/folders.h"

#define FILE_NAME "clock"
#define FORMAT "atoll-clock-1"
#define SLEW_MS 1000 /* of a tick: what a time service may correct without setting the clock */

struct clock_file {
	char boot[40];
	int64_t offset_ms, wall_ms, back_ms, expiry_back_ms, hold_left_ms;
};

static bool read_file(const struct fleet *f, struct clock_file *ret)
{
	AUTO(buf_done) struct buf text = BUF(256);
	struct error ignored = {0};
	AUTO_CLOSE int folder = pairing_open_folder(f, &ignored);
	char format[32];

	if (folder < 0 || file_read(folder, FILE_NAME, &text, &ignored) < 0)
		return false;
	return sscanf(buf_text(&text),
	              "%31s %39s %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, format,
	              ret->boot, &ret->offset_ms, &ret->wall_ms, &ret->back_ms,
	              &ret->expiry_back_ms, &ret->hold_left_ms) == 7 &&
	       strcmp(format, FORMAT) == 0;
}

static int64_t hold_left(const struct jump *j)
{
	int64_t until = atomic_load(&j->hold_until), now = clock_boot_ms();

	return until > now ? until - now : 0;
}

void jump_write(struct fleet *f)
{
	const struct jump *j = &f->pairing->jump;
	AUTO_CLOSE int folder = -1;
	struct error err = {0};
	char line[200];

	if (!f->pairing->is_open)
		return;
	(void)snprintf(line, sizeof(line),
	               FORMAT " %s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
	               f->pairing->boot, j->offset_ms, clock_unix_ms(),
	               (int64_t)atomic_load(&j->back_ms), (int64_t)atomic_load(&j->expiry_back_ms),
	               hold_left(j));
	folder = pairing_open_folder(f, &err);
	if (folder < 0 || file_write(folder, FILE_NAME, span_of(line), 0600, &err) < 0)
		log_debug("the clock is not written down", FAILURE(&err));
}

int64_t fleet_retention_ms(const struct fleet *fleet)
{
	return clock_unix_ms() - atomic_load(&fleet->pairing->jump.back_ms);
}

static void release_removals(struct jump *j)
{
	atomic_store(&j->back_ms, 0);
	atomic_store(&j->expiry_back_ms, 0);
	atomic_store(&j->hold_until, 0);
}

static void hold_removals(struct fleet *f, int64_t back_ms, int64_t expiry_back_ms, int64_t for_ms)
{
	struct jump *j = &f->pairing->jump;

	if (for_ms <= 0 || back_ms < JUMP_MS)
		return;
	atomic_store(&j->back_ms, back_ms);
	atomic_store(&j->expiry_back_ms, expiry_back_ms);
	atomic_store(&j->hold_until, clock_boot_ms() + for_ms);
}

/* Jumps add up: a jump and its correction cancel out. */
static void set_hold(struct fleet *f, int64_t by_ms)
{
	int64_t back_ms = atomic_load(&f->pairing->jump.back_ms) + by_ms;
	int64_t expiry_back_ms = atomic_load(&f->pairing->jump.expiry_back_ms);

	release_removals(&f->pairing->jump);
	hold_removals(f, back_ms, expiry_back_ms, f->config->clock_hold_ms);
}

struct fleet_clock fleet_clock_get(const struct fleet *fleet)
{
	const struct jump *j = &fleet->pairing->jump;

	return (struct fleet_clock){.jumps = (uint64_t)atomic_load(&j->count),
	                            .held_s = (uint64_t)hold_left(j) / 1000};
}

int jump_check(struct fleet *f, struct error *err)
{
	int64_t left_ms = hold_left(&f->pairing->jump);

	if (left_ms == 0)
		return 0;
	(void)FAIL(err, ERROR_UNAVAILABLE,
	           "the machine's clock went forward by %" PRId64
	           " s: nothing that is kept for a time is removed for %" PRId64 " s more",
	           (int64_t)atomic_load(&f->pairing->jump.back_ms) / 1000, left_ms / 1000);
	return FAIL_HINT(err,
	                 "if the clock is wrong, set it right before that (timedatectl); if it is "
	                 "right, nothing needs to be done");
}

static void follow_jump(struct fleet *f, int64_t by_ms)
{
	struct error err = {0};

	atomic_fetch_add(&f->pairing->jump.count, 1);
	log_error("the machine's clock was set: times of sandboxes move with it, and what is kept "
	          "for a time stays for 'clock_hold'",
	          NUMBER("by_ms", by_ms), NUMBER("clock_hold_ms", f->config->clock_hold_ms));
	set_hold(f, by_ms);
	if (store_folder_shift(f->store, f->node, by_ms, &err) < 0)
		log_error("times of sandboxes did not move: idle times and timeouts are wrong",
		          NUMBER("by_ms", by_ms), FAILURE(&err));
}

void jump_check_clock(struct fleet *f)
{
	struct jump *j = &f->pairing->jump;
	int64_t offset_ms = clock_unix_ms() - clock_boot_ms(), by_ms = offset_ms - j->offset_ms;

	if (atomic_load(&j->hold_until) && hold_left(j) == 0) {
		log_warning("what is kept for a time goes by the machine's clock again");
		release_removals(j);
	}
	if (by_ms < JUMP_MS && by_ms > -JUMP_MS) {
		j->offset_ms += by_ms > SLEW_MS ? SLEW_MS : by_ms < -SLEW_MS ? -SLEW_MS : by_ms;
		return;
	}
	j->offset_ms = offset_ms;
	follow_jump(f, by_ms);
	jump_write(f);
}

static void compare_after_boot(struct fleet *f, const struct clock_file *last)
{
	int64_t away_ms = clock_unix_ms() - last->wall_ms;

	if (away_ms < -JUMP_MS) {
		follow_jump(f, away_ms);
		return;
	}
	if (away_ms <= AWAY_MS)
		return;
	log_warning("the server was away for long, or the machine's clock was set: nothing that is "
	            "kept for a time is removed before 'clock_hold' is over",
	            NUMBER("away_ms", away_ms), NUMBER("clock_hold_ms", f->config->clock_hold_ms));
	hold_removals(f, away_ms, away_ms, f->config->clock_hold_ms);
}

static void compare_clocks(struct fleet *f, const struct clock_file *last)
{
	int64_t by_ms = f->pairing->jump.offset_ms - last->offset_ms;

	hold_removals(f, last->back_ms, last->expiry_back_ms, last->hold_left_ms);
	if (strcmp(last->boot, f->pairing->boot) != 0)
		compare_after_boot(f, last);
	else if (by_ms >= JUMP_MS || by_ms <= -JUMP_MS)
		follow_jump(f, by_ms);
}

void jump_begin(struct fleet *f)
{
	struct clock_file last;

	f->pairing->jump.offset_ms = clock_unix_ms() - clock_boot_ms();
	if (read_file(f, &last))
		compare_clocks(f, &last);
	jump_write(f);
}
