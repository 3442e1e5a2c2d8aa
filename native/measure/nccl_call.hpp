// One call of a rank: where its buffers are, and which functions of NCCL it is.
#pragma once

#include "native/measure/nccl_words.hpp"
#include "native/measure/values.hpp"

namespace wireplan::nccl_backend {

// A communicator of a group, of one own rank; not in it: place -1 and no communicator.
struct Member {
  Comm comm = nullptr;
  int size = 0, place = -1;
};

// Bytes of the two buffers. In place there is one, and what a rank sends lies in it where NCCL wants it: gathered parts at their place,
// parts of what is scattered or reduced at theirs.
struct BufferBytes { std::size_t send = 0, receive = 0; };
BufferBytes buffer_bytes(const Call& call, const Member& member);
struct BufferPlaces { Address send = 0, receive = 0; };
BufferPlaces buffer_places(const Call& call, const Member& member, Address send, Address receive);

// all_to_all, send_recv, scatter and gather are sends and receives, as nccl-tests makes them: one group for all own ranks.
constexpr bool is_point_to_point(Collective op) { return op == Collective::all_to_all || op == Collective::send_recv || op == Collective::scatter || op == Collective::gather; }

// Enqueues it; between group_start and group_end where it is point to point. `function`: what was called last.
NcclResult enqueue(const Nccl& nccl, const Call& call, const Member& member, const BufferPlaces& at, Stream stream, const char*& function);

}  // namespace wireplan::nccl_backend
