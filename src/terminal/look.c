/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal/look.h"

#include "fleet/core/fleet_hold.h"

static uint32_t clamp_size(uint32_t size, uint32_t standard, uint32_t max)
{
	return size == 0 ? standard : size > max ? max : size;
}

static void set_size(struct window_look *look)
{
	const struct agent_terminal_state *state = &look->window.state;
	uint32_t rows = clamp_size(state->rows, 24, TERMINAL_ROWS_MAX);
	uint32_t columns = clamp_size(state->columns, 80, TERMINAL_COLUMNS_MAX);

	if (look->screen)
		screen_resize(look->screen, rows, columns);
	else
		look->screen = screen_new(rows, columns, state->output_start);
}

void look_feed(struct window_look *look, const struct agent_output *o)
{
	uint64_t next = screen_offset(look->screen);
	struct span bytes = o->bytes;

	if (o->offset > next) {
		screen_free(TAKE(look->screen));
		look->window.state.output_start = next = o->offset;
		set_size(look);
	}
	if (o->offset + bytes.size <= next)
		return;
	span_skip(&bytes, (size_t)(next - o->offset));
	screen_feed(look->screen, bytes);
}

static int catch_up_output(struct window_look *look, const struct terminal_at *at,
                           struct error *err)
{
	AUTO(terminal_reader_done) struct terminal_reader reader = {.over = false};
	struct agent_output output;
	int more;

	if (screen_offset(look->screen) >= look->window.state.output_end)
		return 0;
	if (terminal_reader_open(&reader, at, look->window.process.process,
	                         screen_offset(look->screen), false, err) < 0)
		return -1;
	while ((more = terminal_reader_next(&reader, at->deadline, &output, err)) > 0)
		look_feed(look, &output);
	return more;
}

int look_open(struct window_look *look, const struct terminal_at *at, struct arena *a,
              struct error *err)
{
	*look = (struct window_look){.terminals = at->terminals};
	if (terminal_find(at, a, &look->window, err) < 0)
		return -1;
	look->key = (struct screen_key){
	        .sandbox = at->hold->id,
	        .process = look->window.process.process,
	        .started_unix_ms = look->window.process.started_unix_ms,
	};
	look->screen = screens_take(at->terminals->screens, &look->key);
	/* Refuses an agent whose offsets go backwards. */
	if (look->screen && screen_offset(look->screen) > look->window.state.output_end)
		screen_free(TAKE(look->screen));
	set_size(look);
	return catch_up_output(look, at, err);
}

void look_done(struct window_look *look)
{
	if (look->screen)
		screens_put(look->terminals->screens, &look->key, TAKE(look->screen));
}
