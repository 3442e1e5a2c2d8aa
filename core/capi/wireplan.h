/* The C ABI: JSON in, JSON out. Used by the web module and by other languages; docs/packages.md shows how to build with it, wireplan.hpp is the same for C++.
 *
 * Texts are UTF-8 and end with NUL. A text that is returned belongs to the caller: wireplan_free. Nothing is kept between calls, read, written or
 * printed, and no thread is started: threads may call at once, but one search belongs to one thread at a time. Wrong input is answered, never a crash. */
#ifndef WIREPLAN_H
#define WIREPLAN_H

/* Seen from outside also where the library is part of a shared one. */
#if defined(__GNUC__)
#define WIREPLAN_API __attribute__((visibility("default")))
#else
#define WIREPLAN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Runs one command on a JSON request and returns a JSON document (or {"errors":[...]}), null only when memory runs out.
   STATED is a plan document, a scenario id or a link (both strings), or {"plan":STATED, "set":[["path", value],...]}.
   CLUSTER is the id of a node, a cluster document, or STATED for the cluster of that plan.
     estimate     STATED -> the estimate; {"plan":STATED, "timeline":true, "placement":true}: with those too; likewise {"tokens":"15T", "price":2.5}: `budget`,
                  {"scaling":"weak|strong", "up_to":nodes}: `scaling`, {"crossover":true|"node"|"network", "exposed":percent}: `crossover`,
                  {"advise":true|"changes"|"smallest"}: `advice`, what to change first and the smallest clusters that hold it
     explain      {"plan":STATED, "path":"memory.states.parameters"} -> where that number comes from
     compare      {"plans":[STATED,...]} -> the comparison; the first is the baseline
     placement    {"plan":STATED, "gpus":4} -> the best mapping of ranks to GPUs, the best 4 of a node's GPUs (left out: as many as it uses)
     fit          {"plan":STATED, "max":"micro_batch_size|sequence_length"} -> the largest value that fits; with "format" {"text"}
     render       {"plan":STATED or "plans":[STATED,...], "format":"text|markdown|csv", "unit":"GB|GiB", "timeline"?, "placement"?, "advise"?} -> {"text"};
                  with "path" beside "plan": the explanation of that number; with "placement":true the best mapping too, and with
                  the questions of an estimate their answers
     collectives  {"cluster":CLUSTER, "op":"all_reduce|...|all", "sizes":[bytes,...] or {"begin","end","factor" or "step"},
                  "gpus":[...] or "per_node", "nodes", "dtype", "redop"} -> predicted times and bandwidths by size
     topology     {"cluster":CLUSTER, "gpus":[...]} -> chips, links, ways between GPUs, rings
     nccl         {"cluster":CLUSTER or "xml":"<an NCCL topology file>", "nodes", "gpus":[...], "p2p", "gpudirect", "rack_nodes",
                  "env":{"NCCL_ALGO":...}, "nccl":"2.28.9"} -> what NCCL decides there (wireplan.nccl/1)
     presets      {} -> all kinds; {"kind":"models"} -> {"kind","presets":[{"id","name",...}]}; with "id": that document
     parse_link   {"link":"#v=1&..."} -> {"plan","view","notes"}
     format_link  STATED -> {"link"}
     import_topology  {"text":"<nvidia-smi topo -m, or an NCCL topology XML>", "gpu"?:id, "network"?:short-hand} -> the cluster
     import_nccl_tests  {"text", "op"?} -> {"profile","gpus","notes"}: a log of nccl-tests as measurements
     import_nccl_log    {"text", "cluster" or "xml"?} -> what NCCL chose by its own log (wireplan.nccl/1), with findings
     search       {"plan":STATED, "objective":"throughput|memory|gpus|cost", "gpus":1024, "cluster":CLUSTER, "vary":["tensor",...], "fix":[["parallel.tensor",8],...],
                  "top":10, "verdict":"tight|may-not-fit", "unit":"GB|GiB", "points":true} -> the best layouts (wireplan.search/1); all but the plan may be left out
     import_config    {"text":"<config.json>", "weights"?:"<header of .safetensors, or its index>", "model_type"?, "set"?:[["model.mlp", "swiglu"]]}
                      -> the model of a plan (wireplan.model/1): each field with its key, the count, equal presets, stored weights beside it
     export       {"plan":STATED, "set"?, "trainer"?:"torchtitan|deepspeed|accelerate|megatron|training-arguments|megatron-bridge|lightning"} -> its files, what they
                  cannot say, what reading them again changes (wireplan.export/1); without a trainer the usual one of the plan
     import_trainer  {"text", "trainer"?, "onto"?:STATED} -> the parts of a plan that a trainer's configuration states, where each comes from, keys that are not
                  read, what is missing (wireplan.import/1); with "onto" also "document": that plan with them, and "problems"
   The caller frees the result with wireplan_free. */
WIREPLAN_API char* wireplan_call(const char* command, const char* json);
/* Of null: nothing. */
WIREPLAN_API void wireplan_free(char* text);
/* "major.minor.patch" of the engine with its presets. Not to be freed. */
WIREPLAN_API const char* wireplan_version(void);

/* The command `search` piece by piece, for callers that show what is known meanwhile, or stop. Never null but when memory runs out. */
typedef struct wireplan_search wireplan_search;
WIREPLAN_API wireplan_search* wireplan_search_open(const char* json);
/* Does so many pieces of work, each some microseconds to a millisecond, and returns {"done", "progress": 0 to 1, "counts", "best": {"label","time_s",
   "need_bytes"} or null}, or {"errors"}: then there is nothing more to do. The caller frees it. */
WIREPLAN_API char* wireplan_search_step(wireplan_search* search, int pieces);
/* The document by what is known; its `complete` says whether that is all. The caller frees it. */
WIREPLAN_API char* wireplan_search_answer(wireplan_search* search);
WIREPLAN_API void wireplan_search_close(wireplan_search* search);

#ifdef __cplusplus
}
#endif
#endif
