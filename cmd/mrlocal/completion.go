package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mrlocal/internal/errs"
)

// completionScript returns a script that completes command lines of mrlocal in a shell. words is
// the shell: bash, zsh or fish. The script completes commands, flags, names of policies, the
// choices in the help of a flag, and files. It fails with an options error for any other shell.
func completionScript(words []string, commands []documented, policies []string) (string, error) {
	c := completion{commands: commands, policies: policies}
	shell := strings.Join(words, " ")
	switch shell {
	case "":
		return "", errs.Optionf("", "name a shell: bash, zsh or fish")
	case "bash":
		return c.bash(), nil
	case "zsh":
		// bashcompinit defines in zsh the functions that the script for bash calls.
		return "#compdef mrlocal\nautoload -U +X bashcompinit && bashcompinit\n" + c.bash(), nil
	case "fish":
		return c.fish(), nil
	}
	return "", errs.Optionf(errs.Quote(shell), "no such shell; there are bash, zsh and fish")
}

// completion makes the scripts.
type completion struct {
	commands []documented
	policies []string // the values of --sched
}

// words returns the names of the commands directly below path.
func (c completion) words(path []string) (words []string) {
	for _, cmd := range c.commands {
		if n := len(path); len(cmd.Path) > n && slices.Equal(cmd.Path[:n], path) && !slices.Contains(words, cmd.Path[n]) {
			words = append(words, cmd.Path[n])
		}
	}
	return words
}

// choicePattern matches the choices in the help of a flag, as `auto|none`.
var choicePattern = regexp.MustCompile("`([a-z0-9]+(?:\\|[a-z0-9]+)+)`")

// valuesOf returns the words that a flag takes as its value. It returns nil for a flag with other
// values, such as files.
func (c completion) valuesOf(flag, help string) []string {
	if flag == "sched" {
		return c.policies
	}
	if m := choicePattern.FindStringSubmatch(help); m != nil {
		return strings.Split(m[1], "|")
	}
	return nil
}

// bash returns a script with the function that bash calls at each Tab. From the words so far, the
// function finds the command, and offers its subcommands, its flags, or the values of the flag
// before.
func (c completion) bash() string {
	var b strings.Builder
	b.WriteString(`_mrlocal() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= flags= path= word
	local -i i
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		[[ $word == -* ]] || path+="$word "
	done
	case "$prev" in
`)
	known := map[string]bool{}
	for _, cmd := range c.commands {
		for _, f := range cmd.Flags {
			values := c.valuesOf(f.Name, f.Help)
			if !f.Value || len(values) == 0 || known[f.Name] {
				continue
			}
			// A flag takes the same values in all commands, so one line is enough.
			known[f.Name] = true
			fmt.Fprintf(&b, "\t--%s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", f.Name, strings.Join(values, " "))
		}
	}
	b.WriteString("\tesac\n\tcase \"$path\" in\n")
	fmt.Fprintf(&b, "\t'') words='%s help' ;;\n", strings.Join(c.words(nil), " "))
	for _, name := range c.words(nil) {
		if below := c.words([]string{name}); len(below) > 0 {
			fmt.Fprintf(&b, "\t'%s ') words='%s' ;;\n", name, strings.Join(below, " "))
		}
	}
	// The shell takes the first pattern that matches, so longer paths come first: "run sort" before
	// "run".
	sorted := slices.SortedStableFunc(slices.Values(c.commands), func(x, y documented) int { return len(y.Path) - len(x.Path) })
	for _, cmd := range sorted {
		var flags []string
		for _, f := range cmd.Flags {
			flags = append(flags, "--"+f.Name)
		}
		fmt.Fprintf(&b, "\t'%s '*) flags='%s --help' ;;\n", strings.Join(cmd.Path, " "), strings.Join(flags, " "))
	}
	b.WriteString(`	esac
	case "$cur" in
	-*) COMPREPLY=($(compgen -W "$flags" -- "$cur")) ;;
	*) COMPREPLY=($(compgen -W "$words" -- "$cur")); [[ -n $path && -z $words || ${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY+=($(compgen -f -- "$cur")) ;;
	esac
}
complete -o filenames -F _mrlocal mrlocal
`)
	return b.String()
}

// fish returns a script with a line for each command and for each flag. At each Tab, fish evaluates
// the conditions (-n), and shows the descriptions (-d) next to the words.
func (c completion) fish() string {
	var b strings.Builder
	quote := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'" }
	fmt.Fprintf(&b, "complete -c mrlocal -n __fish_use_subcommand -f -a %s\n", quote(strings.Join(c.words(nil), " ")))
	for _, cmd := range c.commands {
		// below is the condition that the line has all words of the path of the command.
		var seen []string
		for _, word := range cmd.Path {
			seen = append(seen, "__fish_seen_subcommand_from "+word)
		}
		below := quote(strings.Join(seen, "; and "))
		if len(cmd.Path) == 1 {
			fmt.Fprintf(&b, "complete -c mrlocal -n __fish_use_subcommand -f -a %s -d %s\n", cmd.Path[0], quote(cmd.Usage))
		} else {
			parent, sub := cmd.Path[0], cmd.Path[1]
			fmt.Fprintf(&b, "complete -c mrlocal -n %s -f -a %s -d %s\n", quote("__fish_seen_subcommand_from "+parent+"; and not __fish_seen_subcommand_from "+strings.Join(c.words([]string{parent}), " ")), sub, quote(cmd.Usage))
		}
		for _, f := range cmd.Flags {
			fmt.Fprintf(&b, "complete -c mrlocal -n %s -l %s", below, f.Name)
			if f.Short != "" {
				fmt.Fprintf(&b, " -s %s", f.Short)
			}
			// With -x, fish offers only the words of -a. With -r, it offers files.
			if values := c.valuesOf(f.Name, f.Help); f.Value && len(values) > 0 {
				fmt.Fprintf(&b, " -x -a %s", quote(strings.Join(values, " ")))
			} else if f.Value {
				b.WriteString(" -r")
			}
			fmt.Fprintf(&b, " -d %s\n", quote(strings.ReplaceAll(f.Help, "`", "")))
		}
	}
	return b.String()
}
