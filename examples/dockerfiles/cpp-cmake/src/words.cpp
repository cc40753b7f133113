#include "words.h"

#include <algorithm>
#include <cctype>
#include <map>

std::vector<std::pair<std::string, unsigned>> count_words(std::istream &in)
{
	std::map<std::string, unsigned> counts;
	std::string word;

	for (char c; in.get(c);) {
		if (std::isalpha(static_cast<unsigned char>(c))) {
			word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
		} else if (!word.empty()) {
			counts[word]++;
			word.clear();
		}
	}
	if (!word.empty())
		counts[word]++;
	std::vector<std::pair<std::string, unsigned>> sorted(counts.begin(), counts.end());
	std::stable_sort(sorted.begin(), sorted.end(),
	                 [](const auto &a, const auto &b) { return a.second > b.second; });
	return sorted;
}
