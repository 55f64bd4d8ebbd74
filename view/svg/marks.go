package svg

import (
	"fmt"
	"io"

	"mrlocal/view"
)

// canvas draws signs on w. height is that of a bar, in pixels.
type canvas struct {
	w      io.Writer
	height float64
}

// rect draws a rectangle with the height of a bar. x, y and width are in pixels.
func (c canvas) rect(class string, x, y, width float64) {
	fmt.Fprintf(c.w, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, num(x), num(y), num(width), num(c.height))
}

// phase draws the sign of a phase in a hue. y is the top edge of the bar. The edge of a phase that does not fill the
// whole height has a line.
func (c canvas) phase(hue int, id view.SignID, x, y, width float64) {
	s := view.SignOf(id)
	top := y + c.height*(1-s.Height)
	fmt.Fprintf(c.w, `<rect class="h%d%s" x="%s" y="%s" width="%s" height="%s"/>`, hue, s.Name, num(x), num(top), num(width), num(c.height*s.Height))
	if s.Height < 1 {
		fmt.Fprintf(c.w, `<path class="edge" d="M%s %sh%s"/>`, num(x), num(top), num(width))
	}
	switch s.Mark {
	case view.Dots:
		fmt.Fprintf(c.w, `<rect class="dots" x="%s" y="%s" width="%s" height="%s"/>`, num(x), num(top), num(width), num(c.height*s.Height))
	case view.Rule:
		fmt.Fprintf(c.w, `<path class="rule h%drule" d="M%s %sh%s"/>`, hue, num(x), num(y+c.height*ruleAt), num(width))
	}
}

// ruleAt is the place of the line of view.Rule, as a share of the bar's height from its top.
const ruleAt = 0.25

// mark draws the mark of a whole bar, and its outline.
func (c canvas) mark(m view.Mark, x, y, width float64) {
	switch m {
	case view.Up, view.Down, view.Network:
		c.rect(string(m), x, y, width)
	case view.Cross:
		c.rect("hollow", x, y, width)
		fmt.Fprintf(c.w, `<path class="cross" d="M%s %sL%s %sM%s %sL%s %s"/>`, num(x), num(y), num(x+width), num(y+c.height), num(x), num(y+c.height), num(x+width), num(y))
	case view.Dashes:
		c.rect("dashesground", x, y, width)
		c.rect("dashes", x, y, width)
		return
	case view.Strip:
		c.strip(x+width/4, y, width/2, "")
	}
	c.rect("outline", x, y, width)
	if m == view.Corner {
		deep := min(width, max(7, c.height/5))
		right := x + width + 0.5
		fmt.Fprintf(c.w, `<path class="corner" d="M%s %sL%s %sL%s %sZ"/>`, num(right), num(y-0.5), num(right-deep), num(y-0.5), num(right), num(y+deep))
	}
}

// strip draws the strip of a spill. title is an element or "".
func (c canvas) strip(x, y, width float64, title string) {
	high := max(4, c.height/8)
	fmt.Fprintf(c.w, `<rect class="strip" x="%s" y="%s" width="%s" height="%s">%s</rect>`, num(x), num(y+c.height-high), num(width), num(high), title)
}
