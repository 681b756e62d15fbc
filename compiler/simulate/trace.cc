#include "compiler/simulate/trace.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "compiler/plan_tools/json_text.h"
#include "runtime/plan/rank_rows.h"

namespace reshard {
namespace {

// Processes of the trace.
constexpr int kNics = 1;
constexpr int kScaleup = 2;

// Whole and fractional microseconds, the unit of the format.
std::string Microseconds(int64_t ps) {
  std::string fraction = std::to_string(ps % 1'000'000);
  fraction.insert(0, 6 - fraction.size(), '0');
  return std::to_string(ps / 1'000'000) + "." + fraction;
}

class Tracer {
 public:
  Tracer(const Plan& plan, const SimResult& result, std::ostream& out)
      : plan_(plan), result_(result), out_(out) {}

  void Run() {
    Assign();
    out_ << "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
    Name("process_name", kNics, 0, "NICs");
    Name("process_name", kScaleup, 0, "scale-up ports");
    for (size_t n = 0; n < plan_.nics.size(); ++n) {
      WriteTracks(kNics, plan_.nics[n].name, &nics_[n]);
    }
    for (size_t s = 0; s < plan_.sites.size(); ++s) {
      WriteTracks(kScaleup, "rank " + std::to_string(plan_.sites[s].rank), &scaleup_[s]);
    }
    out_ << "\n]}\n";
  }

 private:
  // Indices of result.spans, out and in.
  using PortSpans = std::array<std::vector<uint32_t>, 2>;

  size_t SiteOf(uint32_t rank) const { return RowOfRank(plan_.sites, rank); }

  void Assign() {
    nics_.resize(plan_.nics.size());
    scaleup_.resize(plan_.sites.size());
    for (uint32_t i = 0; i < result_.spans.size(); ++i) {
      const SimSpan& span = result_.spans[i];
      if (span.src == span.dst) continue;
      const size_t src = SiteOf(span.src);
      const size_t dst = SiteOf(span.dst);
      if (plan_.sites[src].domain == plan_.sites[dst].domain) {
        scaleup_[src][0].push_back(i);
        scaleup_[dst][1].push_back(i);
        continue;
      }
      for (const uint32_t nic : plan_.sites[src].nics) nics_[nic][0].push_back(i);
      for (const uint32_t nic : plan_.sites[dst].nics) nics_[nic][1].push_back(i);
    }
  }

  void WriteTracks(int process, const std::string& name, PortSpans* spans) {
    for (const size_t in : {0U, 1U}) {
      std::vector<uint32_t>& list = (*spans)[in];
      std::sort(list.begin(), list.end(), [this](uint32_t a, uint32_t b) {
        return std::tie(result_.spans[a].begin_ps, a) < std::tie(result_.spans[b].begin_ps, b);
      });
      // Each span goes to the first track that is free by then.
      std::vector<int64_t> free_ps;
      const int first_track = next_track_;
      for (const uint32_t i : list) {
        const SimSpan& span = result_.spans[i];
        size_t track = 0;
        while (track < free_ps.size() && free_ps[track] > span.begin_ps) ++track;
        if (track == free_ps.size()) {
          free_ps.push_back(0);
          Name("thread_name", process, next_track_++, name + (in == 1 ? " in" : " out"));
        }
        free_ps[track] = span.end_ps;
        WriteSpan(process, first_track + static_cast<int>(track), span);
      }
    }
  }

  void WriteSpan(int process, int track, const SimSpan& span) {
    Separate();
    out_ << "{\"ph\": \"X\", \"pid\": " << process << ", \"tid\": " << track << ", \"cat\": \""
         << (span.kind == SimSpanKind::kMessage ? "message" : "copy") << "\", \"name\": \"round "
         << span.round << ": " << span.src << " to " << span.dst
         << "\", \"ts\": " << Microseconds(span.begin_ps)
         << ", \"dur\": " << Microseconds(span.end_ps - span.begin_ps)
         << ", \"args\": {\"round\": " << span.round << ", \"src\": " << span.src
         << ", \"dst\": " << span.dst << ", \"bytes\": " << span.bytes << "}}";
  }

  void Name(const char* what, int process, int track, std::string_view name) {
    Separate();
    JsonWriter json;
    json.BeginObject();
    json.Field("ph", "M");
    json.Field("pid", process);
    json.Field("tid", track);
    json.Field("name", what);
    json.BeginObject("args");
    json.Field("name", name);
    json.End();
    json.End();
    out_ << json.Line();
  }

  void Separate() {
    if (!first_) out_ << ",\n";
    first_ = false;
  }

  const Plan& plan_;
  const SimResult& result_;
  std::ostream& out_;
  std::vector<PortSpans> nics_, scaleup_;
  int next_track_ = 1;
  bool first_ = true;
};

}  // namespace

void WriteTrace(const Plan& plan, const SimResult& result, std::ostream& out) {
  Tracer(plan, result, out).Run();
}

}  // namespace reshard
