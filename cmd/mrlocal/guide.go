package main

import (
	"context"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/guide"
	"mrlocal/cmd/mrlocal/internal/tools"
	"mrlocal/slots/policy/registry"
)

// guided lists all commands and tools with their flags.
func guided() (all []guide.Command) {
	for _, t := range tools.All() {
		all = append(all, guide.Command{Path: []string{t.Name}, Usage: t.Usage, Flags: append(t.Flags, toolEngineFlags()...)})
	}
	for _, c := range commands()[len(all):] {
		all = append(all, guide.Command{Path: []string{c.name}, Usage: c.usage, Flags: c.flags})
		for _, s := range c.sub {
			all = append(all, guide.Command{Path: []string{c.name, s.name}, Usage: s.usage, Flags: s.flags})
		}
	}
	return all
}

func completionCommand() command {
	return command{name: "completion", usage: "print a script that completes command lines in a shell", args: "bash|zsh|fish",
		long: "The script completes commands, flags, policies, other choices, and files.",
		run: func(_ context.Context, e env, line argv.Line) (int, error) {
			script, err := guide.Completion(line.Words, guided(), append(registry.Names(), "all"))
			if err != nil {
				return 0, err
			}
			return exitDone, write(e, []byte(script))
		}}
}

func manCommand() command {
	return command{name: "man", usage: "print the manual page, or write a page a command", args: "[DIR]",
		long: "Without DIR the page of mrlocal goes to standard output. With DIR, which is made if it is missing, the pages mrlocal.1, mrlocal-run-sort.1 and so on are written there.",
		run: func(_ context.Context, e env, line argv.Line) (int, error) {
			pages := guide.Pages(guided(), appHelp)
			if len(line.Words) == 0 {
				return exitDone, write(e, []byte(pages["mrlocal"]))
			}
			return exitDone, guide.WritePages(line.Words, pages)
		}}
}
