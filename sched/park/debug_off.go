//go:build !debug

package park

// Debug tells whether contracts are checked: which lock is held by whom, and which
// transition is legal. The build tag debug sets it.
const Debug = false
