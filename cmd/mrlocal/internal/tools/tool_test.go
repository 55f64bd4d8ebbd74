package tools

import (
	"context"
	"fmt"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/flags"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
)

// made returns a tool with options of the engine.
func made(name string, e command.Env, o mrlocal.Options) *flags.Command {
	return map[string]func(command.Env, mrlocal.Options) *flags.Command{"count": countTool, "grep": grepTool, "sort": sortTool}[name](e, o)
}

// runTool runs a tool as package main does, with options of the engine, and returns the exit code.
func runTool(ctx context.Context, name string, args []string, e command.Env, o mrlocal.Options) int {
	p := flags.Program{Version: process.Version(mrlocal.Version), Write: e.Write, Commands: []flags.Entry{{Name: name, Make: func() *flags.Command { return made(name, e, o) }}}}
	line, code, err := p.Run(ctx, append([]string{name}, args...))
	if err != nil {
		fmt.Fprint(e.Stderr, show.ErrorLine(name, err, line.Command.Settings...))
		return command.Usage
	}
	return code
}
