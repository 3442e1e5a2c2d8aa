#include "core/text/launch/launch.hpp"

#include <utility>

#include "core/text/launch/hosts.hpp"
#include "core/text/launch/variables.hpp"

namespace wireplan {
namespace {

constexpr const char* kTorchrun = "https://docs.pytorch.org/docs/stable/elastic/run.html";
constexpr const char* kSrun = "https://slurm.schedmd.com/srun.html";
constexpr const char* kMpirun = "https://docs.open-mpi.org/en/v5.0.x/man-openmpi/man1/mpirun.1.html";
constexpr const char* kDeepSpeed = "https://www.deepspeed.ai/getting-started/#launching-deepspeed-training";
constexpr const char* kAccelerate = "https://huggingface.co/docs/accelerate/package_reference/cli#accelerate-launch";
constexpr const char* kCuda = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables";
constexpr const char* kNumactl = "https://man7.org/linux/man-pages/man8/numactl.8.html";

std::string joined(const std::vector<int>& list, char between) {
  std::string text;
  for (const int n : list) {
    if (!text.empty()) text += between;
    text += std::to_string(n);
  }
  return text;
}

// How a launcher tells a process who it is, as shell text.
struct Names {
  const char *rank, *local, *world, *host;  // "" where it sets PyTorch's own; host: number of the host
};
constexpr Names kNamesOfLauncher[] = {{"", "$LOCAL_RANK", "", "$NODE_RANK"},
                             {"$SLURM_PROCID", "$SLURM_LOCALID", "$SLURM_NTASKS", "$SLURM_NODEID"},
                             {"$OMPI_COMM_WORLD_RANK", "$OMPI_COMM_WORLD_LOCAL_RANK", "$OMPI_COMM_WORLD_SIZE", ""},
                             {"", "$LOCAL_RANK", "", ""},
                             {"", "$LOCAL_RANK", "", "$NODE_RANK"}};

class Writing {
 public:
  Writing(const Plan& plan, Launcher launcher, LaunchProgram program)
      : plan_(plan), program_(std::move(program)), hosts_(hosts_of(plan)), names_(kNamesOfLauncher[static_cast<std::size_t>(launcher)]) {
    out_.launcher = launcher;
    out_.hosts = hosts_.count;
    out_.processes_per_host = hosts_.used;
  }

  Launch write() {
    if (!hosts_.fault.empty()) out_.inexpressible.push_back({hosts_.fault_path, hosts_.fault_path == "parallel.placement" ? value_text(Json(plan_.parallel.placement)) : value_text(Json(plan_.cluster.gpus_per_node)), hosts_.fault});
    out_.variables = launch_variables(plan_);
    out_.before = std::move(program_.before);
    add_rendezvous();  // what it asks for, the others read
    add_visible();
    add_numa();
    add_process();
    add_options();
    for (LaunchLine& o : program_.options) out_.options.push_back(std::move(o));
    if (plan_.cluster.network && (plan_.cluster.network->fabric == Fabric::tcpx || plan_.cluster.network->fabric == Fabric::tcpxo))
      note("cluster.network", std::string(name_of(plan_.cluster.network->fabric)) + " needs Google's NCCL plug-in and the variables of its nccl-env-profile.sh, whose place hangs on the image: source it before this");
    return std::move(out_);
  }

 private:
  bool is(Launcher l) const { return out_.launcher == l; }
  void note(std::string path, std::string text) { out_.notes.push_back({Severity::info, std::move(path), std::move(text)}); }
  void option(std::string text, std::string why = "", const char* source = "") { out_.options.push_back({std::move(text), std::move(why), source}); }
  void statement(std::string text, std::string why, const char* source = "") { out_.before.push_back({std::move(text), std::move(why), source}); }

  // srun, mpirun and deepspeed set the visible GPUs of a process themselves, or start it from afar: it sets them anew.
  bool sets_inside() const { return is(Launcher::srun) || is(Launcher::mpirun) || is(Launcher::deepspeed); }

  void add_visible() {
    if (hosts_.visible.empty()) return;
    const Gpu& gpu = plan_.cluster.node.gpu;
    const bool is_amd = gpu.is_xgmi || gpu.architecture.starts_with("CDNA");
    const std::string name = is_amd ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES";
    const std::string why = plan_.parallel.placement.empty() ? "the plan uses these GPUs of each node, in this order (cluster.gpus)" : "local rank i takes the i-th of these GPUs (parallel.placement)";
    const char* source = is_amd ? "https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html" : kCuda;
    if (!is_amd) out_.variables.push_back({"CUDA_DEVICE_ORDER=PCI_BUS_ID", "numbers of GPUs mean what nvidia-smi shows", kCuda});
    if (hosts_.visible.size() == 1) {
      const std::string list = joined(hosts_.visible.front(), ',');
      if (sets_inside()) inside_ += "export " + name + "=" + list + "; ";
      else out_.variables.push_back({name + "=" + list, why, source});
      visible_why_ = why;
      return;
    }
    std::string lists;
    for (const std::vector<int>& list : hosts_.visible) lists += (lists.empty() ? "" : " ") + joined(list, ',');
    const std::string host = *names_.host != '\0' ? names_.host : "$(( ${OMPI_COMM_WORLD_RANK:-$RANK} / " + std::to_string(hosts_.used) + " ))";
    const std::string text = "gpus=(" + lists + "); export " + name + "=${gpus[" + host + "]}";
    visible_why_ = why + ", a list for each node";
    if (sets_inside()) inside_ += text + "; ";
    else statement(text, visible_why_, source);
  }

  void add_rendezvous() {
    if (is(Launcher::srun)) {
      statement("export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1) MASTER_PORT=${MASTER_PORT:-29500}", "rank 0 is on the first host; run inside sbatch or salloc", kSrun);
      return;
    }
    if (hosts_.count < 2) {
      if (is(Launcher::mpirun)) statement("export MASTER_ADDR=127.0.0.1 MASTER_PORT=${MASTER_PORT:-29500}", "all processes are on this host");
      return;
    }
    if (is(Launcher::deepspeed)) return;  // its host file says it
    statement(": \"${MASTER_ADDR:?the host of rank 0}\"", is(Launcher::mpirun) ? "rank 0 is on the first host" : "run on every host with the host of rank 0, and NODE_RANK counting the hosts from 0");
    if (is(Launcher::mpirun)) statement("export MASTER_ADDR MASTER_PORT=${MASTER_PORT:-29500}", "");
    else statement(": \"${NODE_RANK:?0 to " + std::to_string(hosts_.count - 1) + "}\"", "");
  }

  // NUMA node of each local rank.
  std::vector<int> numa_of_ranks() const {
    std::vector<int> numa;
    for (int i = 0; i < hosts_.used; ++i) {
      const int gpu = hosts_.visible.empty() ? i : hosts_.visible.front()[static_cast<std::size_t>(i)];
      numa.push_back(hosts_.numa[static_cast<std::size_t>(gpu)]);
    }
    return numa;
  }

  void add_numa() {
    if (hosts_.numa.empty()) {
      if (!hosts_.numa_unknown.empty()) note("cluster.node.wiring", "processes are not bound to CPUs: " + hosts_.numa_unknown);
      return;
    }
    if (hosts_.visible.size() > 1) return note("parallel.placement", "processes are not bound to CPUs: local ranks are on other GPUs on each node");
    numa_ = numa_of_ranks();
    if (is(Launcher::srun)) return;  // by options of its own
    inside_ += "numa=(" + joined(numa_, ' ') + "); n=${numa[" + names_.local + "]}; ";
    runner_ = "numactl --cpunodebind=$n --preferred=$n ";
  }

  // The process itself, and what it is wrapped in where something has to be set for it alone.
  void add_process() {
    if (*names_.rank != '\0') inside_ = std::string("export RANK=") + names_.rank + " LOCAL_RANK=" + names_.local + " WORLD_SIZE=" + names_.world + "; " + inside_;
    wrapped_ = !inside_.empty();
    if (!wrapped_) {
      out_.process = {(is(Launcher::srun) || is(Launcher::mpirun) ? "python " : "") + program_.python, "", ""};
      return;
    }
    std::string why;
    const auto add = [&](std::string_view text) { why += why.empty() ? "" : "; "; why += text; };
    if (*names_.rank != '\0') add("PyTorch's names for what the launcher sets");
    if (!visible_why_.empty() && sets_inside()) add(visible_why_);
    if (!runner_.empty()) add("each process on the CPUs and, where they fit, in the memory of the NUMA node its GPU hangs on");
    statement("rank='" + inside_ + "exec " + runner_ + "python \"$@\"'", std::move(why), runner_.empty() ? "" : kNumactl);
    out_.process = {"bash -c \"$rank\" rank " + program_.python, "", ""};
  }

  void add_options() {
    switch (out_.launcher) {
      case Launcher::torchrun: return torchrun();
      case Launcher::srun: return srun();
      case Launcher::mpirun: return mpirun();
      case Launcher::deepspeed: return deepspeed();
      case Launcher::accelerate: return accelerate();
    }
  }

  std::string processes() const { return std::to_string(hosts_.used); }
  std::string all_processes() const { return std::to_string(static_cast<long long>(hosts_.count) * hosts_.used); }

  void torchrun() {
    option("torchrun");
    if (hosts_.count == 1) {
      option("--standalone", "one host", kTorchrun);
    } else {
      option("--nnodes=" + std::to_string(hosts_.count));
      option("--node-rank=\"$NODE_RANK\"", "with a fixed rank of each host, rank = node rank · processes + local rank, as the plan has it; elastic rendezvous promises no order", kTorchrun);
      option("--master-addr=\"$MASTER_ADDR\"");
      option("--master-port=\"${MASTER_PORT:-29500}\"");
    }
    option("--nproc-per-node=" + processes(), "one process for each GPU used");
    if (wrapped_) option("--no-python", "the program is started by the line above", kTorchrun);
  }

  void srun() {
    option("srun");
    option("--nodes=" + std::to_string(hosts_.count));
    option("--ntasks-per-node=" + processes(), "one process for each GPU used");
    if (hosts_.used < hosts_.gpus) option("--gpus-per-node=" + std::to_string(hosts_.gpus), "all of them, for Slurm would choose which " + processes() + " of them it gives", kSrun);
    else option("--gpus-per-node=" + processes());
    if (hosts_.count > 1) option("--distribution=block", "neighbouring ranks on one host, as the plan has it", kSrun);
    if (!numa_.empty() || hosts_.used < hosts_.gpus) option("--exclusive", !numa_.empty() ? "binding to NUMA nodes asks for whole hosts" : "the whole host, to choose GPUs", kSrun);
    if (!numa_.empty()) {
      option("--cpu-bind=map_ldom:" + joined(numa_, ','), "each process on the CPUs of the NUMA node its GPU hangs on", kSrun);
      option("--mem-bind=prefer,map_mem:" + joined(numa_, ','), "its memory there as well, as far as it fits", kSrun);
    }
    const int segment = segment_of(hosts_.count, hosts_.in_domain);
    if (segment > 1)
      option("--segment=" + std::to_string(segment), "hosts of one NVLink domain in pieces of " + std::to_string(segment) + ": a domain has " + std::to_string(hosts_.in_domain) + " hosts, and pieces must divide the " + std::to_string(hosts_.count) + " of the job; needs Slurm's block topology", "https://slurm.schedmd.com/sbatch.html#OPT_segment");
  }

  void mpirun() {
    option("mpirun");
    option("-np " + all_processes());
    option("--map-by ppr:" + processes() + ":node", "neighbouring ranks on one host, as the plan has it", kMpirun);
    option("--bind-to none", numa_.empty() ? "Open MPI would bind each process to a few cores, in which its threads do not fit" : "Open MPI would bind by the order of processes, not by where their GPU hangs; numactl does", kMpirun);
    std::string names = "-x MASTER_ADDR -x MASTER_PORT";
    for (const LaunchLine& v : out_.variables) names += " -x " + v.text.substr(0, v.text.find('='));
    option(std::move(names), "variables that every process is to have", kMpirun);
  }

  void deepspeed() {
    option("deepspeed");
    if (hosts_.count > 1) {
      option("--hostfile=\"${HOSTFILE:-hostfile}\"", "a line \"host slots=" + std::to_string(hosts_.gpus) + "\" for each host, in the order of the plan's nodes", kDeepSpeed);
      option("--num_nodes=" + std::to_string(hosts_.count));
      if (!out_.variables.empty()) note("", "deepspeed passes variables to other hosts from NCCL_* and a file .deepspeed_env: write the exported ones there");
    }
    option("--num_gpus=" + processes(), "one process for each GPU used");
    if (wrapped_) {
      option("--no_python", "the program is started by the line above", kDeepSpeed);
      option("--no_local_rank", "LOCAL_RANK says it", kDeepSpeed);
    }
  }

  void accelerate() {
    option("accelerate launch");
    option("--num_machines=" + std::to_string(hosts_.count));
    if (hosts_.count > 1) {
      option("--machine_rank=\"$NODE_RANK\"", "with a fixed rank of each host, ranks are in the order of the plan's nodes", kAccelerate);
      option("--main_process_ip=\"$MASTER_ADDR\"");
      option("--main_process_port=\"${MASTER_PORT:-29500}\"");
    }
    option("--num_processes=" + all_processes(), "of all hosts together: one process for each GPU used", kAccelerate);
    if (wrapped_) option("--no_python", "the program is started by the line above", kAccelerate);
  }

  const Plan& plan_;
  LaunchProgram program_;
  const Hosts hosts_;
  const Names& names_;
  Launch out_;
  std::string inside_, runner_, visible_why_;  // inside_: statements of the process before it runs
  std::vector<int> numa_;                      // of each local rank, where processes are bound
  bool wrapped_ = false;
};

}  // namespace

Launch launch(const Plan& plan, Launcher launcher, LaunchProgram program) { return Writing(plan, launcher, std::move(program)).write(); }

Launcher usual_launcher(Trainer trainer) { return trainer == Trainer::deepspeed ? Launcher::deepspeed : trainer == Trainer::accelerate ? Launcher::accelerate : Launcher::torchrun; }

std::optional<Launcher> plain_launcher(std::string_view name) {
  const std::optional<Launcher> launcher = value_named<Launcher>(name);
  return launcher && *launcher <= Launcher::mpirun ? launcher : std::nullopt;
}

ExportedFile trainer_launch(const Plan& plan, Trainer trainer, const std::string& config) {
  LaunchProgram program;
  const auto before = [&](std::string text, std::string why) { program.before.push_back({std::move(text), std::move(why), ""}); };
  before("cd \"$(dirname \"$0\")\"", "the files beside this one");
  switch (trainer) {
    case Trainer::torchtitan: program.python = "-m torchtitan.train --job.config_file " + config; break;
    case Trainer::deepspeed: program.python = "train.py --deepspeed --deepspeed_config " + config; break;
    case Trainer::accelerate: program.options.push_back({"--config_file=" + config, "what is not said here", kAccelerate}); break;
    case Trainer::megatron:
      before("source ./" + config, "MEGATRON_ARGS");
      program.python = "\"${MEGATRON_LM:-.}/pretrain_gpt.py\" \"${MEGATRON_ARGS[@]}\"";
      break;
    case Trainer::megatron_bridge:
    case Trainer::training_arguments:
    case Trainer::lightning: program.python = config; break;
  }
  if (trainer == Trainer::training_arguments && !config.ends_with(".py")) program.python = "train.py " + config;
  return {"launch.sh", launch_script(launch(plan, usual_launcher(trainer), std::move(program)), "Starts the plan with " + std::string(name_of(usual_launcher(trainer))) + ".")};
}

}  // namespace wireplan
