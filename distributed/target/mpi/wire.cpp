#include "distributed/target/mpi/wire.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <sstream>

#include "reference/core/safetensors_convert.hpp"

namespace assay {
namespace {

bool send_bytes(int socket, const void* data, std::size_t n) {
  const char* at = static_cast<const char*>(data);
  while (n > 0) {
    const ssize_t sent = send(socket, at, n, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    n -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_bytes(int socket, void* data, std::size_t n) {
  char* at = static_cast<char*>(data);
  while (n > 0) {
    const ssize_t got = recv(socket, at, n, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    n -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

sockaddr_un socket_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw Error("the path of a socket", "at most " + std::to_string(sizeof address.sun_path - 1) + " characters", path);
  path.copy(address.sun_path, path.size());
  return address;
}

bool send_file(int socket, const SafetensorsFile& file) {
  const Bytes bytes = serialize_safetensors(file);
  const std::uint64_t length = bytes.size();
  return send_bytes(socket, &length, sizeof length) && send_bytes(socket, bytes.data(), bytes.size());
}

std::optional<SafetensorsFile> receive_file(int socket) {
  std::uint64_t length = 0;
  if (!receive_bytes(socket, &length, sizeof length)) return {};
  Bytes bytes(length);
  if (!receive_bytes(socket, bytes.data(), bytes.size())) return {};
  return parse_safetensors(bytes, "message between the engine and its ranks");
}

SafetensorsFile answer_to_file(const Answer& answer) {
  SafetensorsFile file;
  file.metadata["kind"] = std::to_string(static_cast<int>(answer.kind));
  file.metadata["message"] = answer.message;
  std::string sent;
  for (const std::int64_t bytes : answer.sent) sent += std::to_string(bytes) + " ";
  file.metadata["sent"] = sent;
  for (const Named& t : answer.outputs.all()) file.tensors.push_back(encode_tensor(t.name, "F64", t.value));
  return file;
}

Answer answer_from_file(const SafetensorsFile& file, const Call& call) {
  Answer answer;
  answer.kind = static_cast<Answer::Kind>(std::stoi(file.metadata.at("kind")));
  answer.message = file.metadata.at("message");
  std::istringstream sent(file.metadata.at("sent"));
  for (std::int64_t bytes = 0; sent >> bytes;) answer.sent.push_back(bytes);
  for (const TensorSpec& spec : call.op->outputs)
    if (const RawTensor* const raw = file.find(spec.name))
      answer.outputs.set(spec.name, decode_tensor(*raw), &format_of(spec, call.contract));
  return answer;
}

}  // namespace assay
