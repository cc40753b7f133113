/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/build_log.h"

#include <stdlib.h>

#include "fleet/build/build.h"
#include "http/server/relay.h"

#define PAGE_BYTES ((size_t)1 << 20)
#define WHOLE_BYTES (3 * BUILD_LOG_MAX)
#define LOOK_MS 100
#define UNSENT_MAX ((size_t)128 * 1024)
#define IDLE_LOOKS 150 /* looks without a new line until the stream is kept alive */

int build_log_read(struct request *rq, const char *id, int64_t since, struct buf *out,
                   int64_t *ret_next, struct error *err)
{
	struct fleet *fleet = api_of(rq)->fleet;
	struct build_log *log = fleet_build_log_open(fleet, id);

	if (!log)
		return fleet_build_log_load(fleet, id, since, out, ret_next, err);
	*ret_next = fleet_build_log_read(log, since, out).next;
	fleet_build_log_close(log);
	return 0;
}

static int answer_stored(struct request *rq, const struct build_log_query *ask, struct reply *reply,
                         struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(WHOLE_BYTES);
	int64_t since, next = ask->since;

	do {
		AUTO(buf_done) struct buf lines = BUF(PAGE_BYTES);

		since = next;
		if (build_log_read(rq, ask->id, since, &lines, &next, err) < 0)
			return -1;
		ask->form->write(&text, buf_span(&lines), since);
	} while (next > since && !text.overflowed);
	reply_text(reply, ask->form->content_type,
	           (struct span){arena_copy(rq->arena, buf_span(&text)), text.size});
	return 0;
}

struct log_stream {
	struct build_log *log;
	int64_t next;
	const struct build_log_format *form;
	unsigned idle;
};

static void on_start(void *state, struct relay *relay)
{
	const struct log_stream *s = state;

	relay_begin_header(relay, "Cache-Control", "no-store");
	relay_begin(relay, 200, s->form->content_type, -1);
}

static void on_tick(void *state, struct relay *relay)
{
	AUTO(buf_done) struct buf lines = BUF(UNSENT_MAX);
	AUTO(buf_done) struct buf text = BUF(4 * UNSENT_MAX);
	struct log_stream *s = state;
	struct build_log_position position;

	if (relay_unsent(relay) >= UNSENT_MAX)
		return;
	position = fleet_build_log_read(s->log, s->next, &lines);
	s->form->write(&text, buf_span(&lines), s->next);
	s->next = position.next;
	s->idle = text.size > 0 ? 0 : s->idle + 1;
	if (s->idle == IDLE_LOOKS && s->form->idle) {
		buf_add_text(&text, s->form->idle);
		s->idle = 0;
	}
	if (text.size > 0)
		relay_write(relay, buf_span(&text));
	if (position.is_whole)
		relay_finish(relay);
}

static void release_log(void *state, UNUSED int upstream_fd, UNUSED bool clean)
{
	struct log_stream *s = state;

	fleet_build_log_close(s->log);
	free(s);
}

static const struct relay_ops log_relay = {
        .on_start = on_start, .on_tick = on_tick, .release = release_log};

static void follow_log(struct build_log *log, const struct build_log_query *ask,
                       struct reply *reply)
{
	struct log_stream *s = memory_new(sizeof(*s));

	*s = (struct log_stream){.log = log, .next = ask->since, .form = ask->form};
	reply_relay(reply,
	            &(struct relay_options){
	                    .upstream_fd = -1, .ops = &log_relay, .state = s, .tick_ms = LOOK_MS});
}

int build_log_answer(struct request *rq, const struct build_log_query *ask, struct reply *reply,
                     struct error *err)
{
	struct build_log *log =
	        ask->follows ? fleet_build_log_open(api_of(rq)->fleet, ask->id) : NULL;

	if (!log)
		return answer_stored(rq, ask, reply, err);
	follow_log(log, ask, reply);
	return 0;
}
