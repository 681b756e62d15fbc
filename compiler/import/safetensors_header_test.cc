#include "compiler/import/safetensors_header.h"

#include <string>

#include "doctest/doctest.h"

namespace reshard {
namespace {

std::string WithSize(const std::string& header) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return file + header;
}

struct Read {
  bool ok = false;
  std::vector<ModelTensor> tensors;
  std::vector<DiagnosticCode> codes;
};

Read ReadHeader(const std::string& start, uint64_t file_bytes) {
  Read read;
  SourceMap sources;
  Diagnostics diags;
  read.ok = ReadSafetensorsHeader("f", start, file_bytes, &sources, &diags, &read.tensors);
  for (const Diagnostic& entry : diags.entries()) read.codes.push_back(entry.code);
  return read;
}

TEST_CASE("a header gives names, shapes and dtypes, and not the data") {
  const std::string start = WithSize(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[12,20]},)"
      R"("a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
      R"("empty":{"dtype":"I64","shape":[0,4],"data_offsets":[20,20]}})");
  const Read read = ReadHeader(start, start.size() + 20);
  REQUIRE(read.ok);
  REQUIRE(read.tensors.size() == 3);
  CHECK(read.tensors[0].name == "b");
  CHECK(read.tensors[0].dtype == DType::kF32);
  CHECK(read.tensors[1].shape == std::vector<int64_t>{2, 3});
  CHECK(read.tensors[2].shape == std::vector<int64_t>{0, 4});
}

TEST_CASE("every cut of a file is refused, and so is a byte more") {
  const std::string whole =
      WithSize(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})") + "data";
  REQUIRE(ReadHeader(whole, whole.size()).ok);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const Read read = ReadHeader(whole.substr(0, bytes), bytes);
    CHECK_FALSE(read.ok);
    CHECK_FALSE(read.codes.empty());
  }
  CHECK_FALSE(ReadHeader(whole, whole.size() + 1).ok);
}

TEST_CASE("a header may have as many bytes as the format allows, and no more") {
  std::string header = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";
  header.resize(kMaxSafetensorsHeaderBytes, ' ');  // writers pad with spaces
  CHECK(ReadHeader(WithSize(header), 8 + header.size() + 4).ok);
  header.push_back(' ');
  const Read larger = ReadHeader(WithSize(header), 8 + header.size() + 4);
  CHECK(larger.codes == std::vector<DiagnosticCode>{DiagnosticCode::kTooLarge});
}

TEST_CASE("sizes beyond what a file can have overflow nothing") {
  CHECK(SafetensorsHeaderBytes("1234567") == 0);
  CHECK(SafetensorsHeaderBytes(std::string(8, '\xff')) == UINT64_MAX);
  const Read huge = ReadHeader(std::string(8, '\xff'), 8);
  REQUIRE(huge.codes.size() == 1);
  CHECK(huge.codes[0] == DiagnosticCode::kTooLarge);
  const std::string start = WithSize(
      R"({"a":{"dtype":"F64","shape":[72057594037927936],"data_offsets":[0,576460752303423488]}})");
  CHECK(ReadHeader(start, start.size() + (uint64_t{1} << 59)).ok);
  CHECK_FALSE(ReadHeader(start, start.size() + 8).ok);
}

TEST_CASE("an index names files of its own folder only") {
  const auto read = [](const std::string& text, SafetensorsIndex* index) {
    SourceMap sources;
    Diagnostics diags;
    JsonNode root;
    REQUIRE(ReadJson(sources, sources.Add("index", text), &diags, &root));
    return ReadSafetensorsIndex(root, &diags, index);
  };
  SafetensorsIndex index;
  CHECK(read(R"({"metadata":{"total_size":8},"weight_map":{"x":"b.s","y":"a.s","z":"b.s"}})",
             &index));
  CHECK(index.files == std::vector<std::string>{"a.s", "b.s"});
  CHECK(index.entries.size() == 3);
  for (const char* file : {"", ".", "..", "../a", "/etc/passwd", "a/b", ".a"}) {
    CAPTURE(file);
    SafetensorsIndex refused;
    CHECK_FALSE(read(R"({"weight_map":{"x":")" + std::string(file) + R"("}})", &refused));
  }
}

}  // namespace
}  // namespace reshard
