"""Memory of a GPU while the program runs on it, seen by a process beside it: memory.py PROGRAM CALLS

Prints {"device", "context_bytes", "in_use_bytes": [least, most], "left_bytes"}; exit status 1 when memory grows or stays. Needs a GPU that nobody
else uses meanwhile. context_bytes: what a second context with the kernels' module takes, by cuMemGetInfo before and after.
"""

import ctypes
import json
import subprocess
import sys
import time

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    assert status == 0, f"{name}: {status}"


def free_bytes():
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return free.value


def open_context():
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    name = ctypes.create_string_buffer(256)
    call("cuDeviceGetName", name, 256, device)
    return name.value.decode()


if sys.argv[1] == "context":  # the second context: opens, says so, waits
    open_context()
    print("open", flush=True)
    sys.stdin.read()
    sys.exit()

device = open_context()
before = free_bytes()
child = subprocess.Popen([sys.executable, __file__, "context"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert child.stdout.readline() == b"open\n"
context = before - free_bytes()
child.stdin.close()
child.wait()

# Rows of one size, enough of them for several seconds; after the first, memory must not move.
run = subprocess.Popen([sys.argv[1], "measure", "--group", "0", "-g", "1", "--op", "all", "-b", "1M", "-e", "1M", "-n", sys.argv[2]], stdout=subprocess.PIPE, text=True)
samples = []
for line in run.stdout:
    if line[:1] != "#":
        samples.append(before - free_bytes())
run.wait()
for _ in range(50):  # the driver takes a moment
    left = before - free_bytes()
    if left == 0:
        break
    time.sleep(0.1)
steady = samples[1:-1]
print(json.dumps({"device": device, "context_bytes": context, "in_use_bytes": [min(steady, default=0), max(steady, default=0)], "left_bytes": left}))
sys.exit(run.returncode != 0 or left != 0 or len(steady) < 3 or min(steady) != max(steady))
