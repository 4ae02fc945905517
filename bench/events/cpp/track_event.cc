// The C++ SDK as a contender: its macros, in a session inside the program.
//
// The library's one source file is included, since its C++ classes are in no header.
#include "perfetto_c.cc"

#include <stdint.h>

#include <memory>
#include <vector>

PERFETTO_DEFINE_CATEGORIES(perfetto::Category("bench"));
PERFETTO_TRACK_EVENT_STATIC_STORAGE();

namespace {

std::unique_ptr<perfetto::TracingSession> g_session;

// Keeps the compiler from seeing through a value.
template <typename T>
T Opaque(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void events_cpp_init(uint32_t shm_kb) {
  perfetto::TracingInitArgs args;
  args.backends = perfetto::kInProcessBackend;
  args.shmem_size_hint_kb = shm_kb;
  perfetto::Tracing::Initialize(args);
  perfetto::TrackEvent::Register();
}

EXPORT void events_cpp_start(uint32_t buffer_kb) {
  perfetto::TraceConfig config;
  config.add_buffers()->set_size_kb(buffer_kb);
  config.add_data_sources()->mutable_config()->set_name("track_event");
  g_session = perfetto::Tracing::NewTrace(perfetto::kInProcessBackend);
  g_session->Setup(config);
  g_session->StartBlocking();
}

// The modes are numbered as in src/contender.rs.
EXPORT bool events_cpp_burst(uint32_t mode, uint32_t count) {
  const char* text = Opaque("sixteen letters.");
  switch (mode) {
    case 0:
    case 1:
      for (uint32_t i = 0; i < count; i++) {
        TRACE_EVENT_INSTANT("bench", "event");
      }
      return true;
    case 2:
      for (uint32_t i = 0; i < count; i++) {
        TRACE_EVENT("bench", "event");
      }
      return true;
    case 3:
      for (uint32_t i = 0; i < count; i++) {
        TRACE_EVENT_INSTANT("bench", "event", "n", i, "m", Opaque<uint64_t>(7));
      }
      return true;
    case 4:
      for (uint32_t i = 0; i < count; i++) {
        TRACE_EVENT_INSTANT("bench", "event", "text", text);
      }
      return true;
    case 5:
      for (uint32_t i = 0; i < count; i++) {
        TRACE_COUNTER("bench", "depth", i);
      }
      return true;
    default:
      return false;
  }
}

EXPORT void events_cpp_drain() {
  g_session->FlushBlocking(10000);
}

EXPORT uint64_t events_cpp_stop() {
  g_session->StopBlocking();
  std::vector<char> trace = g_session->ReadTraceBlocking();
  g_session.reset();
  return trace.size();
}
