//go:build !linux

package affinity

func allowed() ([]int, error) { return nil, ErrUnsupported }

func bind(int) error { return ErrUnsupported }
