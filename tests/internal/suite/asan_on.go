//go:build asan

package suite

// AddressSanitizer tells whether the tests are built with it.
const AddressSanitizer = true
