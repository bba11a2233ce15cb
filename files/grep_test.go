package files

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The search of a whole text finds what one of each of its lines finds.
func TestSearchFindsEachLine(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, pattern := range []string{"a", "ab", "^a", "b$", "^$", "a.*b", "", "x*", `\s`, "[^a]b", `a\nb`, `\Aa`, `b\z`, "(?i)A", `\bab\b`, "a|^b", "zzz", "[^x]*"} {
		for range 200 {
			text := make([]byte, random.IntN(40))
			for i := range text {
				text[i] = "ab \n"[random.IntN(4)]
			}
			m, err := newMatcher(pattern)
			require.NoError(t, err)
			var want []byte
			line := regexp.MustCompile(pattern)
			for i, l := range bytes.SplitAfter(text, []byte("\n")) {
				if one := bytes.TrimSuffix(l, []byte("\n")); len(l) > 0 && line.Match(one) {
					want = fmt.Appendf(want, "f:%d:%s\n", i+1, one)
				}
			}
			got := m.search("f", text)
			require.Equal(t, string(want), string(got.text), "pattern %q in %q", pattern, text)
			require.Equal(t, bytes.Count(want, []byte("\n")), got.lines)
		}
	}
}
