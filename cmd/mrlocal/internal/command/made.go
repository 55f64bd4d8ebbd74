package command

import (
	"context"
	"errors"
	"strings"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/flags"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/internal/setting"
	"mrlocal/slots/policy/registry"
)

// Made returns c for package flags. Its settings fill a line of package argv.
func (c Command) Made(e Env) *flags.Command {
	line := &argv.Line{}
	m := &flags.Command{Name: c.Name, Usage: c.Usage, Args: c.Args, Long: c.Long, Examples: c.Examples, Settings: settings(c.AllFlags(), line)}
	if c.Raw != nil {
		m.Raw = func(ctx context.Context, args []string) (int, error) { return c.Raw(ctx, args, e) }
	}
	for _, s := range c.Sub {
		m.Sub = append(m.Sub, flags.Entry{Name: s.Name, Make: func() *flags.Command { return s.Made(e) }})
	}
	if c.Run != nil {
		m.Run = func(ctx context.Context, l *flags.Line) (int, error) {
			line.Path, line.Words = l.Path, l.Words
			return show.WithPage(ctx, *line, e.Stderr, func(p *show.Page) (int, error) {
				e.Page = p // nil without --ui
				return c.Run(ctx, e, *line)
			})
		}
	}
	return m
}

// ParseTool reads args, the words after the name of a tool.
func ParseTool(name string, args []string, specs []argv.Spec) (argv.Line, error) {
	line := argv.Line{Path: []string{name}}
	c := &flags.Command{Name: name, Tool: true, Settings: settings(specs, &line)}
	l, err := c.Parse(args)
	line.Words = l.Words
	return line, err
}

// settings returns the flags of specs as settings that add to line.
func settings(specs []argv.Spec, line *argv.Line) []setting.Setting {
	all := make([]setting.Setting, len(specs))
	groups := map[string]string{}
	for _, g := range flagGroups() {
		for name := range strings.FieldsSeq(g[1]) {
			groups[name] = g[0]
		}
	}
	for i := range specs {
		f := &specs[i]
		all[i] = setting.Setting{Name: f.Name, Field: argv.FieldsOf(f.Name, f.Short), Short: f.Short, Help: f.Help, Default: f.Default, Literal: f.Any, Whole: f.Whole, Group: groups[f.Name],
			Value: setting.Custom{Bare: !f.Value, Words: choicesOf(f), Read: func(text string) error {
				switch {
				case f.Value:
				case text == "true":
					text = ""
				case !f.Maybe:
					return errors.New("takes no value")
				case text == "":
					return errors.New("the value is empty")
				}
				line.Flags = append(line.Flags, argv.Setting{Flag: &f.Flag, Value: text})
				return nil
			}}}
	}
	return all
}

// choicesOf returns the words that a flag takes as its value; nil: it takes others, such as files.
func choicesOf(f *argv.Spec) []string {
	if f.Name == "sched" {
		return append(registry.Names(), "all")
	}
	_, rest, _ := strings.Cut(f.Help, "`")
	words, _, _ := strings.Cut(rest, "`")
	if all := strings.Split(words, "|"); len(all) > 1 {
		return all
	}
	return nil
}

// flagGroups returns the headings of --help-all, each with the names of its flags, separated by
// blanks. A flag that is in no group belongs to one command only. A test checks that each flag of
// several commands is in a group.
func flagGroups() [][2]string {
	policies := "sched"
	for _, f := range PolicyFlags() {
		policies += " " + f.Name
	}
	return [][2]string{
		{"INPUT AND OUTPUT", "input decode all output overwrite output-file compress-output reducers block-size events report verbose quiet progress gantt step width profile resume csv svg html trace metrics"},
		{"PAGE", "ui addr allow-remote"},
		{"SLOTS", "map-slots reduce-slots trackers max-slots total-slots slowstart pin heartbeat replicas seed real cost compare"},
		{"POLICIES", policies},
		{"MEMORY", "memory sort-buffer task-memory spill-percent buffer-growth growth-threshold merge-factor compress tmp max-temp"},
		{"FAULTS AND EFFECTS", "attempts task-timeout fault slow remote-penalty shuffle-bw parallel-copies copy-bw disk-bw"},
	}
}
