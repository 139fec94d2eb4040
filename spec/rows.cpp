#include "spec/rows.hpp"

#include <charconv>
#include <cstring>
#include <sstream>

#include "reference/core/error.hpp"

namespace assay::spec {
namespace {

template <class T>
T parse(const char* text) {
  T value{};
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end) throw Error("table of pages", "a number", text);
  return value;
}

TensorSpec tensor(const Row& row) {
  TensorSpec spec;
  spec.name = row.field[0];
  spec.dtype = row.field[1];
  std::istringstream shape(row.field[2]);
  for (std::string size; shape >> size;) spec.shape.push_back(size);
  const std::string when = row.field[3];
  const std::size_t equals = when.find('=');
  if (equals != std::string::npos) {
    spec.when_option = when.substr(0, equals);
    spec.when_value = when.substr(equals + 1);
  }
  spec.says = row.field[4];
  return spec;
}

void add_to_op(OpSpec& op, const std::string& record, const Row& row) {
  if (record == "input")
    op.inputs.push_back(tensor(row));
  else if (record == "output")
    op.outputs.push_back(tensor(row));
  else if (record == "decision")
    op.outputs.back().decision = row.field[0];
  else if (record == "fill") {
    op.inputs.back().fill = row.field[0];
    std::istringstream names{std::string(row.field[1])};
    for (std::string name; names >> name;) op.inputs.back().fill_of.push_back(name);
  } else if (record == "option")
    op.options.push_back({row.field[0], row.field[1], {}, {}});
  else if (record == "value")
    op.options.back().names.push_back(row.field[0]);
  else if (record == "number")
    op.options.back().numbers.push_back(parse<double>(row.field[0]));
  else
    throw Error("table of pages", "a known record", record);
}

void add(Page& page, const std::string& record, const Row& row) {
  const auto& f = row.field;
  if (record == "source") {
    page.source.push_back(f[0]);
  } else if (record == "wing") {
    page.wings.push_back(f[0]);
  } else if (record == "uses") {
    page.uses = f[0];
  } else if (record == "body") {
    page.body = f[0];
  } else if (record == "op") {
    page.has_op = true;
    page.op.name = f[0];
    page.op.rows = f[1];
    page.op.validated = std::string_view(f[2]) != "worst_case";
  } else if (record == "size") {
    page.cases.sizes.push_back({f[0], parse<long long>(f[1]), parse<long long>(f[2])});
  } else if (record == "product" || record == "sum") {
    std::istringstream factors(std::string{f[1]});
    Product product{std::string(f[0]), {}, record == "sum"};
    for (std::string factor; factors >> factor;) product.of.push_back(factor);
    page.cases.products.push_back(product);
  } else if (record == "also") {
    page.cases.also.push_back({f[0], parse<long long>(f[1]), parse<long long>(f[2])});
  } else if (record == "profile") {
    page.cases.profiles.push_back(f[0]);
  } else if (record == "corner") {
    page.cases.corners.push_back(f[0]);
  } else if (record == "claim") {
    page.claims.push_back({f[0], f[1], f[2], f[3], f[4]});
  } else if (record == "bug") {
    page.bugs.push_back({f[0], f[1], f[2], f[3], {}, {}, f[4]});
  } else if (record == "seen") {
    page.bugs.back().seen.push_back(f[0]);
  } else if (record == "dies") {
    page.bugs.back().dies.push_back({f[0], f[1]});
  } else {
    add_to_op(page.op, record, row);
  }
}

}  // namespace

std::vector<Page> pages_from(const Row* rows, std::size_t count) {
  std::vector<Page> pages;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string record = rows[i].record;
    if (record == "page") {
      pages.emplace_back();
      pages.back().id = rows[i].field[0];
      pages.back().chapter = rows[i].field[1];
      pages.back().title = rows[i].field[2];
      pages.back().path = rows[i].field[3];
    } else if (pages.empty()) {
      throw Error("table of pages", "a page first", record);
    } else {
      add(pages.back(), record, rows[i]);
    }
  }
  return pages;
}

}  // namespace assay::spec
