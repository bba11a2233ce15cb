package main

import "fiberlab/labs/explore"

// explored writes what explore has found.
func (l *lab) explored(r *explore.Result, asJSON bool) error {
	return l.finish(options{json: asJSON}, report{Machine: thisMachine(), Schedules: r}, nil)
}
