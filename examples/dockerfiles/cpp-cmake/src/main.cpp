#include <iostream>

#include "words.h"

int main()
{
	for (const auto &[word, count] : count_words(std::cin))
		std::cout << count << ' ' << word << '\n';
}
