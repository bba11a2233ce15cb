// Package platform makes a build for a system that fiberlab does not run on end with one line that names the
// remedy. It holds nothing. The packages at the bottom import it, so the compiler comes to it before it comes to them.
package platform

import _ "fiberlab/internal/platform/system"
