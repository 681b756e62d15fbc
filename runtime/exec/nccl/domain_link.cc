#include "runtime/exec/nccl/domain_link.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <type_traits>

#include "runtime/exec/agree.h"
#include "runtime/exec/prepared_program.h"

namespace reshard::nccl {
namespace {

constexpr int64_t kFlagAlignBytes = 256;

// Every member of a domain of n has 2 n flags: landed and reads of each member.
int64_t FlagBytes(size_t member_count) {
  const auto bytes = static_cast<int64_t>(2 * member_count * sizeof(uint64_t));
  return (bytes + kFlagAlignBytes - 1) / kFlagAlignBytes * kFlagAlignBytes;
}

size_t PositionOf(const std::vector<uint32_t>& members, uint32_t rank) {
  return static_cast<size_t>(std::lower_bound(members.begin(), members.end(), rank) -
                             members.begin());
}

template <class T>
Status GatherFromAll(ControlChannel* control, const T& mine, std::vector<T>* all,
                     Deadline deadline) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<uint32_t> group(control->member_count());
  std::iota(group.begin(), group.end(), 0U);
  all->resize(group.size());
  const std::span<const uint8_t> from(reinterpret_cast<const uint8_t*>(&mine), sizeof(T));
  const std::span<uint8_t> to(reinterpret_cast<uint8_t*>(all->data()), all->size() * sizeof(T));
  return control->AllGather(group, from, to, deadline);
}

}  // namespace

DomainLink::~DomainLink() {
  for (const Neighbour& neighbour : neighbours_) {
    if (neighbour.opened != nullptr) gpu_->Close(neighbour.opened);
  }
}

int32_t DomainLink::CommRankOf(uint32_t rank) const {
  const auto found = std::lower_bound(comm_ranks_.begin(), comm_ranks_.end(),
                                      std::pair<uint32_t, int32_t>(rank, INT32_MIN));
  return found != comm_ranks_.end() && found->first == rank ? found->second : kNoRank;
}

StatusOr<std::unique_ptr<DomainLink>> DomainLink::Make(const Spec& spec, Deadline deadline) {
  std::unique_ptr<DomainLink> link(new DomainLink(spec.gpu));
  link->comm_rank_count_ = spec.comm_rank_count;
  link->tuning_ = spec.tuning;
  link->members_ = spec.engine->program->neighbours;
  link->members_.insert(
      std::upper_bound(link->members_.begin(), link->members_.end(), spec.engine->rank),
      spec.engine->rank);
  // Where one rank has no memory, all of them hear of it now and not by waiting for it.
  const std::vector<uint32_t> ranks(spec.engine->ranks_of_members.begin(),
                                    spec.engine->ranks_of_members.end());
  RESHARD_RETURN_IF_ERROR(AgreeOnStatus(spec.control, ranks, link->Allocate(spec), deadline));
  std::vector<Offer> offers;
  RESHARD_RETURN_IF_ERROR(link->Exchange(spec, deadline, &offers));
  const Status reached = spec.path == DomainPath::kNccl
                             ? Status(StatusCode::kUnavailable, "not asked for")
                             : link->Reach(spec, offers);
  RESHARD_RETURN_IF_ERROR(link->Decide(spec, reached, deadline));
  return link;
}

Status DomainLink::Allocate(const Spec& spec) {
  const int64_t flag_bytes = FlagBytes(members_.size());
  arena_bytes_ = spec.engine->arena_bytes;
  if (arena_bytes_ < 0 || arena_bytes_ > INT64_MAX - flag_bytes) {
    return Status(StatusCode::kInvalidArgument,
                  "an arena of " + std::to_string(arena_bytes_) + " bytes");
  }
  StatusOr<DeviceBlock> block = DeviceBlock::Make(gpu_, flag_bytes + arena_bytes_);
  if (!block.ok()) return block.status();
  block_ = *std::move(block);
  arena_ = block_.data() + flag_bytes;
  return Status();
}

Status DomainLink::Exchange(const Spec& spec, Deadline deadline, std::vector<Offer>* offers) {
  Offer mine;
  std::memset(static_cast<void*>(&mine), 0, sizeof(mine));  // padding too: it is sent
  mine.identity = gpu_->identity();
  mine.comm_rank = spec.comm_rank;
  mine.address = reinterpret_cast<uintptr_t>(block_.data());
  const StatusOr<MemoryHandle> handle = gpu_->Export(block_.data());
  mine.exported = handle.ok();
  if (handle.ok()) mine.handle = *handle;
  RESHARD_RETURN_IF_ERROR(GatherFromAll(spec.control, mine, offers, deadline));
  for (size_t member = 0; member < offers->size(); ++member) {
    comm_ranks_.push_back({spec.engine->ranks_of_members[member], (*offers)[member].comm_rank});
  }
  std::sort(comm_ranks_.begin(), comm_ranks_.end());
  return Status();
}

Status DomainLink::Reach(const Spec& spec, const std::vector<Offer>& offers) {
  const size_t self = PositionOf(members_, spec.engine->rank);
  const auto own_flags = reinterpret_cast<uint64_t*>(block_.data());
  const size_t count = members_.size();
  const GpuIdentity here = gpu_->identity();
  for (size_t position = 0; position < count; ++position) {
    if (position == self) continue;
    const auto member = std::find(spec.engine->ranks_of_members.begin(),
                                  spec.engine->ranks_of_members.end(), members_[position]);
    const Offer& offer =
        offers[static_cast<size_t>(member - spec.engine->ranks_of_members.begin())];
    const std::string name = "rank " + std::to_string(members_[position]);
    Neighbour neighbour;
    uint8_t* base = nullptr;
    if (offer.identity.host != here.host) {
      return Status(StatusCode::kUnavailable, name + " is on another host");
    }
    if (offer.identity.process == here.process) {
      if (offer.identity.device != here.device) {
        RESHARD_RETURN_IF_ERROR(gpu_->EnablePeer(offer.identity.device));
      }
      base = reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(offer.address));
    } else {
      if (offer.exported == 0) {
        return Status(StatusCode::kUnavailable, name + " cannot share its memory");
      }
      const StatusOr<uint8_t*> opened = gpu_->Open(offer.handle);
      if (!opened.ok()) return opened.status();
      base = neighbour.opened = *opened;
    }
    const auto their_flags = reinterpret_cast<uint64_t*>(base);
    neighbour.arena = base + FlagBytes(count);
    neighbour.landed_in = own_flags + position;
    neighbour.reads_in = own_flags + count + position;
    neighbour.landed_out = their_flags + self;
    neighbour.reads_out = their_flags + count + self;
    neighbours_.push_back(neighbour);
  }
  return Status();
}

Status DomainLink::Decide(const Spec& spec, const Status& reached, Deadline deadline) {
  const Outcome mine{reached.ok(), spec.network_ops, spec.domain_ops};
  std::vector<Outcome> outcomes;
  RESHARD_RETURN_IF_ERROR(GatherFromAll(spec.control, mine, &outcomes, deadline));
  const Plan& plan = *spec.engine->plan;
  const auto domain_of = [&](uint32_t rank) {
    return plan.sites[spec.engine->index->SiteIndex(plan, rank)].domain;
  };
  std::map<uint32_t, bool> direct;  // per domain
  for (size_t member = 0; member < outcomes.size(); ++member) {
    const uint32_t rank = spec.engine->ranks_of_members[member];
    auto [domain, added] = direct.try_emplace(domain_of(rank), true);
    domain->second = domain->second && outcomes[member].reached != 0;
  }
  uint32_t most = 0;
  for (size_t member = 0; member < outcomes.size(); ++member) {
    const bool is_direct = direct[domain_of(spec.engine->ranks_of_members[member])];
    most = std::max(most,
                    outcomes[member].network_ops + (is_direct ? 0 : outcomes[member].domain_ops));
  }
  joint_ = most <= tuning_.group_operations;
  direct_ = direct[domain_of(spec.engine->rank)];
  if (spec.path != DomainPath::kDirect || direct_) return Status();
  return Status(StatusCode::kUnavailable,
                reached.ok() ? "a rank of the domain cannot reach the memory of the others"
                             : "cannot reach the memory of the domain: " + reached.message());
}

}  // namespace reshard::nccl
