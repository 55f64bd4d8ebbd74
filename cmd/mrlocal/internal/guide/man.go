package guide

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
)

// Pages returns manual pages in the macros of man(7), by name without suffix: "mrlocal", and
// one for each command, such as "mrlocal-run-sort". about is the text of the first one.
func Pages(commands []Command, about string) map[string]string {
	pages := map[string]string{}
	var b strings.Builder
	head(&b, "mrlocal", "MapReduce on the files and cores of one machine")
	b.WriteString(".SH SYNOPSIS\n.B mrlocal\n.I COMMAND\n[FLAGS] [PATH...]\n.SH DESCRIPTION\n")
	for i, paragraph := range strings.Split(about, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(escape(paragraph) + "\n")
	}
	b.WriteString(".SH COMMANDS\n")
	for _, c := range commands {
		fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", escape(pageName(c)), escape(c.Usage))
		pages[pageName(c)] = c.page()
	}
	pages["mrlocal"] = b.String()
	return pages
}

// WritePages writes pages into the directory that words names, and makes it if it is missing.
// Pages that are there are replaced.
func WritePages(words []string, pages map[string]string) error {
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
		return errs.Optionf(argv.Quote(words[0]), "%w", errs.Cause(err))
	}
	return nil
}

// pageName returns the name of a command's page, without suffix: mrlocal-run-sort.
func pageName(c Command) string { return "mrlocal-" + strings.Join(c.Path, "-") }

// page returns the manual page of one command, in the macros of man(7). Its flags stand below
// the headings of --help-all, those of the command alone first.
func (c Command) page() string {
	var b strings.Builder
	head(&b, pageName(c), c.Usage)
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B mrlocal %s\n[FLAGS] [PATH...]\n", escape(strings.Join(c.Path, " ")))
	below := map[string][]argv.Spec{}
	for _, f := range c.Flags {
		below[GroupOf(f.Name)] = append(below[GroupOf(f.Name)], f)
	}
	if len(below[""]) > 0 {
		flags(&b, "OPTIONS", below[""])
	}
	for _, g := range groups() {
		if len(below[g[0]]) > 0 {
			flags(&b, g[0], below[g[0]])
		}
	}
	if examples := Examples(c.Path); len(examples) > 0 {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", escape(strings.Join(examples, "\n")))
	}
	b.WriteString(".SH SEE ALSO\n.BR mrlocal (1)\n")
	return b.String()
}

// head writes the title. There is no date, so that the same flags give the same bytes.
func head(b *strings.Builder, name, usage string) {
	fmt.Fprintf(b, ".TH %s 1 \"\" mrlocal \"User Commands\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(escape(name)), escape(name), escape(usage))
}

// flags writes a heading and a tagged paragraph (.TP) for each flag.
func flags(b *strings.Builder, heading string, specs []argv.Spec) {
	fmt.Fprintf(b, ".SH %s\n", heading)
	for _, f := range specs {
		b.WriteString(".TP\n.B ")
		if f.Short != "" && f.Short != f.Name {
			b.WriteString(escape("-"+f.Short) + ", ")
		}
		b.WriteString(escape("--" + f.Name))
		// The help of a flag has the name of its value in backquotes.
		if parts := strings.SplitN(f.Help, "`", 3); f.Value && len(parts) == 3 {
			b.WriteString(escape("=" + parts[1]))
		}
		help := strings.ReplaceAll(f.Help, "`", "")
		if f.Default != "" {
			help += " (default: " + f.Default + ")"
		}
		b.WriteString("\n" + escape(help) + "\n")
	}
}

// escape keeps text from being read as a request or an escape of roff.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...").Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
