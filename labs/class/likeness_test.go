package class

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/catalogue"
)

// A copy with other names, comments and layout is found among the solutions of a lab, which were written
// independently. The skeleton alone is like nothing.
func TestAlike(t *testing.T) {
	lab, err := catalogue.Find("08")
	require.NoError(t, err)
	class := map[string]fingerprints{}
	solutions, err := filepath.Glob("../08/solutions/*")
	require.NoError(t, err)
	take := func(student, folder string, change func(string) string) {
		files := map[string][]byte{}
		for _, name := range []string{"deque.c", "pool.c"} {
			text, err := os.ReadFile(filepath.Join(folder, name))
			require.NoError(t, err)
			files[name] = []byte(change(string(text)))
		}
		class[student] = fingerprintsOf(files)
	}
	same := func(text string) string { return text }
	for _, folder := range solutions {
		take(filepath.Base(folder), folder, same)
	}
	take("skeleton", "../08", same)
	take("skeleton too", "../08", same)
	before := alike(handedOut(lab), class)
	take("copy", "../08/solutions/monitor", func(text string) string {
		text = regexp.MustCompile(`\b(top|bottom|task|mutex)\b`).ReplaceAllString(text, "my_$1")
		return strings.ReplaceAll("/* All by myself. */\n"+text, "    ", "\t")
	})
	pairs := alike(handedOut(lab), class)
	require.NotEmpty(t, pairs)
	require.Equal(t, []string{"copy", "monitor"}, []string{pairs[0].A, pairs[0].B})
	require.Greater(t, pairs[0].Share, 0.9)
	t.Log(before)
	for _, pair := range before {
		require.NotContains(t, pair.A+pair.B, "skeleton")
	}
}

// What a lab gives does not count, wherever it stands: two students may copy it to change it.
func TestHandedOut(t *testing.T) {
	for _, lab := range catalogue.All() {
		given := handedOut(lab)
		for _, name := range slices.Concat(lab.Fixed, lab.Given) {
			text, err := lab.File(name)
			require.NoError(t, err)
			for print := range fingerprintsOf(map[string][]byte{name: text}) {
				require.True(t, given[print], "lab %s: %s", lab.Number, name)
			}
		}
	}
}

// Of assembly, registers and instructions count.
func TestTokensOfAssembly(t *testing.T) {
	require.Equal(
		t, strings.Fields("movq %r12 , constant ( %rdi ) ret"),
		tokensOf("swap.S", ".globl swap\n/* keeps */ movq %r12, REG_R12(%rdi) # saved\n ret // back\n"),
	)
	require.Equal(
		t, strings.Fields("name ( text , number ) ; return atomic_load ( & name ) ;"),
		tokensOf("a.c", `call("x", 0x12); /* y */ return atomic_load(&top);`),
	)
	require.Equal(t, strings.Fields(`name [ name ] ^ \ name`), tokensOf("a.c", `a[i] ^ \ b`), "signs are no names")
}
