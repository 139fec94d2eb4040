#include <charconv>
#include <initializer_list>

#include "spec/compiler/compile.hpp"
#include "spec/compiler/literal.hpp"

namespace assay::spec {
namespace {

class Table {
 public:
  void row(const std::string& record, std::initializer_list<std::string> fields) { text_ += table_row(record, fields); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string number(double value) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

void add_op(Table& table, const OpSpec& op) {
  table.row("op", {op.name, op.rows, op.validated ? "sigma" : "worst_case"});
  for (const auto* tensors : {&op.inputs, &op.outputs})
    for (const TensorSpec& tensor : *tensors) {
      table.row(tensors == &op.inputs ? "input" : "output",
                {tensor.name, tensor.dtype, join(tensor.shape, " "),
                 tensor.when_option.empty() ? "" : tensor.when_option + "=" + tensor.when_value, tensor.says});
      if (!tensor.decision.empty()) table.row("decision", {tensor.decision});
      if (!tensor.fill.empty()) table.row("fill", {tensor.fill, join(tensor.fill_of, " ")});
    }
  for (const OptionSpec& option : op.options) {
    table.row("option", {option.name, option.says});
    for (const std::string& name : option.names) table.row("value", {name});
    for (double value : option.numbers) table.row("number", {number(value)});
  }
}

void add_page(Table& table, const Page& page) {
  table.row("page", {page.id, page.chapter, page.title, page.path});
  for (const std::string& source : page.source) table.row("source", {source});
  for (const std::string& wing : page.wings) table.row("wing", {wing});
  if (page.has_op) add_op(table, page.op);
  if (!page.uses.empty()) table.row("uses", {page.uses});
  for (const Range& r : page.cases.sizes) table.row("size", {r.name, std::to_string(r.low), std::to_string(r.high)});
  for (const Product& p : page.cases.products) table.row(p.sum ? "sum" : "product", {p.name, join(p.of, " ")});
  for (const Range& r : page.cases.also) table.row("also", {r.name, std::to_string(r.low), std::to_string(r.high)});
  for (const std::string& profile : page.cases.profiles) table.row("profile", {profile});
  for (const std::string& corner : page.cases.corners) table.row("corner", {corner});
  for (const ClaimSpec& claim : page.claims)
    table.row("claim", {claim.id, claim.kind, claim.on, claim.says, claim.extra});
  for (const BugSpec& bug : page.bugs) {
    table.row("bug", {bug.name, bug.says, bug.effect, bug.caught_by, bug.extra});
    for (const std::string& seen : bug.seen) table.row("seen", {seen});
    for (const DiesAt& death : bug.dies) table.row("dies", {death.contract, death.tier});
  }
  table.row("body", {page.body});
}

}  // namespace

std::string chapter_table(const std::string& chapter, const std::vector<Page>& pages) {
  Table table;
  for (const Page& page : pages) add_page(table, page);
  return "// Generated from spec/" + chapter + "/*.md by spec/compiler; do not edit.\n#include \"spec/rows.hpp\"\n\n" +
         "namespace assay::spec {\nnamespace {\n\nconst Row rows[] = {\n" + table.text() + "};\n\n}  // namespace\n\n" +
         "const std::vector<Page>& chapter_" + chapter + "();\nconst std::vector<Page>& chapter_" + chapter +
         "() {\n  static const std::vector<Page> table = pages_from(rows, sizeof rows / sizeof *rows);\n" +
         "  return table;\n}\n\n}  // namespace assay::spec\n";
}

std::string chapter_index(const std::vector<std::string>& chapters) {
  std::string declared, listed;
  for (const std::string& chapter : chapters) {
    declared += "const std::vector<Page>& chapter_" + chapter + "();\n";
    listed += (listed.empty() ? "&chapter_" : ", &chapter_") + chapter + "()";
  }
  return "// Generated from the folders of spec/ by spec/compiler; do not edit.\n#include \"spec/rows.hpp\"\n\n"
         "namespace assay::spec {\n\n" +
         declared + "\nstd::vector<const std::vector<Page>*> chapter_tables() { return {" + listed +
         "}; }\n\n}  // namespace assay::spec\n";
}

}  // namespace assay::spec
