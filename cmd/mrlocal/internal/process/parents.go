package process

import (
	"os"
	"path/filepath"

	"mrlocal/errs"
)

// MakeParents makes the missing directories above outputs; "" is none. It returns those it
// made, the deepest ones last.
func MakeParents(outputs []string) (made []string, err error) {
	for _, out := range outputs {
		if out == "" {
			continue
		}
		// missing has the deepest directory first, so it is made from the end.
		var missing []string
		for dir := filepath.Dir(filepath.Clean(out)); ; dir = filepath.Dir(dir) {
			// The root is its own parent, so the loop ends there.
			if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
				break
			}
			missing = append(missing, dir)
		}
		for n := len(missing) - 1; n >= 0; n-- {
			// The caller removes what was made, after an error too.
			if err := os.Mkdir(missing[n], 0o777); err != nil {
				return made, errs.Optionf("output "+errs.OneLine(out), "%s: %v", missing[n], errs.Cause(err))
			}
			made = append(made, missing[n])
		}
	}
	return made, nil
}

// RemoveEmpty removes the directories that are empty.
func RemoveEmpty(dirs []string) {
	// The deepest directories come first, because only empty ones can be removed.
	for i := len(dirs) - 1; i >= 0; i-- {
		_ = os.Remove(dirs[i]) // fails if the directory is not empty
	}
}
