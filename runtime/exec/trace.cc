#include "runtime/exec/trace.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard {
namespace {

using Clock = ExecutionRecord::Clock;

// The processes of a simulation's trace are 1 and 2.
constexpr int kExecuted = 3;

class Tracer {
 public:
  Tracer(std::span<const RankRecord> ranks, std::ostream& out) : ranks_(ranks), out_(out) {
    for (const RankRecord& rank : ranks_) {
      begin_ = std::min(begin_, rank.record->begin_time());
    }
  }

  void Run() {
    out_ << "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
    Name("process_name", 0, "executed");
    for (const RankRecord& rank : ranks_) {
      WriteMessages(rank);
      WriteSpans(rank);
    }
    out_ << "\n]}\n";
  }

 private:
  // Messages that arrive at the same time need tracks of their own.
  void WriteMessages(const RankRecord& rank) {
    std::vector<Clock::time_point> free;
    const int first_track = next_track_;
    for (const ExecutionRecord::Message& message : rank.record->messages()) {
      size_t track = 0;
      while (track < free.size() && free[track] > message.begin) ++track;
      if (track == free.size()) {
        free.emplace_back();
        Name("thread_name", next_track_++, "rank " + std::to_string(rank.rank) + " in");
      }
      free[track] = message.end;
      WriteEvent(first_track + static_cast<int>(track), "message", message.begin, message.end);
      WriteTransfer(message.round, message.peer, rank.rank, message.bytes);
    }
  }

  void WriteSpans(const RankRecord& rank) {
    Name("thread_name", next_track_, "rank " + std::to_string(rank.rank));
    for (const ExecutionRecord::Span& span : rank.record->spans()) {
      WriteEvent(next_track_, ExecStageText(span.stage), span.begin, span.end);
      if (span.stage == ExecStage::kCopy) {
        WriteTransfer(span.round, span.peer, rank.rank, span.bytes);
        continue;
      }
      out_ << ", \"name\": \"round " << span.round << ": " << ExecStageText(span.stage);
      if (span.peer != kNoId) out_ << " for " << span.peer;
      out_ << "\", \"args\": {\"round\": " << span.round << "}}";
    }
    ++next_track_;
  }

  void WriteEvent(int track, std::string_view category, Clock::time_point begin,
                  Clock::time_point end) {
    Separate();
    out_ << "{\"ph\": \"X\", \"pid\": " << kExecuted << ", \"tid\": " << track << ", \"cat\": \""
         << category << "\", \"ts\": " << Microseconds(begin - begin_)
         << ", \"dur\": " << Microseconds(end - begin);
  }

  void WriteTransfer(uint32_t round, uint32_t src, uint32_t dst, int64_t bytes) {
    out_ << ", \"name\": \"round " << round << ": " << src << " to " << dst
         << "\", \"args\": {\"round\": " << round << ", \"src\": " << src << ", \"dst\": " << dst
         << ", \"bytes\": " << bytes << "}}";
  }

  // Whole and fractional microseconds, the unit of the format.
  static std::string Microseconds(std::chrono::nanoseconds time) {
    const int64_t ns = std::max<int64_t>(time.count(), 0);
    std::string fraction = std::to_string(ns % 1000);
    fraction.insert(0, 3 - fraction.size(), '0');
    return std::to_string(ns / 1000) + "." + fraction;
  }

  void Name(std::string_view what, int track, const std::string& name) {
    Separate();
    out_ << "{\"ph\": \"M\", \"pid\": " << kExecuted << ", \"tid\": " << track << ", \"name\": \""
         << what << "\", \"args\": {\"name\": \"" << name << "\"}}";
  }

  void Separate() {
    if (!first_) out_ << ",\n";
    first_ = false;
  }

  const std::span<const RankRecord> ranks_;
  std::ostream& out_;
  Clock::time_point begin_ = Clock::time_point::max();
  int next_track_ = 1;
  bool first_ = true;
};

}  // namespace

void WriteTrace(std::span<const RankRecord> ranks, std::ostream& out) { Tracer(ranks, out).Run(); }

}  // namespace reshard
