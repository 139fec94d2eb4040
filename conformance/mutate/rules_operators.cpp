#include <map>

#include "conformance/mutate/instrument.hpp"

namespace assay::mutate {
namespace {

struct Infix {
  const char *proxy, *kind;
  std::vector<std::string> descriptions;
};

// The alternatives are those of the proxies in proxies.hpp, in order.
const std::map<std::string, Infix> infix = {
    {"+", {"plus_", "operator", {"+ becomes -", "right term dropped", "left term dropped"}}},
    {"-", {"minus_", "operator", {"- becomes +", "right term dropped", "left term dropped"}}},
    {"*", {"times_", "operator", {"* becomes +", "right factor dropped", "left factor dropped"}}},
    {"/", {"over_", "operator", {"/ becomes *", "divisor dropped", "dividend and division dropped"}}},
    {"%", {"modulo_", "operator", {"% becomes /", "modulus dropped"}}},
    {"<", {"less_", "comparison", {"< becomes <=", "< becomes >"}}},
    {"<=", {"less_equal_", "comparison", {"<= becomes <", "<= becomes >="}}},
    {">", {"greater_", "comparison", {"> becomes >=", "> becomes <"}}},
    {">=", {"greater_equal_", "comparison", {">= becomes >", ">= becomes <="}}},
    {"==", {"equal_", "comparison", {"== becomes !="}}},
    {"!=", {"unequal_", "comparison", {"!= becomes =="}}},
};

/// `Row* r` and `const Row* r` in a declaration or a parameter list look like products.
bool pointer_type(const Structure& at, int i) {
  if (!at.is(i, "*")) return false;
  int type = i - 1;
  while (at.is(type - 1, "::")) type -= 2;
  return at.builtin_type(at.text(i - 1)) || at.is(type - 1, "const") ||
         (at[type].statement && at.identifier(i + 1) && at.is(i + 2, "="));
}

}  // namespace

void operators(Edits& e) {
  const Structure& at = e.at;
  for (int i = 0; i < at.size(); ++i) {
    if (!e.open(i) || at[i].angle) continue;
    const std::string& op = at.text(i);
    if (at.ends_operand(i - 1)) {
      const auto known = infix.find(op);
      if (known == infix.end() || pointer_type(at, i)) continue;
      const Infix& f = known->second;
      const int k = e.add(i, f.kind, op, f.descriptions);
      e.replace(i, op + " mu::" + f.proxy + "{" + std::to_string(k) + "} " + op);
    } else if ((op == "-" || op == "!") && !at.is(i - 1, ")") && !at.is(i + 1, "-") && !at.is(i + 1, "!")) {
      // Not after a cast (float)-x, which would bind to the proxy, and not in a row of signs.
      const int k = e.add(i, "sign", op, {op == "-" ? "sign dropped" : "negation dropped"});
      e.replace(i, op + std::string(op == "-" ? "mu::negate_{" : "mu::invert_{") + std::to_string(k) + "}->*");
    }
  }
}

}  // namespace assay::mutate
