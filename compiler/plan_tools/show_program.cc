#include "compiler/plan_tools/show_program.h"

#include <string>

#include "compiler/plan_tools/json_text.h"
#include "compiler/plan_tools/text_table.h"
#include "compiler/plan_tools/units.h"
#include "runtime/plan/program.h"

namespace reshard {
namespace {

std::string_view OpText(OpKind kind) {
  switch (kind) {
#define RESHARD_OP(name, text, meaning) \
  case OpKind::name:                    \
    return text;
#include "runtime/plan/op_kinds.def"
#undef RESHARD_OP
  }
  return "";
}

bool HasPeerOffset(OpKind kind) {
  return kind == OpKind::kSend || kind == OpKind::kForward || kind == OpKind::kCopy;
}

std::string Range(int64_t begin, int64_t extent) {
  return "[" + std::to_string(begin) + ", " + std::to_string(begin + extent) + ")";
}

// The index of `rank` in plan.ranks, or kNoId.
uint32_t FindRank(const Plan& plan, Rank rank) {
  for (uint32_t i = 0; i < plan.ranks.size(); ++i) {
    if (plan.ranks[i].rank == rank) return i;
  }
  return kNoId;
}

}  // namespace

bool ShowProgramText(const Plan& plan, Rank rank, const TextStyle& style, std::ostream& out) {
  const uint32_t index = FindRank(plan, rank);
  if (index == kNoId) return false;
  const Program program = ExpandProgram(plan, BuildProgramIndex(plan), rank);
  const PlanRank& entry = plan.ranks[index];
  PrintLine(style,
            "rank " + std::to_string(rank) + ": " +
                FormatCount(static_cast<int64_t>(program.ops.size())) +
                (program.ops.size() == 1 ? " operation, " : " operations, ") +
                FormatBinary(entry.staging_bytes()) + " of staging (" + std::to_string(kRecvSlots) +
                " receive slots of " + FormatCount(entry.recv_slot_bytes) + " bytes, " +
                std::to_string(kPackSlots) + " pack slots of " +
                FormatCount(entry.pack_slot_bytes) + ")",
            out);
  TextTable table(
      {">round", "op", ">peer", ">tree", "stream bytes", ">bytes", ">arena", ">peer's"});
  for (const Op& op : program.ops) {
    table.Add({std::to_string(op.round), std::string(OpText(op.kind)), std::to_string(op.peer),
               std::to_string(op.tree), Range(op.begin, op.extent), FormatCount(op.extent),
               op.kind == OpKind::kCopy ? "-" : FormatCount(op.arena_offset),
               HasPeerOffset(op.kind) ? FormatCount(op.peer_offset) : "-"});
  }
  table.Print(style, out);
  return true;
}

bool ShowProgramSteps(const Plan& plan, Rank rank, std::ostream& out) {
  if (FindRank(plan, rank) == kNoId) return false;
  const Program program = ExpandProgram(plan, BuildProgramIndex(plan), rank);
  out << "rank " << rank << "\n";
  for (size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (i == 0 || program.ops[i - 1].round != op.round) out << "round " << op.round << "\n";
    out << "  " << OpText(op.kind);
    if (op.kind != OpKind::kPack) {
      const bool takes = op.kind == OpKind::kRecv || op.kind == OpKind::kCopy;
      out << (takes ? " from " : " to ") << op.peer;
    }
    out << " tree " << op.tree << " bytes " << Range(op.begin, op.extent);
    if (op.kind != OpKind::kCopy) out << " arena " << op.arena_offset;
    if (HasPeerOffset(op.kind)) out << " peer's arena " << op.peer_offset;
    out << "\n";
  }
  return true;
}

bool ShowProgramJson(const Plan& plan, Rank rank, std::ostream& out) {
  const uint32_t index = FindRank(plan, rank);
  if (index == kNoId) return false;
  const Program program = ExpandProgram(plan, BuildProgramIndex(plan), rank);
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", "reshardc-show-rank/1");
  json.Field("rank", static_cast<int64_t>(rank));
  json.Field("recv_slot_bytes", plan.ranks[index].recv_slot_bytes);
  json.Field("pack_slot_bytes", plan.ranks[index].pack_slot_bytes);
  json.BeginArray("ops");
  for (const Op& op : program.ops) {
    json.BeginObject();
    json.Field("round", static_cast<int64_t>(op.round));
    json.Field("op", OpText(op.kind));
    json.Field("peer", static_cast<int64_t>(op.peer));
    json.Field("tree", static_cast<int64_t>(op.tree));
    json.Field("begin", op.begin);
    json.Field("bytes", op.extent);
    if (op.kind != OpKind::kCopy) json.Field("arena_offset", op.arena_offset);
    if (HasPeerOffset(op.kind)) json.Field("peer_offset", op.peer_offset);
    json.End();
  }
  json.End();
  json.End();
  out << json.Text() << "\n";
  return true;
}

}  // namespace reshard
