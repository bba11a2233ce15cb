// Package release has a store that is a release and no more. A store of sync/atomic is also ordered before every later
// atomic load. On amd64 the processor therefore waits until all others can see it, some twenty cycles.
package release

import _ "fiberlab/internal/platform"
