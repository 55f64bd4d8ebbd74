package slots

import "mrlocal/internal/ppm"

// PPM is a share in parts per million, so that capacity arithmetic stays in
// integers.
type PPM = ppm.Share

// One is the whole.
const One = ppm.One

// ParsePPM reads a decimal such as 0.25, exactly.
func ParsePPM(text string) (PPM, error) { return ppm.Parse(text) }
