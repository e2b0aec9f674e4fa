// Expressions: a text is parsed, or refused by an ExpressionError. A parsed expression can be evaluated.
#include "settings/expression.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto expression = dodyn::Expression::parse({reinterpret_cast<const char*>(data), size});
    const std::vector<double> values(expression.quantities().size(), 0.5);
    expression.evaluate<double>(values);
    if (expression.is_condition()) expression.comparisons();
  } catch (const dodyn::ExpressionError&) {
  }
  return 0;
}
