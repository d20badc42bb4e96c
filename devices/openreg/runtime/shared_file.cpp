#include "shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

namespace sim {
namespace {

int open_nameless() {
#ifdef MFD_CLOEXEC
  return memfd_create("openreg", MFD_CLOEXEC);
#else
  // Elsewhere it needs a name for a moment.
  static std::atomic<unsigned> turn{0};
  char name[64];
  std::snprintf(name, sizeof name, "/openreg-%ld-%u", static_cast<long>(getpid()), turn++);
  const int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (file >= 0) shm_unlink(name);
  return file;
#endif
}

}  // namespace

int make_shared_file(size_t bytes) {
  const int file = open_nameless();
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    close(file);
    return -1;
  }
  return file;
}

}  // namespace sim
