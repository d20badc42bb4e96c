#include "card.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace {

// No pointer of a host begins like this: reading through an address is a segmentation fault.
constexpr uint64_t kFirst = uint64_t{0x00CA} << 48;
// Each block has its own range of numbers, so that an offset beyond its end is noticed.
constexpr uint64_t kRange = uint64_t{1} << 32;
constexpr uint64_t kTotal = kRange;

struct Card {
  std::mutex mutex;
  pid_t owner = 0;
  uint64_t next = kFirst;
  std::map<uint64_t, std::vector<char>> blocks;
  card_memory memory{kTotal, 0, 0};
};

Card& card() {
  static Card* instance = new Card();
  return *instance;
}

// Where the card has the bytes, or null.
char* find(Card& c, uint64_t address, size_t bytes) {
  const auto found = c.blocks.find(address / kRange * kRange);
  const uint64_t offset = address % kRange;
  if (found == c.blocks.end() || offset + bytes > found->second.size()) return nullptr;
  return found->second.data() + offset;
}

}  // namespace

const char* card_text(card_status status) {
  static const char* const texts[] = {"fine", "the card has too little free memory",
                                      "the card has no such address", "the process was forked after it had opened the card"};
  return texts[status];
}

int card_count() { return 1; }
int card_open() { return card().owner != 0; }
int card_forked() { return card_open() && card().owner != getpid(); }

card_status card_alloc(size_t bytes, uint64_t* address) {
  if (card_forked()) return CARD_FORKED;
  Card& c = card();
  const std::lock_guard<std::mutex> lock(c.mutex);
  c.owner = getpid();
  if (bytes > kTotal - c.memory.used) return CARD_OUT_OF_MEMORY;
  c.blocks[c.next].resize(bytes);
  c.memory.used += bytes;
  c.memory.peak = std::max(c.memory.peak, c.memory.used);
  *address = c.next;
  c.next += kRange;
  return CARD_OK;
}

card_status card_free(uint64_t address) {
  if (card_forked()) return CARD_FORKED;
  Card& c = card();
  const std::lock_guard<std::mutex> lock(c.mutex);
  const auto found = c.blocks.find(address);
  if (found == c.blocks.end()) return CARD_BAD_ADDRESS;
  c.memory.used -= found->second.size();
  c.blocks.erase(found);
  return CARD_OK;
}

card_status card_send(uint64_t to, const void* from, size_t bytes) {
  if (card_forked()) return CARD_FORKED;
  const std::lock_guard<std::mutex> lock(card().mutex);
  char* there = find(card(), to, bytes);
  if (there == nullptr) return CARD_BAD_ADDRESS;
  std::memcpy(there, from, bytes);
  return CARD_OK;
}

card_status card_fetch(void* to, uint64_t from, size_t bytes) {
  if (card_forked()) return CARD_FORKED;
  const std::lock_guard<std::mutex> lock(card().mutex);
  const char* there = find(card(), from, bytes);
  if (there == nullptr) return CARD_BAD_ADDRESS;
  std::memcpy(to, there, bytes);
  return CARD_OK;
}

card_status card_move(uint64_t to, uint64_t from, size_t bytes) {
  if (card_forked()) return CARD_FORKED;
  const std::lock_guard<std::mutex> lock(card().mutex);
  char* target = find(card(), to, bytes);
  const char* source = find(card(), from, bytes);
  if (target == nullptr || source == nullptr) return CARD_BAD_ADDRESS;
  std::memmove(target, source, bytes);
  return CARD_OK;
}

int card_owns(uint64_t address) {
  if (card_forked()) return 0;
  const std::lock_guard<std::mutex> lock(card().mutex);
  return find(card(), address, 1) != nullptr;
}

card_status card_usage(card_memory* usage) {
  if (card_forked()) return CARD_FORKED;
  const std::lock_guard<std::mutex> lock(card().mutex);
  *usage = card().memory;
  return CARD_OK;
}

card_status card_reset_peak() {
  if (card_forked()) return CARD_FORKED;
  const std::lock_guard<std::mutex> lock(card().mutex);
  card().memory.peak = card().memory.used;
  return CARD_OK;
}
