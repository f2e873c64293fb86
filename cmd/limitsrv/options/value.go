package options

import (
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"limitsrv/persist"
)

// Levels returns the log levels that people choose from.
func Levels() []string { return []string{"debug", "info", "warn", "error"} }

// readLevel decodes a log level for kong.
func readLevel(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("level", &text); err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(text)); err != nil {
		return fmt.Errorf("must be one of: %s, got %q", strings.Join(Levels(), ", "), text)
	}
	target.Set(reflect.ValueOf(level))
	return nil
}

// accepts reports whether value is valid for flag.
func accepts(flag *kong.Flag, value string) bool {
	if flag.Enum != "" && !slices.Contains(flag.EnumSlice(), value) {
		return false
	}
	scan := kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: value})
	return flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan},
		reflect.New(flag.Target.Type()).Elem()) == nil
}

// Choices returns all values that flag accepts, or nil if they are not a fixed set.
func Choices(flag *kong.Flag) []string {
	if flag.Enum != "" {
		return flag.EnumSlice()
	}
	switch flag.Target.Interface().(type) {
	case persist.Policy:
		return []string{"always", "everysec", "no"}
	case slog.Level:
		return Levels()
	}
	return nil
}

// requirement describes the values that flag accepts.
func requirement(flag *kong.Flag) string {
	if few := Choices(flag); few != nil {
		return "must be one of: " + strings.Join(few, ", ")
	}
	switch flag.Target.Interface().(type) {
	case bool:
		return "must be true or false"
	case int:
		return "must be a whole number"
	case time.Duration:
		return "must be a duration, such as 500ms, 10s or 24h"
	case Size:
		return "must be a size, such as 1000, 64kb, 256mb or 2gb"
	case []string:
		return "must be a list of strings, such as [a, b]"
	case string:
		return "must be a string"
	}
	return "must be: " + flag.Help
}

// valueText formats the value of an option as CONFIG GET reports it.
func valueText(f *kong.Flag) string {
	switch v := f.Target.Interface().(type) {
	case Size:
		return strconv.FormatInt(int64(v), 10)
	case time.Duration:
		return Seconds(v)
	case []string:
		return strings.Join(v, ",")
	default:
		return fmt.Sprint(v)
	}
}

// fileValue converts the value of CONFIG GET for a settable option to its form in a
// configuration file.
func fileValue(f *kong.Flag, value string) string {
	switch f.Target.Interface().(type) {
	case time.Duration:
		return value + "s"
	case slog.Level:
		return strings.ToLower(value)
	case Size:
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return Size(n).String()
		}
	}
	return value
}

// Seconds formats d as CONFIG GET reports durations.
func Seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
