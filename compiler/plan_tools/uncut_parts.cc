#include "compiler/plan_tools/uncut_parts.h"

#include <algorithm>
#include <span>

namespace reshard {
namespace {

using Words = ContentIds::Words;

// Parts that take more steps are not looked at.
constexpr int64_t kMaxSteps = int64_t{1} << 18;

// What an id of words starts with: parts as they are cut, or what they hold together.
enum Kind : int64_t { kCut, kBytes, kSection };

}  // namespace

UncutParts::Id UncutParts::OfLying(std::vector<LyingPart> parts) {
  if (parts.empty()) return ids_->Of(Words{kBytes});
  int64_t first = parts[0].offset_bytes;
  for (const LyingPart& part : parts) first = std::min(first, part.offset_bytes);
  // Tensors of a template mostly lie alike, but elsewhere.
  std::vector<Words> rows;
  for (LyingPart& part : parts) {
    part.offset_bytes -= first;
    rows.push_back({part.box, part.lines, part.offset_bytes});
  }
  std::sort(rows.begin(), rows.end());
  Words key = {1};
  for (const Words& row : rows) key.insert(key.end(), row.begin(), row.end());
  return ids_->Of(Words{kBytes, Cached(std::move(key), parts, true), first});
}

UncutParts::Id UncutParts::OfBoxes(std::vector<Id> boxes) {
  std::sort(boxes.begin(), boxes.end());
  boxes.erase(std::unique(boxes.begin(), boxes.end()), boxes.end());
  std::vector<LyingPart> parts;
  for (const Id box : boxes) parts.push_back({box, 0, 0});
  Words key = {0};
  key.insert(key.end(), boxes.begin(), boxes.end());
  return Cached(std::move(key), parts, false);
}

UncutParts::Id UncutParts::Cached(Words key, const std::vector<LyingPart>& lying, bool with_bytes) {
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  steps_ = 0;
  std::vector<Part> parts;
  for (const LyingPart& part : lying) Append(part, with_bytes, &parts);
  std::optional<Section> section;
  if (steps_ <= kMaxSteps) section = SectionOf(parts, 0);
  Words words = {kCut};
  words.insert(words.end(), key.begin(), key.end());
  const Id id = ids_->Of(section ? Words{kSection, section->first, section->second} : words);
  known_.emplace(std::move(key), id);
  return id;
}

// Appends the part as parts with one line along each axis: all but the longest digit of an axis
// that has several are counted through.
void UncutParts::Append(const LyingPart& lying, bool with_bytes, std::vector<Part>* parts) {
  const std::span<const int64_t> box = ids_->WordsOf(lying.box);
  const Words axes(box.begin(), box.end());
  std::span<const int64_t> lines;
  if (with_bytes) lines = ids_->WordsOf(lying.lines);
  std::vector<Part> made = {{{}, lying.offset_bytes}};
  for (const int64_t axis : axes) {
    const std::span<const int64_t> ranges = ids_->WordsOf(static_cast<Id>(axis));
    std::vector<Line> digits;
    if (with_bytes) {
      const size_t count = static_cast<size_t>(lines[0]);
      for (size_t i = 0; i < count; ++i) {
        digits.push_back({0, lines[1 + 3 * i], lines[2 + 3 * i], lines[3 + 3 * i]});
      }
      lines = lines.subspan(1 + 3 * count);
    } else {
      for (size_t i = 1; i + 1 < ranges.size(); i += 2) {
        digits.push_back({0, ranges[i], ranges[i + 1], 0});
      }
    }
    Line longest;
    if (!digits.empty()) {
      const auto most =
          std::max_element(digits.begin(), digits.end(),
                           [](const Line& a, const Line& b) { return a.extent < b.extent; });
      longest = *most;
      digits.erase(most);
    }
    longest.start = ranges[0];
    for (Part& part : made) part.lines.push_back(longest);
    for (const Line& digit : digits) {
      steps_ += static_cast<int64_t>(made.size()) * digit.extent;
      if (steps_ > kMaxSteps) return;
      const std::vector<Part> base = made;
      for (int64_t n = 1; n < digit.extent; ++n) {
        for (Part part : base) {
          part.lines.back().start += n * digit.step;
          part.offset_bytes += n * digit.stride_bytes;
          made.push_back(std::move(part));
        }
      }
    }
  }
  parts->insert(parts->end(), made.begin(), made.end());
}

// The parts' elements from this axis on; nothing after too many steps.
std::optional<UncutParts::Section> UncutParts::SectionOf(const std::vector<Part>& parts,
                                                         size_t axis) {
  steps_ += static_cast<int64_t>(parts.size());
  if (steps_ > kMaxSteps) return std::nullopt;
  if (axis == parts[0].lines.size()) {
    Words offsets;
    for (const Part& part : parts) offsets.push_back(part.offset_bytes);
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    const int64_t first = offsets[0];
    for (int64_t& offset : offsets) offset -= first;
    return Section{ids_->Of(offsets), first};
  }
  const std::optional<std::vector<Segment>> segments = SegmentsOf(parts, axis);
  if (!segments) return std::nullopt;
  Words words;
  const int64_t first = (*segments)[0].offset_bytes;
  // The longest run from the first element that is left, and so on.
  for (size_t s = 0, used = 0; s < segments->size();) {
    const auto left = [&](size_t i, size_t from) {
      Segment segment = (*segments)[i];
      segment.line.start += static_cast<int64_t>(from) * segment.line.step;
      segment.offset_bytes += static_cast<int64_t>(from) * segment.line.stride_bytes;
      segment.line.extent -= static_cast<int64_t>(from);
      return segment;
    };
    Segment run = left(s, used);
    used = 0;
    ++s;
    while (s < segments->size()) {
      const Segment next = left(s, used);
      const int64_t step = next.line.start - run.line.start;
      const int64_t stride = next.offset_bytes - run.offset_bytes;
      if (next.section != run.section) break;
      if (run.line.extent == 1) {
        run.line.step = step;
        run.line.stride_bytes = stride;
      } else if (step != run.line.extent * run.line.step ||
                 stride != run.line.extent * run.line.stride_bytes) {
        break;
      }
      const bool goes_on =
          next.line.extent == 1 ||
          (next.line.step == run.line.step && next.line.stride_bytes == run.line.stride_bytes);
      run.line.extent += goes_on ? next.line.extent : 1;
      if (!goes_on) {
        ++used;
        continue;
      }
      used = 0;
      ++s;
    }
    const bool single = run.line.extent == 1;
    words.insert(words.end(),
                 {run.line.start, run.line.extent, single ? 0 : run.line.step,
                  single ? 0 : run.line.stride_bytes, run.section, run.offset_bytes - first});
  }
  return Section{ids_->Of(words), first};
}

// The indices of an axis, rising, each once: runs of them between the ends of parts, or one by one
// where parts lie between each other.
std::optional<std::vector<UncutParts::Segment>> UncutParts::SegmentsOf(
    const std::vector<Part>& parts, size_t axis) {
  std::vector<Segment> segments;
  if (parts.size() == 1) {
    const std::optional<Section> section = SectionOf(parts, axis + 1);
    if (!section) return std::nullopt;
    segments.push_back({parts[0].lines[axis], section->first, section->second});
    return segments;
  }
  bool dense = true;  // all indices of a part follow each other, in strides that are all the same
  std::vector<int64_t> starts;
  std::optional<int64_t> stride;
  for (const Part& part : parts) {
    const Line& line = part.lines[axis];
    starts.insert(starts.end(), {line.start, line.start + line.extent});
    if (line.extent == 1) continue;
    dense = dense && line.step == 1 && (!stride || *stride == line.stride_bytes);
    stride = line.stride_bytes;
  }
  if (!dense) {
    starts.clear();
    for (const Part& part : parts) {
      const Line& line = part.lines[axis];
      steps_ += line.extent;
      if (steps_ > kMaxSteps) return std::nullopt;
      for (int64_t n = 0; n < line.extent; ++n) starts.push_back(line.start + n * line.step);
    }
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  // For each of these the parts that have it, from there on.
  std::vector<std::vector<Part>> having(starts.size());
  for (const Part& part : parts) {
    const Line& line = part.lines[axis];
    const int64_t end = line.start + line.extent * line.step;
    for (size_t i = static_cast<size_t>(std::lower_bound(starts.begin(), starts.end(), line.start) -
                                        starts.begin());
         i < starts.size() && starts[i] < end; ++i) {
      if (++steps_ > kMaxSteps) return std::nullopt;
      const int64_t distance = starts[i] - line.start;
      if (distance % line.step != 0) continue;
      having[i].push_back(part);
      having[i].back().offset_bytes += distance / line.step * line.stride_bytes;
    }
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    if (having[i].empty()) continue;
    const std::optional<Section> section = SectionOf(having[i], axis + 1);
    if (!section) return std::nullopt;
    const int64_t extent = dense ? starts[i + 1] - starts[i] : 1;
    segments.push_back({{starts[i], 1, extent, extent == 1 ? 0 : stride.value_or(0)},
                        section->first,
                        section->second});
  }
  return segments;
}

}  // namespace reshard
