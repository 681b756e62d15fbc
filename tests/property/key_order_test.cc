// The plan's bytes do not depend on the order of JSON keys and of entries, on white space or on
// comments.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "compiler/frontend/json_node.h"
#include "compiler/pipeline.h"
#include "doctest/doctest.h"
#include "tests/property/random_job.h"

namespace reshard {
namespace {

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

// Members of the document whose items have no order.
bool IsUnordered(const std::string& key) {
  const std::vector<std::string> keys = {"explicit", "logical", "nodes", "params", "ranks"};
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::vector<size_t> RandomOrder(size_t count, std::mt19937_64* random) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), *random);
  return order;
}

// The document again, members of objects and its own entries in random order, with a comment here
// and there. Texts of the random jobs need no escapes.
std::string Shuffled(const JsonNode& node, std::mt19937_64* random, bool is_unordered = false,
                     bool is_root = true) {
  switch (node.kind) {
    case JsonNode::Kind::kNull:
      return "null";
    case JsonNode::Kind::kBool:
      return node.boolean ? "true" : "false";
    case JsonNode::Kind::kNumber:
      return node.text;
    case JsonNode::Kind::kString:
      return Quoted(node.text);
    case JsonNode::Kind::kArray: {
      std::string text;
      std::vector<size_t> order = RandomOrder(node.items.size(), random);
      if (!is_unordered) std::sort(order.begin(), order.end());
      for (const size_t i : order) {
        text += (text.empty() ? " " : ",\t") + Shuffled(node.items[i], random, false, false);
      }
      return "[" + text + "]";
    }
    case JsonNode::Kind::kObject:
      break;
  }
  std::string text;
  for (const size_t i : RandomOrder(node.members.size(), random)) {
    const std::string& key = node.members[i].key;
    text += (text.empty() ? "\n" : ",\n") + Quoted(key) + " : " +
            Shuffled(node.members[i].value, random, is_root && IsUnordered(key), false);
  }
  return "{" + text + "}";
}

std::string ShuffledText(const std::string& text, std::mt19937_64* random) {
  SourceMap sources;
  Diagnostics diags;
  JsonNode root;
  REQUIRE(ReadJson(sources, sources.Add("x.json", text), &diags, &root));
  std::string shuffled = Shuffled(root, random);
  shuffled.insert(1, R"("comment":"anything",)");
  return shuffled;
}

std::vector<uint8_t> PlanBytes(const std::string& train, const std::string& infer,
                               const std::string& topo) {
  Diagnostics diags;
  Compilation compilation;
  REQUIRE(Compile({"train.json", train}, {"infer.json", infer}, {"topo.json", topo},
                  CompileOptions{}, Stage::kPlan, &diags, {}, &compilation));
  return compilation.bytes;
}

TEST_CASE("random jobs with their keys and entries shuffled") {
  constexpr uint64_t kFirstSeed = 31337;
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 60; ++seed) {
    const Job job = RandomJob(seed, {8, 6});
    std::mt19937_64 random(seed);
    INFO("seed ", seed);
    const std::vector<uint8_t> bytes = PlanBytes(job.train, job.infer, job.topo);
    CHECK(bytes == PlanBytes(job.train, job.infer, job.topo));
    const std::string train = ShuffledText(job.train, &random);
    const std::string infer = ShuffledText(job.infer, &random);
    const std::string topo = ShuffledText(job.topo, &random);
    CHECK(train != job.train);
    CHECK(bytes == PlanBytes(train, infer, topo));
  }
}

}  // namespace
}  // namespace reshard
