//go:build browser

package report

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/internal/browsertest"
)

// One browser looks at the page in all ways: it takes its time to start.
func TestBrowser(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, Write(dir, sample()))
	address := "file://" + filepath.Join(dir, PageFile)
	b := browsertest.Open(t)
	for _, look := range []struct {
		name string
		test func(*testing.T, *browsertest.Browser, string)
	}{
		{"Widths", browserWidths},
		{"Keys", browserKeys},
		{"Plots", browserPlots},
		{"Axes", browserAxes},
		{"LightAndDark", browserLightAndDark},
		{"PrintAndNoScript", browserPrintAndNoScript},
		{"HostileText", browserHostileText},
	} {
		t.Run(look.name, func(t *testing.T) {
			b.T = t
			b.Call(nil, "Emulation.setScriptExecutionDisabled", map[string]any{"value": false})
			b.Size(1000, 900, false)
			b.Media("screen", "light")
			look.test(t, b, address)
		})
	}
}

// Nothing is wider than a phone, and the plots have its width.
func browserWidths(t *testing.T, b *browsertest.Browser, address string) {
	for _, width := range []int{320, 360, 768, 1400} {
		b.Size(width, 800, width < 600)
		b.Load(address)
		require.EqualValues(t, width, b.Run(`document.documentElement.scrollWidth`))
		require.Equal(t, 2.0, b.Run(`document.querySelectorAll(".plot canvas").length`))
		require.Equal(t, true, b.Run(
			`[...document.querySelectorAll(".plot")].every(p => `+
				`Math.abs(p.clientWidth - p.querySelector("canvas").clientWidth) < 2)`,
		), "%d", width)
	}
	b.Size(500, 800, true)
	b.Until(true, `document.querySelector(".plot canvas").clientWidth < 500`, "a plot follows the window")
	b.Quiet(address)
}

func browserKeys(t *testing.T, b *browsertest.Browser, address string) {
	b.Load(address)
	var stops []string
	for range 13 {
		b.Press("Tab")
		stops = append(stops, b.Run(
			`(e => e.id || e.getAttribute("aria-label") || e.textContent.slice(0, 12))(document.activeElement)`).(string))
	}
	require.Equal(t, []string{
		"A switch", "A ring", "Published fi", "The machine", "switch-slider",
		"Instructions of asm-inline", "Instructions of asm-nofp", "Figures: A switch", "ring-slider", "Figures: A ring",
		"Figures: Published figures", "Figures: The machine", "The plots ar",
	}, stops)

	const said = `document.getElementById("switch-said").textContent`
	b.Run(`document.getElementById("switch-slider").focus()`)
	for _, press := range []struct{ key, starts string }{
		{"ArrowRight", "asm-inline: "}, {"ArrowRight", "asm-nofp: "}, {"ArrowLeft", "asm-inline: "}, {"Home", "asm: "},
		{"ArrowLeft", "asm: "}, {"End", "go-on-ucontext: median 279 ns, 95 % interval 273 ns to 285 ns, ratio to asm 41.3 " +
			"(40.4 to 42.3), samples 51, "},
	} {
		b.Press(press.key)
		require.Contains(t, b.Run(said), press.starts)
		require.Equal(t, b.Run(said), b.Run(`document.getElementById("switch-slider").getAttribute("aria-valuetext")`))
	}
	b.Run(`document.getElementById("ring-slider").focus()`)
	b.Press("End")
	require.Contains(t, b.Run(`document.getElementById("ring-said").textContent`), "354,294 fibers: asm ")
	b.Quiet(address)
}

// Each sample of a row has left its colour on the canvas, at about its place.
func browserPlots(t *testing.T, b *browsertest.Browser, address string) {
	b.Load(address)
	for i, plot := range []string{"switch-plot", "ring-plot"} {
		colors := b.Run(fmt.Sprintf(`(() => {
			const c = document.querySelector("#%s canvas");
			const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
			let blue = 0, orange = 0;
			for (let k = 0; k < data.length; k += 4) {
				if (data[k + 3] < 50) continue;
				if (data[k + 2] > data[k] + 60) blue++;
				if (data[k] > data[k + 2] + 60) orange++;
			}
			return [blue, orange];
		})()`, plot)).([]any)
		require.Greater(t, colors[0], 200.0, "%s: samples, or the first series", plot)
		require.Greater(t, colors[1], 50.0, "%s: %s", plot, []string{"the floor", "the second series"}[i])
		require.NotEmpty(t, b.Run(fmt.Sprintf(`document.getElementById(%q).getAttribute("aria-label")`, plot)))
	}
}

// A logarithmic axis has at least two numbers, whatever it shows, and few enough for a phone.
func browserAxes(t *testing.T, b *browsertest.Browser, address string) {
	b.Load(address)
	for _, ends := range [][2]float64{{37.6, 93.75}, {80, 500}, {5.4, 30}, {1.6, 4e6}, {0.4, 9e5}, {90, 130}, {0.9, 60}} {
		numbers := b.Run(fmt.Sprintf(`logarithmic.values(null, logarithmic.splits(null, 0, %v, %v))`, ends[0], ends[1]))
		require.GreaterOrEqual(t, len(numbers.([]any)), 2, "%v: %v", ends, numbers)
		require.LessOrEqual(t, len(numbers.([]any)), 9, "%v: %v", ends, numbers)
	}
	require.Equal(t, []any{"1", "10", "1K", "1M"}, b.Run(`logarithmic.values(null, [1, 10, 1000, 1e6])`))
	b.Quiet(address)
}

func browserLightAndDark(t *testing.T, b *browsertest.Browser, address string) {
	var papers []string
	for _, scheme := range []string{"light", "dark"} {
		b.Media("screen", scheme)
		for _, width := range []int{360, 1000} {
			b.Size(width, 800, width < 600)
			b.Load(address)
			b.Run(`document.getElementById("ring-slider").focus()`)
			b.Press("End")
			b.Picture(fmt.Sprintf("%s-%d", scheme, width), true)
			contrast, where := b.Contrast()
			require.GreaterOrEqual(t, contrast, 4.5, "%s, %s", scheme, where)
		}
		papers = append(papers, b.Run(`getComputedStyle(document.body).backgroundColor`).(string))
	}
	require.NotEqual(t, papers[0], papers[1])
	b.Quiet(address)
}

// On paper, and without JavaScript, all figures stand in the tables.
func browserPrintAndNoScript(t *testing.T, b *browsertest.Browser, address string) {
	b.Size(800, 1000, false)
	b.Media("print", "dark")
	b.Load(address)
	require.Equal(t, "rgb(255, 255, 255)", b.Run(`getComputedStyle(document.body).backgroundColor`), "paper is white")
	require.Greater(t, b.Run(`document.querySelector(".plot canvas").offsetHeight`), 100.0)
	require.EqualValues(t, 800, b.Run(`document.documentElement.scrollWidth`), "nothing is cut off")
	b.Picture("print", true)

	b.Media("screen", "light")
	b.Call(nil, "Emulation.setScriptExecutionDisabled", map[string]any{"value": true})
	b.Size(360, 1000, true)
	b.Load(address)
	require.Equal(t, 360.0, b.Run(`document.documentElement.scrollWidth`))
	require.Contains(t, b.Run(`document.body.innerText`), "The plot needs JavaScript")
	require.Contains(t, b.Run(`document.body.innerText`), "1.99 µs")
	b.Picture("noscript-360", true)
	b.Quiet(address)
}

// What a report says is text in the page, and nothing else.
func browserHostileText(t *testing.T, b *browsertest.Browser, _ string) {
	const evil = `</script><script>document.title="taken"</script><img src=x onerror='document.title="taken"'>`
	r := sample()
	g := &r.Groups[0]
	for _, text := range []*string{
		&g.Title, &g.Unit, &g.Rows[0].Name, &g.Rows[0].Sentence, &g.Rows[1].Listing, &r.Machine.CPU,
	} {
		*text = evil
	}
	r.Groups[1].Marks[0].Label, r.Groups[1].Axis = evil, evil
	file := filepath.Join(t.TempDir(), "hostile.html")
	f, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, Page(f, r))
	require.NoError(t, f.Close())
	b.Load("file://" + file)
	b.Run(`document.getElementById("switch-slider").focus()`)
	b.Press("Home")
	require.Equal(t, "What a switch costs", b.Run(`document.title`))
	require.Equal(t, 0.0, b.Run(`document.querySelectorAll("img").length`))
	b.Quiet("file://" + file)
}
