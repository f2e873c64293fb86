//go:build !linux

package persist

import "errors"

// mapsFiles reports whether mapShared works.
const mapsFiles = false

func mapShared(uintptr, int) ([]byte, func() error, error) { return nil, nil, errors.ErrUnsupported }
