//go:build asan

package suite

// AddressSanitizer reports whether the tests are built with it.
const AddressSanitizer = true
