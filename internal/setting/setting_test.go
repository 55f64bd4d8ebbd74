package setting_test

import (
	"math"
	"testing"
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/internal/setting"
)

// options has a field of each kind of value.
type options struct {
	count   int32
	seed    uint64
	size    int64
	rate    int64
	share   ppm.Share
	mark    float64
	factor  ppm.Share
	time    time.Duration
	beat    time.Duration
	mode    string
	kind    uint8
	off     bool
	on      bool
	name    string
	names   []string
	maybe   *ppm.Share
	toggled bool
}

func (o *options) values() map[string]setting.Value {
	return map[string]setting.Value{
		"count": setting.Count(&o.count, 1, 10), "seed": setting.Seed(&o.seed), "size": setting.Size(&o.size, 1<<10, math.MaxInt64), "rate": setting.Rate(&o.rate, 1),
		"share": setting.Share(&o.share), "mark": setting.Mark(&o.mark), "factor": setting.Factor(&o.factor, ppm.One, 5*ppm.One), "time": setting.Time(&o.time, 1),
		"beat": setting.OrZero(&o.beat, setting.Time(&o.beat, time.Millisecond)), "mode": setting.Choice(&o.mode, "fair", "fifo"), "kind": setting.Enum(&o.kind, "auto", "gz"),
		"off": setting.Either(&o.off, "off", "on", false), "on": setting.Either(&o.on, "on", "off", true), "name": setting.Text(&o.name), "names": setting.List(&o.names),
		"maybe": setting.Optional(&o.maybe, setting.Share), "toggled": setting.Toggle(&o.toggled),
	}
}

// TestATextThatASettingShowsIsReadAgain, with the same value.
func TestATextThatASettingShowsIsReadAgain(t *testing.T) {
	for name, text := range map[string]string{
		"count": "7", "seed": "18446744073709551615", "size": "64MiB", "rate": "100KiB", "share": "0.25", "mark": "0.8", "factor": "1.5", "time": "1m30s", "beat": "250ms",
		"mode": "fifo", "kind": "gz", "off": "off", "on": "on", "name": "a b", "maybe": "0",
	} {
		var o options
		v := o.values()[name]
		if err := v.Set(text); err != nil || v.String() != text || v.Check() != nil {
			t.Errorf("%s: %q, %v instead of %q", name, v.String(), err, text)
		}
	}
}

func TestAMistakeIsSaidInTheWordsOfTheUser(t *testing.T) {
	for _, c := range [][3]string{
		{"count", "x", "x: not a whole number"}, {"count", "+1", "+1: not a whole number"}, {"count", "0", "0: too small; at least 1"}, {"count", "11", "11: too large; at most 10"},
		{"count", "-99999999999999999999", "-99999999999999999999: too small; at least 1"}, {"count", "99999999999999999999", "99999999999999999999: too large; at most 10"},
		{"count", "", "the value is empty; not a whole number"}, {"seed", "0", "0: too small; at least 1"}, {"seed", "-1", "-1: not a whole number up to 18446744073709551615"},
		{"size", "1000", "1000: too small; at least 1KiB"}, {"share", "1.5", "1.5: more than 1; write a decimal from 0 to 1, such as 0.5"}, {"share", "1.", "1.: not a share; write a decimal from 0 to 1, such as 0.5"},
		{"mark", "0", "0: must be more than 0, and at most 1"}, {"factor", "0.5", "0.5: too small; at least 1"}, {"time", "20", "20: no unit; write 20s or 250ms"}, {"time", "0s", "0s: must be more than 0s"},
		{"time", "-5s", "-5s: must be more than 0s"}, {"beat", "1us", "1us: too small; at least 1ms"}, {"mode", "fio", "fio: no such choice; did you mean fifo?"}, {"mode", "", "the value is empty; no such choice; one of fair, fifo"},
		{"name", "", "the value is empty"}, {"toggled", "yes", "takes no value"}, {"maybe", "2", "2: more than 1; write a decimal from 0 to 1, such as 0.5"},
	} {
		var o, none options
		if err := o.values()[c[0]].Set(c[1]); err == nil || err.Error() != c[2] {
			t.Errorf("%s %q: %v, want %s", c[0], c[1], err, c[2])
		}
		if o.count != none.count || o.time != none.time || o.mode != none.mode || o.maybe != nil {
			t.Errorf("%s %q: a value that is refused is kept: %+v", c[0], c[1], o)
		}
	}
}

func TestNamesOfFieldsBecomeFlags(t *testing.T) {
	var o options
	toggle := func(name, field string) setting.Setting {
		return setting.Of(name, field, "", "", setting.Toggle(&o.toggled))
	}
	all := []setting.Setting{toggle("map-slots", "Map"), toggle("reducers", "Reducers MapOnly"), toggle("decode", "Raw=none"), toggle("webhdfs", "HDFS.Web"), toggle("k", "Keys")}
	flags, words := setting.Fields(all, (*setting.Setting).Flag), setting.Fields(all, (*setting.Setting).Word)
	for field, want := range map[string][2]string{
		"Options.MapOnly": {"--reducers", "reducers"}, "Options.Map": {"--map-slots", "map-slots"}, "Options.MapSlots": {"map_slots", "map_slots"}, "Options.Keys": {"-k", "k"},
		"Options.Raw": {"--decode none", "decode none"}, "Options.HDFS.Web": {"--webhdfs", "webhdfs"}, "Submission.After": {"after", "after"},
		"Options.GroupTrackers[1]": {"group_trackers[1]", "group_trackers[1]"}, "JobOptions.Map": {"JobOptions.Map", "JobOptions.Map"}, "max_slots": {"max_slots", "max_slots"}, "": {},
	} {
		if flag, word := flags(field), words(field); flag != want[0] || word != want[1] {
			t.Errorf("%q: %q and %q, want %q", field, flag, word, want)
		}
	}
}

// TestWithoutAMisspelledName panics when the table is made, which any test of a command does.
func TestWithoutAMisspelledName(t *testing.T) {
	all := []setting.Setting{{Name: "seed"}, {Name: "width"}}
	if left := setting.Without(all, "seed"); len(left) != 1 || left[0].Name != "width" {
		t.Error(left)
	}
	defer func() {
		if recover() == nil {
			t.Error("a misspelled name is taken")
		}
	}()
	setting.Without(all, "sede")
}
