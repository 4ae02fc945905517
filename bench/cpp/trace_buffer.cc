// The C++ trace buffers under the load of tracing-core/benches/buffer.rs: the same chunks, the same modes, the
// same words on the command line, so that both can be held against each other in one run.
//
// The library's one source file is included, since its classes are in no header.
#include "perfetto_c.cc"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace {

using perfetto::TraceBuffer;

constexpr uint32_t kBufferBytes = 64u << 20;
constexpr uint32_t kWrapBytes = 1u << 20;
constexpr uint32_t kChunkBytes = 4088;
constexpr uint32_t kChunks = kBufferBytes / kChunkBytes;
constexpr int kSamples = 7;

constexpr const char* kModes[] = {
    "write-1",    "write-1000",    "wrap",    "read",    "read-1000",    "patch",    "patch-absent",    "clone",
    "v2-write-1", "v2-write-1000", "v2-wrap", "v2-read", "v2-read-1000", "v2-patch", "v2-patch-absent", "v2-clone",
};

struct Template {
  std::vector<uint8_t> payload;
  uint16_t fragments;
};

std::vector<Template> Templates() {
  uint64_t state = 42;
  auto random = [&state](uint64_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
  };
  std::vector<Template> all;
  for (int i = 0; i < 100; i++) {
    Template one;
    one.fragments = static_cast<uint16_t>(5 + random(11));
    for (int j = 0; j < one.fragments; j++) {
      size_t len = 50 + random(451);
      if (one.payload.size() + len + 4 > kChunkBytes)
        break;
      for (size_t byte : {(len & 0xff) | 0x80, ((len >> 7) & 0xff) | 0x80, size_t{0x80}, size_t{0}})
        one.payload.push_back(static_cast<uint8_t>(byte));
      for (size_t k = 0; k < len; k++)
        one.payload.push_back(static_cast<uint8_t>(random(256)));
    }
    all.push_back(std::move(one));
  }
  return all;
}

struct Load {
  std::vector<Template> templates = Templates();
  std::unique_ptr<TraceBuffer> buffer;
  uint32_t sent = 0;

  void Write(uint32_t count, uint32_t writers) {
    const perfetto::ClientIdentity identity;
    for (uint32_t i = 0; i < count; i++) {
      const Template& one = templates[sent % templates.size()];
      uint32_t writer = sent % writers;
      buffer->CopyChunkUntrusted(static_cast<perfetto::ProducerID>(writer / 10 + 1), identity,
                                 static_cast<perfetto::WriterID>(writer % 10 + 1), sent / writers, one.fragments, 0,
                                 true, one.payload.data(), one.payload.size());
      sent++;
    }
  }

  __attribute__((noinline)) uint64_t Read() {
    uint64_t packets = 0;
    volatile uint64_t bytes = 0;
    buffer->BeginRead();
    for (;;) {
      perfetto::TracePacket packet;
      TraceBuffer::PacketSequenceProperties sequence{};
      uint32_t dropped = 0;
      if (!buffer->ReadNextTracePacket(&packet, &sequence, &dropped))
        return packets;
      packets++;
      bytes = bytes + packet.size();
    }
  }

  void Patch(uint32_t count, uint32_t chunk) {
    const TraceBuffer::Patch patch{16, {{1, 2, 3, 4}}};
    for (uint32_t i = 0; i < count; i++)
      buffer->TryPatchChunkContents(1, 1, chunk, &patch, 1, false);
  }
};

// Processor time of this thread.
uint64_t CpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

struct RunResult {
  uint64_t count;
  uint64_t ns;
};

bool Run(std::string mode, uint32_t count, RunResult* result) {
  bool v2 = mode.rfind("v2-", 0) == 0;
  if (v2)
    mode = mode.substr(3);
  size_t bytes = mode == "wrap" ? kWrapBytes : kBufferBytes;
  uint32_t writers = mode.size() > 5 && mode.substr(mode.size() - 5) == "-1000" ? 1000 : 1;
  Load load;
  if (v2)
    load.buffer = perfetto::TraceBufferV2::Create(bytes);
  else
    load.buffer = perfetto::TraceBufferV1::Create(bytes);
  *result = {count, 0};
  if (mode == "write-1" || mode == "write-1000" || mode == "wrap") {
    // The first round pays for fresh memory.
    load.Write(kChunks * 2, writers);
    uint64_t start = CpuNs();
    load.Write(count, writers);
    result->ns = CpuNs() - start;
  } else if (mode == "read" || mode == "read-1000") {
    result->count = 0;
    for (uint32_t i = 0; i < count; i++) {
      load.Write(kChunks, writers);
      uint64_t start = CpuNs();
      result->count += load.Read();
      result->ns += CpuNs() - start;
    }
  } else if (mode == "patch" || mode == "patch-absent") {
    load.Write(kChunks, 1);
    uint64_t start = CpuNs();
    load.Patch(count, mode == "patch" ? kChunks - 10 : kChunks + 1);
    result->ns = CpuNs() - start;
  } else if (mode == "clone") {
    load.Write(kChunks * 2, 1000);
    uint64_t start = CpuNs();
    for (uint32_t i = 0; i < count; i++)
      load.buffer->CloneReadOnly();
    result->ns = CpuNs() - start;
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "loop") == 0) {
    RunResult result{};
    if (!Run(argv[2], static_cast<uint32_t>(atoi(argv[3])), &result))
      return 1;
    printf("%s %llu\n", argv[2], static_cast<unsigned long long>(result.count));
    return 0;
  }
  for (std::string mode : kModes) {
    auto has = [&mode](const char* part) { return mode.find(part) != std::string::npos; };
    uint32_t count = has("read") ? 1 : has("v2-patch-absent") ? 2000 : has("patch") ? 200000 : has("clone") ? 3 : 4 * kChunks;
    std::vector<double> samples;
    for (int i = 0; i < kSamples; i++) {
      RunResult result{};
      Run(mode, count, &result);
      samples.push_back(static_cast<double>(result.ns) / static_cast<double>(std::max<uint64_t>(result.count, 1)));
    }
    std::sort(samples.begin(), samples.end());
    printf("%-16s %10.1f ns\n", mode.c_str(), samples[samples.size() / 2]);
    fflush(stdout);
  }
}
