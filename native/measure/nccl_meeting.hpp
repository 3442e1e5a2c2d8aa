// How the processes of a run find each other and exchange texts: TCP to process 0, which listens on the master's address only.
//
// A connection begins with a token that all processes of a run derive from what started
// them (WIREPLAN_TOKEN, where it is set: a secret); whoever says something else is sent away. The token tells runs apart; without
// WIREPLAN_TOKEN it is no protection against somebody on the same network who means harm.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "native/measure/launch.hpp"

namespace wireplan::nccl_backend {

struct MeetingPlace {
  std::string address, token;
  int port = 0;
};

// Where process 0 of this launch listens:
//   address  MASTER_ADDR; Slurm's first host; 127.0.0.1 where all processes are on one host
//   port     WIREPLAN_PORT; MASTER_PORT, or the next one where torchrun itself listens there; else one that follows from the job's id
// False, with what to set in one sentence, where the launcher does not say enough.
bool meeting_place(const Launch& launch, MeetingPlace& place, std::string& why_not);

class Meeting {
 public:
  Meeting() = default;  // of one process: nobody else is there
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  // Waits until all processes are there, `timeout_s` at most. False with a sentence.
  bool open(const MeetingPlace& place, int process, int processes, double timeout_s, std::string& why_not);

  int process() const { return process_; }
  int processes() const { return processes_; }

  // Texts of all processes, by process; "" of one that has gone. Does not wait for those.
  std::vector<std::string> exchange(const std::string& mine);

  // Tells the others at once, whatever they do: the first such text stays.
  void give_notice(const std::string& text);
  // What another process gave notice of, or which has gone; "" while all is well. Cheap.
  std::string notice() const;
  bool has_notice() const { return has_notice_; }

 private:
  enum class Kind : unsigned char { hello = 1, welcome, text, all, notice, bye };
  struct Peer {
    int socket = -1;
    std::string unread;
    bool has_text = false, has_gone = false, said_bye = false;
    std::string text;
  };

  bool listen_for_all(const MeetingPlace& place, double deadline, std::string& why_not);
  bool connect_to_first(const MeetingPlace& place, double deadline, std::string& why_not);
  void start();
  void listen();
  void read_from(std::size_t peer);
  bool take_frame(std::size_t peer);
  void lose(std::size_t peer);
  void keep_notice(const std::string& text);
  void send_to(Peer& peer, Kind kind, const std::string& text);
  void close_all();

  int process_ = 0, processes_ = 1;
  std::vector<Peer> peers_;          // of process 0: all processes (its own unused); of the others: process 0 alone
  std::vector<std::string> all_;     // the answer of an exchange
  bool has_all_ = false;
  std::string notice_;
  std::atomic<bool> has_notice_ = false, is_over_ = false;
  mutable std::mutex guard_;
  std::condition_variable changed_;
  int wake_[2] = {-1, -1};           // a pipe: ends listen()
  std::thread thread_;
};

}  // namespace wireplan::nccl_backend
