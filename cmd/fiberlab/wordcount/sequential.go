package wordcount

import (
	"bufio"
	"context"
	"math"
)

// CountSequentially counts the words of files in one loop, without a fiber and without the code of Count:
// it is the count that Count is compared with. It uses o.Open and o.Progress, and counts the latter by
// whole files. It blocks until all files are counted, or until ctx is done; the only error is ctx's cause.
func CountSequentially(ctx context.Context, files []File, o Options) (*Tally, error) {
	t := newTally(files, 1)
	open, done := o.Open.orOS(), int64(0)
	buffer := make([]byte, 64<<10)
	for i := range t.Files {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		t.Files[i].Err = t.scan(&t.Files[i], open, buffer)
		if done += t.Files[i].Size; o.Progress != nil {
			o.Progress.Store(done)
		}
	}
	return &t, nil
}

// scan counts the words of one file.
func (t *Tally) scan(file *FileCount, open Opener, buffer []byte) error {
	f, err := open(file.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	words := bufio.NewScanner(f)
	words.Buffer(buffer, math.MaxInt)
	words.Split(bufio.ScanWords)
	counts := t.shards[0]
	for words.Scan() {
		file.Words++
		n := counts[string(words.Bytes())]
		if n == nil {
			n = new(int)
			counts[words.Text()] = n
		}
		*n++
	}
	return words.Err()
}
