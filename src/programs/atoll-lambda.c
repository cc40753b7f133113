/* SPDX-License-Identifier: Apache-2.0 */
#include "lambda/lambda.h"

int main(int argc, char **argv)
{
	return lambda_main(argc, argv);
}
