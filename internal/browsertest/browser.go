// Package browsertest looks at pages in Chromium, for tests.
package browsertest

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Browser is a browser without a window, and one page in it. It is controlled by the DevTools protocol over a pipe: a
// JSON document a message, each with a zero byte at its end. One goroutine may use it. A method that fails ends the
// test.
type Browser struct {
	T        *testing.T // the test that uses it now
	commands *os.File
	session  string // of the page
	number   int

	lock     sync.Mutex
	answers  map[int]chan answer
	loaded   chan string // what has loaded, by the browser's own names
	requests []string    // the addresses of all that the page asked for
	errors   []string    // what it wrote to the console, and exceptions
}

type answer struct {
	ID     int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct{ Message string }
}

// Open starts a browser that ends with the test. It skips the test if there is none.
func Open(t *testing.T) *Browser {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("no chromium: scripts/need browser installs it")
	}
	commandsR, commandsW, err := os.Pipe()
	require.NoError(t, err)
	answersR, answersW, err := os.Pipe()
	require.NoError(t, err)
	flags := []string{
		"--headless", "--remote-debugging-pipe", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
		"--disable-dev-shm-usage", "--disable-background-networking", "--user-data-dir=" + t.TempDir(),
	}
	if os.Geteuid() == 0 {
		flags = append(flags, "--no-sandbox") // it refuses to run as root with it
	}
	c := exec.Command("chromium", append(flags, "about:blank")...)
	c.ExtraFiles = []*os.File{commandsR, answersW} // its descriptors 3 and 4
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	require.NoError(t, c.Start())
	commandsR.Close()
	answersW.Close()
	b := &Browser{T: t, commands: commandsW, answers: map[int]chan answer{}, loaded: make(chan string, 100)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.read(answersR)
	}()
	t.Cleanup(func() {
		commandsW.Close() // which ends the browser
		ended := time.AfterFunc(20*time.Second, func() { c.Process.Kill() })
		c.Wait()
		ended.Stop()
		<-read
		answersR.Close()
		if t.Failed() {
			t.Logf("the browser said: %s", said.String())
		}
	})
	var target struct{ TargetID string }
	b.Call(&target, "Target.createTarget", map[string]any{"url": "about:blank"})
	var attached struct{ SessionID string }
	b.Call(&attached, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.Call(nil, domain+".enable", nil)
	}
	b.Call(nil, "Page.setLifecycleEventsEnabled", map[string]any{"enabled": true})
	return b
}

// read takes what the browser sends until it ends.
func (b *Browser) read(from *os.File) {
	in := bufio.NewReader(from)
	for {
		message, err := in.ReadBytes(0)
		if err != nil {
			b.lock.Lock()
			for _, waiting := range b.answers {
				close(waiting)
			}
			b.answers = nil
			b.lock.Unlock()
			return
		}
		var a answer
		if json.Unmarshal(message[:len(message)-1], &a) != nil {
			continue
		}
		b.lock.Lock()
		switch {
		case a.ID != 0:
			b.answers[a.ID] <- a
			delete(b.answers, a.ID)
		case a.Method == "Page.lifecycleEvent":
			var params struct{ LoaderID, Name string }
			json.Unmarshal(a.Params, &params)
			if params.Name == "load" {
				select {
				case b.loaded <- params.LoaderID:
				default:
				}
			}
		case a.Method == "Network.requestWillBeSent":
			var params struct{ Request struct{ URL string } }
			json.Unmarshal(a.Params, &params)
			b.requests = append(b.requests, params.Request.URL)
		case a.Method == "Runtime.exceptionThrown" || a.Method == "Runtime.consoleAPICalled" || a.Method == "Log.entryAdded":
			b.errors = append(b.errors, string(a.Params))
		}
		b.lock.Unlock()
	}
}

// Call sends a command and waits for its result.
func (b *Browser) Call(result any, method string, params map[string]any) {
	b.T.Helper()
	b.number++
	message := map[string]any{"id": b.number, "method": method}
	if params != nil {
		message["params"] = params
	}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	require.NoError(b.T, err)
	waiting := make(chan answer, 1)
	b.lock.Lock()
	running := b.answers != nil
	if running {
		b.answers[b.number] = waiting
	}
	b.lock.Unlock()
	require.True(b.T, running, "%s: the browser has ended", method)
	_, err = b.commands.Write(append(text, 0))
	require.NoError(b.T, err)
	select {
	case a, ok := <-waiting:
		require.True(b.T, ok, "%s: the browser has ended", method)
		if a.Error != nil {
			require.FailNow(b.T, method, a.Error.Message)
		}
		if result != nil {
			require.NoError(b.T, json.Unmarshal(a.Result, result))
		}
	case <-time.After(2 * time.Minute):
		require.FailNow(b.T, method, "no answer")
	}
}

// Load shows an address and waits until it is loaded. It forgets what earlier pages did.
func (b *Browser) Load(address string) {
	b.T.Helper()
	b.Navigate("about:blank") // so that an address that differs by its fragment is loaded
	b.lock.Lock()
	b.requests, b.errors = nil, nil
	b.lock.Unlock()
	b.Navigate(address)
}

// Navigate goes to another page and waits until that page is loaded, and no page that was on its way before.
func (b *Browser) Navigate(address string) {
	b.T.Helper()
	var page struct{ LoaderID string }
	b.Call(&page, "Page.navigate", map[string]any{"url": address})
	late := time.After(2 * time.Minute)
	for {
		select {
		case loaded := <-b.loaded:
			if loaded == page.LoaderID {
				return
			}
		case <-late:
			require.FailNow(b.T, "the page does not load")
		}
	}
}

// Until waits until an expression in the page has that value: what the page does by itself, it may do later.
func (b *Browser) Until(want any, expression string, about ...any) {
	b.T.Helper()
	for began := time.Now(); b.Run(expression) != want; time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			require.Equal(b.T, want, b.Run(expression), about...)
			return
		}
	}
}

// Run evaluates an expression in the page.
func (b *Browser) Run(expression string) any {
	b.T.Helper()
	var result struct {
		Result           struct{ Value any }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	b.Call(
		&result, "Runtime.evaluate",
		map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true},
	)
	if result.ExceptionDetails != nil {
		require.FailNow(b.T, expression, result.ExceptionDetails.Exception.Description)
	}
	return result.Result.Value
}

// Press presses a key as a reader does.
func (b *Browser) Press(key string) {
	b.T.Helper()
	codes := map[string]int{"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "Tab": 9, "Enter": 13}
	down := map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
	if len(key) == 1 {
		down["text"] = key
	}
	if key == "Enter" {
		down["text"] = "\r"
	}
	b.Call(nil, "Input.dispatchKeyEvent", down)
	b.Call(
		nil, "Input.dispatchKeyEvent",
		map[string]any{"type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": codes[key]},
	)
}

// Size makes the page so many points wide and high, of a phone or of a screen.
func (b *Browser) Size(width, height int, phone bool) {
	b.Call(
		nil, "Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone},
	)
}

// Media emulates a medium, screen or print, and a preference for light or dark.
func (b *Browser) Media(medium, scheme string) {
	b.Call(nil, "Emulation.setEmulatedMedia", map[string]any{"media": medium,
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
}

// Picture keeps what the page looks like, in the folder that $FIBERLAB_PICTURES names.
func (b *Browser) Picture(name string, whole bool) {
	dir := os.Getenv("FIBERLAB_PICTURES")
	if dir == "" {
		return
	}
	var result struct{ Data string }
	b.Call(&result, "Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": whole})
	b.Keep(filepath.Join(dir, name+".png"), result.Data)
}

func (b *Browser) Keep(path, data string) {
	bytes, err := base64.StdEncoding.DecodeString(data)
	require.NoError(b.T, err)
	require.NoError(b.T, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(b.T, os.WriteFile(path, bytes, 0o644))
}

// Quiet checks that the page wrote nothing to the console and asked for nothing but itself.
func (b *Browser) Quiet(address string) {
	b.T.Helper()
	b.Run("document.title") // what the page did earlier has been reported before its answer
	b.lock.Lock()
	defer b.lock.Unlock()
	require.Empty(b.T, b.errors, "the console")
	for _, request := range b.requests {
		require.Contains(b.T, []string{address, "data:,"}, request)
	}
	require.NotEmpty(b.T, b.requests, fmt.Sprintf("not even %s was seen", address))
}

// Contrast returns the least contrast of text to what is behind it, from 1 to 21, and where it is.
func (b *Browser) Contrast() (least float64, where string) {
	b.T.Helper()
	found := b.Run(contrasts).([]any)
	return found[0].(float64), found[1].(string)
}

const contrasts = `(() => {
	const parse = c => (c.match(/[\d.]+/g) || []).map(Number);
	const linear = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
	const light = ([r, g, b]) => .2126 * linear(r) + .7152 * linear(g) + .0722 * linear(b);
	let least = [99, ""];
	for (const e of document.querySelectorAll("body *")) {
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
		if (!e.offsetParent || e.closest("script, style")) continue;
		let behind = e, color;
		for (; behind; behind = behind.parentElement) {
			color = parse(getComputedStyle(behind).backgroundColor);
			if (color.length === 3 || color[3] > 0) break;
		}
		const lights = [light(parse(getComputedStyle(e).color)), light(behind ? color : [255, 255, 255])];
		const [a, b] = lights.sort((x, y) => y - x);
		const contrast = (a + .05) / (b + .05);
		if (contrast < least[0]) least = [contrast, e.tagName + "." + e.className + ": " + e.textContent.slice(0, 40)];
	}
	return least;
})()`
