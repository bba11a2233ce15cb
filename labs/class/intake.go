package class

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

// What a submission may have before the files of the lab are taken from it.
const (
	mostEntries  = 20_000    // files and folders
	longestName  = 200       // bytes of a file's name
	mostTaken    = 16 << 20  // bytes of all files that the lab could want
	mostArchive  = 64 << 20  // bytes of an archive, or of a git repository
	mostUnpacked = 128 << 20 // bytes that come out of a compressed archive
)

// read returns the files that the lab takes from what lies at path, by their names. That is a folder, a bare git
// repository, or an archive: zip, or tar with gzip or bzip2 or neither. Files may lie in a folder below: in labs/NN if
// there is one, else in the uppermost folder that has any.
//
// Nothing is written to the submission, no link is followed, no program of the submission is run. Errors that wrap
// sandbox.ErrSubmission are the submission's fault.
func read(ctx context.Context, at string, lab *grade.Lab, arch *machine.Arch) (map[string][]byte, error) {
	f := finding{name: filepath.Base(at), lab: lab, arch: arch, folders: map[string]map[string]found{}}
	info, err := os.Lstat(at)
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir() && isRepository(at):
		err = f.repository(ctx, at)
	case info.IsDir():
		err = f.folder(ctx, at)
	case info.Mode().IsRegular():
		err = f.archive(ctx, at)
	default:
		err = f.refuse("it is neither a folder nor a plain file")
	}
	if err != nil {
		return nil, err
	}
	return f.choose()
}

// finding is what has been found in a submission so far.
type finding struct {
	name    string // of the submission, for errors
	lab     *grade.Lab
	arch    *machine.Arch
	folders map[string]map[string]found // by the folder's path and the file's name
	entries int
	bytes   int
}

// found is a file's text, or why it cannot be taken.
type found struct {
	text []byte
	err  error
}

func (f *finding) refuse(format string, args ...any) error {
	return fmt.Errorf("%s %w: %s", f.name, sandbox.ErrSubmission, fmt.Sprintf(format, args...))
}

// fault is the refusal for an error of reading. The submission is not at fault for errors of the disk.
func (f *finding) fault(err error) error {
	if disk := new(fs.PathError); errors.As(err, &disk) {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return f.refuse("%v", err)
}

// add takes a file if the lab could want it. kind is what it is, empty for a plain file.
func (f *finding) add(name, kind string, size int64, open func() (io.ReadCloser, error)) error {
	if name = path.Clean(strings.ToValidUTF8(name, "?")); !fs.ValidPath(name) {
		return f.refuse("it has a file with the path %q, which leads out of it", name)
	}
	folder, base := path.Dir(name), path.Base(name)
	hidden := func(part string) bool { return part == "__MACOSX" || part != "." && strings.HasPrefix(part, ".") }
	if slices.ContainsFunc(strings.Split(name, "/"), hidden) {
		return nil
	}
	if err := f.count(); err != nil || !f.lab.HandedIn(base) {
		return err
	}
	if len(base) > longestName || strings.ContainsRune(base, 0) {
		return f.refuse("it has a source with a name of more than %d bytes, or with a zero byte", longestName)
	}
	if f.folders[folder] == nil {
		f.folders[folder] = map[string]found{}
	}
	if _, twice := f.folders[folder][base]; twice {
		return f.refuse("it has %s twice", name)
	}
	var text []byte
	var err error
	switch {
	case kind != "":
		err = f.refuse("%s is a %s, not a plain file", name, kind)
	case size > sandbox.MaxFileSize:
		err = f.refuse("%s has %d bytes (at most %d)", name, size, sandbox.MaxFileSize)
	default:
		if text, err = content(open); err != nil {
			err = f.fault(fmt.Errorf("%s cannot be read: %w", name, err))
		} else if len(text) > sandbox.MaxFileSize {
			err = f.refuse("%s has more than %d bytes", name, sandbox.MaxFileSize)
		}
	}
	f.folders[folder][base] = found{text, err}
	if f.bytes += len(text); f.bytes > mostTaken {
		return f.refuse("its sources have more than %d MB", mostTaken>>20)
	}
	return nil
}

// content reads a file that may be longer than it says: at most one byte more than may be taken.
func content(open func() (io.ReadCloser, error)) ([]byte, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, sandbox.MaxFileSize+1))
}

// choose returns the files of the folder that the submission is.
func (f *finding) choose() (map[string][]byte, error) {
	depth := func(folder string) int {
		switch own := "labs/" + f.lab.Number; {
		case folder == own || strings.HasSuffix(folder, "/"+own):
			return -1
		case folder == ".":
			return 0
		}
		return 1 + strings.Count(folder, "/")
	}
	var candidates []string
	for folder, files := range f.folders {
		for name := range files {
			if f.lab.Takes(f.arch, name) {
				candidates = append(candidates, folder)
				break
			}
		}
	}
	slices.SortFunc(candidates, func(a, b string) int { return cmp.Or(depth(a)-depth(b), strings.Compare(a, b)) })
	if len(candidates) == 0 {
		return nil, f.refuse(
			"it has no file for lab %s on %s: the lab needs some of %s", f.lab.Number, f.arch.Name,
			strings.Join(f.lab.Sources, ", "),
		)
	}
	if len(candidates) > 1 && depth(candidates[0]) == depth(candidates[1]) {
		return nil, f.refuse("both %s and %s in it have files for the lab: hand in one folder", candidates[0], candidates[1])
	}
	files := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(f.folders[candidates[0]])) {
		file := f.folders[candidates[0]][name]
		if file.err != nil {
			return nil, file.err
		}
		files[name] = file.text
	}
	return files, nil
}

// folder looks through a folder on the disk.
func (f *finding) folder(ctx context.Context, at string) error {
	root, err := os.OpenRoot(at)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return f.fault(err)
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir():
			return f.count()
		}
		info, err := d.Info()
		if err != nil {
			return f.fault(err)
		}
		open := func() (io.ReadCloser, error) { return openSame(root, name, info) }
		return f.add(name, sandbox.KindOf(d.Type()), info.Size(), open)
	})
}

// count counts a file or a folder.
func (f *finding) count() error {
	if f.entries++; f.entries > mostEntries {
		return f.refuse("it has more than %d files and folders", mostEntries)
	}
	return nil
}

// openSame opens the file that info is about, and no other that has taken its place since.
func openSame(root *os.Root, name string, info fs.FileInfo) (io.ReadCloser, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	now, err := file.Stat()
	if err == nil && !os.SameFile(info, now) {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("it was replaced meanwhile")}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// archive looks through a zip or tar file.
func (f *finding) archive(ctx context.Context, at string) error {
	file, err := os.Open(at)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() > mostArchive {
		return f.refuse("it has %d bytes (at most %d)", info.Size(), mostArchive)
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	head = head[:n]
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK")):
		return f.zip(ctx, file, info.Size())
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		unpacked, err := gzip.NewReader(file)
		if err != nil {
			return f.fault(err)
		}
		return f.tar(ctx, unpacked)
	case bytes.HasPrefix(head, []byte("BZh")):
		return f.tar(ctx, bzip2.NewReader(file))
	case n == 512 && string(head[257:262]) == "ustar":
		return f.tar(ctx, file)
	}
	return f.refuse("it is neither a zip file nor a tar file, plain or by gzip or bzip2: unpack it into a folder")
}

func (f *finding) zip(ctx context.Context, file io.ReaderAt, size int64) error {
	archive, err := zip.NewReader(file, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return f.fault(err)
	}
	for _, member := range archive.File {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		name := strings.ReplaceAll(member.Name, `\`, "/") // as some programs on Windows write it
		if member.Mode().IsDir() || strings.HasSuffix(name, "/") {
			err = f.count()
		} else {
			size := int64(min(member.UncompressedSize64, 1<<62))
			err = f.add(name, sandbox.KindOf(member.Mode().Type()), size, member.Open)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *finding) tar(ctx context.Context, stream io.Reader) error {
	bounded := &io.LimitedReader{R: stream, N: mostUnpacked}
	archive := tar.NewReader(bounded)
	for {
		head, err := archive.Next()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case bounded.N <= 0:
			return f.refuse("it has more than %d MB when it is unpacked", mostUnpacked>>20)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, tar.ErrInsecurePath):
			return f.fault(err)
		}
		kind := sandbox.KindOf(head.FileInfo().Mode().Type())
		switch head.Typeflag {
		case tar.TypeXGlobalHeader:
			continue
		case tar.TypeDir:
			if err := f.count(); err != nil {
				return err
			}
			continue
		case tar.TypeLink:
			kind = "hard link"
		}
		err = f.add(head.Name, kind, head.Size, func() (io.ReadCloser, error) {
			return io.NopCloser(archive), nil
		})
		if err != nil {
			return err
		}
	}
}

// isRepository reports whether a folder is a git repository without a working tree.
func isRepository(at string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(at, name)); err != nil {
			return false
		}
	}
	return true
}

// gitTime is how long git may take.
const gitTime = time.Minute

// repository looks through the last commit of a git repository. Git gets a copy that has objects and references, and of
// the settings only how these are stored: no hooks, no objects of other repositories. It runs confined.
func (f *finding) repository(ctx context.Context, at string) (err error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return errors.New("there is no git, which bare repositories need: install it")
	}
	copied, err := os.MkdirTemp("", "fiberlab-git-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(copied)) }()
	if err := f.copyRepository(ctx, at, copied); err != nil {
		return err
	}
	command := func(args ...string) *exec.Cmd {
		argv := sandbox.Tool(append([]string{git, "--git-dir=" + copied}, args...), []string{copied})
		c := exec.CommandContext(ctx, argv[0], argv[1:]...)
		c.Env = []string{
			"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + copied, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		}
		c.Dir = copied
		c.WaitDelay = time.Second
		return c
	}
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	runtime.LockOSThread() // git ends with the thread that starts it
	defer runtime.UnlockOSThread()
	commit := "HEAD"
	if command("rev-parse", "--quiet", "--verify", "HEAD").Run() != nil { // the server chose HEAD, not the student
		list, err := command("for-each-ref", "--format=%(refname)", "refs/heads").Output()
		branches := strings.Fields(string(list))
		if err == nil && len(branches) > 1 {
			return fmt.Errorf(
				"%s: HEAD names no commit, and it has %d branches: name one by git symbolic-ref HEAD refs/heads/BRANCH",
				f.name, len(branches),
			)
		}
		if len(branches) == 1 {
			commit = branches[0]
		}
	}
	c := command("archive", "--format=tar", commit)
	var said strings.Builder
	c.Stderr = &said
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	if err = f.tar(ctx, out); err == nil {
		_, err = io.Copy(io.Discard, out) // what follows the end of the archive
	}
	late := errors.Is(ctx.Err(), context.DeadlineExceeded) && whole.Err() == nil
	if err != nil {
		cancel()
	}
	failed := c.Wait()
	if late {
		return f.refuse("git needs more than %v for its last commit", gitTime)
	}
	if unconfined := sandbox.Unconfined(failed, said.String()); unconfined != nil {
		return fmt.Errorf("%s: git does not run confined: %w", f.name, unconfined)
	}
	if failed != nil && strings.Contains(said.String(), "unknown repository extension") {
		return fmt.Errorf("%s: the git here is too old for how it stores objects or references: install a newer one", f.name)
	}
	if text := strings.TrimSpace(said.String()); failed != nil && text != "" {
		return f.refuse("git: %s", machine.Clip(text, 300, " ..."))
	}
	if err == nil && failed != nil {
		return f.refuse("git: %v", failed)
	}
	return err
}

// ofRepository is what git needs of a repository.
var ofRepository = []string{".", "HEAD", "config", "packed-refs", "objects", "refs", "reftable"}

// extension is a setting that says how a repository stores its objects and references.
var extension = regexp.MustCompile(`(?mi)^\s*(objectformat *= *sha256|refstorage *= *reftable)\s*$`)

// copyRepository copies what git needs to know of a repository, in plain files.
func (f *finding) copyRepository(ctx context.Context, at, to string) error {
	root, err := os.OpenRoot(at)
	if err != nil {
		return err
	}
	defer root.Close()
	left := int64(mostArchive)
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err := errors.Join(ctx.Err(), err, f.count()); err != nil {
			return err
		}
		top, _, _ := strings.Cut(name, "/")
		switch {
		case !slices.Contains(ofRepository, top), name == "objects/info":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case name == "config" && d.IsDir():
			return f.refuse("config is a folder, not a plain file")
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		case !d.Type().IsRegular():
			return f.refuse("%s is a %s, not a plain file", name, sandbox.KindOf(d.Type()))
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		file, err := openSame(root, name, info)
		if err != nil {
			return err
		}
		defer file.Close()
		text, err := io.ReadAll(io.LimitReader(file, left+1))
		if left -= int64(len(text)); err == nil && left < 0 {
			err = f.refuse("it has more than %d MB", mostArchive>>20)
		}
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o600)
	})
	if err != nil {
		return err
	}
	config := filepath.Join(to, "config")
	text, err := os.ReadFile(config)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	own := "[core]\nrepositoryformatversion = 1\nbare = true\n[extensions]\n"
	for _, set := range extension.FindAllSubmatch(text, -1) {
		own += string(set[1]) + "\n"
	}
	return os.WriteFile(config, []byte(own), 0o600)
}
