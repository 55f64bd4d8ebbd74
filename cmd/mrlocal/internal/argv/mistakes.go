package argv

import (
	"slices"
	"strings"

	"mrlocal/errs"
)

// This file words what is wrong with a command line.

// byName finds a flag by its long name, or returns nil.
func byName(flags []Flag, name string) *Flag {
	for i := range flags {
		if flags[i].Name == name && name != "" {
			return &flags[i]
		}
	}
	return nil
}

// byShort finds a flag by its letter, or returns nil.
func byShort(flags []Flag, letter string) *Flag {
	for i := range flags {
		if flags[i].Short == letter {
			return &flags[i]
		}
	}
	return nil
}

// longNames lists the names among which the nearest is sought.
func longNames(flags []Flag) []string {
	names := make([]string, 0, len(flags))
	for i := range flags {
		names = append(names, flags[i].Name)
	}
	return names
}

// unknownLong returns the error for --name, with the nearest flag.
func unknownLong(name string, flags []Flag) error {
	switch name { // a user who finds it in one command expects it in the others
	case "resume":
		return errs.Optionf("--resume", "only mrlocal run JOB goes on after a kill; batches, tools and simulations start anew")
	case "alone", "cost", "heartbeat", "seeds":
		return errs.Optionf("--"+name, "only for simulated runs; mrlocal sim and sweep have it")
	}
	if n := errs.Nearest(name, longNames(flags)); n != "" {
		return errs.Optionf("--"+name, "no such flag; did you mean --%s?", n)
	}
	return errs.Optionf("--"+name, "no such flag; --help lists them")
}

// unknownShort returns the error for a letter in a bundle. A bundle that is the long
// name of a flag is one with a dash missing, as in -reverse.
func unknownShort(word, letter string, flags []Flag) error {
	// A value may be attached, as in -key=2.
	name, _, _ := strings.Cut(word[1:], "=")
	if len(name) > 1 && byName(flags, name) != nil {
		return errs.Optionf(word, "no such flag; did you mean --%s?", name)
	}
	in := ""
	if "-"+letter != word {
		in = " (in " + Quote(word) + ")"
	}
	// Everywhere else -h asks for help, so the message says what does.
	if letter == "h" {
		return errs.Optionf("-h", "this job has no such flag%s; help is --help", in)
	}
	return errs.Optionf("-"+letter, "no such flag%s; --help lists them; a file of that name is given after --", in)
}

// at puts the name of the command in front of a mistake in its flags.
func at(path []string, err error) error {
	return errs.Optionf(strings.Join(path, " "), "%v", err)
}

// diagnose returns the error for args that name no command. It reads them with
// the flags of all commands together, and follows the words down the tree until
// one is missing or unknown.
func diagnose(args []string, commands []Command) error {
	var all []Flag
	for _, c := range commands {
		for _, f := range c.Flags {
			if byName(all, f.Name) == nil {
				all = append(all, f)
			}
		}
	}
	// A flag that two commands read differently counts as the first command has it. That may
	// misread a word, but only the wording of the error depends on it.
	s := scan(args, all, ofCommand)
	var path []string
	for depth := 0; ; depth++ {
		next := children(commands, path)
		if len(next) == 0 { // the path is complete, and yet no command accepted it
			break
		}
		if depth >= len(s.words) {
			if s.err != nil {
				return at(path, s.err)
			}
			return missing(path, next)
		}
		// The words are followed one level at a time, so that the error names the first wrong
		// one.
		word := s.words[depth]
		if !slices.Contains(next, word) {
			if s.err != nil {
				return at(path, s.err)
			}
			return unknownWord(path, word, next, commands)
		}
		path = append(path, word)
	}
	if s.err == nil { // as in "run -o x grep": with grep's flags x is no value but a word
		return errs.Optionf(strings.Join(path, " "), "a flag in front of it takes a value with some commands only; put the command's name first")
	}
	return at(path, s.err)
}

// children lists the words that may follow path, in the order of the commands.
func children(commands []Command, path []string) []string {
	var next []string
	for _, c := range commands {
		// begins needs words only.
		s := scanned{words: c.Path}
		if len(c.Path) > len(path) && s.begins(path) && !slices.Contains(next, c.Path[len(path)]) {
			next = append(next, c.Path[len(path)])
		}
	}
	return next
}

// noun returns what the word after path names.
func noun(path []string) string {
	if len(path) == 0 {
		return "command"
	}
	// Below a command only jobs have names.
	return "job"
}

// missing returns the error for a command line that ends too early.
func missing(path, next []string) error {
	return errs.Optionf(strings.Join(path, " "), "no %s named; one of %s", noun(path), strings.Join(next, ", "))
}

// unknownWord returns the error for a word that is none of next, the words that may
// follow path.
func unknownWord(path []string, word string, next []string, commands []Command) error {
	object := strings.Join(append(append([]string(nil), path...), Quote(word)), ": ")
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
