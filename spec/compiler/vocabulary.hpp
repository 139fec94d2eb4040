#pragma once
#include <string>
#include <vector>

// What a page may say: the keys of each record and the fixed lists. spec/page.schema.json documents the same; a test
// compares.
namespace assay::spec {

using Words = std::vector<std::string>;

struct Keys {
  Words required, optional;
};

/// The keys of a record: `page`, `op`, `input`, `output`, `option`, `cases`, `claim`, `bug`.
const Keys& keys_of(const std::string& record);

const Words& chapters();
const Words& claim_kinds();
const Words& claim_subjects();  // the values of `on`
const Words& wings();
const Words& bug_contracts();
const Words& bug_tiers();
const Words& tensor_types();
const Words& decision_rules();
/// What the integers of an input may mean.
const Words& index_fills();
/// Of reference/core/profile.hpp; a test of the engine, which knows both, compares.
const Words& value_profiles();

/// Reserved in C++: an option or tensor may not have such a name, an option's value gets a trailing underscore in C++.
bool is_reserved(const std::string& word);
/// Read as a boolean or as nothing by YAML 1.1 when not in quotes: `on`, `off`, `yes`, `no`, `true`, `false`, `null`,
/// `~`.
bool is_yaml_word(const std::string& word);
bool contains(const Words& words, const std::string& word);
std::string join(const Words& words, const std::string& between);

}  // namespace assay::spec
