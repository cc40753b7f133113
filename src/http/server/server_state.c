/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/server_state.h"

#include <time.h>

#include "http/tls/tls.h"
#include "loop/loop.h"

/* splitmix64 over a counter: unique while this process lives, and not guessed by accident. */
void server_make_id(struct http_server *server, char id[REQUEST_ID_SIZE])
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	uint64_t z = server->id_state += 0x9e3779b97f4a7c15;
	int i;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	z ^= z >> 31;
	for (i = 0; i < 13; i++, z >>= 5)
		id[i] = digits[z & 31];
	id[i] = '\0';
}

size_t server_read_size(struct http_server *server, const struct tls *tls)
{
	size_t size = pace_read_size(&server->pace, loop_now_ms(server->loop),
	                             loop_busy_us(server->loop));

	return tls && size < TLS_RECORD_MAX ? TLS_RECORD_MAX : size;
}

struct span server_date_line(struct http_server *server)
{
	int64_t now = loop_now_ms(server->loop);

	if (!server->date_at_ms || now - server->date_at_ms >= 1000) {
		time_t seconds = time(NULL);
		struct tm parts;

		gmtime_r(&seconds, &parts);
		strftime(server->date, sizeof(server->date), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n",
		         &parts);
		server->date_at_ms = now ? now : 1;
	}
	return span_of(server->date);
}

struct server_counts server_counts_get(const struct http_server *server)
{
	return server->counts;
}
