// HandleTable: the objects behind the handles of the C interface.
//
// A handle is a number that is never used twice, in the shape of a pointer. So a handle that was
// freed, made up or is of another kind is found out without touching the memory that it once stood
// for. Thread-safe. Finding an object allocates nothing.
#ifndef RESHARD_RUNTIME_C_API_HANDLE_TABLE_H_
#define RESHARD_RUNTIME_C_API_HANDLE_TABLE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace reshard {

// `Handle` is the opaque struct of the C header; `kind` differs between tables.
template <class Handle, class Object, uintptr_t kind>
class HandleTable {
 public:
  Handle* Add(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    const uintptr_t number = (++count_ << kKindBits) | kind;
    objects_.emplace(number, std::move(object));
    return reinterpret_cast<Handle*>(number);
  }
  // Null when there is none.
  std::shared_ptr<Object> Find(const Handle* handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }
  // The object, which has no handle any more; null when there is none.
  std::shared_ptr<Object> Remove(const Handle* handle) {
    const std::lock_guard lock(mutex_);
    const auto node = objects_.extract(reinterpret_cast<uintptr_t>(handle));
    return node.empty() ? nullptr : std::move(node.mapped());
  }

 private:
  static constexpr uintptr_t kKindBits = 4;
  static_assert(kind > 0 && kind < (uintptr_t{1} << kKindBits));
  mutable std::mutex mutex_;
  uintptr_t count_ = 0;                                             // guarded by mutex_
  std::unordered_map<uintptr_t, std::shared_ptr<Object>> objects_;  // guarded by mutex_
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_C_API_HANDLE_TABLE_H_
