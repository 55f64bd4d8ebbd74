package tools

import (
	"context"
	"fmt"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/flags"
	"mrlocal/cmd/mrlocal/internal/process"
)

// runTool runs a tool as package main does, with other options of the engine, and returns the exit code.
func runTool(ctx context.Context, t Tool, args []string, e command.Env, options func(argv.Line) (mrlocal.Options, error)) int {
	c := t.command()
	c.Run = func(ctx context.Context, e command.Env, line argv.Line) (int, error) {
		return t.call(ctx, line, e, options)
	}
	p := flags.Program{Version: process.Version(mrlocal.Version), Write: e.Write, Commands: []flags.Entry{{Name: t.Name, Make: func() *flags.Command { return c.Made(e) }}}}
	_, code, err := p.Run(ctx, append([]string{t.Name}, args...))
	if err != nil {
		fmt.Fprint(e.Stderr, argv.ErrorLine(t.Name, err))
		return command.Usage
	}
	return code
}
