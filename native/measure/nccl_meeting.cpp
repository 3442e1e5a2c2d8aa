#include "native/measure/nccl_meeting.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include "native/measure/nccl_frames.hpp"

namespace wireplan::nccl_backend {
namespace {

constexpr double kAnswerWithin = 10;  // seconds that a process waits for process 0 to welcome it
constexpr double kHelloWithin = 1;    // seconds that a caller has to say who it is: others wait behind it, so far less than they have patience

std::string at_text(const MeetingPlace& place) { return place.address + ":" + std::to_string(place.port); }

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
std::unique_ptr<addrinfo, FreeAddresses> addresses_of(const MeetingPlace& place, std::string& why_not) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  const int error = getaddrinfo(place.address.c_str(), std::to_string(place.port).c_str(), &hints, &found);
  if (error != 0) why_not = "the master address " + place.address + " is not known here: " + gai_strerror(error);
  return std::unique_ptr<addrinfo, FreeAddresses>(error == 0 ? found : nullptr);
}

}  // namespace

Meeting::~Meeting() { close_all(); }

bool Meeting::open(const MeetingPlace& place, int process, int processes, double timeout_s, std::string& why_not) {
  process_ = process;
  processes_ = processes;
  if (processes <= 1) return true;
  const double deadline = now_s() + timeout_s;
  if (!(process == 0 ? listen_for_all(place, deadline, why_not) : connect_to_first(place, deadline, why_not))) {
    for (Peer& p : peers_)
      if (p.socket >= 0) ::close(p.socket);
    peers_.clear();
    return false;
  }
  start();
  return true;
}

bool Meeting::listen_for_all(const MeetingPlace& place, double deadline, std::string& why_not) {
  const auto list = addresses_of(place, why_not);
  if (!list) return false;
  int door = -1, error = 0;
  for (const addrinfo* a = list.get(); a && door < 0; a = a->ai_next) {
    door = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (door < 0) {
      error = errno;
      continue;
    }
    const int on = 1;
    setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(door, a->ai_addr, a->ai_addrlen) == 0 && ::listen(door, 512) == 0) break;
    error = errno;
    ::close(door);
    door = -1;
  }
  if (door < 0) {
    why_not = error == EADDRINUSE      ? "port " + std::to_string(place.port) + " of " + place.address + " is in use: set MASTER_PORT or WIREPLAN_PORT to a free one"
              : error == EADDRNOTAVAIL ? "process 0 is not on the host of the master address " + place.address + ": set MASTER_ADDR to an address of the host it runs on"
                                       : "process 0 cannot listen on " + at_text(place) + ": " + std::strerror(error);
    return false;
  }
  peers_.resize(static_cast<std::size_t>(processes_));
  for (int missing = processes_ - 1; missing > 0;) {
    pollfd waiting{door, POLLIN, 0};
    const double left = deadline - now_s();
    if (left <= 0 || poll(&waiting, 1, static_cast<int>(std::min(left, 1.0) * 1000) + 1) < 0) break;
    if (!(waiting.revents & POLLIN)) continue;
    const int caller = accept4(door, nullptr, nullptr, SOCK_CLOEXEC);
    if (caller < 0) continue;
    make_lively(caller);
    std::string hello;
    int who = 0;
    // "token\nprocess\nprocesses"
    if (receive_frame(caller, static_cast<unsigned char>(Kind::hello), std::min(deadline, now_s() + kHelloWithin), hello)) {
      for (int p = 1; p < processes_; ++p)
        if (hello == place.token + "\n" + std::to_string(p) + "\n" + std::to_string(processes_)) who = p;
    }
    if (who == 0 || peers_[static_cast<std::size_t>(who)].socket >= 0 || !send_all(caller, frame_of(static_cast<unsigned char>(Kind::welcome), place.token))) {
      ::close(caller);
      continue;
    }
    peers_[static_cast<std::size_t>(who)].socket = caller;
    --missing;
  }
  ::close(door);
  std::string absent;
  for (int p = 1; p < processes_; ++p)
    if (peers_[static_cast<std::size_t>(p)].socket < 0) absent += (absent.empty() ? "" : ", ") + std::to_string(p);
  if (absent.empty()) return true;
  why_not = "process 0 waited on " + at_text(place) + ", but of " + std::to_string(processes_) + " processes these did not come in time: " + absent;
  return false;
}

bool Meeting::connect_to_first(const MeetingPlace& place, double deadline, std::string& why_not) {
  std::string last = "no answer";
  const std::string who = "process " + std::to_string(process_) + " of " + std::to_string(processes_);
  while (now_s() < deadline) {
    const auto list = addresses_of(place, why_not);
    if (!list) return false;
    for (const addrinfo* a = list.get(); a; a = a->ai_next) {
      const int line = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
      if (line < 0) continue;
      const timeval patience{static_cast<time_t>(kAnswerWithin), 0};
      setsockopt(line, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
      if (connect(line, a->ai_addr, a->ai_addrlen) != 0) {
        last = std::strerror(errno);
        ::close(line);
        continue;
      }
      make_lively(line);
      std::string answer;
      if (send_all(line, frame_of(static_cast<unsigned char>(Kind::hello), place.token + "\n" + std::to_string(process_) + "\n" + std::to_string(processes_))) &&
          receive_frame(line, static_cast<unsigned char>(Kind::welcome), std::min(deadline, now_s() + kAnswerWithin), answer) && answer == place.token) {
        const timeval for_ever{};
        setsockopt(line, SOL_SOCKET, SO_SNDTIMEO, &for_ever, sizeof for_ever);
        peers_.resize(1);
        peers_[0].socket = line;
        return true;
      }
      ::close(line);
      last = "who listens there is not process 0 of this run (set MASTER_PORT or WIREPLAN_PORT to a free port)";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  why_not = who + " could not reach process 0 at " + at_text(place) + ": " + last;
  return false;
}

void Meeting::start() {
  if (pipe2(wake_, O_CLOEXEC) != 0) wake_[0] = wake_[1] = -1;
  thread_ = std::thread([this] { listen(); });
}

void Meeting::close_all() {
  if (thread_.joinable()) {
    {
      std::lock_guard lock(guard_);
      for (Peer& p : peers_) send_to(p, Kind::bye, "");
    }
    is_over_ = true;
    if (wake_[1] >= 0) (void)!write(wake_[1], "x", 1);
    thread_.join();
  }
  for (Peer& p : peers_)
    if (p.socket >= 0) ::close(p.socket);
  peers_.clear();
  for (int& end : wake_)
    if (end >= 0) ::close(end), end = -1;
}

void Meeting::send_to(Peer& peer, Kind kind, const std::string& text) {
  if (peer.socket >= 0 && !peer.has_gone) send_all(peer.socket, frame_of(static_cast<unsigned char>(kind), text));
}

// Reads what comes, until the end. On a thread of its own, so that a notice arrives whatever the process does.
void Meeting::listen() {
  while (!is_over_) {
    std::vector<pollfd> waiting{{wake_[0], POLLIN, 0}};
    std::vector<std::size_t> whose{0};
    {
      std::lock_guard lock(guard_);
      for (std::size_t p = 0; p < peers_.size(); ++p)
        if (peers_[p].socket >= 0 && !peers_[p].has_gone) waiting.push_back({peers_[p].socket, POLLIN, 0}), whose.push_back(p);
    }
    if (poll(waiting.data(), waiting.size(), 1000) <= 0) continue;
    for (std::size_t i = 1; i < waiting.size(); ++i)
      if (waiting[i].revents != 0) read_from(whose[i]);
  }
}

void Meeting::read_from(std::size_t p) {
  char buffer[65536];
  const ssize_t n = recv(peers_[p].socket, buffer, sizeof buffer, 0);
  if (n < 0 && errno == EINTR) return;
  std::lock_guard lock(guard_);
  if (n <= 0) return lose(p);
  peers_[p].unread.append(buffer, static_cast<std::size_t>(n));
  while (take_frame(p)) {
  }
}

bool Meeting::take_frame(std::size_t p) {
  Peer& peer = peers_[p];
  if (peer.unread.size() < kHead) return false;
  const std::size_t length = length_in(peer.unread);
  if (length > kMostOfText) {
    lose(p);
    return false;
  }
  if (peer.unread.size() < kHead + length) return false;
  const auto kind = static_cast<Kind>(peer.unread[4]);
  std::string text = peer.unread.substr(kHead, length);
  peer.unread.erase(0, kHead + length);
  switch (kind) {
    case Kind::text:
      peer.text = std::move(text);
      peer.has_text = true;
      break;
    case Kind::all:
      all_ = apart(text);
      has_all_ = true;
      break;
    case Kind::notice:
      keep_notice(text);
      for (std::size_t q = 0; q < peers_.size() && process_ == 0; ++q)
        if (q != p) send_to(peers_[q], Kind::notice, text);
      break;
    case Kind::bye: peer.said_bye = true; break;
    default: break;
  }
  changed_.notify_all();
  return true;
}

// Who ends with a word has done its part; who ends without is missed.
void Meeting::lose(std::size_t p) {
  peers_[p].has_gone = true;
  if (!peers_[p].said_bye && !is_over_) {
    const std::string text = "process " + std::to_string(process_ == 0 ? p : 0) + " has gone: its connection closed";
    keep_notice(text);
    for (Peer& other : peers_)
      if (process_ == 0) send_to(other, Kind::notice, text);
  }
  changed_.notify_all();
}

void Meeting::keep_notice(const std::string& text) {
  if (has_notice_) return;
  notice_ = text;
  has_notice_ = true;
}

std::vector<std::string> Meeting::exchange(const std::string& mine) {
  if (processes_ <= 1) return {mine};
  std::unique_lock lock(guard_);
  if (process_ == 0) {
    changed_.wait(lock, [&] { return std::all_of(peers_.begin() + 1, peers_.end(), [](const Peer& p) { return p.has_text || p.has_gone; }); });
    std::vector<std::string> texts{mine};
    for (std::size_t p = 1; p < peers_.size(); ++p) {
      texts.push_back(peers_[p].has_text ? std::move(peers_[p].text) : "");
      peers_[p].text.clear();
      peers_[p].has_text = false;
    }
    const std::string all = joined(texts);
    for (Peer& p : peers_) send_to(p, Kind::all, all);
    return texts;
  }
  send_to(peers_[0], Kind::text, mine);
  changed_.wait(lock, [&] { return has_all_ || peers_[0].has_gone; });
  std::vector<std::string> texts;
  if (has_all_) texts = std::move(all_);
  has_all_ = false;
  texts.resize(static_cast<std::size_t>(processes_));
  texts[static_cast<std::size_t>(process_)] = mine;
  return texts;
}

void Meeting::give_notice(const std::string& text) {
  std::lock_guard lock(guard_);
  if (has_notice_) return;
  keep_notice(text);
  for (Peer& p : peers_) send_to(p, Kind::notice, text);
}

std::string Meeting::notice() const {
  if (!has_notice_) return {};
  std::lock_guard lock(guard_);
  return notice_;
}

}  // namespace wireplan::nccl_backend
