/* SPDX-License-Identifier: Apache-2.0 */
/* lambda/lambda.h — the program inside a function at AWS Lambda that runs the commands of provider
 * lambda (provider/lambda): atoll-lambda, the entry point of the image in deploy/lambda.
 *
 * It speaks Lambda's Runtime API (AWS Lambda developer guide, "Using the Lambda runtime API for
 * custom runtimes"): it asks for an invocation, runs its command, answers, and removes all that
 * the command has left: processes, files in /tmp and /dev/shm, System V objects. When it cannot
 * remove something it exits, and the service makes a new environment.
 *
 * Not trusted: the command and all that it starts, which have this program's user. So this program
 * wipes its environment, which holds keys of the function's role, and cannot be traced. */
#pragma once

int lambda_main(int argc, char **argv);
