#include "tests/backends/touched_pages.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <vector>

namespace reshard {
namespace {

struct Pages {
  uintptr_t begin = 0;
  uintptr_t end = 0;
};

// What the handler reads. Written while no page is away.
std::vector<Pages> g_pages;
uintptr_t g_page_bytes = 0;
size_t g_signal_at = 0;
int g_signal = 0;
struct sigaction g_old_action;
std::atomic<size_t> g_count{0};

bool SetAccess(uintptr_t begin, uintptr_t bytes, int access) {
  return mprotect(reinterpret_cast<void*>(begin), bytes, access) == 0;
}

void OnFault(int, siginfo_t* info, void*) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (const Pages& pages : g_pages) {
    if (address < pages.begin || address >= pages.end) continue;
    if (g_count.fetch_add(1) + 1 == g_signal_at) raise(g_signal);
    if (SetAccess(address / g_page_bytes * g_page_bytes, g_page_bytes, PROT_READ | PROT_WRITE)) {
      return;
    }
  }
  // A fault of somebody else: it happens again, and ends the process.
  sigaction(SIGSEGV, &g_old_action, nullptr);
}

}  // namespace

TouchedPages::TouchedPages(std::span<const LoopbackParam> params, size_t signal_at, int signal) {
  g_page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  g_signal_at = signal_at;
  g_signal = signal;
  g_count = 0;
  g_pages.clear();
  for (const LoopbackParam& param : params) {
    const uintptr_t first = reinterpret_cast<uintptr_t>(param.bytes.data());
    const uintptr_t begin = (first + g_page_bytes - 1) / g_page_bytes * g_page_bytes;
    const uintptr_t end = (first + param.bytes.size()) / g_page_bytes * g_page_bytes;
    if (begin < end) g_pages.push_back({begin, end});
  }
  struct sigaction action {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &g_old_action);
  for (const Pages& pages : g_pages) SetAccess(pages.begin, pages.end - pages.begin, PROT_NONE);
}

TouchedPages::~TouchedPages() {
  for (const Pages& pages : g_pages) {
    SetAccess(pages.begin, pages.end - pages.begin, PROT_READ | PROT_WRITE);
  }
  sigaction(SIGSEGV, &g_old_action, nullptr);
}

size_t TouchedPages::count() const { return g_count; }

}  // namespace reshard
