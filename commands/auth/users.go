package auth

import (
	"maps"
	"slices"
)

// HasFile reports whether there is a users file.
func (l *Logins) HasFile() bool { return l.config.Users != nil }

// Reload reads the users file again and returns the number of its users. Users that were
// removed, disabled or given another hash are revoked; all other users have their new
// rights at once. An invalid file changes nothing; its error is logged as well as returned.
// Requires: HasFile.
func (l *Logins) Reload() (int, error) {
	l.reloading.Lock()
	defer l.reloading.Unlock()
	t, err := l.config.Load()
	if err != nil {
		l.config.Log.Error("users file not loaded; the previous users stay in effect", "error", err)
		return 0, err
	}
	l.current.Store(l.current.Load().next(t))
	l.forget()
	return len(t.Users), nil
}

// Needed reports whether a connection must log in.
func (l *Logins) Needed() bool { return l.Initial() == nil }

// Initial returns the account of a connection before login; nil: no account.
func (l *Logins) Initial() *Account { return l.current.Load().initial }

// Find returns the account of a name; nil: no such user.
func (l *Logins) Find(name string) *Account { return l.current.Load().byName[name] }

// Describe returns the listing of a user. ok is false if there is no such user.
func (l *Logins) Describe(name string) (listing Listing, ok bool) {
	return l.current.Load().describe(name)
}

// List returns the listings of all users, by name.
func (l *Logins) List() []Listing {
	r := l.current.Load()
	var all []Listing
	for _, name := range slices.Sorted(maps.Keys(r.byName)) {
		one, _ := r.describe(name)
		all = append(all, one)
	}
	return all
}
