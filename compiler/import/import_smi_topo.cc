#include "compiler/import/import_smi_topo.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/import/rank_file.h"
#include "compiler/import/text_words.h"
#include "compiler/import/topo_docs.h"

namespace reshard {
namespace {

constexpr size_t kMaxDevices = 1024;
constexpr std::array<std::string_view, 5> kPaths = {"PIX", "PXB", "PHB", "NODE", "SYS"};

// The number after `prefix`, as in GPU0, NIC3 or NV18.
std::optional<uint32_t> NumberAfter(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix)) return std::nullopt;
  word.remove_prefix(prefix.size());
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// The square of words; GPUs come first.
struct Matrix {
  std::vector<TextWord> names;
  size_t gpus = 0;
  std::vector<std::vector<TextWord>> cells;
  std::map<std::string_view, TextWord> nic_names;  // NIC0 -> mlx5_0, where there is a legend

  // As the legend says, else as the column does.
  const TextWord& NicName(size_t nic) const {
    const auto named = nic_names.find(names[nic].text);
    return named == nic_names.end() ? names[nic] : named->second;
  }
};

class MatrixReader {
 public:
  explicit MatrixReader(Diagnostics* diags) : diags_(*diags) {}

  bool Read(const std::vector<TextLine>& lines, uint32_t file, Matrix* out) {
    const auto header = std::find_if(lines.begin(), lines.end(), [](const TextLine& line) {
      return !line.words.empty() && line.words[0].text == "GPU0";
    });
    if (header == lines.end()) {
      return Fail({file, 0, 0}, DiagnosticCode::kBadFormat,
                  "no line begins with GPU0, expected what `nvidia-smi topo -m` prints");
    }
    if (!ReadHeader(*header, out)) return false;
    auto line = header + 1;
    for (const TextWord& name : out->names) {
      while (line != lines.end() && line->words.empty()) ++line;
      if (line == lines.end() || line->words[0].text != name.text) {
        return Fail(name.span, DiagnosticCode::kBadFormat,
                    "column '" + std::string(name.text) + "' has no row in its place");
      }
      if (line->words.size() <= out->names.size()) {
        return Fail(line->words[0].span, DiagnosticCode::kBadFormat,
                    "row '" + std::string(name.text) + "' has " +
                        std::to_string(line->words.size() - 1) + " cells, expected " +
                        std::to_string(out->names.size()));
      }
      out->cells.emplace_back(
          line->words.begin() + 1,
          line->words.begin() + 1 + static_cast<std::ptrdiff_t>(out->names.size()));
      ++line;
    }
    for (; line != lines.end(); ++line) {  // the legends: "NIC0: mlx5_0"
      if (line->words.size() != 2 || !line->words[0].text.ends_with(':')) continue;
      std::string_view nic = line->words[0].text;
      nic.remove_suffix(1);
      out->nic_names[nic] = line->words[1];
    }
    return CheckNicNames(*out) && CheckCells(*out);
  }

 private:
  bool Fail(Span span, DiagnosticCode code, std::string text) {
    diags_.Error(code, span, std::move(text));
    return false;
  }

  bool ReadHeader(const TextLine& line, Matrix* out) {
    for (const TextWord& word : line.words) {
      if (word.text == "CPU") break;  // CPU Affinity, NUMA Affinity, ...
      const bool gpu = word.text == "GPU" + std::to_string(out->gpus);
      if (gpu && out->names.size() == out->gpus) {
        ++out->gpus;
      } else if (word.text.starts_with("GPU")) {
        return Fail(word.span, DiagnosticCode::kBadFormat,
                    "found column '" + std::string(word.text) + "', expected GPU" +
                        std::to_string(out->gpus) + " or a NIC");
      }
      out->names.push_back(word);
      if (out->names.size() > kMaxDevices) {
        return Fail(word.span, DiagnosticCode::kTooLarge,
                    "the matrix has more than " + std::to_string(kMaxDevices) + " devices");
      }
    }
    return true;
  }

  bool CheckNicNames(const Matrix& matrix) {
    std::set<std::string_view> seen;
    for (size_t nic = matrix.gpus; nic < matrix.names.size(); ++nic) {
      const TextWord& name = matrix.NicName(nic);
      const bool plain = std::all_of(name.text.begin(), name.text.end(), [](char c) {
        return c > ' ' && c <= '~' && c != '{' && c != '}';
      });
      if (!plain || !seen.insert(name.text).second) {
        return Fail(name.span, DiagnosticCode::kBadValue,
                    "'" + std::string(name.text) +
                        (plain ? "' is the name of two NICs" : "' is no name of a NIC"));
      }
    }
    return true;
  }

  bool CheckCells(const Matrix& matrix) {
    bool good = true;
    for (size_t i = 0; i < matrix.cells.size(); ++i) {
      for (size_t k = 0; k < matrix.cells.size(); ++k) {
        const TextWord& cell = matrix.cells[i][k];
        const bool path = std::find(kPaths.begin(), kPaths.end(), cell.text) != kPaths.end();
        const bool nvlink =
            i < matrix.gpus && k < matrix.gpus && NumberAfter(cell.text, "NV").has_value();
        const auto between = [&] {
          return " between '" + std::string(matrix.names[i].text) + "' and '" +
                 std::string(matrix.names[k].text) + "'";
        };
        if (i == k ? cell.text != "X" : !path && !nvlink) {
          good = Fail(cell.span, DiagnosticCode::kUnsupported,
                      "found '" + std::string(cell.text) + "'" + between() + ", expected " +
                          (i == k ? "X" : "NV#, PIX, PXB, PHB, NODE or SYS"));
        } else if (cell.text != matrix.cells[k][i].text && i < k) {
          diags_
              .Error(DiagnosticCode::kBadValue, cell.span,
                     "found '" + std::string(cell.text) + "'" + between() +
                         ", and something else the other way round")
              .notes.push_back({matrix.cells[k][i].span, "the other way round"});
          good = false;
        }
      }
    }
    return good;
  }

  Diagnostics& diags_;
};

// Least and most links between two GPUs; {0, 0} when there is no NVLink. Nullopt after it was
// reported that some pairs have links and others do not.
std::optional<std::pair<uint32_t, uint32_t>> Links(const Matrix& matrix, Diagnostics* diags) {
  uint32_t least = UINT32_MAX, most = 0;
  const TextWord* with = nullptr;
  const TextWord* without = nullptr;
  for (size_t i = 0; i < matrix.gpus; ++i) {
    for (size_t k = 0; k < i; ++k) {
      const TextWord& cell = matrix.cells[i][k];
      const std::optional<uint32_t> links = NumberAfter(cell.text, "NV");
      const TextWord*& seen = links ? with : without;
      if (seen == nullptr) seen = &cell;
      least = std::min(least, links.value_or(0));
      most = std::max(most, links.value_or(0));
    }
  }
  if (with != nullptr && without != nullptr) {
    diags
        ->Error(DiagnosticCode::kUnsupported, without->span,
                "NVLink connects some pairs of GPUs and not these two: which GPUs reach each other "
                "directly has to be written by hand")
        .notes.push_back({with->span, "two GPUs that it connects"});
    return std::nullopt;
  }
  return with == nullptr ? std::make_pair(uint32_t{0}, uint32_t{0}) : std::make_pair(least, most);
}

JsonDoc NicsDoc(const Matrix& matrix, const std::string& bandwidth) {
  JsonDoc nics = JsonDoc::Array();
  for (size_t nic = matrix.gpus; nic < matrix.names.size(); ++nic) {
    JsonDoc paths = JsonDoc::Object();
    for (size_t gpu = 0; gpu < matrix.gpus; ++gpu) {
      paths.Set(std::to_string(gpu), matrix.cells[gpu][nic].text);
    }
    nics.Add(JsonDoc::Object()
                 .Set("name", matrix.NicName(nic).text)
                 .Set("bw", JsonDoc::Literal(bandwidth))
                 .Set("path", std::move(paths)));
  }
  return nics;
}

}  // namespace

bool ImportSmiTopo(const SourceMap& sources, const SmiTopoInput& input, Diagnostics* diags,
                   JsonDoc* out) {
  Matrix matrix;
  const std::vector<TextLine> lines = SplitLines(sources.text(input.matrix), input.matrix, '\0');
  if (!MatrixReader(diags).Read(lines, input.matrix, &matrix)) return false;
  std::vector<RankPlacement> ranks;
  const auto gpus = static_cast<uint32_t>(matrix.gpus);
  const bool placed = ReadRankFile(sources, input.rank_file, gpus, diags, &ranks);
  const auto links = Links(matrix, diags);
  if (!placed || !links) return false;
  if (links->second > 0 && input.nvlink_gb_per_s.empty()) {
    diags->Error(DiagnosticCode::kBadBandwidth, Span{input.matrix, 0, 0},
                 "the GPUs have NVLink, which needs --nvlink-bw: what one GPU really gets");
    return false;
  }

  JsonDoc type = JsonDoc::Object();
  type.Set("gpus", gpus);
  if (matrix.names.size() > matrix.gpus) {
    type.Set("comment", "paths are those of the matrix; bw is --nic-bw, the same for each NIC");
    type.Set("nics", NicsDoc(matrix, input.nic_gb_per_s));
  }
  TopologyParts parts;
  parts.comment =
      "from `nvidia-smi topo -m` of one host, taken to be like all others, and a rank file";
  parts.types.push_back({std::move(type), HostList(ranks), "", ""});
  if (links->second > 0) {
    const std::string count =
        links->first == links->second
            ? std::to_string(links->first)
            : std::to_string(links->first) + " to " + std::to_string(links->second);
    parts.types[0].nvlink_gb_per_s = input.nvlink_gb_per_s;
    parts.types[0].nvlink_comment = count + " links between every two GPUs; bw is --nvlink-bw";
  }
  if (matrix.names.size() > matrix.gpus) {
    parts.fabric = FlatFabricDoc("the matrix does not describe the network");
  }
  parts.ranks = RanksDoc(ranks, gpus);
  *out = TopologyDoc(std::move(parts));
  return true;
}

}  // namespace reshard
