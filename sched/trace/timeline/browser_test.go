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

// write writes the page of a trace to a file and returns its address.
func write(t *testing.T, trace []byte, title string) string {
	t.Helper()
	var page bytes.Buffer
	require.NoError(t, Write(&page, title, trace))
	file := filepath.Join(t.TempDir(), "timeline.html")
	require.NoError(t, os.WriteFile(file, page.Bytes(), 0o644))
	return "file://" + file
}

// recorded is the trace of tasks that pass values on and sleep.
func recorded(t *testing.T) []byte {
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
	return text.Bytes()
}

// One browser looks at all pages.
func TestBrowser(t *testing.T) {
	b := browsertest.Open(t)
	for _, look := range []struct {
		name string
		test func(*testing.T, *browsertest.Browser)
	}{{"Keys", browserKeys}, {"Looks", browserLooks}, {"Million", browserMillion}, {"Foreign", browserForeign},
		{"Nothing", browserNothing}} {
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

	place = `[timeline.view.chosen.lane.number, timeline.view.chosen.event.since].join()` // of the slice that is chosen
)

// small is a trace of two workers: the giver notifies the taker, once.
const small = `{"traceEvents":[
{"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"workers"}},
{"name":"process_name","ph":"M","pid":2,"tid":0,"args":{"name":"fibers"}},
{"name":"thread_name","ph":"M","pid":1,"tid":0,"args":{"name":"worker 0"}},
{"name":"thread_name","ph":"M","pid":1,"tid":1,"args":{"name":"worker 1"}},
{"name":"thread_name","ph":"M","pid":1,"tid":65536,"args":{"name":"worker 0 spins"}},
{"name":"spin","ph":"X","cat":"spin","ts":30,"dur":10,"pid":1,"tid":65536},
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
	address := write(t, []byte(small), "a run")
	load(b, address)
	number := func(expression string) float64 { return b.Run(expression).(float64) }
	whole := number("timeline.view.t1")

	b.Press("ArrowRight")
	require.Contains(t, b.Run(selected), "workers: worker ")
	first := b.Run(place)
	b.Press("ArrowRight")
	require.NotEqual(t, first, b.Run(place))
	b.Press("ArrowLeft")
	require.Equal(t, first, b.Run(place))
	b.Press("ArrowDown")
	require.NotEqual(t, first, b.Run(place), "the line below")
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

	b.Until(true, sums+`.includes("worker 0\t80.0 %\t10.0 %\t10.0 %")`) // it runs, spins, and rests

	// The arrow leads from the taker, which was woken, to its notifier, and back.
	b.Run(`document.getElementById("search").value = "fiber 0"`)
	b.Run(`document.getElementById("search").dispatchEvent(new Event("input"))`)
	for range 20 {
		b.Press("n")
		if b.Run(`timeline.view.chosen.lane.number === 2 && timeline.view.chosen.arrows.length === 1`).(bool) {
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
	text := bytes.NewBufferString(`{"traceEvents":[`)
	for f := range fibers {
		for i := range each {
			fmt.Fprintf(
				text, `{"name":"%s","ph":"X","cat":"state","ts":%d,"dur":9,"pid":2,"tid":%d,"args":{"task":"task %d"}},`+"\n",
				[]string{"Running", "Yielded", "Queued"}[i%3], 10*i+f%7, f, f%10,
			)
		}
	}
	text.WriteString(`{"name":"process_name","ph":"M","pid":2,"args":{"name":"fibers"}}]}`)
	address := write(t, text.Bytes(), "a million slices")
	b.Call(nil, "Performance.enable", map[string]any{"timeDomain": "threadTicks"})
	began := time.Now()
	load(b, address)
	t.Logf("a million slices are shown after %v; the page took %.1f s of a processor", time.Since(began), processor(b))
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

// processor returns the processor time of the page, in seconds.
func processor(b *browsertest.Browser) (seconds float64) {
	var all struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	b.Call(&all, "Performance.getMetrics", nil)
	for _, m := range all.Metrics {
		if m.Name == "ProcessTime" {
			seconds = m.Value
		}
	}
	return seconds
}

// A trace of another program may have names of arrows, overlaps, and any number of classes.
func browserForeign(t *testing.T, b *browsertest.Browser) {
	var events []string
	for i := range 1000 {
		events = append(events, fmt.Sprintf(`{"name":"a","ph":"X","cat":"%d","ts":%d,"dur":1,"pid":1,"tid":1}`, i, i))
	}
	events = append(events, `{"name":"b","ph":"X","ts":0,"dur":10,"pid":1,"tid":2}`,
		`{"name":"overlaps","ph":"X","ts":5,"dur":10,"pid":1,"tid":2}`,
		`{"name":"notify","ph":"f","ts":10,"pid":1,"tid":2,"id":"three"}`,
		`{"name":"notify","ph":"s","ts":4,"pid":1,"tid":1,"id":"three"}`, `{"name":"counter","ph":"C","ts":1}`,
		`{"name":"short","ph":"X","ts":0,"dur":0.001,"pid":1,"tid":3}`,
		`{"name":"long","ph":"X","ts":0.001,"dur":900,"pid":1,"tid":3}`)
	address := write(t, []byte(`{"traceEvents":[`+strings.Join(events, ",")+`]}`), "foreign")
	load(b, address)
	require.Equal(t, []any{
		"thread 1 0 1000", "thread 2 0 1", "thread 2 1 1", "thread 3 0 2",
	}, b.Run(`timeline.lanes.map(l => l.name + " " + l.depth + " " + l.slices.length)`))
	require.EqualValues(t, 1, b.Run("timeline.frame.arrows"))
	// The page's own observer is called before this one, in the same frame.
	require.Equal(t, []any{176.0, 168.0, 224.0}, b.Run(`new Promise(drawn => {
		const view = document.getElementById("view"), pen = document.getElementById("canvas").getContext("2d");
		view.style.width = "90%";
		new ResizeObserver(() => drawn([...pen.getImageData(900, 22 + 3*18 + 12, 1, 1).data].slice(0, 3))).observe(view);
	})`), "a picture of another size is drawn at once; long is seen, though short begins in its first pixel")
	b.Until(true, sums+`.includes("other")`)
	b.Quiet(address)
}

// A trace without events is a page too.
func browserNothing(t *testing.T, b *browsertest.Browser) {
	address := write(t, []byte(`{"traceEvents":[]}`), "nothing")
	load(b, address)
	for _, key := range []string{"ArrowRight", "ArrowDown", "g", "n", "f", "[", "]", "w"} {
		b.Press(key)
	}
	b.Quiet(address)
}
