#include "runtime/plan/load_plan.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/sha256.h"
#include "runtime/plan/plan_digests.h"
#include "runtime/plan/read_sections.h"
#include "runtime/plan/verify.h"
#include "schemas/plan_generated.h"

namespace reshard {
namespace {

constexpr uint8_t kLastSection = static_cast<uint8_t>(fb::SectionKind::MAX);

Status Corrupt(const std::string& reason) { return Status(StatusCode::kCorruptData, reason); }

FileRange RangeOf(const std::vector<uint8_t>& file, const flatbuffers::Vector<uint8_t>& part) {
  return {static_cast<size_t>(part.data() - file.data()), part.size()};
}

bool HoldsDigest(const flatbuffers::Vector<uint8_t>* stored, const Digest& digest) {
  return stored != nullptr && stored->size() == digest.size() &&
         std::equal(digest.begin(), digest.end(), stored->begin());
}

// The file as a table, once it is one of ours, whole and of a version that we know.
StatusOr<const fb::PlanFile*> OpenEnvelope(const std::vector<uint8_t>& file) {
  // Root offset and identifier are the first eight bytes.
  if (file.size() < 8 || !fb::PlanFileBufferHasIdentifier(file.data())) {
    return Corrupt("not a plan file (it does not begin with the identifier RSHD)");
  }
  constexpr flatbuffers::uoffset_t kMaxDepth = 8;
  constexpr flatbuffers::uoffset_t kMaxTables = 256;
  flatbuffers::Verifier verifier(file.data(), file.size(), kMaxDepth, kMaxTables);
  if (!fb::VerifyPlanFileBuffer(verifier)) return Corrupt("the plan file is truncated or damaged");
  const fb::PlanFile* plan_file = fb::GetPlanFile(file.data());
  if (plan_file->version() > kPlanVersion) {
    return Corrupt("plan version " + std::to_string(plan_file->version()) +
                   " is newer than this program understands (" + std::to_string(kPlanVersion) +
                   ")");
  }
  if (plan_file->version() < 1) {
    return Corrupt("plan version " + std::to_string(plan_file->version()) + " does not exist");
  }
  return plan_file;
}

std::string SectionName(const fb::Section& section) {
  const char* name = fb::EnumNameSectionKind(section.kind());
  return std::string("section '") + (*name == '\0' ? "unknown" : name) + "'";
}

// Checks every digest of the file; gives back the root digest.
StatusOr<Digest> CheckDigests(const std::vector<uint8_t>& file, const fb::PlanFile& plan_file) {
  std::vector<SectionDigest> digests;
  std::vector<FileRange> ranges;
  if (plan_file.sections() == nullptr) return Corrupt("the plan file has no sections");
  for (const fb::Section* section : *plan_file.sections()) {
    const auto kind = static_cast<uint8_t>(section->kind());
    if (!digests.empty() && kind <= digests.back().kind) {
      return Corrupt(SectionName(*section) + " of the plan file is out of order");
    }
    if (section->data() == nullptr) return Corrupt(SectionName(*section) + " has no data");
    const FileRange range = RangeOf(file, *section->data());
    if (range.begin % kSectionAlignBytes != 0) {
      return Corrupt(SectionName(*section) + " of the plan file is not aligned");
    }
    const Digest digest = Sha256Of(std::as_bytes(std::span(file).subspan(range.begin, range.size)));
    if (!HoldsDigest(section->digest(), digest)) {
      return Corrupt(SectionName(*section) + " of the plan file is damaged (its SHA-256 differs)");
    }
    digests.push_back({kind, digest});
    ranges.push_back(range);
  }
  const Digest root = RootDigest(plan_file.version(), digests);
  if (!HoldsDigest(plan_file.root_digest(), root)) {
    return Corrupt("the plan file is damaged (its root digest differs)");
  }
  if (plan_file.envelope_digest() == nullptr) return Corrupt("the plan file has no digest");
  std::sort(ranges.begin(), ranges.end(),
            [](const FileRange& a, const FileRange& b) { return a.begin < b.begin; });
  const Digest envelope = EnvelopeDigest(file, ranges, RangeOf(file, *plan_file.envelope_digest()));
  if (!HoldsDigest(plan_file.envelope_digest(), envelope)) {
    return Corrupt("the plan file is damaged (the digest of its envelope differs)");
  }
  return root;
}

// Everything of `file`, which is private to us.
StatusOr<LoadedPlan> LoadPrivate(const std::vector<uint8_t>& file, const LoadOptions& options) {
  const StatusOr<const fb::PlanFile*> plan_file = OpenEnvelope(file);
  if (!plan_file.ok()) return plan_file.status();
  const StatusOr<Digest> root = CheckDigests(file, **plan_file);
  if (!root.ok()) return root.status();

  LoadedPlan loaded;
  loaded.root_digest = *root;
  loaded.plan.header.version = (*plan_file)->version();
  uint8_t next_kind = 0;
  for (const fb::Section* section : *(*plan_file)->sections()) {
    const auto kind = static_cast<uint8_t>(section->kind());
    if (kind > kLastSection) break;  // added by a later writer; needed by nobody of this version
    if (kind != next_kind) break;
    ++next_kind;
    const std::span<const uint8_t> data(section->data()->data(), section->data()->size());
    const Status status = ReadSection(kind, data, options.max_rank_set_members, &loaded.plan);
    if (!status.ok()) {
      return Corrupt(SectionName(*section) + " of the plan file: " + status.message());
    }
  }
  if (next_kind <= kLastSection) {
    return Corrupt(std::string("the plan file has no section '") +
                   fb::EnumNameSectionKind(static_cast<fb::SectionKind>(next_kind)) + "'");
  }
  VerifyOptions verify;
  verify.max_violations = 1;
  const VerifyReport report = VerifyBounds(loaded.plan, verify);
  if (!report.ok()) {
    const Violation& violation = report.violations.front();
    return Corrupt("the plan is malformed: " + violation.where + " " + violation.text);
  }
  return loaded;
}

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

Status FileError(const std::string& path, const char* what) {
  const int error = errno;
  const StatusCode code = error == ENOENT   ? StatusCode::kNotFound
                          : error == EACCES ? StatusCode::kPermissionDenied
                                            : StatusCode::kIoError;
  return Status(code, std::string(what) + " '" + path + "': " + std::strerror(error));
}

Status TooLarge(const LoadOptions& options) {
  return Status(StatusCode::kLimitExceeded, "the plan file is larger than the limit of " +
                                                std::to_string(options.max_bytes) + " bytes");
}

}  // namespace

StatusOr<LoadedPlan> LoadPlan(std::span<const uint8_t> bytes, const LoadOptions& options) {
  if (bytes.size() > options.max_bytes) return TooLarge(options);
  // A shared mapping could change after a check: everything is read from a copy.
  return LoadPrivate(std::vector<uint8_t>(bytes.begin(), bytes.end()), options);
}

StatusOr<LoadedPlan> LoadPlanFile(const std::string& path, const LoadOptions& options) {
  const std::unique_ptr<std::FILE, CloseFile> file(path == "-" ? stdin
                                                               : std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return FileError(path, "cannot open");
  std::vector<uint8_t> bytes;
  constexpr size_t kBlockBytes = size_t{1} << 20;
  // Room for the whole file, where its size is known: growing would copy it several times.
  std::error_code unknown;
  const uintmax_t size = path == "-" ? 0 : std::filesystem::file_size(path, unknown);
  if (!unknown && size <= options.max_bytes) bytes.reserve(size + kBlockBytes);
  while (true) {
    const size_t have = bytes.size();
    bytes.resize(have + kBlockBytes);
    const size_t got = std::fread(bytes.data() + have, 1, kBlockBytes, file.get());
    bytes.resize(have + got);
    if (bytes.size() > options.max_bytes) return TooLarge(options);
    if (got < kBlockBytes) break;
  }
  if (std::ferror(file.get()) != 0) return FileError(path, "cannot read");
  return LoadPrivate(bytes, options);
}

}  // namespace reshard
