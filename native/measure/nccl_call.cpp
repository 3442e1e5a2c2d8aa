#include "native/measure/nccl_call.hpp"

#include <algorithm>

namespace wireplan::nccl_backend {
namespace {

std::size_t part_bytes(const Call& call) { return call.count * static_cast<std::size_t>(bytes_of(call.type)); }

}  // namespace

BufferBytes buffer_bytes(const Call& call, const Member& member) {
  const BufferCounts counts = buffer_counts(call, member.size, member.place);
  const auto bytes = static_cast<std::size_t>(bytes_of(call.type));
  const std::size_t send = static_cast<std::size_t>(counts.send) * bytes, receive = static_cast<std::size_t>(counts.receive) * bytes;
  if (call.in_place) return {0, std::max(send, receive)};
  return {send, receive};
}

BufferPlaces buffer_places(const Call& call, const Member& member, Address send, Address receive) {
  if (!call.in_place) return {send, receive};
  const Address own = receive + static_cast<Address>(part_bytes(call)) * static_cast<Address>(member.place);
  const bool is_root = member.place == call.root;
  switch (call.op) {
    case Collective::all_gather: return {own, receive};
    case Collective::gather: return {is_root ? own : receive, receive};
    case Collective::reduce_scatter: return {receive, own};
    case Collective::scatter: return {receive, is_root ? own : receive};
    default: return {receive, receive};
  }
}

NcclResult enqueue(const Nccl& nccl, const Call& call, const Member& m, const BufferPlaces& at, Stream stream, const char*& function) {
  const int type = nccl_type(call.type), redop = nccl_redop(call.redop);
  const auto* send = reinterpret_cast<const unsigned char*>(at.send);
  auto* receive = reinterpret_cast<unsigned char*>(at.receive);
  const std::size_t part = part_bytes(call);
  const bool is_root = m.place == call.root;
  NcclResult worst = kNcclDone;
  const auto made = [&](const char* name, NcclResult error) {
    if (worst != kNcclDone && worst != kNcclInProgress) return;
    if (error != kNcclDone || worst == kNcclDone) function = name;
    if (error != kNcclDone) worst = error;
  };
  const auto give = [&](const unsigned char* from, int peer) { made("ncclSend", nccl.send(from, call.count, type, peer, m.comm, stream)); };
  const auto take = [&](unsigned char* to, int peer) { made("ncclRecv", nccl.receive(to, call.count, type, peer, m.comm, stream)); };
  const auto of = [&](int place) { return part * static_cast<std::size_t>(place); };
  switch (call.op) {
    case Collective::all_reduce: made("ncclAllReduce", nccl.all_reduce(send, receive, call.count, type, redop, m.comm, stream)); break;
    case Collective::all_gather: made("ncclAllGather", nccl.all_gather(send, receive, call.count, type, m.comm, stream)); break;
    case Collective::reduce_scatter: made("ncclReduceScatter", nccl.reduce_scatter(send, receive, call.count, type, redop, m.comm, stream)); break;
    case Collective::broadcast: made("ncclBroadcast", nccl.broadcast(send, receive, call.count, type, call.root, m.comm, stream)); break;
    case Collective::reduce: made("ncclReduce", nccl.reduce(send, receive, call.count, type, redop, call.root, m.comm, stream)); break;
    case Collective::all_to_all:
      for (int p = 0; p < m.size; ++p) give(send + of(p), p), take(receive + of(p), p);
      break;
    case Collective::send_recv:
      give(send, (m.place + 1) % m.size);
      take(receive, (m.place + m.size - 1) % m.size);
      break;
    case Collective::scatter:
      for (int p = 0; p < m.size && is_root; ++p) give(send + of(p), p);
      take(receive, call.root);
      break;
    case Collective::gather:
      give(send, call.root);
      for (int p = 0; p < m.size && is_root; ++p) take(receive + of(p), p);
      break;
  }
  return worst;
}

}  // namespace wireplan::nccl_backend
