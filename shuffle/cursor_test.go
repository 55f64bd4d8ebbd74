package shuffle

import (
	"bytes"
	"context"
	"os"
	"testing"

	"mrlocal/internal/membudget"
)

// For any bytes, a diskCursor returns records or an error. It takes no more memory than it got.
func FuzzDiskCursor(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x05\x00\x00\x00\x05\x00\x00\x00\x01\x00\x00\x00????\x02\x01kv"), false)
	f.Add([]byte("\x01\x01\x00\x00"), true)
	f.Fuzz(func(t *testing.T, file []byte, repair bool) {
		if repair {
			file = repairSums(file)
		}
		path := t.TempDir() + "/f"
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := membudget.New(4 << 20)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		l, _ := b.TryReserve(2 << 20)
		defer l.Close()
		shared := readers{ctx: context.Background(), lease: l}
		shared.useMemory(make([]byte, membudget.ChunkBytes))
		defer shared.files.close()
		d := diskCursor{shared: &shared, file: &tempFile{path: path}, end: int64(len(file)), buf: make([]byte, bufferBytes)}
		defer d.drop()
		for range len(file) + 1 {
			ok, err := d.next()
			if err == nil && ok && d.large {
				err = d.load(true)
			}
			if !ok || err != nil {
				return
			}
		}
		t.Fatal("more records than bytes")
	})
}

// repairSums sets the right checksums in everything that looks like a block, so that the fuzzer
// reaches the code behind the check.
func repairSums(file []byte) []byte {
	file = bytes.Clone(file)
	for at := 0; at+headerBytes <= len(file); {
		stored := int(file[at+8]) | int(file[at+9])<<8
		next := at + headerBytes + stored
		if next > len(file) {
			break
		}
		sum := checksum(file[at:], file[at+headerBytes:next])
		file[at+16], file[at+17], file[at+18], file[at+19] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
		at = next
	}
	return file
}
