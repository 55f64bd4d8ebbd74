package argv

import (
	"slices"
	"strings"

	"mrlocal/internal/errs"
)

// This file makes the errors for mistakes in a command line.

// byName returns the flag with that long name, or nil.
func byName(flags []Flag, name string) *Flag {
	for i := range flags {
		if flags[i].Name == name && name != "" {
			return &flags[i]
		}
	}
	return nil
}

// byShort returns the flag with that letter, or nil.
func byShort(flags []Flag, letter string) *Flag {
	for i := range flags {
		if flags[i].Short == letter {
			return &flags[i]
		}
	}
	return nil
}

// longNames returns the long names of the flags, from which errs.Nearest chooses.
func longNames(flags []Flag) []string {
	names := make([]string, 0, len(flags))
	for i := range flags {
		names = append(names, flags[i].Name)
	}
	return names
}

// unknownLong returns the error for an unknown --name. It suggests the nearest flag.
func unknownLong(name string, flags []Flag) error {
	switch name { // flags of other commands, which a user may expect here
	case "resume":
		return errs.Optionf("--resume", "only mrlocal run JOB goes on after a kill; streaming, batches, tools and simulations start anew")
	case "alone", "cost", "heartbeat", "seeds":
		return errs.Optionf("--"+name, "only for simulated runs; mrlocal sim and sweep have it")
	}
	if n := errs.Nearest(name, longNames(flags)); n != "" {
		return errs.Optionf("--"+name, "no such flag; did you mean --%s?", n)
	}
	return errs.Optionf("--"+name, "no such flag; --help lists them")
}

// unknownShort returns the error for an unknown letter in the bundle word. If the bundle is the
// long name of a flag, as in -reverse, the user has left out a dash.
func unknownShort(word, letter string, flags []Flag) error {
	// A value may be attached, as in -key=2.
	name, _, _ := strings.Cut(word[1:], "=")
	if len(name) > 1 && byName(flags, name) != nil {
		return errs.Optionf(word, "no such flag; did you mean --%s?", name)
	}
	in := ""
	if "-"+letter != word {
		in = " (in " + errs.Quote(word) + ")"
	}
	// In other commands -h asks for help, so the message names --help.
	if letter == "h" {
		return errs.Optionf("-h", "this job has no such flag%s; help is --help", in)
	}
	return errs.Optionf("-"+letter, "no such flag%s; --help lists them; a file of that name is given after --", in)
}

// at adds the name of the command to an error about its flags.
func at(path []string, err error) error {
	return errs.Optionf(strings.Join(path, " "), "%v", err)
}

// diagnose returns the error for args that name no command. It reads args with the flags of all
// commands together, and follows the words down the tree of commands. It stops at the first word
// that is missing or unknown.
func diagnose(args []string, commands []Command) error {
	var all []Flag
	for _, c := range commands {
		for _, f := range c.Flags {
			if byName(all, f.Name) == nil {
				all = append(all, f)
			}
		}
	}
	// Of two flags with the same name, that of the first command counts. It may take a wrong word as a
	// value, but this changes only the text of the error.
	s := scan(args, all, ofCommand)
	var path []string
	for depth := 0; ; depth++ {
		next := children(commands, path)
		if len(next) == 0 { // the path is that of a command, but the command has refused the line
			break
		}
		if depth >= len(s.words) {
			if s.err != nil {
				return at(path, s.err)
			}
			return missing(path, next)
		}
		word := s.words[depth]
		if !slices.Contains(next, word) {
			if s.err != nil {
				return at(path, s.err)
			}
			return unknownWord(path, word, next, commands)
		}
		path = append(path, word)
	}
	// In "run -o x grep", the flags of all commands take x as a value. With those of grep, x is a
	// word, and no job has this name.
	if s.err == nil {
		return errs.Optionf(strings.Join(path, " "), "name the command before its flags")
	}
	return at(path, s.err)
}

// children returns the words that may follow path, in the order of the commands.
func children(commands []Command, path []string) []string {
	var next []string
	for _, c := range commands {
		s := scanned{words: c.Path}
		if len(c.Path) > len(path) && s.begins(path) && !slices.Contains(next, c.Path[len(path)]) {
			next = append(next, c.Path[len(path)])
		}
	}
	return next
}

// noun returns the word for the thing that the word after path names: a command or a job.
func noun(path []string) string {
	if len(path) == 0 {
		return "command"
	}
	// Below a command only jobs have names.
	return "job"
}

// missing returns the error for a line that ends after path, where one of next must follow.
func missing(path, next []string) error {
	return errs.Optionf(strings.Join(path, " "), "no %s named; one of %s", noun(path), strings.Join(next, ", "))
}

// unknownWord returns the error for a word after path that is not one of next. It suggests a job of
// that name below another command, or else the nearest of next.
func unknownWord(path []string, word string, next []string, commands []Command) error {
	object := strings.Join(append(append([]string(nil), path...), errs.Quote(word)), ": ")
	for _, c := range commands { // the user wrote "mrlocal sort" for "mrlocal run sort"
		if n := len(c.Path); n == len(path)+2 && c.Path[n-1] == word {
			return errs.Optionf(object, "no such %s; did you mean %s?", noun(path), strings.Join(c.Path, " "))
		}
	}
	if n := errs.Nearest(word, next); n != "" {
		return errs.Optionf(object, "no such %s; did you mean %s?", noun(path), n)
	}
	return errs.Optionf(object, "no such %s; one of %s", noun(path), strings.Join(next, ", "))
}
