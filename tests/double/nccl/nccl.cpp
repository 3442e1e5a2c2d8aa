// libnccl.so.2 of the double: communicators whose members meet in Regions, calls that run on streams of the double.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <deque>

#include "tests/double/nccl/collectives.hpp"
#include "tests/double/nccl/region.hpp"
#include "tests/double/nccl/stream.hpp"

using namespace wireplan_double;
using wireplan::Collective;
using wireplan::ElementType;
using wireplan::Reduction;

namespace {

using Result = int;
constexpr Result kDone = 0, kCudaError = 1, kSystemError = 2, kInvalidArgument = 4, kInvalidUsage = 5, kRemoteError = 6, kInProgress = 7;
constexpr unsigned kMagic = 0xcafebeef;

struct Id { char bytes[128]; };
struct Settings {
  std::size_t size;
  unsigned magic, version;
  int blocking;
};

}  // namespace

// Communicators stay in a list for ever, so that one used after its end is noticed.
struct Comm {
  std::string id;
  int size = 0, place = 0;
  std::vector<int> ranks;  // of all members
  Gpu* gpu = nullptr;
  std::unique_ptr<Region> calls, setup;
  std::atomic<Result> state = kInProgress;
  std::atomic<bool> is_aborted = false, is_dead = false;
  std::string last_error;
  int splits = 0;
  std::thread maker;
};

namespace {

struct Buffer { const void* send; void* receive; };
struct Pending {
  Comm* comm;
  Stream* stream;
  Said said;
  Buffer buffer;
  bool is_exchange;
  std::vector<std::pair<int, std::pair<const void*, std::size_t>>> sends;
  std::vector<std::pair<int, std::pair<void*, std::size_t>>> receives;
};

thread_local int depth = 0;
thread_local std::vector<Pending> pending;
std::mutex comms_guard;
std::string& last_error() {
  static std::string text;
  return text;
}
std::deque<Comm>& all_comms() {
  static std::deque<Comm> comms;
  return comms;
}
// Makers that hang must not hold up the end.
struct JoinMakers {
  ~JoinMakers() {
    for (Comm& c : all_comms()) {
      c.is_aborted = true;
      if (c.maker.joinable()) c.maker.join();
    }
  }
};

void be_alive(const Comm* comm, const char* function) {
  if (comm && !comm->is_dead) return;
  std::fprintf(stderr, "double: %s on a communicator that has ended\n", function);
  std::abort();
}

Result fail(Result error, const std::string& text, Comm* comm = nullptr) {
  std::lock_guard lock(comms_guard);
  last_error() = text;
  if (comm) comm->last_error = text;
  return error;
}

Comm* new_comm() {
  std::lock_guard lock(comms_guard);
  all_comms();
  static JoinMakers join;
  all_comms().emplace_back();
  ++alive().communicators;
  return &all_comms().back();
}

// All members meet once; then the communicator is there.
bool make(Comm& comm) {
  comm.calls = std::make_unique<Region>(comm.id, comm.size, comm.place);
  comm.setup = std::make_unique<Region>(comm.id + "s", comm.size, comm.place);
  const auto gives_up = [&] { return comm.is_aborted.load(); };
  if (machine().has_fault("init-hang", comm.gpu->rank, 0))
    while (!gives_up()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return comm.setup->meet({}, [](int, const unsigned char*, std::size_t) {}, gives_up);
}

std::vector<unsigned char> bytes_of(const void* from, std::size_t size) {
  const auto* first = static_cast<const unsigned char*>(from);
  return {first, first + size};
}
template <class T>
void append(std::vector<unsigned char>& to, const T& value) {
  const auto* first = reinterpret_cast<const unsigned char*>(&value);
  to.insert(to.end(), first, first + sizeof value);
}

std::size_t sent_bytes(const Said& s, int n) {
  const std::size_t one = s.count * static_cast<std::size_t>(wireplan::bytes_of(static_cast<ElementType>(s.type)));
  return static_cast<Collective>(s.op) == Collective::reduce_scatter ? one * static_cast<std::size_t>(n) : one;
}

struct Members {
  std::vector<std::vector<unsigned char>> texts;
  std::vector<Said> said;
  double start = 0;
  bool agree = true;
};

// Results of a collective into the receive buffer; the bytes written.
std::size_t finish_collective(const Pending& p, const Members& m) {
  const Comm& c = *p.comm;
  const auto type = static_cast<ElementType>(p.said.type);
  const auto redop = static_cast<Reduction>(p.said.redop);
  const std::size_t part = p.said.count * static_cast<std::size_t>(wireplan::bytes_of(type));
  auto* to = static_cast<unsigned char*>(p.buffer.receive);
  std::vector<const unsigned char*> data;
  for (const auto& t : m.texts) data.push_back(t.data() + sizeof(Said));
  switch (static_cast<Collective>(p.said.op)) {
    case Collective::all_reduce: reduce_elements(type, redop, data, 0, p.said.count, to); return part;
    case Collective::reduce:
      if (c.place != p.said.root) return 0;
      reduce_elements(type, redop, data, 0, p.said.count, to);
      return part;
    case Collective::reduce_scatter: reduce_elements(type, redop, data, p.said.count * static_cast<std::uint64_t>(c.place), p.said.count, to); return part;
    case Collective::all_gather:
      for (std::size_t i = 0; i < data.size(); ++i) std::memcpy(to + i * part, data[i], part);
      return part * data.size();
    default: std::memcpy(to, data[static_cast<std::size_t>(p.said.root)], part); return part;
  }
}

// The i-th receive from a peer takes the i-th send of that peer to this rank.
std::size_t finish_exchange(const Pending& p, const Members& m, bool& fits) {
  std::vector<std::size_t> taken(m.texts.size(), 0);
  std::size_t written = 0;
  for (const auto& [peer, to] : p.receives) {
    const auto from = static_cast<std::size_t>(peer);
    const unsigned char* table = m.texts[from].data() + sizeof(Said);
    const unsigned char* data = table + m.said[from].sends * sizeof(Transfer);
    std::size_t seen = 0;
    bool found = false;
    for (std::uint64_t i = 0; i < m.said[from].sends && !found; ++i) {
      Transfer t;
      std::memcpy(&t, table + i * sizeof t, sizeof t);
      if (t.peer == p.comm->place && seen++ == taken[from]) {
        fits = fits && t.bytes == to.second;
        std::memmove(to.first, data, std::min(t.bytes, to.second));
        found = true;
      }
      data += t.bytes;
    }
    fits = fits && found;
    ++taken[from];
    written += to.second;
  }
  return written;
}

void run(const Pending& p, long call, Stream& stream) {
  Comm& c = *p.comm;
  const int rank = c.gpu->rank;
  const auto gives_up = [&] { return c.is_aborted || stream.is_ending() || c.gpu->error != 0; };
  const auto hang = [&] {
    while (!gives_up()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  if (machine().has_fault("hang", rank, call)) return hang();
  if (machine().has_fault("async", rank, call)) {
    fail(kRemoteError, "socket closed by the peer of the double", &c);
    c.state = kRemoteError;
    return hang();
  }
  Said mine = p.said;
  mine.now = stream.now;
  mine.sends = p.sends.size();
  std::vector<unsigned char> text;
  append(text, mine);
  if (p.is_exchange) {
    for (const auto& [peer, from] : p.sends) append(text, Transfer{peer, from.second});
    for (const auto& [peer, from] : p.sends) {
      const auto data = bytes_of(from.first, from.second);
      text.insert(text.end(), data.begin(), data.end());
    }
  } else if (p.buffer.send && (static_cast<Collective>(mine.op) != Collective::broadcast || c.place == mine.root)) {
    const auto data = bytes_of(p.buffer.send, sent_bytes(mine, c.size));
    text.insert(text.end(), data.begin(), data.end());
  }
  Members m;
  m.texts.resize(static_cast<std::size_t>(c.size));
  m.said.resize(static_cast<std::size_t>(c.size));
  const bool met = c.calls->meet(
      text,
      [&](int member, const unsigned char* bytes, std::size_t size) {
        const auto i = static_cast<std::size_t>(member);
        m.texts[i].assign(bytes, bytes + size);
        std::memcpy(&m.said[i], bytes, sizeof(Said));
      },
      gives_up);
  if (!met) return;
  for (const Said& s : m.said) {
    m.start = std::max(m.start, s.now);
    m.agree = m.agree && (p.is_exchange ? s.op < 0 : s.op == mine.op && s.count == mine.count && s.type == mine.type && s.root == mine.root && s.redop == mine.redop);
  }
  double seconds = 0;
  std::size_t written = 0;
  if (m.agree && p.is_exchange) {
    std::vector<std::vector<Transfer>> sends(m.said.size());
    for (std::size_t i = 0; i < m.said.size(); ++i) {
      sends[i].resize(m.said[i].sends);
      if (!sends[i].empty()) std::memcpy(sends[i].data(), m.texts[i].data() + sizeof(Said), sends[i].size() * sizeof(Transfer));
    }
    seconds = exchange_time(sends, c.ranks);
    written = finish_exchange(p, m, m.agree);
  } else if (m.agree) {
    const auto op = static_cast<Collective>(mine.op);
    const double bytes = static_cast<double>(mine.count) * wireplan::bytes_of(static_cast<ElementType>(mine.type));
    seconds = ring_time(op, op == Collective::all_gather || op == Collective::reduce_scatter ? bytes * c.size : bytes, c.ranks);
    written = finish_collective(p, m);
  }
  if (!m.agree) {
    fail(kInvalidUsage, "members of the double called different things", &c);
    c.state = kInvalidUsage;
    return hang();
  }
  if (written > 0 && machine().has_fault("wrong", rank, call)) static_cast<unsigned char*>(p.is_exchange ? p.receives.front().second.first : p.buffer.receive)[0] ^= 1;
  stream.now = m.start + seconds;
}

Result enqueue(Pending p) {
  Comm& c = *p.comm;
  const long call = c.gpu->calls++;
  const int rank = c.gpu->rank;
  if (machine().has_fault("kill", rank, call)) raise(SIGKILL);
  if (machine().has_fault("gone", rank, call)) c.gpu->error = 719;
  if (c.gpu->error != 0) return fail(kCudaError, "Cuda failure 719 'unspecified launch failure'", &c);
  if (machine().has_fault("error", rank, call)) return fail(kSystemError, "the double has no more sockets", &c);
  Stream* stream = p.stream;
  stream->add([p = std::move(p), call](Stream& s) { run(p, call, s); });
  return kDone;
}

Result call(Comm* comm, Stream* stream, Collective op, const void* send, void* receive, std::size_t count, int type, int redop, int root) {
  be_alive(comm, "a collective");
  if (comm->state != kDone) return fail(kInvalidUsage, "the communicator is not ready");
  if (comm->gpu != &stream->gpu()) return fail(kInvalidUsage, "the stream is of another GPU");
  if (type < 0 || type > 11 || redop < 0 || redop > 4 || root < 0 || root >= comm->size) return fail(kInvalidArgument, "no such type, reduction or root");
  constexpr Reduction kReductions[] = {Reduction::sum, Reduction::prod, Reduction::max, Reduction::min, Reduction::avg};  // in NCCL's order
  Said said;
  said.op = static_cast<int>(op);
  said.type = type;
  said.redop = static_cast<int>(kReductions[redop]);
  said.root = root;
  said.count = count;
  Pending p{comm, stream, said, {send, receive}, false, {}, {}};
  if (depth == 0) return enqueue(std::move(p));
  // Faults of the call itself come at once.
  if (machine().has_fault("error", comm->gpu->rank, comm->gpu->calls)) return ++comm->gpu->calls, fail(kSystemError, "the double has no more sockets", comm);
  pending.push_back(std::move(p));
  return kDone;
}

Pending& exchange_of(Comm* comm, Stream* stream) {
  for (Pending& p : pending)
    if (p.comm == comm && p.is_exchange) return p;
  Said said;
  said.op = -1;
  pending.push_back({comm, stream, said, {nullptr, nullptr}, true, {}, {}});
  return pending.back();
}

void begin(Comm* comm, bool is_blocking) {
  comm->maker = std::thread([comm] {
    if (make(*comm)) comm->state = kDone;
  });
  if (is_blocking && depth == 0) comm->maker.join();
}

}  // namespace

extern "C" {

Result ncclGetVersion(int* version) { return *version = machine().nccl, kDone; }
const char* ncclGetErrorString(Result error) {
  constexpr const char* kWords[] = {"no error", "unhandled cuda error (run with NCCL_DEBUG=INFO for details)", "unhandled system error (run with NCCL_DEBUG=INFO for details)", "internal error - please report this issue to the NCCL developers",
                                    "invalid argument (run with NCCL_DEBUG=WARN for details)", "invalid usage (run with NCCL_DEBUG=WARN for details)", "remote process exited or there was a network error", "NCCL operation in progress"};
  return error >= 0 && error <= 7 ? kWords[error] : "unknown result code";
}
const char* ncclGetLastError(Comm*) {
  thread_local std::string text;
  std::lock_guard lock(comms_guard);
  text = last_error();
  return text.c_str();
}
Result ncclGetUniqueId(Id* id) {
  static std::atomic<int> made = 0;
  std::snprintf(id->bytes, sizeof id->bytes, "c%d-%d-%lld", getpid(), made++, static_cast<long long>(std::chrono::steady_clock::now().time_since_epoch().count()));
  return kDone;
}
Result ncclCommInitRankConfig(Comm** comm, int ranks, Id id, int rank, Settings* settings) {
  if (settings->magic != kMagic || settings->size < sizeof(Settings)) return fail(kInvalidArgument, "the configuration was not initialized");
  Gpu* gpu = current_gpu();
  if (!gpu) return fail(kCudaError, "no current GPU");
  gpu->rank = rank;
  if (machine().has_fault("init-error", rank, 0)) return fail(kSystemError, "the double cannot listen");
  Comm* made = new_comm();
  made->id = id.bytes;
  made->size = ranks;
  made->place = rank;
  made->gpu = gpu;
  for (int r = 0; r < ranks; ++r) made->ranks.push_back(r);
  *comm = made;
  begin(made, settings->blocking != 0);
  return settings->blocking != 0 && depth == 0 ? kDone : kInProgress;
}
Result ncclCommSplit(Comm* parent, int color, int key, Comm** made, Settings*) {
  be_alive(parent, "ncclCommSplit");
  if (parent->state != kDone) return fail(kInvalidUsage, "the communicator is not ready");
  if (parent->maker.joinable()) parent->maker.join();
  parent->state = kInProgress;
  const int turn = parent->splits++;
  *made = nullptr;
  parent->maker = std::thread([=] {
    struct Wish { int color, key; };
    std::vector<unsigned char> mine;
    append(mine, Wish{color, key});
    std::vector<Wish> wishes(static_cast<std::size_t>(parent->size));
    const auto gives_up = [&] { return parent->is_aborted.load(); };
    if (!parent->setup->meet(mine, [&](int m, const unsigned char* b, std::size_t) { std::memcpy(&wishes[static_cast<std::size_t>(m)], b, sizeof(Wish)); }, gives_up)) return;
    if (color >= 0) {
      std::vector<std::pair<int, int>> members;  // key, place in the parent
      for (std::size_t m = 0; m < wishes.size(); ++m)
        if (wishes[m].color == color) members.emplace_back(wishes[m].key, static_cast<int>(m));
      std::sort(members.begin(), members.end());
      Comm* child = new_comm();
      child->id = parent->id + "-" + std::to_string(turn) + "." + std::to_string(color);
      child->size = static_cast<int>(members.size());
      child->gpu = parent->gpu;
      for (std::size_t i = 0; i < members.size(); ++i) {
        if (members[i].second == parent->place) child->place = static_cast<int>(i);
        child->ranks.push_back(parent->ranks[static_cast<std::size_t>(members[i].second)]);
      }
      if (!make(*child)) return;
      child->state = kDone;
      *made = child;
    }
    parent->state = kDone;
  });
  return kInProgress;
}
Result ncclCommFinalize(Comm* comm) {
  be_alive(comm, "ncclCommFinalize");
  return kDone;
}
static Result end(Comm* comm, bool aborts, const char* function) {
  be_alive(comm, function);
  if (aborts) comm->is_aborted = true;
  if (comm->maker.joinable()) comm->maker.join();
  comm->is_dead = true;
  if (!aborts) comm->calls.reset(), comm->setup.reset();
  --alive().communicators;
  return kDone;
}
Result ncclCommDestroy(Comm* comm) { return end(comm, false, "ncclCommDestroy"); }
Result ncclCommAbort(Comm* comm) {
  while (machine().has_fault("stuck", comm->gpu->rank, 0)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return end(comm, true, "ncclCommAbort");
}
Result ncclCommGetAsyncError(Comm* comm, Result* error) {
  be_alive(comm, "ncclCommGetAsyncError");
  *error = comm->state;
  return kDone;
}

Result ncclAllReduce(const void* send, void* receive, std::size_t count, int type, int redop, Comm* comm, Stream* stream) { return call(comm, stream, Collective::all_reduce, send, receive, count, type, redop, 0); }
Result ncclAllGather(const void* send, void* receive, std::size_t count, int type, Comm* comm, Stream* stream) { return call(comm, stream, Collective::all_gather, send, receive, count, type, 0, 0); }
Result ncclReduceScatter(const void* send, void* receive, std::size_t count, int type, int redop, Comm* comm, Stream* stream) {
  return call(comm, stream, Collective::reduce_scatter, send, receive, count, type, redop, 0);
}
Result ncclBroadcast(const void* send, void* receive, std::size_t count, int type, int root, Comm* comm, Stream* stream) { return call(comm, stream, Collective::broadcast, send, receive, count, type, 0, root); }
Result ncclReduce(const void* send, void* receive, std::size_t count, int type, int redop, int root, Comm* comm, Stream* stream) {
  return call(comm, stream, Collective::reduce, send, receive, count, type, redop, root);
}
Result ncclSend(const void* from, std::size_t count, int type, int peer, Comm* comm, Stream* stream) {
  be_alive(comm, "ncclSend");
  if (depth == 0 || peer < 0 || peer >= comm->size) return fail(kInvalidUsage, "a send outside of a group, or to nobody");
  exchange_of(comm, stream).sends.push_back({peer, {from, count * static_cast<std::size_t>(wireplan::bytes_of(static_cast<ElementType>(type)))}});
  return kDone;
}
Result ncclRecv(void* to, std::size_t count, int type, int peer, Comm* comm, Stream* stream) {
  be_alive(comm, "ncclRecv");
  if (depth == 0 || peer < 0 || peer >= comm->size) return fail(kInvalidUsage, "a receive outside of a group, or from nobody");
  exchange_of(comm, stream).receives.push_back({peer, {to, count * static_cast<std::size_t>(wireplan::bytes_of(static_cast<ElementType>(type)))}});
  return kDone;
}
Result ncclGroupStart() { return ++depth, kDone; }
Result ncclGroupEnd() {
  if (--depth > 0) return kDone;
  Result worst = kDone;
  std::vector<Pending> calls = std::move(pending);
  pending.clear();
  for (Pending& p : calls)
    if (const Result r = enqueue(std::move(p)); r != kDone) worst = r;
  return worst;
}

Result ncclMemAlloc(void** address, std::size_t bytes) {
  Gpu* gpu = current_gpu();
  *address = gpu ? allocate_on(*gpu, bytes) : nullptr;
  return *address ? kDone : fail(kCudaError, "Cuda failure 2 'out of memory'");
}
Result ncclMemFree(void* address) {
  wait_for_streams();
  return free_of_gpu(address) ? kDone : fail(kInvalidArgument, "not of ncclMemAlloc");
}
Result ncclCommRegister(Comm* comm, void*, std::size_t, void** handle) {
  be_alive(comm, "ncclCommRegister");
  *handle = comm;
  ++alive().registrations;
  return kDone;
}
Result ncclCommDeregister(Comm* comm, void*) {
  be_alive(comm, "ncclCommDeregister");
  --alive().registrations;
  return kDone;
}
}
