/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/sandbox.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"

static const char *const adjectives[] = {
        "agile",  "amber",  "bold",   "brave",  "breezy", "bright",  "brisk",  "calm",
        "candid", "cheery", "clever", "cosmic", "crisp",  "curious", "daring", "deft",
        "eager",  "early",  "easy",   "fair",   "fleet",  "fond",    "frank",  "fresh",
        "gentle", "giant",  "glad",   "golden", "grand",  "happy",   "hardy",  "honest",
        "humble", "jolly",  "keen",   "kind",   "lively", "loyal",   "lucid",  "lucky",
        "mellow", "merry",  "mighty", "modest", "neat",   "nimble",  "noble",  "patient",
        "placid", "polite", "proud",  "quick",  "quiet",  "rapid",   "ready",  "rosy",
        "sharp",  "silver", "steady", "sunny",  "swift",  "tidy",    "vivid",  "witty",
};

static const char *const animals[] = {
        "badger", "beaver",  "bison",  "bobcat",  "camel",  "civet",  "condor",  "coyote",
        "crane",  "cricket", "dingo",  "dolphin", "eagle",  "egret",  "falcon",  "ferret",
        "finch",  "gazelle", "gecko",  "gibbon",  "heron",  "hornet", "ibex",    "iguana",
        "impala", "jackal",  "jaguar", "kestrel", "kiwi",   "koala",  "lemur",   "leopard",
        "llama",  "lynx",    "magpie", "marmot",  "marten", "mole",   "moose",   "newt",
        "ocelot", "okapi",   "osprey", "otter",   "panda",  "parrot", "pelican", "penguin",
        "puffin", "puma",    "quail",  "rabbit",  "raven",  "robin",  "salmon",  "seal",
        "shrew",  "sparrow", "stork",  "swan",    "tapir",  "toucan", "walrus",  "wombat",
};

static bool is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

int sandbox_name_check(const char *name, struct error *err)
{
	size_t size = strnlen(name, SANDBOX_NAME_MAX + 1);

	if (size == 0 || size > SANDBOX_NAME_MAX)
		return FAIL(err, ERROR_INVALID, "name must have 1 to %d characters",
		            SANDBOX_NAME_MAX);
	for (size_t i = 0; i < size; i++) {
		bool at_edge = i == 0 || i == size - 1;

		if (!is_alphanumeric(name[i]) && (at_edge || !strchr("._-", name[i]))) {
			error_set(err, ERROR_INVALID, 0, HERE, "name '%s' is not valid", name);
			return FAIL_HINT(
			        err, "letters, digits, '.', '_' and '-', with a letter or digit "
			             "at both ends");
		}
	}
	return 0;
}

void sandbox_name_generate(char out[SANDBOX_NAME_MAX + 1])
{
	snprintf(out, SANDBOX_NAME_MAX + 1, "%s-%s-%04u",
	         adjectives[random_below(COUNT_OF(adjectives))],
	         animals[random_below(COUNT_OF(animals))], (unsigned)random_below(10000));
}
