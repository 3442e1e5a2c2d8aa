#include "native/measure/nccl_frames.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace wireplan::nccl_backend {

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void make_lively(int socket) {
  const int on = 1, idle = 10, between = 5, times = 3;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
}

std::string frame_of(unsigned char kind, const std::string& text) {
  const auto length = static_cast<std::uint32_t>(text.size());
  std::string frame(kHead, '\0');
  for (int i = 0; i < 4; ++i) frame[static_cast<std::size_t>(i)] = static_cast<char>(length >> (8 * i) & 0xff);
  frame[4] = static_cast<char>(kind);
  return frame + text;
}
std::uint32_t length_in(const std::string& head) {
  std::uint32_t length = 0;
  for (int i = 0; i < 4; ++i) length |= static_cast<std::uint32_t>(static_cast<unsigned char>(head[static_cast<std::size_t>(i)])) << (8 * i);
  return length;
}

bool send_all(int socket, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0 && errno != EINTR) return false;
    if (n > 0) sent += static_cast<std::size_t>(n);
  }
  return true;
}

bool receive_frame(int socket, unsigned char kind, double deadline, std::string& text) {
  std::string bytes;
  std::size_t wanted = kHead;
  while (bytes.size() < wanted) {
    pollfd waiting{socket, POLLIN, 0};
    const double left = deadline - now_s();
    if (left <= 0 || poll(&waiting, 1, static_cast<int>(left * 1000) + 1) <= 0) return false;
    char buffer[1024];
    const ssize_t n = recv(socket, buffer, std::min(sizeof buffer, wanted - bytes.size()), 0);
    if (n <= 0) return false;
    bytes.append(buffer, static_cast<std::size_t>(n));
    if (bytes.size() == kHead) {
      const std::uint32_t length = length_in(bytes);
      if (length > kMostOfHello || static_cast<unsigned char>(bytes[4]) != kind) return false;
      wanted = kHead + length;
    }
  }
  text = bytes.substr(kHead);
  return true;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& t : texts) {
    all += frame_of(0, t);
  }
  return all;
}
std::vector<std::string> apart(const std::string& all) {
  std::vector<std::string> texts;
  for (std::size_t at = 0; at + kHead <= all.size();) {
    const std::size_t length = length_in(all.substr(at, kHead));
    texts.push_back(all.substr(at + kHead, length));
    at += kHead + length;
  }
  return texts;
}

}  // namespace wireplan::nccl_backend
