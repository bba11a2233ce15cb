package class

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/catalogue"
	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

// member is a file of an archive.
type member struct {
	name string
	kind byte // of a tar file; 0: plain
	text string
	link string
}

func makeZip(t *testing.T, members ...member) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, m := range members {
		head := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		if m.kind == tar.TypeSymlink {
			head.SetMode(fs.ModeSymlink | 0o777)
			m.text = m.link
		}
		file, err := w.CreateHeader(head)
		require.NoError(t, err)
		_, err = file.Write([]byte(m.text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func makeTar(t *testing.T, members ...member) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		require.NoError(t, w.WriteHeader(&tar.Header{
			Name: m.name, Typeflag: m.kind, Linkname: m.link, Size: int64(len(m.text)), Mode: 0o644,
		}))
		_, err := w.Write([]byte(m.text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func gzipped(t *testing.T, text []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	require.NoError(t, err)
	_, err = w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// An archive gives the files of the lab, wherever they lie in it, or says why not.
func TestArchives(t *testing.T) {
	swap := member{name: "swap.S", text: "swap"}
	below := member{name: "dir/below/context.c", text: "context"}
	zeros := makeTar(t, member{name: "zeros", text: strings.Repeat("\x00", 1<<20)})[:512+1<<20] // without its end
	for name, c := range map[string]struct {
		text []byte
		want string // the names of the files, or a part of the error
	}{
		"a zip":       {makeZip(t, swap, below, member{name: "notes.txt"}), "swap.S"},
		"a tar":       {makeTar(t, swap), "swap.S"},
		"a tar by gz": {gzipped(t, makeTar(t, below)), "context.c"},
		"one from a Mac": {
			makeZip(t, member{name: "lab/swap.S", text: "swap"}, member{name: "__MACOSX/swap.S", text: "x"}), "swap.S",
		},
		"one from Windows":           {makeZip(t, member{name: `lab\swap.S`, text: "swap"}), "swap.S"},
		"a name in an old code page": {makeZip(t, swap, member{name: "L\x94sung/L\x94sung.txt"}), "swap.S"},
		"all of fiberlab": {
			makeZip(t, member{name: "f/asm/a.S"}, member{name: "f/labs/02/swap.S"}, member{name: "f/labs/03/swap.S"}),
			"swap.S",
		},
		"two folders": {
			makeZip(t, member{name: "a/swap.S"}, member{name: "b/swap.S"}), "both a and b in it have files for the lab",
		},
		"a path upwards":          {makeZip(t, member{name: "../../swap.S"}), `the path "../../swap.S", which leads`},
		"a path upwards in a tar": {makeTar(t, member{name: "a/../../swap.S"}), "which leads out of it"},
		"an absolute path":        {makeTar(t, member{name: "/tmp/swap.S"}), "which leads out of it"},
		"a link in a zip": {
			makeZip(t, member{name: "swap.S", kind: tar.TypeSymlink, link: "/etc/passwd"}), "swap.S is a symbolic link",
		},
		"a link in a tar": {
			makeTar(t, member{name: "swap.S", kind: tar.TypeSymlink, link: "/etc/passwd"}), "swap.S is a symbolic link",
		},
		"a hard link": {
			makeTar(t, member{name: "swap.S", kind: tar.TypeLink, link: "/etc/passwd"}), "swap.S is a hard link",
		},
		"a pipe":       {makeTar(t, member{name: "swap.S", kind: tar.TypeFifo}), "swap.S is a pipe"},
		"a file twice": {makeTar(t, swap, swap), "it has swap.S twice"},
		"a large file": {
			makeZip(t, member{name: "swap.S", text: strings.Repeat(" ", sandbox.MaxFileSize+1)}),
			"swap.S has 1048577 bytes",
		},
		"a bomb": {
			bytes.Repeat(gzipped(t, zeros), mostUnpacked>>20), "more than 128 MB when it is unpacked",
		},
		"many files": {
			makeZip(t, slices.Repeat([]member{{name: "x"}}, mostEntries+1)...), "more than 20000 files",
		},
		"many large files": {
			makeZip(t, slices.Collect(func(yield func(member) bool) {
				for i := range mostTaken>>20 + 1 {
					yield(member{name: fmt.Sprintf("%d.S", i), text: strings.Repeat(" ", 1<<20)})
				}
			})...), "its sources have more than 16 MB",
		},
		"a long name":                 {makeTar(t, member{name: strings.Repeat("x", 201) + ".S"}), "of more than 200"},
		"a long name of another file": {makeTar(t, swap, member{name: strings.Repeat("x", 201) + ".txt"}), "swap.S"},
		"a working tree of git": {
			makeZip(t, append(slices.Repeat([]member{{name: ".git/x"}}, mostEntries), swap)...), "swap.S",
		},
		"nothing":          {nil, "neither a zip file nor a tar file"},
		"no file of a lab": {makeZip(t, member{name: "notes.txt"}), "no file for lab 02 on amd64"},
		"a broken zip":     {[]byte("PK\x03\x04"), "zip: not a valid zip file"},
		"a broken gzip":    {gzipped(t, makeTar(t, swap))[:40], "unexpected EOF"},
	} {
		path := filepath.Join(t.TempDir(), "alice.zip")
		require.NoError(t, os.WriteFile(path, c.text, 0o600))
		taken(t, path, name, c.want)
	}
}

// taken checks what is taken of a submission.
func taken(t *testing.T, path, name, want string) {
	t.Helper()
	lab, err := catalogue.Find("02")
	require.NoError(t, err)
	files, err := read(t.Context(), path, lab, machine.AMD64)
	if strings.HasSuffix(want, ".S") || strings.HasSuffix(want, ".c") {
		require.NoError(t, err, name)
		require.Equal(t, want, strings.Join(slices.Sorted(maps.Keys(files)), " "), name)
		return
	}
	require.ErrorIs(t, err, sandbox.ErrSubmission, name)
	require.ErrorContains(t, err, want, name)
	require.NotContains(t, err.Error(), "root:", name)
}

// A folder gives its plain files, and nothing that its links lead to.
func TestFolders(t *testing.T) {
	outside := t.TempDir()
	link := func(to string) func(string) error {
		return func(dir string) error { return os.Symlink(to, dir+"/swap.S") }
	}
	require.NoError(t, os.WriteFile(filepath.Join(outside, "swap.S"), []byte("stolen"), 0o600))
	for name, c := range map[string]struct {
		make func(dir string) error
		want string
	}{
		"plain": {func(dir string) error { return os.WriteFile(dir+"/swap.S", nil, 0o600) }, "swap.S"},
		"below": {func(dir string) error {
			return errors.Join(os.MkdirAll(dir+"/lab/.git", 0o700), os.WriteFile(dir+"/lab/swap.S", nil, 0o600))
		}, "swap.S"},
		"a link":                  {link(outside + "/swap.S"), "a symbolic link"},
		"a folder that is a link": {func(dir string) error { return os.Symlink(outside, dir+"/lab") }, "no file for lab"},
		"a link itself": {func(dir string) error {
			return errors.Join(os.Remove(dir), os.Symlink(outside, dir))
		}, "neither a folder nor a plain file"},
		"a pipe": {func(dir string) error { return syscall.Mkfifo(dir+"/swap.S", 0o600) }, "swap.S is a pipe"},
	} {
		dir := filepath.Join(t.TempDir(), "alice")
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, c.make(dir))
		taken(t, dir, name, c.want)
	}
}

// What cannot be read of a folder is not the submission's fault.
func TestUnreadable(t *testing.T) {
	lab, err := catalogue.Find("02")
	require.NoError(t, err)
	f := finding{name: "alice", lab: lab, arch: machine.AMD64, folders: map[string]map[string]found{}}
	disk := &fs.PathError{Op: "read", Path: "swap.S", Err: syscall.EIO}
	require.NoError(t, f.add("swap.S", "", 1, func() (io.ReadCloser, error) { return nil, disk }))
	_, err = f.choose()
	require.ErrorIs(t, err, syscall.EIO)
	require.NotErrorIs(t, err, sandbox.ErrSubmission)

	if os.Getuid() == 0 {
		t.Skip("root reads all folders")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/swap.S", nil, 0o600))
	require.NoError(t, os.Mkdir(dir+"/closed", 0))
	_, err = read(t.Context(), dir, lab, machine.AMD64)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.NotErrorIs(t, err, sandbox.ErrSubmission)
}

// Of a bare repository the last commit counts. Its settings, hooks and alternates do not.
func TestRepositories(t *testing.T) {
	where, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git")
	}
	work := t.TempDir()
	bare := filepath.Join(work, "alice.git")
	git := func(args ...string) {
		c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		c.Dir = work
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	commit := func(format string) {
		git("init", "-q", "--object-format="+format, format)
		require.NoError(t, os.WriteFile(filepath.Join(work, format, "swap.S"), []byte("swap"), 0o600))
		attributes := filepath.Join(work, format, ".gitattributes")
		require.NoError(t, os.WriteFile(attributes, []byte("swap.S filter=own"), 0o600))
		git("-C", format, "add", ".")
		git("-C", format, "commit", "-q", "-m", "swap")
	}
	commit("sha1")
	git("clone", "-q", "--bare", "sha1", bare)
	git("--git-dir="+bare, "symbolic-ref", "HEAD", "refs/heads/unborn")
	taken(t, bare, "one branch that HEAD does not name", "swap.S")
	lab, err := catalogue.Find("02")
	require.NoError(t, err)
	git("--git-dir="+bare, "fetch", "-q", "sha1", "HEAD:refs/heads/other")
	_, err = read(t.Context(), bare, lab, machine.AMD64)
	require.ErrorContains(t, err, "alice.git: HEAD names no commit, and it has 2 branches: name one by git")
	require.NotErrorIs(t, err, sandbox.ErrSubmission, "the server chose HEAD")
	git("--git-dir="+bare, "symbolic-ref", "HEAD", "refs/heads/other")
	file, err := os.OpenFile(filepath.Join(bare, "config"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString("[filter \"own\"]\n smudge = false\n required = true\n[include]\n path = /etc/passwd\n")
	require.NoError(t, errors.Join(err, file.Close()))
	taken(t, bare, "a repository", "swap.S")

	commit("sha256")
	taken(t, filepath.Join(work, "sha256", ".git"), "a repository with long names of objects", "swap.S")

	elsewhere := filepath.Join(work, "elsewhere", "bin", "git")
	program, err := os.ReadFile(where)
	require.NoError(t, err)
	require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(elsewhere), 0o700), os.WriteFile(elsewhere, program, 0o700)))
	path := os.Getenv("PATH")
	t.Setenv("PATH", filepath.Dir(elsewhere))
	taken(t, bare, "git in a folder of its own", "swap.S")
	require.NoError(t, os.WriteFile(elsewhere, []byte("#!/missing\n"), 0o700))
	_, err = read(t.Context(), bare, lab, machine.AMD64)
	require.ErrorContains(t, err, "alice.git: git does not run confined: sandbox: "+elsewhere+": no such file")
	require.NotErrorIs(t, err, sandbox.ErrSubmission, "git is at fault, not the submission")
	t.Setenv("PATH", path)

	require.NoError(t, os.RemoveAll(filepath.Join(bare, "objects")))
	require.NoError(t, os.Mkdir(filepath.Join(bare, "objects"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(bare, "objects", "info"), 0o700))
	alternate := []byte(filepath.Join(work, "sha1", ".git", "objects") + "\n")
	require.NoError(t, os.WriteFile(filepath.Join(bare, "objects", "info", "alternates"), alternate, 0o600))
	taken(t, bare, "objects of another repository", "git: fatal")
	require.NoError(t, os.Remove(filepath.Join(bare, "HEAD")))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(bare, "HEAD")))
	taken(t, bare, "a link", "HEAD is a symbolic link")
}
