package tools

import "strings"

// types lists the types that -t of mrlocal grep knows. A line has the name of a type, then the globs
// of its files. The types are the most common ones of ripgrep, with ripgrep's globs.
const types = `
asm *.S *.asm *.s
awk *.awk
c *.[chH] *.[chH].in *.cats
clojure *.clj *.cljc *.cljs *.cljx
cmake *.cmake CMakeLists.txt
config *.cfg *.conf *.config *.ini
cpp *.[ChH] *.[ChH].in *.[ch]pp *.[ch]pp.in *.[ch]xx *.[ch]xx.in *.cc *.cc.in *.hh *.hh.in *.inl
cs *.cs
css *.css *.scss
csv *.csv
d *.d
dart *.dart
diff *.diff *.patch
docker *Dockerfile*
elixir *.eex *.ex *.exs
elm *.elm
erlang *.erl *.hrl
fish *.fish
fortran *.F *.F77 *.F90 *.F95 *.f *.f77 *.f90 *.f95 *.pfo
go *.go
groovy *.gradle *.groovy
h *.h *.hpp
haskell *.c2hs *.cpphs *.hs *.hsc *.lhs
html *.ejs *.htm *.html
java *.java *.jsp *.jspx *.properties
jinja *.j2 *.jinja *.jinja2
js *.js *.jsx *.vue
json *.json composer.lock
jsonl *.jsonl
julia *.jl
kotlin *.kt *.kts
less *.less
lisp *.el *.jl *.lisp *.lsp *.sc *.scm
log *.log
lua *.lua
m4 *.ac *.m4
make *.mak *.mk [Gg][Nn][Uu]makefile [Gg][Nn][Uu]makefile.am [Gg][Nn][Uu]makefile.in [Mm]akefile [Mm]akefile.am [Mm]akefile.in
man *.[0-9][cEFMmpSx] *.[0-9lnpx]
markdown *.markdown *.md *.mdown *.mkdn
md *.markdown *.md *.mdown *.mkdn
ml *.ml
nim *.nim *.nimble *.nimf *.nims
nix *.nix
objc *.h *.m
ocaml *.ml *.mli *.mll *.mly
org *.org *.org_archive
pascal *.dpr *.inc *.lpr *.pas *.pp
pdf *.pdf
perl *.PL *.perl *.pl *.plh *.plx *.pm *.t
php *.php *.php3 *.php4 *.php5 *.phtml
protobuf *.proto
ps *.cdxml *.ps1 *.ps1xml *.psd1 *.psm1
py *.py
r *.R *.Rmd *.Rnw *.r
rst *.rst
ruby *.gemspec *.rb *.rbw .irbrc Gemfile Rakefile config.ru
rust *.rs
sass *.sass *.scss
scala *.sbt *.scala
sh *.bash *.bashrc *.csh *.cshrc *.ksh *.kshrc *.sh *.tcsh *.zsh .bash_login .bash_logout .bash_profile .bashrc .cshrc .kshrc .login .logout .profile .tcshrc .zlogin .zlogout .zprofile .zshenv .zshrc bash_login bash_logout bash_profile bashrc profile zlogin zlogout zprofile zshenv zshrc
sql *.psql *.sql
svg *.svg
swift *.swift
tcl *.tcl
tex *.bib *.cls *.dtx *.ins *.ltx *.sty *.tex
toml *.toml Cargo.lock
ts *.ts *.tsx
txt *.txt
vim *.vim
xml *.dtd *.rng *.sch *.xhtml *.xjb *.xml *.xml.dist *.xsd *.xsl *.xslt
yaml *.yaml *.yml
zig *.zig
zsh *.zsh .zlogin .zlogout .zprofile .zshenv .zshrc zlogin zlogout zprofile zshenv zshrc
`

// typeGlobs returns the globs of the type of that name. known is false if there is no such type.
func typeGlobs(name string) (globs []string, known bool) {
	// A search through the text takes microseconds, so types is not a map, which each start would
	// have to build.
	for line := range strings.Lines(types) {
		if words := strings.Fields(line); len(words) > 0 && words[0] == name {
			return words[1:], true
		}
	}
	return nil, false
}
