/* Whether a plan fits: prints the estimate of a scenario, a link or a plan document, and exits with 1 if it does not fit.
 *
 *   fits '"story"'
 *   fits '{"plan": "story", "set": [["parallel.data_sharding", "fsdp"]]}'
 */
#include <stdio.h>
#include <string.h>
#include <wireplan.h>

int main(int argc, char** argv) {
  const char* plan = argc > 1 ? argv[1] : "\"story\"";
  char* answer = wireplan_call("estimate", plan);
  if (answer == NULL) return 3; /* out of memory */
  fputs(answer, stdout);
  int status = strncmp(answer, "{\n  \"errors\"", 12) == 0 ? 2 : strstr(answer, "\"fits\": true") ? 0 : 1;
  wireplan_free(answer);
  return status;
}
