#include <cstdlib>
#include <iostream>
#include <sstream>

#include "words.h"

int main()
{
	std::istringstream text("The cat, the DOG; a cat the");
	const auto words = count_words(text);

	if (words.size() == 4 && words[0].first == "the" && words[0].second == 3 &&
	    words[1].first == "cat")
		return EXIT_SUCCESS;
	std::cerr << "wrong counts\n";
	return EXIT_FAILURE;
}
