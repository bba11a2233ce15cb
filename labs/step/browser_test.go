//go:build browser

package step

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/internal/browsertest"
	"fiberlab/labs/record"
)

// writePage writes the page of a recording to a file and returns its address.
func writePage(t *testing.T, r *record.Recording) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "step.html")
	require.NoError(t, os.WriteFile(file, []byte(pageOf(t, r)), 0o644))
	return "file://" + file
}

// One browser looks at all pages: it takes its time to start.
func TestBrowser(t *testing.T) {
	b := browsertest.Open(t)
	for _, look := range []struct {
		name string
		test func(*testing.T, *browsertest.Browser)
	}{
		{"Keys", browserKeys},
		{"DeepLinks", browserDeepLinks},
		{"DrawsTheRecording", browserDrawsTheRecording},
		{"Widths", browserWidths},
		{"LightAndDark", browserLightAndDark},
		{"PrintAndNoScript", browserPrintAndNoScript},
		{"HostileText", browserHostileText},
		{"Schedule", browserSchedule},
	} {
		t.Run(look.name, func(t *testing.T) {
			b.T = t
			b.Call(nil, "Emulation.setScriptExecutionDisabled", map[string]any{"value": false})
			b.Size(1400, 900, false)
			b.Media("screen", "light")
			look.test(t, b)
		})
	}
}

const counter = `document.getElementById("counter").textContent`

func browserKeys(t *testing.T, b *browsertest.Browser) {
	address := writePage(t, sampleAMD64(t, true))
	b.Load(address)
	require.Equal(t, "step 0 of 37", b.Run(counter))
	for _, key := range []struct{ key, want string }{
		{"ArrowRight", "1"}, {"n", "2"}, {"ArrowRight", "3"}, {"ArrowLeft", "2"}, {"p", "1"}, {"Home", "0"},
		{"ArrowLeft", "0"}, {"End", "37"},
		{"ArrowRight", "37"}, {"Home", "0"}, {"f", "12"}, {"f", "12"},
	} {
		b.Press(key.key)
		require.Equal(t, "step "+key.want+" of 37", b.Run(counter), key.key)
		require.Equal(t, "#step="+key.want, b.Run("location.hash"), key.key)
	}
	// Buttons and the slider, by the keyboard too.
	b.Run(`document.querySelector("[data-go=forward]").focus()`)
	b.Press("Enter")
	require.Equal(t, "step 13 of 37", b.Run(counter))
	b.Run(`document.getElementById("slider").focus()`)
	b.Press("ArrowRight")
	require.Equal(t, "step 14 of 37", b.Run(counter))
	b.Press("Home")
	require.Equal(t, "step 0 of 37", b.Run(counter))
	b.Run(`document.querySelector("[data-go=wrong]").click()`)
	require.Equal(t, "step 12 of 37", b.Run(counter))
	require.Contains(t, b.Run(`document.body.innerText`), "step forward", "the keys are listed")
	// The first stops of the tabulator are the theme, the finding, and the buttons in their order.
	b.Run(`document.activeElement.blur()`)
	b.Load(address)
	var stops []string
	for range 7 {
		b.Press("Tab")
		stops = append(stops, b.Run(`document.activeElement.textContent || document.activeElement.id`).(string))
	}
	require.Equal(t, []string{"dark", "Step 12", "|<", "< back", "forward >", ">|", "slider"}, stops)
	b.Quiet(address)
}

func browserDeepLinks(t *testing.T, b *browsertest.Browser) {
	address := writePage(t, sampleAMD64(t, true))
	b.Load(address + "#step=12")
	require.Equal(t, "step 12 of 37", b.Run(counter))
	b.Run(`location.hash = "#step=20"`)
	b.Until("step 20 of 37", counter)
	b.Run(`document.querySelector(".findings a").click()`)
	b.Until("step 12 of 37", counter)
	for fragment, want := range map[string]string{"#step=999": "37", "#step=-1": "0", "#step=x": "0", "#now": "0"} {
		b.Load(address + fragment)
		require.Equal(t, "step "+want+" of 37", b.Run(counter), fragment)
	}
}

// What the page draws at each step is what the player has.
func browserDrawsTheRecording(t *testing.T, b *browsertest.Browser) {
	r := sampleAMD64(t, true)
	address := writePage(t, r)
	b.Load(address)
	p := at(t, r, 0)
	for position := range p.Last() + 1 {
		p.Go(position)
		var want []string
		for _, name := range p.Registers() {
			mark := " "
			if p.ChangedRegister(name) && name != "rip" {
				mark = "*"
			}
			want = append(want, mark+name+" "+digits(p.Register(name))+" "+p.Meaning(p.Register(name)))
		}
		got := b.Run(
			`[...document.querySelectorAll("#registers div")].map(d => [...d.children].map(c => ` +
				`c.textContent).join(" "))`,
		)
		require.Equal(t, fmt.Sprint(want), fmt.Sprint(got), "step %d", position)

		want = nil
		for _, region := range p.stacksFirst() {
			pointers := p.Pointers(region)
			for word := range p.Words(region) {
				class := ""
				if p.ChangedWord(region, word) {
					class = "changed"
				} else if p.ReadWord(region, word) {
					class = "read"
				}
				if p.free(region, word) {
					class = strings.TrimSpace(class + " free")
				}
				pointer := ""
				if r.Regions[region].Stack && len(pointers[word]) > 0 {
					pointer = "saved >"
					if pointers[word][0] == "rsp" {
						pointer, class = "rsp >", strings.TrimSpace(class+" top")
					}
				}
				want = append(want, fmt.Sprintf(
					"%s|%s|+%#x|%s %s", class, pointer, word*8, digits(p.Word(region, word)),
					p.Meaning(p.Word(region, word)),
				))
			}
		}
		got = b.Run(`[...document.querySelectorAll("#memory table")].flatMap(t => {
			const rows = [...t.rows].filter(r => !r.classList.contains("end"));
			if (t.classList.contains("stack")) rows.reverse();
			return rows.map(r => [r.className, ...[0, 2, 3].map(i => r.cells[i].textContent)].join("|"));
		})`)
		for i, g := range got.([]any) {
			require.Equal(t, want[i], g, "step %d", position)
		}
		require.Len(t, got, len(want))

		now := b.Run(`document.getElementById("now").textContent`)
		for _, e := range p.Effects() {
			require.Contains(t, now, e.String())
		}
		for _, f := range p.Findings() {
			if position > 0 {
				require.Contains(t, now, f.Text)
			}
		}
		if step, ok := p.Step(); ok && step.Note == "" {
			require.Contains(
				t, b.Run(`document.querySelector("#source .here").textContent`),
				r.Sources[sampleFile][step.Place.Line-1],
			)
		}
		b.Press("ArrowRight")
	}
	b.Quiet(address)
}

// A page fits phones, windows and screens: nothing is wider than it, at any step.
func browserWidths(t *testing.T, b *browsertest.Browser) {
	long := sampleAMD64(t, true)
	long.Title = strings.Repeat("a_very_long_title", 10)
	long.Findings[0].Text = strings.Repeat("0123456789abcdef", 20)
	long.Sources[sampleFile][5] = strings.Repeat("x", 400)
	long.Steps[2].Source = strings.Repeat("x", 400)
	long.Labels[0].Text = strings.Repeat("y", 200)
	for name, r := range map[string]*record.Recording{"sample": sampleAMD64(t, true), "long": long} {
		address := writePage(t, r)
		for _, width := range []int{320, 360, 800, 1120, 1400} {
			b.Size(width, 800, width < 600)
			b.Load(address)
			for _, step := range []int{0, 12, 19} {
				b.Run(fmt.Sprintf(`location.hash = "#step=%d"`, step))
				b.Until(fmt.Sprintf("step %d of 37", step), counter)
				require.Equal(
					t, float64(width), b.Run(`document.documentElement.scrollWidth`), "%s, step %d, %d points wide",
					name, step, width,
				)
			}
			if width == 360 {
				small := b.Run(
					`Math.min(...[...document.querySelectorAll("button")].map(e => Math.min(e.offsetHeight, ` +
						`e.offsetWidth)))`,
				)
				require.GreaterOrEqual(t, small, 36.0, "buttons that a finger hits")
			}
		}
		b.Quiet(address)
	}
}

func browserLightAndDark(t *testing.T, b *browsertest.Browser) {
	address := writePage(t, sampleAMD64(t, true))
	paper := func() any { return b.Run(`getComputedStyle(document.body).backgroundColor`) }
	const white, black = "rgb(255, 255, 255)", "rgb(20, 23, 27)"
	readable := func() {
		t.Helper()
		for _, step := range []int{0, 1, 4, 12, 16} {
			b.Run(fmt.Sprintf(`location.hash = "#step=%d"`, step))
			b.Until(fmt.Sprintf("step %d of 37", step), counter)
			contrast, where := b.Contrast()
			require.GreaterOrEqual(t, contrast, 4.5, "%s, at step %d", where, step)
		}
	}
	for _, scheme := range []string{"light", "dark"} {
		want, other := white, black
		if scheme == "dark" {
			want, other = black, white
		}
		b.Media("screen", scheme)
		for _, width := range []int{360, 800, 1400} {
			b.Size(width, 800, width < 600)
			b.Load(address + "#step=12")
			require.Equal(t, want, paper(), scheme)
			b.Picture(fmt.Sprintf("%s-%d", scheme, width), false)
			b.Picture(fmt.Sprintf("%s-%d-whole", scheme, width), true)
		}
		readable()
		b.Press("t")
		require.Equal(t, other, paper(), "after t")
		require.Equal(
			t, scheme, b.Run(`document.getElementById("theme").textContent`), "the button names what it leads to",
		)
		readable()
		b.Press("t")
		require.Equal(t, want, paper(), "after t again")
		b.Run(`localStorage.clear()`)
	}
	b.Quiet(address)
}

// On paper, and without JavaScript, all steps stand one below the other.
func browserPrintAndNoScript(t *testing.T, b *browsertest.Browser) {
	address := writePage(t, sampleAMD64(t, true))
	visible := func(selector string) any {
		return b.Run(fmt.Sprintf(`[...document.querySelectorAll(%q)].filter(e => e.offsetParent).length`, selector))
	}
	b.Size(800, 1000, false)
	b.Media("print", "dark")
	b.Load(address + "#step=12")
	require.Equal(t, "rgb(255, 255, 255)", b.Run(`getComputedStyle(document.body).backgroundColor`), "paper is white")
	require.Equal(t, 0.0, visible("#explorer"))
	require.Equal(t, 38.0, visible("#all .drawing"))
	b.Picture("print", false)
	if dir := os.Getenv("FIBERLAB_PICTURES"); dir != "" {
		var result struct{ Data string }
		b.Call(&result, "Page.printToPDF", map[string]any{"printBackground": false})
		b.Keep(filepath.Join(dir, "print.pdf"), result.Data)
	}

	b.Media("screen", "light")
	b.Call(nil, "Emulation.setScriptExecutionDisabled", map[string]any{"value": true})
	for _, width := range []int{360, 1400} {
		b.Size(width, 1000, width < 600)
		b.Load(address + "#step=12")
		require.Equal(t, 0.0, visible("#explorer"))
		require.Equal(t, 38.0, visible("#all .drawing"))
		require.Equal(t, float64(width), b.Run(`document.documentElement.scrollWidth`))
		b.Until(
			true, `Math.abs(document.getElementById("step=12").getBoundingClientRect().top) <= 2`,
			"the address leads to the step",
		)
		b.Picture(fmt.Sprintf("noscript-%d", width), false)
	}
	b.Quiet(address)
}

// What a student has written is text in the page, and nothing else.
func browserHostileText(t *testing.T, b *browsertest.Browser) {
	const evil = `</script><script>document.title="taken"</script><img src=x onerror='document.title="taken"'>`
	r := sampleAMD64(t, true)
	r.Sources[sampleFile][4], r.Steps[1].Source, r.Steps[1].Instruction = evil, evil, evil
	r.Regions[0].Name, r.Findings[0].Text = evil, evil
	address := writePage(t, r)
	b.Load(address + "#step=2")
	for range 12 {
		b.Press("ArrowRight")
	}
	require.Equal(t, r.Title, b.Run(`document.title`))
	require.Equal(t, 0.0, b.Run(`document.querySelectorAll("img").length`))
	b.Quiet(address)
}

// The page of a schedule that fails, as fiberlab explore writes it, has the same keys.
func browserSchedule(t *testing.T, b *browsertest.Browser) {
	file := filepath.Join(t.TempDir(), "schedule.html")
	const classic = "../explore/testdata/classic/"
	out, err := exec.Command(
		"go", "run", "fiberlab/cmd/fiberlab", "explore", classic+"lost_wakeup.c", "-D", "SIGNAL_BEFORE_WAIT", "--html", file,
	).CombinedOutput()
	require.FileExists(t, file, "%v: %s", err, out)
	address := "file://" + file
	b.Load(address)
	require.Equal(t, "step 0 of 14", b.Run(counter))
	for _, key := range []struct{ key, want string }{
		{"ArrowRight", "1"}, {"n", "2"}, {"p", "1"}, {"End", "14"}, {"Home", "0"}, {"f", "6"},
	} {
		b.Press(key.key)
		require.Equal(t, "step "+key.want+" of 14", b.Run(counter), key.key)
	}
	const text = `document.getElementById("now").innerText`
	require.Contains(t, b.Run(text), "explore_lock(&mutex);")
	require.Contains(t, b.Run(text), "From step 6 on, every schedule fails.")
	require.Equal(t, "*mutexheld by thread 1", b.Run(`document.querySelector("#registers .changed").textContent`))
	require.Contains(t, b.Run(`document.querySelector("#source .here").textContent`), "explore_lock(&mutex);")
	require.Contains(t, b.Run(`document.querySelector("tr.here").innerText`), "locks mutex")
	b.Load(address + "#step=11")
	require.Equal(t, "step 11 of 14", b.Run(counter))
	for _, width := range []int{360, 390, 768, 1400} {
		b.Size(width, 900, width < 700)
		b.Load(address + "#step=6")
		require.Equal(t, true, b.Run(`document.documentElement.scrollWidth <= innerWidth`), "%d", width)
	}
	b.Media("screen", "dark")
	b.Load(address)
	require.NotEqual(t, "rgb(255, 255, 255)", b.Run(`getComputedStyle(document.body).backgroundColor`))
	b.Quiet(address)
}
