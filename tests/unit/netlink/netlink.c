/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include "netlink/netlink.h"
#include "unit.h"

TEST(a_message_knows_its_size_and_asks_for_an_answer)
{
	AUTO(buf_done) struct buf batch = BUF(1024);
	struct ifinfomsg link = {.ifi_index = 7};
	const struct nlmsghdr *head;
	size_t begin = netlink_begin(&batch, RTM_NEWLINK, NLM_F_CREATE, &link, sizeof(link));

	netlink_add_text(&batch, IFLA_IFNAME, "abc");
	netlink_end(&batch, begin);
	head = (const void *)batch.data;
	assert_int_equal(head->nlmsg_len, batch.size);
	assert_int_equal(head->nlmsg_type, RTM_NEWLINK);
	assert_int_equal(head->nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE);
	assert_int_equal(batch.size, NLMSG_LENGTH(sizeof(link)) + RTA_SPACE(4));
}

TEST(attributes_are_padded_to_four_bytes)
{
	AUTO(buf_done) struct buf batch = BUF(1024);
	const struct rtattr *attribute;

	netlink_add(&batch, 5, "x", 1);
	attribute = (const void *)batch.data;
	assert_int_equal(attribute->rta_len, RTA_LENGTH(1));
	assert_int_equal(batch.size, 8);
	assert_int_equal(batch.data[5], 0);
}

TEST(a_nested_attribute_spans_what_is_in_it)
{
	AUTO(buf_done) struct buf batch = BUF(1024);
	const struct rtattr *outer;
	size_t open = netlink_open(&batch, 18);

	netlink_add_u32(&batch, 1, 42);
	netlink_add_u32(&batch, 2, 43);
	netlink_close(&batch, open);
	outer = (const void *)batch.data;
	assert_int_equal(outer->rta_len, batch.size);
	assert_int_equal(batch.size, RTA_LENGTH(0) + 2 * RTA_SPACE(4));
}

TEST(a_batch_that_does_not_fit_is_not_sent)
{
	AUTO(buf_done) struct buf batch = BUF(8);
	struct ifinfomsg link = {.ifi_index = 7};
	struct error err = {0};

	netlink_end(&batch, netlink_begin(&batch, RTM_NEWLINK, 0, &link, sizeof(link)));
	assert_int_equal(netlink_run(-1, &batch, "try", &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

TEST(the_kernels_refusal_is_the_error)
{
	AUTO(buf_done) struct buf batch = BUF(1024);
	struct ifinfomsg link = {.ifi_index = 0x7ffffff0};
	struct error err = {0};
	int fd;

	netlink_end(&batch, netlink_begin(&batch, RTM_SETLINK, 0, &link, sizeof(link)));
	netlink_end(&batch, netlink_begin(&batch, RTM_SETLINK, 0, &link, sizeof(link)));
	assert_int_equal(netlink_socket(&fd, &err), 0);
	assert_int_equal(netlink_run(fd, &batch, "touch a link", &err), -1);
	assert_non_null(strstr(err.text, "touch a link"));
	(void)close(fd);
}

int main(void)
{
	return RUN(CASE(a_message_knows_its_size_and_asks_for_an_answer),
	           CASE(attributes_are_padded_to_four_bytes),
	           CASE(a_nested_attribute_spans_what_is_in_it),
	           CASE(a_batch_that_does_not_fit_is_not_sent),
	           CASE(the_kernels_refusal_is_the_error));
}
