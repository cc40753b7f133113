/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "cli/check/check.h"
#include "cli/core/local.h"

struct provider_trial {
	struct cli *cli;
	struct checked_provider *provider;
	const struct host_traps *traps;
	struct cage cage, neighbour;
	const char *neighbour_word, *neighbour_addresses, *neighbour_failure;
	const char *agent_socket, *why_no_agent_socket;
	bool is_small;      /* the next `cage` is small */
	bool is_unanswered; /* a run in `cage` failed */
};

/* The text of an input, or NULL and why there is none. */
static const char *input_of(const struct provider_trial *t, enum escape_input input,
                            const char **ret_why)
{
	struct arena *a = t->cli->arena;
	const struct host_traps *traps = t->traps;

	*ret_why = traps->why_none;
	switch (input) {
	case ESCAPE_INPUT_NONE:
		return "";
	case ESCAPE_INPUT_FILE:
		return traps->file;
	case ESCAPE_INPUT_PROCESS:
		return traps->why_none ? NULL : arena_format(a, "%d", (int)traps->process);
	case ESCAPE_INPUT_COMMAND:
	case ESCAPE_INPUT_ABSTRACT:
		return traps->why_none ? NULL : traps->word;
	case ESCAPE_INPUT_LISTENERS:
		return traps->addresses;
	case ESCAPE_INPUT_AGENT:
		*ret_why = t->why_no_agent_socket;
		return t->agent_socket;
	case ESCAPE_INPUT_NEIGHBOUR:
		*ret_why = t->neighbour_failure;
		return t->neighbour_word;
	case ESCAPE_INPUT_NEIGHBOUR_ADDRESSES:
		*ret_why = t->neighbour_failure ? t->neighbour_failure
		                                : "the second sandbox has no address";
		return t->neighbour_addresses;
	case ESCAPE_INPUT_MEMORY_MB:
		return arena_format(a, "%d", CAGE_MEMORY_MB);
	case ESCAPE_INPUT_DISK_MB:
		return arena_format(a, "%d", CAGE_DISK_MB);
	case ESCAPE_INPUT_PIDS:
		return arena_format(a, "%d", CAGE_PIDS);
	}
	return NULL;
}

/* The line that decided, without its first word: the last one with that word. */
static const char *deciding_line(struct arena *a, const char *text, const char *word)
{
	struct span rest = span_of(text), line, found = {0};
	size_t size = strlen(word);
	bool more = true;

	while (more) {
		more = span_split(&rest, '\n', &line);
		if (line.size > size && memcmp(line.data, word, size) == 0)
			found = span_after(line, size);
	}
	return found.size > 0 ? arena_format(a, "%.*s", (int)(found.size < 200 ? found.size : 200),
	                                     found.data)
	                      : "no word about it";
}

static enum check_outcome outcome_of_success(const struct provider_trial *t,
                                             const struct escape_row *row)
{
	if ((row->flags & ESCAPE_OWN_KERNEL) && t->provider->is_own_kernel)
		return CHECK_OWN_KERNEL;
	return row->flags & ESCAPE_SECOND ? CHECK_WEAKER : CHECK_THROUGH;
}

static struct check_result judge_attempt(const struct provider_trial *t,
                                         const struct escape_row *row, int status, const char *text)
{
	struct arena *a = t->cli->arena;

	if (status == ESCAPE_HELD)
		return (struct check_result){CHECK_HELD, NULL, deciding_line(a, text, "held: ")};
	if (status == ESCAPE_THROUGH)
		return (struct check_result){outcome_of_success(t, row), NULL,
		                             deciding_line(a, text, "through: ")};
	if (status == ESCAPE_NOT_TRIED)
		return (struct check_result){CHECK_NOT_TRIED, NULL,
		                             deciding_line(a, text, "not tried: ")};
	return (struct check_result){CHECK_NOT_TRIED, NULL,
	                             arena_format(a, "the program ended with status %d", status)};
}

/* The call failed: an attempt that may end the sandbox has done so. */
static struct check_result judge_failed_run(const struct provider_trial *t,
                                            const struct escape_row *row)
{
	const char *detail = arena_text(t->cli->arena, t->cli->err->text);

	if (!(row->flags & ESCAPE_SPOILS))
		return (struct check_result){CHECK_NOT_TRIED, NULL, detail};
	if (row->group == ESCAPE_LIMITS)
		return (struct check_result){CHECK_HELD, NULL, detail};
	return (struct check_result){outcome_of_success(t, row), NULL, detail};
}

static struct check_result attempt_as(struct provider_trial *t, struct cage *cage,
                                      const struct escape_row *row, const char *user)
{
	struct cage_run run = {.user = user, .args = {row->id}};
	const char *text = "", *why;
	struct check_result result;
	int status;

	run.args[1] = input_of(t, row->input, &why);
	if (!run.args[1])
		return (struct check_result){CHECK_NOT_TRIED, NULL, why ? why : "no input"};
	status = cage_run_program(cage, &run, &text);
	t->is_unanswered |= status < 0;
	result = status < 0 ? judge_failed_run(t, row) : judge_attempt(t, row, status, text);
	result.user = result.outcome > CHECK_HELD ? user : NULL;
	return result;
}

/* An attempt without an answer may have ended the sandbox. */
static void replace_cage(struct provider_trial *t)
{
	const struct cage_options options = {.provider = t->provider, .is_small = t->is_small};

	cage_close(&t->cage);
	if (cage_open(t->cli, &options, &t->cage) < 0)
		t->cage.id = NULL;
	t->is_unanswered = false;
}

static struct check_result attempt_as_each(struct provider_trial *t, const struct escape_row *row)
{
	struct check_result by_root, by_user;

	if (t->is_unanswered)
		replace_cage(t);
	if (!t->cage.id)
		return (struct check_result){
		        CHECK_NOT_TRIED, NULL,
		        arena_format(t->cli->arena, "no sandbox: %s", t->cli->err->text)};
	if (row->flags & ESCAPE_BY_API)
		return file_attempt_make(&t->cage, row->id, t->traps);
	by_root = attempt_as(t, &t->cage, row, "root");
	if (t->is_unanswered || row->group == ESCAPE_LIMITS)
		return by_root;
	by_user = attempt_as(t, &t->cage, row, "user");
	return by_user.outcome > by_root.outcome ? by_user : by_root;
}

static void open_neighbour(struct provider_trial *t)
{
	const struct cage_options options = {.provider = t->provider};
	unsigned char bytes[4];
	char digits[2 * sizeof(bytes) + 1];
	struct cage_run run = {.user = "user", .args = {"--serve"}};
	const char *addresses = "";

	random_bytes(bytes, sizeof(bytes));
	hex_encode(bytes, sizeof(bytes), digits);
	run.args[1] = arena_format(t->cli->arena, "near-%s", digits);
	if (cage_open(t->cli, &options, &t->neighbour) < 0 ||
	    cage_run_program(&t->neighbour, &run, &addresses) != ESCAPE_HELD) {
		t->neighbour_failure =
		        arena_format(t->cli->arena, "no second sandbox: %s", t->cli->err->text);
		return;
	}
	t->neighbour_word = run.args[1];
	t->neighbour_addresses = addresses[0] ? addresses : NULL;
}

static void find_agent_socket(struct provider_trial *t)
{
	struct arena *a = t->cli->arena;
	struct error ignored = {0};
	const char *data = NULL;

	if (local_data_dir(a, &data, &ignored) == 0)
		t->agent_socket =
		        arena_format(a, "%s/run/sandboxes/%s/agent.sock", data, t->cage.id);
	if (!t->agent_socket || access(t->agent_socket, F_OK) < 0) {
		t->agent_socket = NULL;
		t->why_no_agent_socket = "the agent has no socket in the data folder, or "
		                         "ATOLL_DATA names another one";
	}
}

static void learn_kernel(struct provider_trial *t)
{
	const struct cage_run run = {.user = "user", .args = {"--kernel"}};
	struct checked_provider *p = t->provider;
	bool claims_own =
	        strcmp(p->isolation, "gvisor") == 0 || strcmp(p->isolation, "microvm") == 0;
	const char *text = "";

	if (cage_run_program(&t->cage, &run, &text) != ESCAPE_HELD)
		return;
	p->kernel = arena_format(t->cli->arena, "%.*s", (int)strcspn(text, "\n"), text);
	/* Of a server elsewhere the claim is all that is known. */
	p->is_own_kernel =
	        claims_own && (t->traps->why_none || strcmp(p->kernel, t->traps->kernel) != 0);
}

/* First what leaves the sandbox whole, then, in reverse, what may spoil it: the last of them
 * unmounts /proc. Attempts against limits get a small sandbox. */
static void make_attempts(struct provider_trial *t)
{
	struct check_result *results = t->provider->results;
	unsigned count = escape_row_count();

	for (unsigned i = 0; i < count; i++)
		if (!(escape_rows[i].flags & ESCAPE_SPOILS))
			results[i] = attempt_as_each(t, &escape_rows[i]);
	for (unsigned i = count; i-- > 0;)
		if ((escape_rows[i].flags & ESCAPE_SPOILS) && escape_rows[i].group != ESCAPE_LIMITS)
			results[i] = attempt_as_each(t, &escape_rows[i]);
	t->is_small = true;
	t->is_unanswered = true;
	for (unsigned i = count; i-- > 0;)
		if (escape_rows[i].group == ESCAPE_LIMITS)
			results[i] = attempt_as_each(t, &escape_rows[i]);
}

void provider_check(struct cli *cli, struct checked_provider *p, const struct host_traps *traps)
{
	struct provider_trial t = {.cli = cli, .provider = p, .traps = traps};
	const struct cage_options options = {.provider = p};

	p->results = ARENA_ARRAY(cli->arena, struct check_result, escape_row_count());
	for (unsigned i = 0; i < escape_row_count(); i++)
		p->results[i].detail = "no sandbox";
	if (cage_open(cli, &options, &t.cage) < 0) {
		p->failure = arena_text(cli->arena, cli->err->text);
		return;
	}
	p->has_network = t.cage.has_network;
	learn_kernel(&t);
	find_agent_socket(&t);
	open_neighbour(&t);
	make_attempts(&t);
	cage_close(&t.cage);
	cage_close(&t.neighbour);
}
