#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu/machine/lexer.hpp"
#include "gpu/machine/module.hpp"

// How parse() reads a text: recursive descent, one function a rule. Its limits: scopes within scopes 64 deep, operands
// and initialisers 16, a million registers of a function, variables of 2^31 bytes of which 2^26 may be initialised.
namespace assay::gpu {

class Parser {
 public:
  explicit Parser(std::string_view ptx) : tokens_(tokens_of(ptx)) {}
  Module run();

 private:
  /// What a name stands for. `count` > 0: the family NAME0 .. NAME(count-1).
  struct Named {
    enum class What : std::uint8_t { reg, local, variable, function, label, table } what;
    int index;
    int count = 0;
  };
  struct Scope {
    int parent;
    std::map<std::string, Named, std::less<>> names;
  };

  // parse.cpp: tokens, the module, functions
  const Token& look(std::size_t ahead = 0) const;
  Token next();
  bool take(const char* sign);
  bool take_dotted(const char* name);
  void expect(const char* sign);
  std::string word(const char* what);
  [[noreturn]] void fail(const std::string& expected) const;
  void header();
  void skip_braces();
  void top_level();
  void function(bool is_entry, bool is_extern);
  void parameters(Function& f);
  void attributes(Function& f);
  std::array<int, 3> up_to_three();
  void body();
  void block(int depth);
  void resolve();
  int find_function(const std::string& name) const;

  // parse_data.cpp: declarations, initialisers, numbers
  static bool is_space(std::string_view dotted);
  void declaration(bool is_extern, bool in_function);
  void registers();
  Variable variable_head(Space space);
  void dimensions(Variable& v, std::int64_t element);
  void initialiser(Variable& v, const Type& element);
  void init_values(Variable& v, const Type& element, std::int64_t& at, int depth);
  void init_value(Variable& v, const Type& element, std::int64_t at);
  Type type();
  std::int64_t integer(const char* what);
  std::uint64_t constant(int depth = 0, int level = 0);
  std::uint64_t constant_primary(int depth);

  // parse_statement.cpp: instructions and operands
  void statement();
  void location();
  Operand operand(bool call, int depth);
  Operand operand_of_name(int depth);
  Operand immediate();
  Operand address(int depth);
  std::vector<Operand> operands_until(const char* close, bool call, int depth);
  void table(const std::string& name);

  // names
  std::optional<Named> find(std::string_view name, int scope) const;
  Operand operand_named(const std::string& name);
  void name(const std::string& name, const Named& what);

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  Module module_;
  Function* function_ = nullptr;  // the one that is read
  std::vector<Scope> scopes_;     // of the function; 0: the module
  int scope_ = 0;
  std::vector<int> statement_scope_;
  std::vector<std::vector<std::pair<std::string, int>>> table_labels_;  // and the scope they are written in
  SourcePlace place_;
};

/// Whether PTX has a special register of this name: %tid, %laneid, WARP_SZ.
bool is_special_register(std::string_view name);
/// The bits of a number as it is written. `is_float`: 0, 32 or 64. False if it is none.
bool read_number(std::string_view text, std::uint64_t& bits, int& is_float);

}  // namespace assay::gpu
