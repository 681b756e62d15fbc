// WrittenPieces: what a param holds after copies were made to it one after the other.
//
// Pieces are boxes of the param that do not overlap: of what was written before, only what the
// later copy leaves is kept.
#ifndef RESHARD_COMPILER_IMPORT_WRITTEN_PIECES_H_
#define RESHARD_COMPILER_IMPORT_WRITTEN_PIECES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/import/fold_params.h"
#include "compiler/import/recorded_copy.h"

namespace reshard {

enum class WriteError : uint8_t {
  kNone,
  kTwice,    // the copy writes an element twice
  kTooLong,  // the steps ran out
};

class WrittenPieces {
 public:
  // The param's shape, of at most 2^62 elements.
  explicit WrittenPieces(const std::vector<int64_t>& shape);

  // Writes a piece of copy number `copy`; copies come with rising numbers. Each piece that is
  // looked at is taken from `*steps`.
  [[nodiscard]] WriteError Write(const std::string& tensor, const CopyPiece& piece, int64_t copy,
                                 int64_t* steps);

  int64_t piece_count() const { return static_cast<int64_t>(by_first_.size()); }
  // A piece that replaces another one of the same box stands in its place; the others are in the
  // order of their copies.
  std::vector<ExplicitPiece> Pieces() const;

 private:
  struct Written {
    ExplicitPiece piece;
    int64_t copy = 0;
    bool gone = false;
  };

  int64_t FirstElement(const CopyPiece& piece) const;
  int64_t LastElement(const CopyPiece& piece) const;
  void Index(size_t number);
  void Unindex(size_t number);
  void Keep(size_t number, const CopyPiece& over);

  std::vector<int64_t> stride_;
  std::vector<Written> written_;
  // Pieces by their first element; none has more elements from its first to its last than
  // `longest_`.
  std::multimap<int64_t, size_t> by_first_;
  int64_t longest_ = 0;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_WRITTEN_PIECES_H_
