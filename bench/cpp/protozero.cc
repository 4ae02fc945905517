// C++ protozero for the side-by-side benchmark: the payloads of src/input.rs through
// protozero::Message, as its generated setters would, and protozero::TypedProtoDecoder.
//
// The library's one source file is included, so that all of it is compiled with the same flags and its
// classes can be named.
#include "perfetto_c.cc"

#include <stddef.h>
#include <stdint.h>

namespace {

struct SimpleIn {
  int32_t int32;
  uint32_t uint32;
  int64_t int64;
  uint64_t uint64;
  const char* text;
  size_t text_len;
};
struct PacketIn {
  uint64_t time;
  uint32_t sequence;
  uint32_t kind;
  uint64_t uuid;
  uint64_t name;
  uint64_t category_count;
  uint64_t categories[4];
  uint64_t first_name;
  uint64_t first_value;
  uint64_t second_name;
  const char* second_text;
  size_t second_text_len;
};
struct MoveIn {
  uint32_t page, chunk, buffer;
};
struct PatchIn {
  uint32_t buffer, writer, chunk, offset;
  uint8_t data[4];
  uint32_t more;
};
struct CommitIn {
  MoveIn moves[20];
  PatchIn patches[5];
  uint64_t flush;
};
struct Input {
  SimpleIn simple;
  PacketIn packet;
  CommitIn commit;
};

using protozero::Message;
using protozero::RootMessage;

// The caller's buffer as the only range.
class OneRange : public protozero::ScatteredStreamWriter::Delegate {
 public:
  protozero::ContiguousMemoryRange GetNewBuffer() override { abort(); }
};

// A root message that lives as long as the thread, as a trace writer has it: its arena stays allocated.
struct Reused {
  OneRange delegate;
  protozero::ScatteredStreamWriter stream{&delegate};
  RootMessage<Message> root;
};

template <typename Fill>
size_t Write(uint8_t* to, size_t len, Fill fill) {
  static thread_local Reused* reused = new Reused();
  reused->stream.Reset({to, to + len});
  reused->root.Reset(&reused->stream);
  fill(&reused->root);
  reused->root.Finalize();
  return static_cast<size_t>(reused->stream.write_ptr() - to);
}

// The same with a root of its own, as upstream's benchmark has it.
template <typename Fill>
size_t WriteFresh(uint8_t* to, size_t len, Fill fill) {
  protozero::StaticBuffered<Message> root(to, len);
  fill(root.get());
  return root.Finalize();
}

void FillSimple(Message* m, const SimpleIn& in) {
  m->AppendVarInt(1, in.int32);
  m->AppendVarInt(3, in.uint32);
  m->AppendVarInt(2, in.int64);
  m->AppendVarInt(4, in.uint64);
  m->AppendBytes(500, in.text, in.text_len);
}

void FillNested(Message* m, const SimpleIn& in) {
  for (int level = 0; level < 3; level++) {
    FillSimple(m, in);
    m = m->BeginNestedMessage<Message>(14);
  }
  FillSimple(m, in);
}

void FillPacket(Message* m, const PacketIn& in) {
  m->AppendVarInt(8, in.time);
  m->AppendVarInt(10, in.sequence);
  Message* event = m->BeginNestedMessage<Message>(11);
  for (uint64_t i = 0; i < in.category_count; i++)
    event->AppendVarInt(3, in.categories[i]);
  Message* note = event->BeginNestedMessage<Message>(4);
  note->AppendVarInt(1, in.first_name);
  note->AppendVarInt(3, in.first_value);
  note = event->BeginNestedMessage<Message>(4);
  note->AppendVarInt(1, in.second_name);
  note->AppendBytes(6, in.second_text, in.second_text_len);
  event->AppendVarInt(9, in.kind);
  event->AppendVarInt(10, in.name);
  event->AppendVarInt(11, in.uuid);
}

void FillCommit(Message* m, const CommitIn& in) {
  for (const MoveIn& move : in.moves) {
    Message* chunk = m->BeginNestedMessage<Message>(1);
    chunk->AppendVarInt(1, move.page);
    chunk->AppendVarInt(2, move.chunk);
    chunk->AppendVarInt(3, move.buffer);
  }
  for (const PatchIn& in_patch : in.patches) {
    Message* chunk = m->BeginNestedMessage<Message>(2);
    chunk->AppendVarInt(1, in_patch.buffer);
    chunk->AppendVarInt(2, in_patch.writer);
    chunk->AppendVarInt(3, in_patch.chunk);
    Message* patch = chunk->BeginNestedMessage<Message>(4);
    patch->AppendVarInt(1, in_patch.offset);
    patch->AppendBytes(2, in_patch.data, 4);
    chunk->AppendTinyVarInt(5, in_patch.more != 0);
  }
  m->AppendVarInt(3, in.flush);
}

uint64_t SumEveryField(const uint8_t* data, size_t len) {
  protozero::TypedProtoDecoder<500> m(data, len);
  protozero::ConstChars text = m.at<500>().as_string();
  uint64_t sum = static_cast<uint64_t>(static_cast<int64_t>(m.at<1>().as_int32()));
  sum += m.at<3>().as_uint32();
  sum += static_cast<uint64_t>(m.at<2>().as_int64());
  sum += m.at<4>().as_uint64();
  sum += text.size;
  sum += text.size ? static_cast<uint8_t>(text.data[0]) : 0;
  for (auto it = m.GetRepeated<protozero::ConstBytes>(14); it; ++it)
    sum += SumEveryField((*it).data, (*it).size);
  return sum;
}

uint64_t SumPacket(const uint8_t* data, size_t len) {
  protozero::TypedProtoDecoder<11> m(data, len);
  uint64_t sum = m.at<8>().as_uint64() + m.at<10>().as_uint32();
  protozero::ConstBytes body = m.at<11>().as_bytes();
  protozero::TypedProtoDecoder<11> event(body.data, body.size);
  sum += event.at<9>().as_uint32() + event.at<11>().as_uint64() + event.at<10>().as_uint64();
  for (auto it = event.GetRepeated<uint64_t>(3); it; ++it)
    sum += *it;
  for (auto it = event.GetRepeated<protozero::ConstBytes>(4); it; ++it) {
    protozero::TypedProtoDecoder<6> note((*it).data, (*it).size);
    sum += note.at<1>().as_uint64();
    if (note.at<3>().valid())
      sum += note.at<3>().as_uint64();
    if (note.at<6>().valid())
      sum += note.at<6>().as_string().size;
  }
  return sum;
}

uint64_t SumCommit(const uint8_t* data, size_t len) {
  protozero::TypedProtoDecoder<3> m(data, len);
  uint64_t sum = m.at<3>().as_uint64();
  for (auto it = m.GetRepeated<protozero::ConstBytes>(1); it; ++it) {
    protozero::TypedProtoDecoder<3> move((*it).data, (*it).size);
    sum += move.at<1>().as_uint32() + static_cast<uint64_t>(move.at<2>().as_uint32()) + move.at<3>().as_uint32();
  }
  for (auto it = m.GetRepeated<protozero::ConstBytes>(2); it; ++it) {
    protozero::TypedProtoDecoder<5> chunk((*it).data, (*it).size);
    sum += chunk.at<1>().as_uint32() + static_cast<uint64_t>(chunk.at<2>().as_uint32()) + chunk.at<3>().as_uint32();
    sum += chunk.at<5>().as_bool();
    for (auto at = chunk.GetRepeated<protozero::ConstBytes>(4); at; ++at) {
      protozero::TypedProtoDecoder<2> patch((*at).data, (*at).size);
      uint32_t word;
      memcpy(&word, patch.at<2>().as_bytes().data, 4);
      sum += static_cast<uint64_t>(patch.at<1>().as_uint32()) + word;
    }
  }
  return sum;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))
#define PAYLOAD(name, fill, field, sum)                                              \
  EXPORT size_t reused_##name(const Input* in, uint8_t* to, size_t len) {             \
    return Write(to, len, [&](Message* m) { fill(m, in->field); });                   \
  }                                                                                   \
  EXPORT size_t fresh_##name(const Input* in, uint8_t* to, size_t len) {              \
    return WriteFresh(to, len, [&](Message* m) { fill(m, in->field); });              \
  }                                                                                   \
  EXPORT uint64_t decode_##name(const uint8_t* from, size_t len) {                    \
    return sum(from, len);                                                            \
  }

PAYLOAD(simple, FillSimple, simple, SumEveryField)
PAYLOAD(nested, FillNested, simple, SumEveryField)
PAYLOAD(packet, FillPacket, packet, SumPacket)
PAYLOAD(commit, FillCommit, commit, SumCommit)
