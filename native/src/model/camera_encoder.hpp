// The encoder of known cameras (official cam_enc.py): its tokens take the place of the learned camera tokens.
#pragma once

#include "nn.hpp"

namespace da {

// encodings: [9, views], see pose_encoding_of. Result: [embed_dim, views].
ggml_tensor* camera_encoder(Graph& g, ggml_tensor* encodings);

}  // namespace da
