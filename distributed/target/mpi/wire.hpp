#pragma once
#include <sys/un.h>

#include <optional>

#include "conformance/engine/call_file.hpp"
#include "conformance/engine/target.hpp"

// What the engine and the processes of a group say to each other, over a Unix socket for each process: a call as a
// safetensors file with `delays` in its metadata, and from rank 0 an answer as one, each behind its length.
namespace assay {

/// Throws Error if a path is too long for a socket.
sockaddr_un socket_address(const std::string& path);
/// False if the other side is gone.
bool send_file(int socket, const SafetensorsFile& file);
/// None if the other side is gone.
std::optional<SafetensorsFile> receive_file(int socket);

/// An answer: its kind, message, and what was sent in the metadata; outputs as F64.
SafetensorsFile answer_to_file(const Answer& answer);
/// Formats of outputs are those of the call.
Answer answer_from_file(const SafetensorsFile& file, const Call& call);

}  // namespace assay
