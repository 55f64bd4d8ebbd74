package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"mrlocal/engine"
	"mrlocal/internal/datagen"
	"mrlocal/jobs"
	"mrlocal/slots/setup"
)

// oneByOne is indexer with one call of Emit for each word.
type oneByOne struct{ indexer }

func (x oneByOne) Map(b jobs.Block, out jobs.Emitter) error {
	name := append([]byte{0}, filepath.Base(b.Path)...)
	for words := range x.words.In(b.Data) {
		for _, w := range words {
			out.Emit(b.Data[w.Off:w.Off+w.Len], name)
		}
	}
	return nil
}

// combiner joins the names at a spill. union joins them while the kvbuffer collects.
type combiner struct{ names []byte }

func (c *combiner) Reduce(word []byte, vs *jobs.Values, out jobs.Emitter) error {
	c.names = c.names[:0]
	for vs.Next() {
		c.names = union{}.Fold(c.names, vs.Value())
	}
	out.Emit(word, c.names)
	return nil
}

// placer emits (word, number of the file and offset) for every word.
type placer struct{ words *jobs.Words }

func (x placer) Map(b jobs.Block, out jobs.Emitter) error {
	var place [12]byte
	binary.BigEndian.PutUint32(place[:], uint32(b.File))
	for words := range x.words.In(b.Data) {
		for _, w := range words {
			binary.BigEndian.PutUint64(place[4:], uint64(b.Offset)+uint64(w.Off))
			out.Emit(b.Data[w.Off:w.Off+w.Len], place[:])
		}
	}
	return nil
}

// places writes the places of a word. They come in the order of the input.
type places struct{ text []byte }

func (p *places) Reduce(word []byte, vs *jobs.Values, out jobs.Emitter) error {
	p.text = p.text[:0]
	for vs.Next() {
		v := vs.Value()
		p.text = strconv.AppendUint(p.text, uint64(binary.BigEndian.Uint32(v)), 10)
		p.text = append(p.text, ':')
		p.text = strconv.AppendUint(p.text, binary.BigEndian.Uint64(v[4:]), 10)
		p.text = append(p.text, ' ')
	}
	out.Emit(word, p.text)
	return nil
}

// indexes are ways to write the index. All but the last give the same result for the
// same files. The last one lists where in the files the words are.
func indexes() map[string]jobs.Job {
	emit := index()
	emit.NewMapper = func() jobs.Mapper { return oneByOne{indexer{jobs.LettersAndDigits()}} }
	combine := emit
	emit.NewFolder, combine.NewFolder = nil, nil
	combine.NewCombiner = func() jobs.Reducer { return &combiner{} }
	fold := index()
	fold.NewMapper = func() jobs.Mapper { return oneByOne{indexer{jobs.LettersAndDigits()}} }
	where := index()
	where.NewFolder = nil
	where.NewMapper = func() jobs.Mapper { return placer{jobs.LettersAndDigits()} }
	where.NewReducer = func() jobs.Reducer { return &places{} }
	return map[string]jobs.Job{"emit": emit, "combiner": combine, "folder": fold, "folder-spans": index(), "places": where}
}

func writeTexts(t testing.TB, kind datagen.Kind, files int, bytes int64) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i := range files {
		if err := datagen.Generate(t.Context(), kind, filepath.Join(dir, fmt.Sprint("f", i)), bytes, uint64(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAllWaysToIndexFilesAgree(t *testing.T) {
	size := int64(10_000)
	if testing.Short() {
		size = 2_000
	}
	dir := writeTexts(t, datagen.Corpus, 3, 20*size)
	var want []byte
	all := indexes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name == "places" {
			continue
		}
		for _, memory := range []int64{0, 64 << 20} {
			var out bytes.Buffer
			o := engine.Options{JobOptions: engine.JobOptions{Inputs: []string{dir}, Stdout: &out, BlockBytes: 5 * size}, MemoryBytes: memory}
			if _, err := engine.RunChain(context.Background(), jobs.Chain{all[name]}, o); err != nil {
				t.Fatal(name, err)
			}
			if want == nil {
				want = out.Bytes()
			}
			if !bytes.Equal(out.Bytes(), want) || len(want) == 0 {
				t.Errorf("%s, memory %d: %d bytes, want %d", name, memory, out.Len(), len(want))
			}
		}
	}
}

// An index of 4 files of 16 MiB, from the files to the merged result, with two
// slots of each kind.
func BenchmarkIndex(b *testing.B) {
	const files, fileBytes = 4, 16 << 20
	dir := writeTexts(b, datagen.Corpus, files, fileBytes)
	all := indexes()
	for _, name := range []string{"emit", "combiner", "folder", "folder-spans", "places"} {
		b.Run("by="+name, func(b *testing.B) {
			o := engine.Options{JobOptions: engine.JobOptions{Inputs: []string{dir}, Stdout: io.Discard}, Config: setup.Config{MapSlots: 2, ReduceSlots: 2}}
			b.SetBytes(files * fileBytes)
			for b.Loop() {
				if _, err := engine.RunChain(context.Background(), jobs.Chain{all[name]}, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
