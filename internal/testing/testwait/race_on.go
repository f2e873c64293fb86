//go:build race

package testwait

const raceDetector = true
