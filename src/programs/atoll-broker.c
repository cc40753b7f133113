/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/broker.h"

int main(int argc, char **argv)
{
	return broker_main(argc, argv);
}
