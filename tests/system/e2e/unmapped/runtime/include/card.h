/* A card whose memory the host cannot address. An address is a number; adding an offset gives the address of a later
 * byte of the block. Every call is done when it returns. */
#ifndef CARD_H
#define CARD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CARD_API __attribute__((visibility("default")))

typedef enum card_status { CARD_OK, CARD_OUT_OF_MEMORY, CARD_BAD_ADDRESS, CARD_FORKED } card_status;

typedef struct card_memory {
  uint64_t total, used, peak;
} card_memory;

CARD_API const char* card_text(card_status status);
CARD_API int card_count(void);
/* 1 once the process has used the card. */
CARD_API int card_open(void);
/* 1 in a child forked from such a process: nothing works there. */
CARD_API int card_forked(void);
CARD_API card_status card_alloc(size_t bytes, uint64_t* address);
CARD_API card_status card_free(uint64_t address);
CARD_API card_status card_send(uint64_t to, const void* from, size_t bytes);
CARD_API card_status card_fetch(void* to, uint64_t from, size_t bytes);
/* Within the card. */
CARD_API card_status card_move(uint64_t to, uint64_t from, size_t bytes);
CARD_API int card_owns(uint64_t address);
CARD_API card_status card_usage(card_memory* usage);
CARD_API card_status card_reset_peak(void);

#ifdef __cplusplus
}
#endif
#endif
