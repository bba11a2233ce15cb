package step

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/record"
)

func pageOf(t *testing.T, r *record.Recording) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, at(t, r, 3).HTML(&b))
	return b.String()
}

// The list stands in the page itself, for browsers without JavaScript and for printers.
func TestPageHasAllSteps(t *testing.T) {
	r := sampleAMD64(t, true)
	shown := pageOf(t, r)
	require.Equal(t, len(r.Steps)+1, strings.Count(shown, `<li id="step=`))
	for _, want := range []string{
		`<a href="#step=12">Step 12</a>: r12 comes back changed`,
		`<li>a finding of no step (section 2.1)</li>`,
		`<code>mov    0x18(%rsi),%r12</code>`,
		`<li>r12 = 0xdaa842c4130b474, r13 of B, from context of B &#43;0x18</li>`,
		`<li id="step=12" class="wrong">`,
		`B calls marl_fiber_swap`,
	} {
		require.True(t, strings.Contains(shown, want), want)
	}
	require.Empty(t, regexp.MustCompile(`(src|href)="?(https?:)?//.*|@import.*|url\(.*`).FindString(shown))
	require.Less(t, len(shown), 400<<10)
}

// Nothing that a student has written ends a script or becomes an element.
func TestPageEscapes(t *testing.T) {
	const evil = `</script><script>alert(1)</script><img src=x onerror=alert(2)>"'&{{.}}` + "\u2028"
	r := sampleAMD64(t, true)
	r.Title = evil
	r.Sources[sampleFile][0] = evil
	r.Steps[1].Source, r.Steps[1].Instruction, r.Steps[1].Fault, r.Steps[1].Note = evil, evil, evil, evil
	r.Steps[2].Place.File, r.Sources[evil] = evil, []string{evil}
	r.Regions[0].Name = evil
	r.Labels = append(r.Labels, record.Label{Address: r.Registers["rcx"], Text: evil})
	r.Findings[0].Text, r.Findings[0].Section = evil, evil
	shown := pageOf(t, r)
	require.Equal(t, 2, strings.Count(shown, "</script>"), "those of the page")
	require.False(t, strings.Contains(shown, "<img"))

	embedded := regexp.MustCompile(`(?s)id="recording">(.*?)</script>`).FindStringSubmatch(shown)[1]
	require.NotContains(t, embedded, "\u2028")
	var data pageData
	require.NoError(t, json.Unmarshal([]byte(embedded), &data))
	require.Equal(t, evil, data.Regions[0].Name)
	require.Equal(t, evil, data.Sources[sampleFile][0])
}

func TestJSONIsTheRecording(t *testing.T) {
	r := sampleAMD64(t, true)
	var b bytes.Buffer
	require.NoError(t, JSON(&b, r))
	var again record.Recording
	require.NoError(t, json.Unmarshal(b.Bytes(), &again))
	require.Equal(t, *r, again)
}
