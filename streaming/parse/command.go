package parse

// Split divides a command into its words as PipeMapRed.splitArgs does: at spaces
// outside of quotes. No shell is involved: a quote both quotes and divides, so that
// a'b c'd is three words, and an empty pair of quotes is none. A backslash is a
// character as any other. A quote that is not closed lasts to the end.
func Split(command string) []string {
	var words []string
	quote, from := byte(0), 0
	for i := 0; i <= len(command); i++ {
		ends := i == len(command)
		if !ends {
			switch c := command[i]; {
			case c == ' ' && quote == 0:
				ends = true
			case (c == '\'' || c == '"') && quote == 0:
				quote, ends = c, true
			case c == quote && quote != 0:
				quote, ends = 0, true
			}
		}
		if ends {
			if i > from {
				words = append(words, command[from:i])
			}
			from = i + 1
		}
	}
	return words
}
