// Package release has a store that is a release and no more. Those of sync/atomic also come before every atomic load
// that follows: on amd64 they make the processor wait until all others can see the store, some twenty cycles.
package release

import _ "fiberlab/internal/platform"
