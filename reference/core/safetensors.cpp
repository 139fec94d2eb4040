#include "reference/core/safetensors.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "reference/core/safetensors_dtype.hpp"
#include "reference/core/safetensors_header.hpp"

namespace assay {
namespace {

// The limit of the format's first implementation.
constexpr std::uint64_t max_header = 100'000'000;

/// The rank of a dtype in the order of writing; the name must be known.
std::size_t rank(const std::string& dtype) {
  return static_cast<std::size_t>(find_safetensors_dtype(dtype) - safetensors_dtypes().data());
}

/// Each tensor by itself: its offsets are a range of the `available` bytes, as long as dtype and shape ask for.
void check_entry(const HeaderEntry& entry, std::uint64_t available, const std::string& origin) {
  const std::string where = origin + ", tensor " + printable(entry.name);
  const SafetensorsDtype* dtype = find_safetensors_dtype(entry.dtype);
  if (!dtype) throw Error(where + ": unknown dtype", "a dtype of the format, such as F32", printable(entry.dtype));
  const std::uint64_t needed = safetensors_bytes(*dtype, entry.shape, where);
  if (entry.end < entry.begin)
    throw Error(where + ": data_offsets are reversed", "begin <= end",
                std::to_string(entry.begin) + " > " + std::to_string(entry.end));
  if (entry.end > available)
    throw Error(where + ": data_offsets point behind the end of the file",
                "an end of at most " + std::to_string(available), std::to_string(entry.end));
  if (entry.end - entry.begin != needed)
    throw Error(where + ": data_offsets disagree with dtype and shape",
                std::to_string(needed) + " bytes for " + entry.dtype + " " + to_string(entry.shape),
                std::to_string(entry.end - entry.begin));
}

/// All tensors together: sorted by offset, each begins where the one before it ended, the last ends with the file.
void check_cover(const std::vector<HeaderEntry>& sorted, std::uint64_t available, const std::string& origin) {
  std::uint64_t end = 0;
  std::string before = "the header";
  for (const HeaderEntry& entry : sorted) {
    if (entry.begin != end)
      throw Error(
          origin + ", tensor " + printable(entry.name) + (entry.begin > end ? ": hole after " : ": overlaps ") + before,
          "begin " + std::to_string(end), std::to_string(entry.begin));
    end = entry.end;
    before = "tensor " + printable(entry.name);
  }
  if (end != available)
    throw Error(origin + ": bytes after the last tensor", std::to_string(end) + " bytes of data",
                std::to_string(available));
}

}  // namespace

const RawTensor* SafetensorsFile::find(const std::string& name) const {
  for (const RawTensor& tensor : tensors)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

const RawTensor& SafetensorsFile::at(const std::string& name) const {
  if (const RawTensor* tensor = find(name)) return *tensor;
  std::string names;
  for (const RawTensor& tensor : tensors) names += (names.empty() ? "" : ", ") + printable(tensor.name);
  throw Error("tensor missing from a safetensors file", printable(name), names.empty() ? "no tensors" : names);
}

SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, const std::string& origin) {
  const std::string where = "safetensors file " + printable(origin);
  if (bytes.size() < 8)
    throw Error(where + " is too short", "8 bytes of header length", std::to_string(bytes.size()) + " bytes");
  std::uint64_t header_size = 0;
  for (std::size_t i = 8; i-- > 0;) header_size = header_size << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  const std::uint64_t limit = std::min<std::uint64_t>(max_header, bytes.size() - 8);
  if (header_size > limit)
    throw Error(where + ": header length", "at most " + std::to_string(limit), std::to_string(header_size));

  std::string json(header_size, '\0');
  if (header_size > 0) std::memcpy(json.data(), bytes.data() + 8, header_size);
  Header header = parse_header(json, where);
  const std::span<const std::byte> data = bytes.subspan(8 + header_size);

  for (const HeaderEntry& entry : header.entries) check_entry(entry, data.size(), where);
  std::stable_sort(header.entries.begin(), header.entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;  // an empty tensor before the one that begins there
  });
  check_cover(header.entries, data.size(), where);

  SafetensorsFile file;
  file.metadata = std::move(header.metadata);
  for (HeaderEntry& entry : header.entries) {
    const std::span<const std::byte> part = data.subspan(entry.begin, entry.end - entry.begin);
    file.tensors.push_back(
        {std::move(entry.name), std::move(entry.dtype), std::move(entry.shape), Bytes(part.begin(), part.end())});
  }
  return file;
}

SafetensorsFile read_safetensors(const std::filesystem::path& path) {
  return parse_safetensors(read_bytes(path), path.string());
}

Bytes serialize_safetensors(const SafetensorsFile& file) {
  std::vector<const RawTensor*> order;
  std::set<std::string> names;
  for (const RawTensor& tensor : file.tensors) {
    const std::string where = "safetensors, tensor " + printable(tensor.name);
    const SafetensorsDtype* dtype = find_safetensors_dtype(tensor.dtype);
    if (!dtype) throw Error(where + ": unknown dtype", "a dtype of the format, such as F32", printable(tensor.dtype));
    if (tensor.name == "__metadata__" || !names.insert(tensor.name).second)
      throw Error(where + ": name is taken", "a name of its own, other than '__metadata__'", printable(tensor.name));
    const std::uint64_t needed = safetensors_bytes(*dtype, tensor.shape, where);
    if (tensor.data.size() != needed)
      throw Error(where + ": data disagrees with dtype and shape",
                  std::to_string(needed) + " bytes for " + tensor.dtype + " " + to_string(tensor.shape),
                  std::to_string(tensor.data.size()));
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const RawTensor* a, const RawTensor* b) {
    const std::size_t rank_a = rank(a->dtype), rank_b = rank(b->dtype);
    return rank_a != rank_b ? rank_a > rank_b : a->name < b->name;
  });

  Header header;
  header.metadata = file.metadata;
  std::uint64_t end = 0;
  for (const RawTensor* tensor : order) {
    header.entries.push_back({tensor->name, tensor->dtype, tensor->shape, end, end + tensor->data.size()});
    end += tensor->data.size();
  }
  std::string json = header_text(header);
  json.resize((json.size() + 7) / 8 * 8, ' ');
  if (json.size() > max_header)
    throw Error("safetensors header too long", "at most " + std::to_string(max_header) + " bytes",
                std::to_string(json.size()));

  Bytes out;
  out.reserve(8 + json.size() + end);
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<std::byte>(json.size() >> (8 * i)));
  const auto text = std::as_bytes(std::span(json));
  out.insert(out.end(), text.begin(), text.end());
  for (const RawTensor* tensor : order) out.insert(out.end(), tensor->data.begin(), tensor->data.end());
  return out;
}

void write_safetensors(const std::filesystem::path& path, const SafetensorsFile& file) {
  write_bytes(path, serialize_safetensors(file));
}

}  // namespace assay
