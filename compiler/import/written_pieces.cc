#include "compiler/import/written_pieces.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace reshard {
namespace {

bool Overlap(const CopyPiece& a, const CopyPiece& b) {
  for (size_t d = 0; d < a.dst.size(); ++d) {
    if (a.dst[d].start >= b.dst[d].start + b.dst[d].length ||
        b.dst[d].start >= a.dst[d].start + a.dst[d].length) {
      return false;
    }
  }
  return true;
}

// The piece from `begin` up to `end` of dim `d`.
CopyPiece Clip(CopyPiece piece, size_t d, int64_t begin, int64_t end) {
  CopyRun& to = piece.dst[d];
  if (piece.dims[d] >= 0) {
    CopyRun& from = piece.src[static_cast<size_t>(piece.dims[d])];
    from.start += (begin - to.start) * from.step;
    from.length = end - begin;
    if (from.length == 1) {
      from.step = 1;
      piece.dims[d] = -1;
    }
  }
  to.start = begin;
  to.length = end - begin;
  return piece;
}

// What is left of `piece` beside a box that overlaps with it.
std::vector<CopyPiece> Without(CopyPiece piece, const std::vector<CopyRun>& box) {
  std::vector<CopyPiece> parts;
  for (size_t d = 0; d < box.size(); ++d) {
    const int64_t begin = piece.dst[d].start;
    const int64_t end = begin + piece.dst[d].length;
    const int64_t low = std::max(begin, box[d].start);
    const int64_t high = std::min(end, box[d].start + box[d].length);
    if (begin < low) parts.push_back(Clip(piece, d, begin, low));
    if (high < end) parts.push_back(Clip(piece, d, high, end));
    piece = Clip(std::move(piece), d, low, high);
  }
  return parts;
}

}  // namespace

WrittenPieces::WrittenPieces(const std::vector<int64_t>& shape) : stride_(shape.size()) {
  // Nothing is written to a param without elements, whose other extents may be any.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    stride_[d] = stride;
    stride *= shape[d];
  }
}

WriteError WrittenPieces::Write(const std::string& tensor, const CopyPiece& piece, int64_t copy,
                                int64_t* steps) {
  const int64_t first = FirstElement(piece);
  const int64_t last = LastElement(piece);
  std::vector<size_t> under;
  for (auto at = by_first_.lower_bound(first - longest_);
       at != by_first_.end() && at->first <= last; ++at) {
    if (--*steps < 0) return WriteError::kTooLong;
    const Written& other = written_[at->second];
    if (!Overlap(other.piece.box, piece)) continue;
    if (other.copy == copy) return WriteError::kTwice;
    under.push_back(at->second);
  }
  std::optional<size_t> place;
  for (const size_t number : under) {
    if (written_[number].piece.box.dst == piece.dst) {
      Unindex(number);
      place = number;
    } else {
      Keep(number, piece);
    }
  }
  if (!place) {
    place = written_.size();
    written_.emplace_back();
  }
  written_[*place] = {{tensor, piece}, copy, false};
  Index(*place);
  return WriteError::kNone;
}

std::vector<ExplicitPiece> WrittenPieces::Pieces() const {
  std::vector<ExplicitPiece> pieces;
  for (const Written& written : written_) {
    if (!written.gone) pieces.push_back(written.piece);
  }
  return pieces;
}

int64_t WrittenPieces::FirstElement(const CopyPiece& piece) const {
  int64_t first = 0;
  for (size_t d = 0; d < stride_.size(); ++d) first += piece.dst[d].start * stride_[d];
  return first;
}

int64_t WrittenPieces::LastElement(const CopyPiece& piece) const {
  int64_t last = 0;
  for (size_t d = 0; d < stride_.size(); ++d) {
    last += (piece.dst[d].start + piece.dst[d].length - 1) * stride_[d];
  }
  return last;
}

void WrittenPieces::Index(size_t number) {
  const CopyPiece& box = written_[number].piece.box;
  const int64_t first = FirstElement(box);
  by_first_.emplace(first, number);
  longest_ = std::max(longest_, LastElement(box) - first);
}

void WrittenPieces::Unindex(size_t number) {
  const auto [begin, end] = by_first_.equal_range(FirstElement(written_[number].piece.box));
  for (auto at = begin; at != end; ++at) {
    if (at->second != number) continue;
    by_first_.erase(at);
    return;
  }
}

// Keeps of a piece what a later one leaves.
void WrittenPieces::Keep(size_t number, const CopyPiece& over) {
  Unindex(number);
  const Written old = written_[number];
  written_[number].gone = true;
  for (CopyPiece& part : Without(old.piece.box, over.dst)) {
    if (written_[number].gone) {
      written_[number] = {{old.piece.tensor, std::move(part)}, old.copy, false};
      Index(number);
    } else {
      written_.push_back({{old.piece.tensor, std::move(part)}, old.copy, false});
      Index(written_.size() - 1);
    }
  }
}

}  // namespace reshard
