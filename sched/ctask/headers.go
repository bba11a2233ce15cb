package ctask

import "embed"

// Headers holds the package's C headers. A package whose C code includes one imports this
// package too, to be linked with it. Since the text of the headers is part of this
// package, a change of a header rebuilds the packages that import it.
//
//go:embed *.h
var Headers embed.FS
