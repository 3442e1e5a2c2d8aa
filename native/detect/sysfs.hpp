// What Linux shows of a machine under /sys, and of its CPU and memory under /proc beside it.
#pragma once

#include <string>

#include "core/base/error.hpp"
#include "core/text/machine_facts.hpp"

namespace wireplan {

// `sys`: the tree, "/sys". What stands beside it is read with it: ../proc, and the list of PCI names under ../usr/share. Devices must
// lie inside the tree and attributes be plain files, of which a few kB are read, so that a tree made by a stranger cannot hang; what
// cannot be read is left out and named in `faults`. Errors: no such folder (where `is_stated`), more devices than any machine has.
Errors read_sysfs(const std::string& sys, bool is_stated, MachineFacts& facts);

}  // namespace wireplan
