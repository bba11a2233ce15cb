package main

import (
	"bufio"
	"context"
	"math"
	"sync/atomic"
)

// countPlainly counts the words of files in one loop, without a fiber and without the pipeline's code:
// what the pipeline's counts are held against. It adds the size of each file to done once the file is
// counted. The only error is ctx's.
func countPlainly(ctx context.Context, files []textFile, open opener, done *atomic.Int64) (*tally, error) {
	t := newTally(len(files), 1)
	buffer := make([]byte, 64<<10)
	for i, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := t.scan(i, file, open, buffer); err != nil {
			t.failures[i] = err
		}
		done.Add(file.size)
	}
	return t, nil
}

func (t *tally) scan(i int, file textFile, open opener, buffer []byte) error {
	f, err := open(file.path)
	if err != nil {
		return err
	}
	defer f.Close()
	words := bufio.NewScanner(f)
	words.Buffer(buffer, math.MaxInt)
	words.Split(bufio.ScanWords)
	counts := t.shards[0]
	for words.Scan() {
		t.perFile[i]++
		n := counts[string(words.Bytes())]
		if n == nil {
			n = new(int)
			counts[words.Text()] = n
		}
		*n++
	}
	return words.Err()
}
