// SPDX-License-Identifier: MIT
// The peers that a machine may lack. Their headers are seen by their own translation unit alone.
#pragma once

#include "../table/case.hpp"

namespace bench {

library xtensor_library();
library onednn_library();
library torch_library();

}  // namespace bench
