#include "native/measure/session.hpp"

#include <unistd.h>

#include <ctime>

namespace wireplan {
namespace {

std::string date_now() {
  char text[32] = "";
  const std::time_t now = std::time(nullptr);
  if (const std::tm* utc = std::gmtime(&now)) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", utc);
  return text;
}

}  // namespace

Surroundings surroundings(Backend& backend, const Launch& launch) {
  return {backend.facts(), date_now(), launch.by + (launch.processes > 1 ? ", " + std::to_string(launch.processes) + " processes" : ""), steering_variables(environ)};
}

}  // namespace wireplan
