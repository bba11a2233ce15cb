//go:build browser

package timeline

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/internal/browsertest"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/trace"
)

// write writes the page of a timeline to a file and returns its address.
func write(t *testing.T, line *Timeline, title string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "timeline.html")
	f, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, line.WriteHTML(f, title))
	require.NoError(t, f.Close())
	return "file://" + file
}

// recorded is the timeline of tasks that pass values on and sleep.
func recorded(t *testing.T) *Timeline {
	t.Helper()
	r := trace.NewRecorder(1 << 12)
	s, err := sched.New(sched.Config{Workers: 2, Policy: sched.Group, Recorder: r})
	require.NoError(t, err)
	c := fibersync.NewChannel[int](1)
	require.NoError(t, s.Enqueue(sched.Task{Name: "giver", Func: func() {
		for i := range 20 {
			c.Send(i)
		}
		sched.AddMark("half </script> way")
		sched.Sleep(time.Millisecond)
		c.Close()
	}}))
	require.NoError(t, s.Enqueue(sched.Task{Name: "taker", Func: func() {
		for range c.All() {
			sched.Yield()
		}
	}}))
	require.NoError(t, s.Close())
	var text bytes.Buffer
	require.NoError(t, r.WriteTrace(&text))
	line, err := Read(&text)
	require.NoError(t, err)
	return line
}

// One browser looks at all pages.
func TestBrowser(t *testing.T) {
	b := browsertest.Open(t)
	for _, look := range []struct {
		name string
		test func(*testing.T, *browsertest.Browser)
	}{{"Keys", browserKeys}, {"Looks", browserLooks}, {"Million", browserMillion}, {"Nothing", browserNothing}} {
		t.Run(look.name, func(t *testing.T) {
			b.T = t
			b.Size(1400, 900, false)
			b.Media("screen", "light")
			look.test(t, b)
		})
	}
}

func load(b *browsertest.Browser, address string) {
	b.T.Helper()
	b.Load(address)
	b.Until("yes", `document.documentElement.dataset.ready`)
}

const (
	selected = `document.getElementById("selected").innerText`
	sums     = `document.getElementById("sums").innerText`
)

// small is a trace of two workers: the giver notifies the taker, once.
const small = `{"traceEvents":[
{"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"workers"}},
{"name":"process_name","ph":"M","pid":2,"tid":0,"args":{"name":"fibers"}},
{"name":"thread_name","ph":"M","pid":1,"tid":0,"args":{"name":"worker 0"}},
{"name":"thread_name","ph":"M","pid":1,"tid":1,"args":{"name":"worker 1"}},
{"name":"thread_name","ph":"M","pid":2,"tid":1,"args":{"name":"worker 1 fiber 0"}},
{"name":"fiber 0","ph":"X","cat":"run","ts":0,"dur":30,"pid":1,"tid":0},
{"name":"fiber 0","ph":"X","cat":"run","ts":40,"dur":20,"pid":1,"tid":0},
{"name":"fiber 0","ph":"X","cat":"run","ts":70,"dur":30,"pid":1,"tid":0},
{"name":"giver","ph":"X","cat":"task","ts":40,"dur":20,"pid":1,"tid":0},
{"name":"half </script> way","ph":"i","cat":"mark","ts":45,"pid":1,"tid":0},
{"name":"fiber 0","ph":"X","cat":"run","ts":60,"dur":40,"pid":1,"tid":1},
{"name":"taker","ph":"X","cat":"task","ts":60,"dur":40,"pid":1,"tid":1},
{"name":"Yielded","ph":"X","cat":"state","ts":0,"dur":50,"pid":2,"tid":1,"args":{"task":"taker"}},
{"name":"Queued","ph":"X","cat":"state","ts":50,"dur":10,"pid":2,"tid":1,"args":{"task":"taker"}},
{"name":"Running","ph":"X","cat":"state","ts":60,"dur":40,"pid":2,"tid":1,"args":{"task":"taker"}},
{"name":"notify","ph":"s","cat":"notify","ts":50,"pid":1,"tid":0,"id":1},
{"name":"notify","ph":"f","cat":"notify","ts":60,"pid":1,"tid":1,"id":1}]}`

// All can be done without a pointer.
func browserKeys(t *testing.T, b *browsertest.Browser) {
	line, err := Read(strings.NewReader(small))
	require.NoError(t, err)
	address := write(t, line, "a run")
	load(b, address)
	number := func(expression string) float64 { return b.Run(expression).(float64) }
	whole := number("timeline.view.t1")

	b.Press("ArrowRight")
	require.Contains(t, b.Run(selected), "workers: worker ")
	first := b.Run("timeline.view.chosen.slice")
	b.Press("ArrowRight")
	require.NotEqual(t, first, b.Run("timeline.view.chosen.slice"))
	b.Press("ArrowLeft")
	require.Equal(t, first, b.Run("timeline.view.chosen.slice"))
	b.Press("ArrowDown")
	require.NotEqual(t, first, b.Run("timeline.view.chosen.slice"), "the line below")
	b.Press("w")
	require.InDelta(t, whole/2, number("timeline.view.t1 - timeline.view.t0"), 1)
	b.Press("d")
	b.Press("s")
	b.Press("0")
	require.Equal(t, whole, number("timeline.view.t1"))

	// A search finds what a task has marked.
	b.Press("/")
	b.Call(nil, "Input.insertText", map[string]any{"text": "half"})
	b.Press("Enter")
	require.Contains(t, b.Run(selected), "half </script> way")
	require.Contains(t, b.Run(`document.getElementById("found").textContent`), "1 of ")
	b.Run(`document.getElementById("view").focus()`)
	// A span from one slice to another has the times of each state.
	b.Press("0")
	b.Press("[")
	b.Press("ArrowRight")
	b.Press("]")
	require.Contains(t, b.Run(`document.getElementById("sums-head").textContent`), "span")
	require.NotNil(t, b.Run("timeline.view.span"))
	b.Press("f")
	b.Run(`document.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape", bubbles: true}))`)
	require.Nil(t, b.Run("timeline.view.span"))
	b.Press("0")
	b.Until(true, sums+`.includes("Running") && `+sums+`.includes("giver") && `+sums+`.includes("notify to wake")`)

	// The arrow leads from the taker, which was woken, to its notifier, and back.
	b.Run(`document.getElementById("search").value = "fiber 0"`)
	b.Run(`document.getElementById("search").dispatchEvent(new Event("input"))`)
	for range 20 {
		b.Press("n")
		if b.Run(`timeline.view.chosen.lane === 2 && timeline.view.chosen.arrows.length === 1`).(bool) {
			break
		}
	}
	require.Contains(t, b.Run(selected), "from worker 0, 10.0 µs from notify to wake")
	b.Press("g")
	require.Contains(t, b.Run(selected), "to worker 1, 10.0 µs from notify to wake")
	b.Press("g")
	require.Contains(t, b.Run(selected), "worker 1")
	b.Quiet(address)
}

// The page fits phones and screens, and can be read in light and dark.
func browserLooks(t *testing.T, b *browsertest.Browser) {
	address := write(t, recorded(t), "a_long_name_of_a_trace_that_a_phone_must_break_somewhere.json")
	for _, scheme := range []string{"light", "dark"} {
		b.Media("screen", scheme)
		for _, width := range []int{320, 360, 800, 1400} {
			b.Size(width, 900, width < 600)
			load(b, address)
			b.Press("ArrowRight")
			require.Equal(t, float64(width), b.Run(`document.documentElement.scrollWidth`), "%d points wide", width)
			small := b.Run(
				`Math.min(...[...document.querySelectorAll("button")].map(e => Math.min(e.offsetHeight, ` +
					`e.offsetWidth)))`,
			)
			require.GreaterOrEqual(t, small, 36.0, "buttons that a finger hits")
			contrast, where := b.Contrast()
			require.GreaterOrEqual(t, contrast, 4.5, where)
			b.Picture(fmt.Sprintf("timeline-%s-%d", scheme, width), true)
		}
	}
	b.Quiet(address)
}

// However many slices there are, a picture consists of few parts, and it has all the time.
func browserMillion(t *testing.T, b *browsertest.Browser) {
	const fibers, each = 1000, 1000
	in := newReader()
	in.processes[2] = "fibers"
	for f := range fibers {
		in.track(trackID{2, f}).name = fmt.Sprint("fiber ", f)
		for i := range each {
			state := []string{"Running", "Yielded", "Queued"}[i%3]
			in.event(event{Name: state, Phase: "X", Class: "state", Start: float64(10*i + f%7), Took: 9, PID: 2, TID: f,
				Args: fmt.Appendf(nil, `{"task":"task %d"}`, f%10)})
		}
	}
	in.layOut()
	address := write(t, in.Timeline, "a million slices")
	began := time.Now()
	load(b, address)
	t.Logf("a million slices are shown after %v", time.Since(began))
	require.EqualValues(t, fibers*each, b.Run("timeline.view.slices"))
	lines := b.Run(`Math.ceil(document.getElementById("view").clientHeight / 18) + 1`).(float64)
	const most = 1400
	bars := b.Run("timeline.frame.bars").(float64)
	require.LessOrEqual(t, bars, lines*most, "one bar for each pixel of a line")
	require.Greater(t, bars, 20*lines)
	took := b.Run(`(() => {
		const key = k => dispatchEvent(new KeyboardEvent("keydown", {key: k}));
		const began = performance.now();
		for (let i = 0; i < 30; i++) { if (i % 10 === 0) key("w"); key(i % 2 ? "a" : "d"); timeline.draw(); }
		return (performance.now() - began) / 30;
	})()`)
	t.Logf("a picture takes %.1f ms", took)
	b.Press("0")
	b.Until(true, sums+`.includes("task 9")`)
	b.Picture("timeline-million", false)
	b.Quiet(address)
}

// A trace without events is a page too.
func browserNothing(t *testing.T, b *browsertest.Browser) {
	line, err := Read(bytes.NewReader([]byte(`{"traceEvents":[]}`)))
	require.NoError(t, err)
	address := write(t, line, "nothing")
	load(b, address)
	for _, key := range []string{"ArrowRight", "ArrowDown", "g", "n", "f", "[", "]", "w"} {
		b.Press(key)
	}
	b.Quiet(address)
}
