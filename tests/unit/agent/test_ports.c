/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ports.h"
#include "wire/agent_ports.h"

#define HEAD                                                                                       \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "      \
	"timeout inode\n"
#define LISTENS " 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 "
#define TALKS " 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 "
#define REST " 1 0000000000000000 100 0 0 10 0\n"

static struct port_list *parse(const char *text, unsigned version)
{
	struct port_list *list = memory_new(sizeof(*list));

	ports_parse(list, span_of(text), version);
	return list;
}

TEST(listening_sockets_are_read_and_others_are_left_out)
{
	AUTO_FREE struct port_list *list =
	        parse(HEAD "   0: 0100007F:1F90" LISTENS "4711" REST "   1: 0100007F:1F90" TALKS
	                   "4712" REST "   2: 00000000:0016" LISTENS "18446744073709551615" REST,
	              4);

	assert_int_equal(list->count, 2);
	assert_int_equal(list->items[0].port, 8080);
	assert_string_equal(list->items[0].address, "127.0.0.1");
	assert_int_equal(list->items[0].inode, 4711);
	assert_int_equal(list->items[1].port, 22);
	assert_string_equal(list->items[1].address, "0.0.0.0");
	assert_false(list->is_cut);
}

TEST(addresses_of_version_6_are_read)
{
	AUTO_FREE struct port_list *list =
	        parse(HEAD "   0: 00000000000000000000000001000000:0BB8 "
	                   "00000000000000000000000000000000:0000 0A 00000000:00000000 "
	                   "00:00000000 00000000  0 0 9" REST,
	              6);

	assert_int_equal(list->count, 1);
	assert_string_equal(list->items[0].address, "::1");
	assert_int_equal(list->items[0].port, 3000);
}

TEST(half_a_line_and_nonsense_are_left_out)
{
	static const char *const texts[] = {
	        "",
	        "\n\n\n",
	        "   0: 0100007F:1F90 00000000:0000 0A",
	        "   0: 0100007F" LISTENS "4711" REST,
	        "   0: 01:1F90" LISTENS "4711" REST,
	        "   0: 0100007F0100007F:1F90" LISTENS "4711" REST,
	        "   0: 0100007F:1F90" LISTENS "0" REST,
	        "   0: XY00007F:1F90" LISTENS "4711" REST,
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		AUTO_FREE struct port_list *list = parse(texts[i], 4);

		assert_int_equal(list->count, 0);
	}
}

TEST(a_list_of_too_many_sockets_is_cut)
{
	AUTO_FREE struct port_list *list = NULL;
	AUTO(buf_done) struct buf text = BUF(1024 * 1024);

	for (unsigned i = 0; i < AGENT_PORTS_MAX + 1; i++)
		buf_addf(&text, "%4u: 0100007F:%04X" LISTENS "%u" REST, i, i + 1, i + 1);
	list = parse(buf_text(&text), 4);
	assert_int_equal(list->count, AGENT_PORTS_MAX);
	assert_true(list->is_cut);
}

/* The port's row, or one with the port 0. */
static struct agent_port find_port(struct box *b, uint32_t wanted)
{
	AUTO_CLOSE int fd = box_connect(b);
	struct agent_port found = {.port = 0}, is;
	struct error err;

	say(b, fd, AGENT_PORTS, NULL, NULL);
	while (hear_any(b, fd) == AGENT_PORT) {
		assert_int_equal(wire_decode(&b->arena, buf_span(&b->payload), agent_port_shape,
		                             &is, sizeof(is), &err),
		                 0);
		if (is.port == wanted)
			found = is;
	}
	return found;
}

#define SERVER                                                                                     \
	"exec python3 -c 'import os, socket, time; s = socket.socket(); s.bind((\"127.0.0.1\", "   \
	"0)); s.listen(); f = open(\"port.new\", \"w\"); f.write(f\"{s.getsockname()[1]}\\n\"); "  \
	"f.close(); os.rename(\"port.new\", \"port\"); time.sleep(1000)'"

TEST(a_server_is_listed_with_its_process_until_it_ends)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec exec = shell(&b, SERVER);
	uint64_t process;
	struct agent_port port;
	int number;

	process = exec_start(&b, fd, &exec);
	number = wait_for_number(&b, "port");
	port = find_port(&b, (uint32_t)number);
	assert_int_equal(port.port, number);
	assert_string_equal(port.address, "127.0.0.1");
	assert_int_equal(port.process, process);
	assert_true(port.pid > 1);
	assert_memory_equal(port.command, "python3 -c import os", 20);

	say(&b, fd, AGENT_SIGNAL, agent_signal_shape, &(struct agent_signal){.signal = 9});
	{
		struct ran r = exec_finish(&b, fd);

		ran_done(&r);
	}
	assert_int_equal(find_port(&b, (uint32_t)number).port, 0);
	box_end(&b);
}

TEST(a_sandbox_on_the_hosts_network_does_not_show_the_hosts_servers)
{
	struct box b = box_start(BOX_HOST);
	AUTO_FREE struct port_list *list = memory_new(sizeof(*list));

	ports_list(list);
	for (size_t i = 0; i < list->count; i++)
		assert_int_equal(find_port(&b, list->items[i].port).port, 0);
	box_end(&b);
}

int main(void)
{
	return RUN(CASE(listening_sockets_are_read_and_others_are_left_out),
	           CASE(addresses_of_version_6_are_read),
	           CASE(half_a_line_and_nonsense_are_left_out),
	           CASE(a_list_of_too_many_sockets_is_cut),
	           CASE(a_server_is_listed_with_its_process_until_it_ends),
	           CASE(a_sandbox_on_the_hosts_network_does_not_show_the_hosts_servers));
}
