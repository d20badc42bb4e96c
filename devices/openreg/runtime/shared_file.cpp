#include "shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>

namespace sim {
namespace {

#ifdef F_OFD_SETLK
struct flock range_lock(short type, size_t offset, size_t bytes) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(offset);
  lock.l_len = static_cast<off_t>(bytes);
  return lock;
}
#endif

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

int claim_range([[maybe_unused]] int file, [[maybe_unused]] size_t offset, [[maybe_unused]] size_t bytes) {
#ifdef F_OFD_SETLK
  // Locks belong to an open file: copies of its descriptor share them, and only
  // opening the file once more makes another one.
  const int own = open(("/proc/self/fd/" + std::to_string(file)).c_str(), O_RDWR | O_CLOEXEC);
  struct flock lock = range_lock(F_RDLCK, offset, bytes);
  if (own < 0 || fcntl(own, F_OFD_SETLK, &lock) == 0) return own;
  close(own);
#endif
  return -1;
}

bool is_claimed([[maybe_unused]] int file, [[maybe_unused]] size_t offset, [[maybe_unused]] size_t bytes) {
#ifdef F_OFD_SETLK
  struct flock lock = range_lock(F_WRLCK, offset, bytes);
  return fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
#else
  return false;
#endif
}

}  // namespace sim
