// c10/util/Exception.h: which exception type each failure of the driver becomes.
#include "Runtime.h"

namespace mydevice {

void check(card_status status) {
  if (C10_LIKELY(status == CARD_OK)) return;
  TORCH_CHECK_WITH(OutOfMemoryError, status != CARD_OUT_OF_MEMORY, "mydevice out of memory: ", card_text(status));
  TORCH_CHECK(false, "mydevice error: ", card_text(status));
}

}  // namespace mydevice
