package fsm

import (
	"reflect"
	"testing"

	"limitsrv/engine/slots"
)

// TestControlKinds: each field of a ControlEntry has a kind, which no other field is, and which
// changes the cluster's state.
func TestControlKinds(t *testing.T) {
	named := make(map[string]int)
	for i, kind := range controlKinds {
		named[kind.name] = i
	}
	samples := map[string]ControlEntry{
		"Member": {Member: &Member{Node: "a"}}, "Gone": {Gone: "old"}, "Level": {Level: 2}, "Skipped": {Skipped: true},
		"Division": {Division: &Division{}}, "Group": {Group: &OtherGroup{Owned: slots.Set{{First: 5, Last: 9}}}},
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[ControlEntry]()) {
		i, ok := named[field.Name]
		c, sampled := samples[field.Name]
		if !ok || !sampled {
			t.Errorf("the field %s: has a kind %v, has a sample %v", field.Name, ok, sampled)
			continue
		}
		for j, kind := range controlKinds {
			if is := kind.is(&c); is != (i == j) {
				t.Errorf("an entry with %s is of the kind %s: %v", field.Name, kind.name, is)
			}
		}
		state := clusterState{Members: map[string]Member{"old": {Node: "old"}}, Level: 1}
		if field.Name == "Group" {
			state.Division = &Division{Owned: slots.Set{{First: 0, Last: 4}}}
		}
		before := state.clone()
		if state.apply(7, &c); reflect.DeepEqual(state, before) {
			t.Errorf("an entry with %s changes nothing", field.Name)
		}
	}
	if len(named) != len(controlKinds) || len(controlKinds) != reflect.TypeFor[ControlEntry]().NumField() {
		t.Errorf("%d kinds with %d names for %d fields", len(controlKinds), len(named),
			reflect.TypeFor[ControlEntry]().NumField())
	}
}
