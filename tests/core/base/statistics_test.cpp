#include "core/base/statistics.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace wireplan;
using Catch::Approx;

TEST_CASE("quantiles lie between neighbours in proportion") {
  CHECK(quantile({}, 0.5) == 0);
  CHECK(quantile({7}, 0.9) == 7);
  CHECK(quantile({3, 1, 2}, 0.5) == 2);
  CHECK(quantile({4, 1, 3, 2}, 0.5) == 2.5);
  CHECK(quantile({5, 1, 4, 2, 3}, 0) == 1);
  CHECK(quantile({5, 1, 4, 2, 3}, 1) == 5);
  // 0.9 · (6 - 1) = 4.5: half way between the fifth and the sixth.
  CHECK(quantile({10, 20, 30, 40, 50, 80}, 0.9) == Approx(65));
  // 0.9 · (5 - 1) = 3.6
  CHECK(quantile({1, 2, 3, 4, 5}, 0.9) == Approx(4.6));
}

TEST_CASE("equal values share the mean of their places") {
  CHECK(ranks_of({}).empty());
  CHECK(ranks_of({30, 10, 20}) == std::vector<double>{3, 1, 2});
  CHECK(ranks_of({5, 1, 5, 9}) == std::vector<double>{2.5, 1, 2.5, 4});
  CHECK(ranks_of({2, 2, 2}) == std::vector<double>{2, 2, 2});
}

TEST_CASE("Spearman's rank correlation by hand") {
  CHECK(spearman({1, 2, 3}, {10, 200, 3000}).value() == Approx(1));
  CHECK(spearman({1, 2, 3}, {3, 2, 1}).value() == Approx(-1));
  // 1 - 6·Σd²/(n(n²-1)), d = -1 1 -1 1: 1 - 24/60
  CHECK(spearman({1, 2, 3, 4}, {20, 10, 40, 30}).value() == Approx(0.6));
  // With a tie: ranks 1 2.5 2.5 4 and 1 2 3 4, Σxy = 4.5, √(4.5·5)
  CHECK(spearman({1, 5, 5, 9}, {1, 2, 3, 4}).value() == Approx(0.9486832980505138));
  CHECK_FALSE(spearman({}, {}));
  CHECK_FALSE(spearman({1}, {1}));
  CHECK_FALSE(spearman({2, 2}, {1, 3}));
  CHECK_FALSE(spearman({1, 3}, {2, 2}));
  CHECK_FALSE(spearman({1, 2, 3}, {1, 2}));
}
