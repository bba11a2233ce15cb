//go:build debug

package debug

// On tells whether contracts are checked: which lock is held by whom, and which
// transition is legal. The build tag debug sets it.
const On = true
