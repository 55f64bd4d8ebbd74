package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/slots/policy/registry"
)

// policiesCommand returns mrlocal policies, which lists the policies in the order of the registry:
// simplest first.
func policiesCommand() command.Command {
	return command.Command{Usage: "list the slot policies, each with one line and its paper",
		Run: func(_ context.Context, e command.Env, line argv.Line) (int, error) {
			if err := command.NoWords(line); err != nil {
				return 0, err
			}
			var text bytes.Buffer
			width := 0 // of the first column, which has the names
			for _, p := range registry.All() {
				width = max(width, len(p.Name))
			}
			for _, p := range registry.All() {
				fmt.Fprintf(&text, "%-*s  %s\n%*s  %s\n", width, p.Name, p.Line, width, "", p.Paper)
			}
			return command.Done, e.Write(text.Bytes())
		}}
}

// versionCommand returns mrlocal version, which prints the same line as --version.
func versionCommand() command.Command {
	all := argv.ToggleSpec("licenses", "", "print the licences of the modules and files in this program that others wrote")
	return command.Command{Usage: "print the version", Flags: []argv.Spec{all},
		Run: func(_ context.Context, e command.Env, line argv.Line) (int, error) {
			if err := command.NoWords(line); err != nil || !line.Has("licenses") {
				return printVersion(e, err)
			}
			text, err := process.Notices()
			return command.Done, errors.Join(err, e.Write(text))
		}}
}

// printVersion writes the version with commit, Go release and platform. If err is not nil, it
// writes nothing and returns err.
func printVersion(e command.Env, err error) (code int, _ error) {
	if err != nil {
		return command.Usage, err
	}
	return command.Done, e.Write([]byte(process.Version(mrlocal.Version) + "\n"))
}

// documentedCommands returns all commands and subcommands with their flags, in the order of the help.
func documentedCommands() (list []documented) {
	for _, c := range all() {
		list = append(list, document(c))
		for _, s := range c.Sub {
			list = append(list, document(s, c.Name))
		}
	}
	return list
}

// document returns c as a documented command. above is the path of the command above c.
func document(c command.Command, above ...string) documented {
	return documented{Path: append(above, c.Name), Usage: c.Usage, Args: c.Args, Long: c.Long, Flags: c.AllFlags()}
}

// completionCommand returns mrlocal completion, which prints a script for a shell.
func completionCommand() command.Command {
	return command.Command{Usage: "print a script that completes command lines in a shell", Args: "bash|zsh|fish",
		Long: "The script completes commands, flags, policies, other choices, and files.",
		Run: func(_ context.Context, e command.Env, line argv.Line) (int, error) {
			script, err := completionScript(line.Words, documentedCommands(), append(registry.Names(), "all"))
			if err != nil {
				return 0, err
			}
			return command.Done, e.Write([]byte(script))
		}}
}

// manCommand returns mrlocal man, which prints or writes manual pages.
func manCommand() command.Command {
	return command.Command{Usage: "print the manual page, or write one page per command", Args: "[DIR]",
		Long: "Without DIR the page of mrlocal goes to standard output. With DIR, the pages mrlocal.1, mrlocal-run-sort.1 and so on are written there; a missing DIR is created.",
		Run: func(_ context.Context, e command.Env, line argv.Line) (int, error) {
			pages := manualPages(documentedCommands(), appHelp)
			if len(line.Words) == 0 {
				return command.Done, e.Write([]byte(pages["mrlocal"]))
			}
			return command.Done, writeManualPages(line.Words, pages)
		}}
}
