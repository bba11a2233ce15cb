// Package release has a store that is a release and no more. Those of sync/atomic also come
// before every atomic load that follows, which on amd64 makes them dearer. On arm64 one
// instruction, STLR, does both.
package release

import _ "fiberlab/internal/platform"
