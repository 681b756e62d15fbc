#include "compiler/layout/testing/layout_test_input.h"

#include <fstream>
#include <iterator>
#include <sstream>

#include "compiler/frontend/json_node.h"

namespace reshard {
namespace {

bool Read(const std::string& name, const std::string& text, SourceMap* sources, Diagnostics* diags,
          LayoutSpec* spec) {
  if (text.empty()) return true;
  const uint32_t file = sources->Add(name, text);
  JsonNode root;
  return ReadJson(*sources, file, diags, &root) && ReadLayoutSpec(root, diags, spec);
}

}  // namespace

LayoutTestInput::LayoutTestInput(const std::string& source_text,
                                 const std::string& destination_text, int64_t max_pieces) {
  const bool source_read = Read("train.json", source_text, &sources, &diags, &source_spec);
  if (!Read("infer.json", destination_text, &sources, &diags, &destination_spec)) return;
  const LayoutSpec* first = source_text.empty() ? nullptr : &source_spec;
  const LayoutSpec* second = destination_text.empty() ? nullptr : &destination_spec;
  if (!source_read || !BuildLogicalTable(first, second, &diags, &table)) return;
  good = true;
  const auto build = [&](const LayoutSpec* spec, Layout* layout) {
    if (spec == nullptr) return;
    good &= BuildLayout(*spec, table, &diags, layout, max_pieces) &&
            CheckExpectations(*spec, table, *layout, &diags) && CheckScales(table, *layout, &diags);
  };
  build(first, &source);
  build(second, &destination);
}

std::vector<std::string> LayoutTestInput::Codes() const {
  std::vector<std::string> codes;
  for (const Diagnostic& entry : diags.entries()) codes.emplace_back(CodeText(entry.code));
  return codes;
}

std::string LayoutTestInput::Text() const {
  std::ostringstream out;
  diags.Print(sources, 100, out);
  return out.str();
}

std::string TestLayoutText(const std::string& name) {
  std::ifstream file("tests/data/layouts/" + name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace reshard
