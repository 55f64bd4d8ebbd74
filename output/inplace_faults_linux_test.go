//go:build faults

package output

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mrlocal/internal/disk"
)

// TestAPowerCutDuringACopyLosesNothing has a file with two links, which is written in place. Before its text
// changes, the whole result is durable in the pending file, and so is the name of that.
func TestAPowerCutDuringACopyLosesNothing(t *testing.T) {
	const before, after = "old\n", "the new text\n"
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(path, path+".link"); err != nil {
		t.Fatal(err)
	}
	synced := map[string]string{} // texts of files, at their syncs
	var order []string
	disk.Inject(disk.Fault{}, func(e disk.Event) {
		if e.Op != disk.Sync {
			return
		}
		what := "pending"
		switch e.Path {
		case dir:
			what = "directory"
		case path:
			what = "file"
		default:
			text, _ := os.ReadFile(e.Path)
			synced[what] = string(text)
		}
		if text, _ := os.ReadFile(path); what != "file" && string(text) != before {
			t.Errorf("at the sync of the %s the file already has %q", what, text)
		}
		order = append(order, what)
	})
	defer disk.Inject(disk.Fault{}, nil)
	if err := replace(t, path, after); err != nil {
		t.Fatal(err)
	}
	if want := []string{"pending", "directory", "file"}; !slices.Equal(order, want) || synced["pending"] != after {
		t.Errorf("synced %q, the pending file with %q; want %q", order, synced["pending"], want)
	}

	// If a sync before the copy fails, the old text stays.
	for n := range int64(2) {
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		disk.Inject(disk.Fault{Op: disk.Sync, N: n + 1, Once: true}, nil)
		err := replace(t, path, after)
		text, _ := os.ReadFile(path)
		if err == nil || string(text) != before {
			t.Errorf("sync %d fails: %v, %q", n+1, err, text)
		}
	}
}
