package main

import (
	"context"
	"fmt"

	"mrlocal"
	"mrlocal/internal/flags"
)

// made returns a tool with options of the engine.
func made(name string, e Env, o mrlocal.Options) *flags.Command {
	return map[string]func(Env, mrlocal.Options) *flags.Command{"count": countTool, "grep": grepTool, "sort": sortTool}[name](e, o)
}

// runTool runs a tool as package main does, with options of the engine, and returns the exit code.
func runTool(ctx context.Context, name string, args []string, e Env, o mrlocal.Options) int {
	p := flags.Program{Version: versionText(), Width: e.width, Write: e.Write, Commands: []flags.Entry{{Name: name, Make: func() *flags.Command { return made(name, e, o) }}}}
	line, code, err := p.Run(ctx, append([]string{name}, args...))
	if err != nil {
		fmt.Fprint(e.Stderr, errorLine(name, err, line.Command.Settings...))
		return Usage
	}
	return code
}
