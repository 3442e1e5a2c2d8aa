// What goes over a line between two processes: 4 bytes of length, lowest first, 1 of kind, the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wireplan::nccl_backend {

inline constexpr std::size_t kHead = 5;
inline constexpr std::size_t kMostOfText = std::size_t{1} << 30, kMostOfHello = 4096;

double now_s();  // of a clock that only goes forward

std::string frame_of(unsigned char kind, const std::string& text);
std::uint32_t length_in(const std::string& head);

// Without delay, and noticed within half a minute where the other end vanishes without a word.
void make_lively(int socket);

bool send_all(int socket, const std::string& bytes);

// One frame of `kind`, of somebody who is not known yet. False: closed, too slow (now_s() past the deadline), or something else.
bool receive_frame(int socket, unsigned char kind, double deadline, std::string& text);

// Several texts as one, and apart again.
std::string joined(const std::vector<std::string>& texts);
std::vector<std::string> apart(const std::string& all);

}  // namespace wireplan::nccl_backend
