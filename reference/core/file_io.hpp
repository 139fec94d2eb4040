#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace assay {

using Bytes = std::vector<std::byte>;

/// Calls `piece` with the bytes of a file in order, at most 1 MiB at a time. Throws Error if the path does not name a
/// regular file (missing, directory, symbolic link, device, pipe), cannot be read, or changes its length meanwhile.
void for_each_piece(const std::filesystem::path& path, const std::function<void(std::span<const std::byte>)>& piece);

/// The bytes of a regular file. Throws Error as `for_each_piece`.
Bytes read_bytes(const std::filesystem::path& path);

/// Writes the pieces one after another to a temporary file beside `path`, then renames it: a reader sees the old file
/// or the new one, never a part. Throws Error and leaves no temporary behind if that fails.
void write_bytes(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces);
void write_bytes(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// Text of unknown origin made fit for a message: quoted, bytes outside printable ASCII as \xNN, at most 80 bytes.
std::string printable(const std::string& text);

}  // namespace assay
