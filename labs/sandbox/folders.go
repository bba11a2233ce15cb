package sandbox

// compilerFolders are the folders that a compiler may use.
type compilerFolders struct {
	Read  []string // its own, and the system's headers and libraries: to read and to execute
	Write []string
}

func (c *compilerFolders) grants() []grant {
	var grants []grant
	for _, path := range c.Read {
		grants = append(grants, grant{path, runTree})
	}
	for _, path := range c.Write {
		grants = append(grants, grant{path, writeTree})
	}
	return append(
		grants, grant{"/dev/null", useFile}, grant{"/dev/urandom", readFiles}, grant{"/etc/ld.so.cache", readFiles},
		grant{"/etc/ld.so.preload", readFiles},
	)
}
