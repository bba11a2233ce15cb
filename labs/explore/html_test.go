package explore_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/explore"
)

// The page has all steps of the schedule that fails, and fetches nothing.
func TestPage(t *testing.T) {
	t.Parallel()
	r := searched(t, toolsOf(t, ""), "classic/treiber.c", []string{"NO_COUNTER"}, explore.Options{})
	var b strings.Builder
	require.NoError(t, r.HTML(&b))
	shown := b.String()
	require.Equal(t, len(r.Steps)+1, strings.Count(shown, `<tr id="step=`))
	for _, want := range []string{
		"a check fails: no node is in two places.", "<th scope=\"col\">thread 1</th>",
		"changed it back: an ABA problem.", "Schedule: <code>" + r.Schedule + "</code>", "every schedule fails.",
	} {
		require.Contains(t, shown, want)
	}
	require.Empty(t, regexp.MustCompile(`(src|href)="?(https?:)?//.*|@import.*|url\(.*`).FindString(shown))
	require.Less(t, len(shown), 400<<10)
}

// Nothing that a student has written ends a script or becomes an element.
func TestPageEscapes(t *testing.T) {
	t.Parallel()
	r, err := built(t, `
#include <explore.h>
int x; // </script><script>alert(1)</script><img src=x onerror=alert(2)>
void explore_test(void) { x = 1; explore_check(x == 2, "</script><img src=x>"); } // </script><img src=x>
`).Run(t.Context(), explore.Options{})
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, r.HTML(&b))
	require.Equal(t, 2, strings.Count(b.String(), "</script>"), "those of the page")
	require.NotContains(t, b.String(), "<img")
}

// A page tells files of one name apart.
func TestPageFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var files []string
	for name, text := range map[string]string{
		"here/x.c":  "#include <explore.h>\nvoid there(void);\n_Atomic int x;\nvoid explore_test(void) { x = 1; there(); }\n",
		"there/x.c": "#include <explore.h>\nextern _Atomic int x;\nvoid there(void) { explore_check(x == 2, \"x is 2\"); }\n",
	} {
		file := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		files = append(files, file)
	}
	p, _, err := toolsOf(t, "").Build(t.Context(), files, explore.BuildOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	r, err := p.Run(t.Context(), explore.Options{})
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, r.HTML(&b))
	for _, want := range []string{`"file":"here/x.c"`, `"file":"there/x.c"`} {
		require.Contains(t, b.String(), want)
	}
}

// There is no page if no schedule fails.
func TestNoPage(t *testing.T) {
	t.Parallel()
	r := searched(t, toolsOf(t, ""), "classic/treiber.c", nil, explore.Options{})
	var b strings.Builder
	require.ErrorIs(t, r.HTML(&b), explore.ErrNoPage)
	require.Empty(t, b.String())
}
