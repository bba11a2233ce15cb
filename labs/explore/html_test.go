package explore_test

import (
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
		"it does not hold that no node is in two places.", "<th scope=\"col\">thread 1</th>",
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

// There is no page if no schedule fails.
func TestNoPage(t *testing.T) {
	t.Parallel()
	r := searched(t, toolsOf(t, ""), "classic/treiber.c", nil, explore.Options{})
	var b strings.Builder
	require.ErrorIs(t, r.HTML(&b), explore.ErrNoPage)
	require.Empty(t, b.String())
}
