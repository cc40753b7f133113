/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the commands of a shell from the output that the agent still has. */
#include <string.h>

#include "base/map.h"
#include "provider/agent_reader.h"
#include "provider/compute.h"
#include "shell/marks.h"
#include "shell/queue.h"
#include "fleet/core/fleet_hold.h"
#include "wire/agent.h"
#include "wire/wire.h"

#define COMMANDS_MAX 65536
/* Two streams, and output that the shell writes meanwhile. */
#define REPLAY_MAX ((uint64_t)4 * SHELL_RING)

/* One command while its streams are read. */
struct shell_history_entry {
	const char *id, *text;
	bool has_ended;
	int64_t exit_code;
	struct buf out[2], both;
};

struct shell_history {
	struct arena *arena;
	struct map by_id;
	struct shell_history_entry **entries; /* in the arena, as their texts */
	size_t count, room;
	const char *folder;
};

/* The state of one stream. */
struct shell_stream {
	struct shell_history *history;
	struct shell_marks marks;
	unsigned stream;
	struct shell_history_entry *current; /* NULL between commands */
};

static void shell_history_done(struct shell_history *h)
{
	for (size_t i = 0; i < h->count; i++) {
		buf_done(&h->entries[i]->out[0]);
		buf_done(&h->entries[i]->out[1]);
		buf_done(&h->entries[i]->both);
	}
	map_done(&h->by_id);
}

static const char *decode_hex_text(struct arena *a, struct span hex)
{
	char *text = arena_alloc(a, hex.size / 2 + 1);

	if (hex_decode(hex, text, hex.size / 2) < 0 || memchr(text, '\0', hex.size / 2))
		return "";
	return text;
}

/* Finds or adds a command: its begin mark may be lost on one of the two streams. NULL: too many
 * commands. */
static struct shell_history_entry *find_or_add_command(struct shell_history *h, const char *id)
{
	struct shell_history_entry *e = map_find(&h->by_id, id);

	if (e || h->count >= COMMANDS_MAX)
		return e;
	h->entries = arena_grow(h->arena, h->entries, h->count, &h->room, sizeof(*h->entries));
	e = ARENA_NEW(h->arena, struct shell_history_entry);
	e->id = arena_text(h->arena, id);
	e->text = "";
	e->out[0] = e->out[1] = BUF(SHELL_RING);
	e->both = BUF(2 * SHELL_RING);
	h->entries[h->count++] = e;
	(void)map_put(&h->by_id, id, e);
	return e;
}

static void on_bytes(void *context, struct span bytes)
{
	struct shell_stream *r = context;

	if (!r->current)
		return;
	buf_add_span(&r->current->out[r->stream], bytes);
	buf_add_span(&r->current->both, bytes);
}

static void on_mark(void *context, const struct shell_mark *mark)
{
	struct shell_stream *r = context;
	struct shell_history *h = r->history;
	struct shell_history_entry *e;

	if (mark->kind == MARK_FOLDER) {
		h->folder = arena_copy(h->arena, mark->text);
		return;
	}
	e = find_or_add_command(h, mark->id);
	r->current = mark->kind == MARK_BEGIN ? e : NULL;
	if (e && mark->kind == MARK_BEGIN)
		e->text = decode_hex_text(h->arena, mark->text);
	if (e && mark->kind == MARK_END) {
		e->has_ended = true;
		e->exit_code = mark->exit_code;
	}
}

static const struct shell_marks_ops stream_ops = {.on_bytes = on_bytes, .on_mark = on_mark};

static int take_output_frame(struct shell_stream readers[2], struct span payload, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct agent_output output;

	if (wire_decode(&a, payload, agent_output_shape, &output, sizeof(output), err) < 0)
		return -1;
	if (output.stream != AGENT_STDOUT && output.stream != AGENT_STDERR)
		return FAIL(err, ERROR_SYSTEM, "the agent sent output of stream %u", output.stream);
	shell_marks_add(&readers[output.stream - AGENT_STDOUT].marks, output.bytes);
	return 0;
}

/* Reads the existing output and does not wait for more. */
static int replay_output(const struct shell_call *call, const struct shell *shell,
                         struct shell_stream readers[2], struct error *err)
{
	const struct agent_attach message = {.process = shell->process, .read_only = 1};
	const struct compute_request request = {AGENT_ATTACH, agent_attach_shape, &message, NULL};
	const struct agent_limits limits = {.deadline = call->deadline, .bytes_max = REPLAY_MAX};
	AUTO(agent_reader_done) struct agent_reader r;

	agent_reader_init(&r, call->hold->provider, call->hold->id, &limits);
	if (agent_reader_ask(&r, &request, err) < 0)
		return -1;
	while (!r.has_ended) {
		if (agent_reader_next(&r, err) < 0 ||
		    (r.type == AGENT_OUTPUT &&
		     take_output_frame(readers, buf_span(&r.payload), err) < 0))
			return -1;
	}
	shell_marks_end(&readers[0].marks);
	shell_marks_end(&readers[1].marks);
	return 0;
}

static struct span copy_buf(struct arena *a, const struct buf *b)
{
	return (struct span){arena_copy(a, buf_span(b)), b->size};
}

static bool command_is_known(const void *context, const char *id)
{
	return map_find(&((const struct shell_history *)context)->by_id, id) != NULL;
}

/* Appends the queued commands. When the shell has ended they never begin. */
static void add_queued_commands(const struct shell_queued_commands *waiting,
                                const struct shell *shell, struct shell_commands *ret)
{
	for (size_t i = 0; i < waiting->count; i++)
		ret->items[ret->count++] = (struct shell_command){
		        .id = waiting->items[i].id.text,
		        .text = waiting->items[i].text,
		        .has_ended = shell->has_ended,
		        .exit_code = shell->exit_code,
		};
}

/* The command that ended the shell has no end mark. */
static struct shell_commands commands_of(struct shell_history *h, const struct shell *shell,
                                         const struct shell_queued_commands *waiting)
{
	struct shell_command *items =
	        ARENA_ARRAY(h->arena, struct shell_command, h->count + waiting->count);
	struct shell_commands ret = {items, h->count, h->folder};

	for (size_t i = 0; i < h->count; i++) {
		const struct shell_history_entry *e = h->entries[i];
		bool is_killed = !e->has_ended && shell->has_ended;

		items[i] = (struct shell_command){
		        .id = e->id,
		        .text = e->text,
		        .has_begun = true,
		        .has_ended = e->has_ended || is_killed,
		        .exit_code = is_killed ? shell->exit_code : e->exit_code,
		        .out = {copy_buf(h->arena, &e->out[0]), copy_buf(h->arena, &e->out[1])},
		        .both = copy_buf(h->arena, &e->both),
		};
	}
	add_queued_commands(waiting, shell, &ret);
	return ret;
}

struct shell_streams {
	struct shell_history history;
	struct shell_stream of[2]; /* stdout, stderr */
};

static void shell_streams_done(struct shell_streams *r)
{
	shell_marks_done(&r->of[0].marks);
	shell_marks_done(&r->of[1].marks);
	shell_history_done(&r->history);
}

int shell_read_commands(const struct shell_call *call, struct arena *a, const struct shell *shell,
                        struct shell_commands *ret, struct error *err)
{
	AUTO(shell_streams_done) struct shell_streams r = {.history = {.arena = a, .folder = ""}};
	const struct shell_ref ref = {call->hold->id, shell->process};
	struct shell_queued_commands waiting;

	for (unsigned i = 0; i < COUNT_OF(r.of); i++) {
		r.of[i].history = &r.history;
		r.of[i].stream = i;
		shell_marks_init(&r.of[i].marks, &stream_ops, &r.of[i]);
	}
	if (replay_output(call, shell, r.of, err) < 0)
		return -1;
	waiting = shell_queue_list(call->queue, a, &ref, command_is_known, &r.history);
	*ret = commands_of(&r.history, shell, &waiting);
	return 0;
}

int shell_command_find(const struct shell_commands *commands, const char *id,
                       struct shell_command *ret, struct error *err)
{
	for (size_t i = 0; i < commands->count; i++) {
		if (strcmp(commands->items[i].id, id) != 0)
			continue;
		*ret = commands->items[i];
		return 0;
	}
	return FAIL(err, ERROR_NOT_FOUND, "the session has no command '%.40s'", id);
}
