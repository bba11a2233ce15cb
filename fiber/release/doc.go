// Package release has a store that is a release and no more: it is cheaper than those of
// sync/atomic, each of which is also ordered before every load that follows.
package release
