package main

import (
	"strings"

	"fiberlab/fiber"
	"fiberlab/sched"
)

// setting is what one count runs on: a backend, and a scheduler of one policy.
type setting struct {
	backend fiber.Backend
	policy  sched.Policy
	label   string // for people; unique among the settings of a command
}

// settings lists every backend under every policy. Labels name the policy only if there are several.
func settings(backends []fiber.Backend, policies []sched.Policy) []setting {
	var list []setting
	for _, p := range policies {
		for _, b := range backends {
			s := setting{b, p, b.String()}
			if len(policies) > 1 {
				s.label += " " + p.String()
			}
			list = append(list, s)
		}
	}
	return list
}

// fileInfix is what a setting's file has before its extension if there are several settings.
func (s setting) fileInfix() string { return "." + strings.ReplaceAll(s.label, " ", ".") }

func backendNames() []string {
	var names []string
	for _, b := range fiber.Backends() {
		names = append(names, b.String())
	}
	return names
}

func policyNames() []string {
	var names []string
	for _, p := range sched.Policies() {
		names = append(names, p.String())
	}
	return names
}

// parseBackend returns the backend of that name.
func parseBackend(name string) (fiber.Backend, error) {
	b, err := fiber.ParseBackend(name)
	if err != nil {
		return b, err
	}
	return b.Resolve()
}
