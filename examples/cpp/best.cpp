// The fastest layouts of a plan that fit, with the progress of the search on the error channel.
#include <iostream>
#include <nlohmann/json.hpp>
#include <wireplan.hpp>

int main(int argc, char** argv) {
  using nlohmann::json;
  wireplan::RunningSearch search(json{{"plan", argc > 1 ? argv[1] : "story"}, {"top", 3}}.dump());
  for (bool done = false; !done;) {
    const json known = json::parse(search.step(1000));
    if (known.contains("errors")) return std::cerr << known.dump(2) << '\n', 2;
    std::cerr << "searched " << known["progress"] << '\n';
    done = known["done"];
  }
  const json answer = json::parse(search.answer());
  std::cout << std::string(answer["text"]) << '\n';
  for (const json& plan : answer["plans"]) std::cout << plan["label"] << ": " << plan["time_s"] << " s, fits " << plan["fits"] << '\n';
}
