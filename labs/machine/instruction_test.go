package machine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Prefixes that mean nothing hide no instruction.
func TestPrefixes(t *testing.T) {
	for _, prefixes := range []string{"", "\x48", "\x2e", "\x66", "\x67", "\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e", "\x64\x66\x48"} {
		require.True(t, IsSystemCall(AMD64, []byte(prefixes+"\x0f\x05")), "%x syscall", prefixes)
		require.True(t, pushesFlags(AMD64, []byte(prefixes+"\x9c")), "%x pushf", prefixes)
		require.True(t, isRepeated(AMD64, []byte(prefixes+"\xf3\xa4")), "%x rep movsb", prefixes)
		require.False(t, isRepeated(AMD64, []byte(prefixes+"\xa4")), "%x movsb", prefixes)
		require.False(t, IsSystemCall(AMD64, []byte(prefixes+"\x0f")), "%x and half an instruction", prefixes)
		require.False(t, pushesFlags(AMD64, []byte(prefixes)), "%x alone", prefixes)
	}
}
