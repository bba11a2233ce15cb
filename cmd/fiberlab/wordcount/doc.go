// Package wordcount counts words by tasks on fibers. It is the work that fiberlab run does, and a program
// of moderate size to read after the scheduler and the primitives, which it uses as any program would.
//
//	read -- chunks --> split --+           +-- batches --> count
//	read -- chunks --> split --+-- words --+-- batches --> count        clock
//	read -- chunks --> split --+           +-- batches --> count
//
// Each row on the left is a lane. When a lane's read task has read one file, it takes the next. On the
// right each count task has a shard of the words: a split task sends each word to the task that counts
// it. All arrows are bounded channels: a stage that is ahead waits for room, and a stage that is behind waits
// for work. There are more tasks than workers, and most of them are blocked at any time. So a run shows
// fibers in all five states.
//
// [Walk] finds the text files below a directory (tree.go). [Count] counts their words (count.go puts the
// tasks together; stages.go and splitter.go do their work). [CountSequentially] counts them in one loop,
// without fibers (sequential.go). Both make a [Tally] (tally.go), and [Tally.Difference] says where two of
// these disagree.
package wordcount
