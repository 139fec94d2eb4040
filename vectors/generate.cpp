#include "vectors/generate.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include "conformance/engine/call_file.hpp"
#include "conformance/engine/case.hpp"
#include "conformance/engine/suite.hpp"
#include "reference/core/parallel.hpp"
#include "reference/core/sha256.hpp"
#include "vectors/flags.hpp"
#include "vectors/schema.hpp"

namespace assay::vectors {
namespace {

/// The claim that an implementation is judged by on the vectors of a page: its own, or that of the page whose op it
/// uses.
std::string claim_of(const Page& page) {
  for (const ClaimSpec& claim : page.claims) {
    if (claim.id == page.id + ".accuracy") return claim.id;
  }
  for (const ClaimSpec& claim : page.claims) {
    if (claim.kind == "rounding" && claim.on == "target") return claim.id;
  }
  return page.has_op ? page.id : claim_of(page_of_op(page.uses));
}

Written written(const Vector& v) {
  Written w;
  w.bytes = serialize_safetensors(v.file);
  Entry& e = w.entry;
  const Space space(*v.plan.page);
  e.id = v.plan.id();
  e.concept_id = v.plan.page->id;
  e.claim = claim_of(*v.plan.page);
  e.op = v.file.metadata.at("op");
  e.spelling = v.plan.spelling;
  e.seed = Case::parse(space, v.plan.spelling)["seed"];
  e.contract = v.plan.family->contract;
  e.covers = v.plan.family->covers;
  e.file = v.plan.file();
  e.bytes = static_cast<std::int64_t>(w.bytes.size());
  e.sha256 = sha256_hex(w.bytes);
  e.flags = v.flags;
  return w;
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  write_bytes(path, std::as_bytes(std::span(text.data(), text.size())));
}

/// The lines of a manifest that is there. One that cannot be read (a conflict of git's left in it) is as good as none
/// where every concept is made anew; otherwise the lines of the others would be lost, so it throws.
std::vector<Entry> read_lines(const std::filesystem::path& path, bool all_anew) {
  if (!std::filesystem::exists(path)) return {};
  std::vector<std::string> problems;  // `verify` is who reports those that leave it readable
  std::vector<Entry> entries;
  try {
    entries = read_manifest(path, problems);
  } catch (const Error& e) {
    problems = {e.what()};
  }
  if (entries.empty() && !all_anew && !problems.empty())
    throw Error("the manifest cannot be read, so it cannot be kept for the other concepts",
                "generate without a glob, which writes it anew", problems[0]);
  return entries;
}

/// The lines of the manifest in `dir` about concepts that are not made anew and still have vectors.
std::vector<Entry> others(const std::filesystem::path& dir, const std::set<std::string>& made,
                          std::set<std::string>& stale) {
  std::vector<Entry> kept;
  const bool all_anew = std::all_of(pages().begin(), pages().end(),
                                    [&made](const Page& p) { return !has_vectors(p) || made.count(p.id) > 0; });
  for (const Entry& e : read_lines(dir / manifest_name, all_anew)) {
    const auto& all = pages();
    const bool has_page =
        std::any_of(all.begin(), all.end(), [&e](const Page& p) { return p.id == e.concept_id && has_vectors(p); });
    if (has_page && made.count(e.concept_id) == 0)
      kept.push_back(e);
    else
      stale.insert(e.file);
  }
  return kept;
}

}  // namespace

std::vector<Written> make_vectors(const Page& page) {
  std::vector<Vector> vectors;
  for (const Plan& plan : plan_vectors(page)) vectors.push_back({plan, {}, {}});
  parallel_for(static_cast<Index>(vectors.size()), 1, [&vectors](Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      Vector& v = vectors[static_cast<std::size_t>(i)];
      v.file = make_vector(v.plan);
      v.flags = case_flags(v.file, call_from_file(v.file, v.plan.id()));
    }
  });
  add_bug_flags(vectors);
  std::vector<Written> all;
  for (const Vector& v : vectors) all.push_back(written(v));
  return all;
}

void generate(const std::string& glob, const std::filesystem::path& dir,
              const std::function<void(const Progress&)>& progress) {
  std::vector<const Page*> chosen;
  std::set<std::string> made, stale;
  for (const Page& page : pages()) {
    if (!has_vectors(page) || !matches(glob, page.id)) continue;
    chosen.push_back(&page);
    made.insert(page.id);
  }
  if (chosen.empty()) throw Error("no concept with a definition matches", "a glob over concept ids", glob);

  std::vector<Entry> entries = others(dir, made, stale);
  for (const Page* page : chosen) {
    const auto start = std::chrono::steady_clock::now();
    Progress p{page->id, 0, 0, 0};
    for (const Written& w : make_vectors(*page)) {
      const std::filesystem::path path = dir / w.entry.file;
      std::filesystem::create_directories(path.parent_path());
      write_bytes(path, w.bytes);
      entries.push_back(w.entry);
      stale.erase(w.entry.file);
      ++p.vectors;
      p.bytes += w.bytes.size();
    }
    p.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    progress(p);
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.concept_id < b.concept_id; });
  write_text(dir / manifest_name, manifest_text(entries));
  write_text(dir / schema_name, manifest_schema());
  for (const std::string& file : stale) std::filesystem::remove(dir / file);
}

}  // namespace assay::vectors
