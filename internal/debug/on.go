//go:build debug

package debug

// On reports whether contracts are checked: which thread holds which lock, and which
// transition is legal. The build tag debug sets it.
const On = true
