#include "compiler/plan_tools/content_ids.h"

#include <map>
#include <string>

#include "doctest/doctest.h"

namespace reshard {
namespace {

using Words = ContentIds::Words;

TEST_CASE("equal words have one id, others another") {
  ContentIds ids;
  std::map<Words, ContentIds::Id> known;
  // All lists of up to 6 of 5 words: enough for several growths of the table.
  std::vector<Words> lists = {{}};
  for (size_t i = 0; i < lists.size() && lists[i].size() < 6; ++i) {
    for (const int64_t word : {int64_t{0}, int64_t{1}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
      lists.push_back(lists[i]);
      lists.back().push_back(word);
    }
  }
  for (const Words& list : lists) known[list] = ids.Of(list);
  CHECK(known.size() == lists.size());
  std::map<ContentIds::Id, Words> by_id;
  for (const auto& [list, id] : known) by_id[id] = list;
  CHECK(by_id.size() == known.size());
  size_t wrong = 0;
  for (const auto& [list, id] : known) {
    const auto words = ids.WordsOf(id);
    wrong += ids.Of(list) == id && Words(words.begin(), words.end()) == list ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("texts differ by every character and by their length") {
  ContentIds ids;
  const std::string text = "model.layers.3.w";
  CHECK(ids.OfText(text) == ids.OfText(std::string(text)));
  CHECK(ids.OfText(text) != ids.OfText(text + std::string(1, '\0')));
  for (size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] ^= 1;
    CHECK(ids.OfText(other) != ids.OfText(text));
  }
  CHECK(ids.OfText("") != ids.OfText(std::string(1, '\0')));
}

}  // namespace
}  // namespace reshard
