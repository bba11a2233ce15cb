//go:build browser

package step

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

// chromium is a browser without a window, and one page in it. It is controlled by the DevTools protocol over a pipe: a
// JSON document a message, each with a zero byte at its end.
type chromium struct {
	t        *testing.T
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

// openBrowser starts a browser that ends with the test.
func openBrowser(t *testing.T) *chromium {
	t.Helper()
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
	require.NoError(t, c.Start(), "scripts/need browser installs it")
	commandsR.Close()
	answersW.Close()
	b := &chromium{t: t, commands: commandsW, answers: map[int]chan answer{}, loaded: make(chan string, 100)}
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
	b.call(&target, "Target.createTarget", map[string]any{"url": "about:blank"})
	var attached struct{ SessionID string }
	b.call(&attached, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(nil, domain+".enable", nil)
	}
	b.call(nil, "Page.setLifecycleEventsEnabled", map[string]any{"enabled": true})
	return b
}

// read takes what the browser sends until it ends.
func (b *chromium) read(from *os.File) {
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

// call sends a command and waits for its result.
func (b *chromium) call(result any, method string, params map[string]any) {
	b.t.Helper()
	b.number++
	message := map[string]any{"id": b.number, "method": method}
	if params != nil {
		message["params"] = params
	}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	require.NoError(b.t, err)
	waiting := make(chan answer, 1)
	b.lock.Lock()
	running := b.answers != nil
	if running {
		b.answers[b.number] = waiting
	}
	b.lock.Unlock()
	require.True(b.t, running, "%s: the browser has ended", method)
	_, err = b.commands.Write(append(text, 0))
	require.NoError(b.t, err)
	select {
	case a, ok := <-waiting:
		require.True(b.t, ok, "%s: the browser has ended", method)
		if a.Error != nil {
			require.FailNow(b.t, method, a.Error.Message)
		}
		if result != nil {
			require.NoError(b.t, json.Unmarshal(a.Result, result))
		}
	case <-time.After(2 * time.Minute):
		require.FailNow(b.t, method, "no answer")
	}
}

// load shows an address and waits until it is loaded. It forgets what earlier pages did.
func (b *chromium) load(address string) {
	b.t.Helper()
	b.navigate("about:blank") // so that an address that differs by its fragment is loaded
	b.lock.Lock()
	b.requests, b.errors = nil, nil
	b.lock.Unlock()
	b.navigate(address)
}

// navigate goes to another page and waits until that page is loaded, and no page that was on its way before.
func (b *chromium) navigate(address string) {
	b.t.Helper()
	var page struct{ LoaderID string }
	b.call(&page, "Page.navigate", map[string]any{"url": address})
	late := time.After(2 * time.Minute)
	for {
		select {
		case loaded := <-b.loaded:
			if loaded == page.LoaderID {
				return
			}
		case <-late:
			require.FailNow(b.t, "the page does not load")
		}
	}
}

// until waits until an expression in the page has that value: what the page does by itself, it may do later.
func (b *chromium) until(want any, expression string, about ...any) {
	b.t.Helper()
	for began := time.Now(); b.run(expression) != want; time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			require.Equal(b.t, want, b.run(expression), about...)
			return
		}
	}
}

// run evaluates an expression in the page.
func (b *chromium) run(expression string) any {
	b.t.Helper()
	var result struct {
		Result           struct{ Value any }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	b.call(
		&result, "Runtime.evaluate",
		map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true},
	)
	if result.ExceptionDetails != nil {
		require.FailNow(b.t, expression, result.ExceptionDetails.Exception.Description)
	}
	return result.Result.Value
}

// press presses a key as a reader does.
func (b *chromium) press(key string) {
	b.t.Helper()
	codes := map[string]int{"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "Tab": 9, "Enter": 13}
	down := map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
	if len(key) == 1 {
		down["text"] = key
	}
	if key == "Enter" {
		down["text"] = "\r"
	}
	b.call(nil, "Input.dispatchKeyEvent", down)
	b.call(
		nil, "Input.dispatchKeyEvent",
		map[string]any{"type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": codes[key]},
	)
}

// size makes the page so many points wide and high, of a phone or of a screen.
func (b *chromium) size(width, height int, phone bool) {
	b.call(
		nil, "Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone},
	)
}

// media emulates a medium, screen or print, and a preference for light or dark.
func (b *chromium) media(medium, scheme string) {
	b.call(nil, "Emulation.setEmulatedMedia", map[string]any{"media": medium,
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
}

// picture keeps what the page looks like, in the folder that $FIBERLAB_PICTURES names.
func (b *chromium) picture(name string, whole bool) {
	dir := os.Getenv("FIBERLAB_PICTURES")
	if dir == "" {
		return
	}
	var result struct{ Data string }
	b.call(&result, "Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": whole})
	b.keep(filepath.Join(dir, name+".png"), result.Data)
}

func (b *chromium) keep(path, data string) {
	bytes, err := base64.StdEncoding.DecodeString(data)
	require.NoError(b.t, err)
	require.NoError(b.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(b.t, os.WriteFile(path, bytes, 0o644))
}

// quiet checks that the page wrote nothing to the console and asked for nothing but itself.
func (b *chromium) quiet(address string) {
	b.t.Helper()
	b.run("document.title") // what the page did earlier has been reported before its answer
	b.lock.Lock()
	defer b.lock.Unlock()
	require.Empty(b.t, b.errors, "the console")
	for _, request := range b.requests {
		require.Contains(b.t, []string{address, "data:,"}, request)
	}
	require.NotEmpty(b.t, b.requests, fmt.Sprintf("not even %s was seen", address))
}
