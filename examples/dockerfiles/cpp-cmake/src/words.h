#pragma once

#include <istream>
#include <string>
#include <utility>
#include <vector>

// The most frequent words first; equally frequent ones by name.
std::vector<std::pair<std::string, unsigned>> count_words(std::istream &in);
