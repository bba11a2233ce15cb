//go:build debug

package debug

// On tells whether contracts are checked: which thread holds which lock, and which
// transition is legal. The build tag debug sets it.
const On = true
