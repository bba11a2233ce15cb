//go:build browser

package class

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/internal/browsertest"
)

// The pages fit a phone, a screen and paper, and can be read in light and dark. What submissions say is text there.
func TestBrowser(t *testing.T) {
	dir, class := t.TempDir(), sample(t)
	class.Alike = []Pair{{"alice", class.Students[2].Student, 0.93, 120}}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "students"), 0o700))
	require.NoError(t, class.write(dir))
	b := browsertest.Open(t)
	for _, page := range []string{"index", "students/bob", "students/dave"} {
		address := "file://" + filepath.Join(dir, page+".html")
		for _, width := range []int{320, 360, 768, 1400} {
			for _, scheme := range []string{"light", "dark"} {
				b.Media("screen", scheme)
				b.Size(width, 800, width < 600)
				b.Load(address)
				require.EqualValues(t, width, b.Run(`document.documentElement.scrollWidth`), page)
				contrast, where := b.Contrast()
				require.GreaterOrEqual(t, contrast, 4.5, "%s, %s, %s", page, scheme, where)
				b.Picture(fmt.Sprintf("class-%s-%s-%d", filepath.Base(page), scheme, width), true)
			}
		}
		require.Equal(t, 0.0, b.Run(`document.querySelectorAll("img, script").length`))
		require.NotEqual(t, "taken", b.Run(`document.title`))
		b.Media("print", "dark")
		b.Size(800, 1000, false)
		b.Load(address)
		require.Equal(t, "rgb(255, 255, 255)", b.Run(`getComputedStyle(document.body).backgroundColor`), "paper is white")
		require.EqualValues(t, 800, b.Run(`document.documentElement.scrollWidth`), "nothing is cut off")
		b.Quiet(address)
	}
	b.Load("file://" + filepath.Join(dir, "index.html"))
	require.Equal(t, "bob", b.Run(`document.querySelectorAll("tbody a")[1].textContent`))
	for _, student := range []string{"1", "2"} { // each link leads to the page of its student, whatever the name
		b.Load("file://" + filepath.Join(dir, "index.html"))
		want := b.Run(`document.querySelectorAll("tbody a")[` + student + `].textContent`)
		b.Navigate(b.Run(`document.querySelectorAll("tbody a")[` + student + `].href`).(string))
		require.Equal(t, want, b.Run(`document.querySelector("h1").textContent`))
	}
	require.Equal(t, false, b.Run(`document.body.innerText.includes("alice")`), "a student's page names no other")
}
