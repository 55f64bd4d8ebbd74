package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/internal/errs"
)

// manualPages returns the manual pages, in the macros of man(7), by name without suffix: "mrlocal",
// and a page for each command, such as "mrlocal-run-sort". about is the description on the page
// mrlocal.
func manualPages(commands []documented, about string) map[string]string {
	pages := map[string]string{}
	var b strings.Builder
	manHead(&b, "mrlocal", "MapReduce on the files and cores of one machine")
	b.WriteString(".SH SYNOPSIS\n.B mrlocal\n.I COMMAND\n[FLAGS] [PATH...]\n")
	manDescription(&b, about)
	manCommands(&b, commands)
	for _, c := range commands {
		pages[manName(c)] = c.page(commands)
	}
	pages["mrlocal"] = b.String()
	return pages
}

// writeManualPages writes pages into the directory that words names, which must be one word. It
// creates a missing directory, and replaces existing pages.
func writeManualPages(words []string, pages map[string]string) error {
	if len(words) != 1 {
		return errs.Optionf(strings.Join(words, " "), "name one directory")
	}
	err := os.MkdirAll(words[0], 0o777)
	for name, page := range pages {
		if err == nil {
			err = os.WriteFile(filepath.Join(words[0], name+".1"), []byte(page), 0o666)
		}
	}
	if err != nil {
		return errs.Optionf(errs.Quote(words[0]), "%w", errs.Cause(err))
	}
	return nil
}

// manName returns the name of the page of a command without suffix, as mrlocal-run-sort.
func manName(c documented) string { return "mrlocal-" + strings.Join(c.Path, "-") }

// page returns the manual page of one command, in the macros of man(7). If the command has many
// flags, those that only it has come first, and the others stand below the headings of --help-all.
// commands are all commands; the page lists those below c.
func (c documented) page(commands []documented) string {
	var b strings.Builder
	manHead(&b, manName(c), c.Usage)
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B mrlocal %s\n%s\n", roffText(strings.Join(c.Path, " ")), roffText(synopsis(c.Args)))
	if c.Long != "" {
		manDescription(&b, c.Long)
	}
	if below := c.below(commands); len(below) > 0 {
		manCommands(&b, below)
	}
	grouped := map[string][]argv.Spec{}
	for _, f := range c.Flags {
		if f.Help == "" { // Long describes the flags of a tool
			continue
		}
		group := ""
		if isLong(c.Flags) {
			group = groupOf(f.Name)
		}
		grouped[group] = append(grouped[group], f)
	}
	if len(grouped[""]) > 0 {
		manOptions(&b, "OPTIONS", grouped[""])
	}
	for _, g := range flagGroups() {
		if len(grouped[g[0]]) > 0 {
			manOptions(&b, g[0], grouped[g[0]])
		}
	}
	if examples := examplesOf(c.Path); len(examples) > 0 {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roffText(strings.Join(examples, "\n")))
	}
	b.WriteString(".SH SEE ALSO\n.BR mrlocal (1)\n")
	return b.String()
}

// manHead writes the title and the section NAME. The title has no date, so that the same version
// gives the same bytes.
func manHead(b *strings.Builder, name, usage string) {
	fmt.Fprintf(b, ".TH %s 1 \"\" mrlocal \"User Commands\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(roffText(name)), roffText(name), roffText(usage))
}

// manCommands writes the section COMMANDS, which lists pages.
func manCommands(b *strings.Builder, commands []documented) {
	b.WriteString(".SH COMMANDS\n")
	for _, c := range commands {
		fmt.Fprintf(b, ".TP\n.BR %s (1)\n%s\n", roffText(manName(c)), roffText(c.Usage))
	}
}

// manDescription writes the section DESCRIPTION. An empty line of text ends a paragraph. Lines that
// begin with a blank, such as those of a list, stay as they are.
func manDescription(b *strings.Builder, text string) {
	b.WriteString(".SH DESCRIPTION\n")
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		list := false
		for line := range strings.SplitSeq(paragraph, "\n") {
			before := list
			switch list = strings.HasPrefix(line, " "); {
			case list && !before:
				b.WriteString(".nf\n")
			case before && !list:
				b.WriteString(".fi\n")
			}
			b.WriteString(roffText(line) + "\n")
		}
		if list {
			b.WriteString(".fi\n")
		}
	}
}

// manOptions writes a section with a tagged paragraph (.TP) for each flag.
func manOptions(b *strings.Builder, heading string, specs []argv.Spec) {
	fmt.Fprintf(b, ".SH %s\n", heading)
	for _, f := range specs {
		b.WriteString(".TP\n.B ")
		if f.Short != "" && f.Short != f.Name {
			b.WriteString(roffText("-"+f.Short) + ", ")
		}
		b.WriteString(roffText("--" + f.Name))
		// The help of a flag has the name of its value in backquotes.
		if parts := strings.SplitN(f.Help, "`", 3); f.Value && len(parts) == 3 {
			b.WriteString(roffText("=" + parts[1]))
		}
		help := strings.ReplaceAll(f.Help, "`", "")
		if f.Default != "" {
			help += " (default: " + f.Default + ")"
		}
		b.WriteString("\n" + roffText(help) + "\n")
	}
}

// roffText escapes text, so that roff does not take a part of it for a request or an escape.
func roffText(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...").Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
