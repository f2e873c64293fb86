package engine

// ReservationStats count reservations, each with all of its limits and extensions.
type ReservationStats struct {
	// Open and Settled are the records of ids now. Open counts the reservations that are not settled,
	// including expired reservations until their ids are forgotten.
	Open, Settled int64

	// The remaining fields are totals since New or SetCounting. The first four count answers to requests.
	Granted, Limited, Repeated int64
	Conflicts                  int64 // BUSYKEY: an id of another request, canceled or expired; also with ONCE
	// Settlements that acted: a commit, a cancel, or a commit after the end.
	Committed, Canceled, Late int64
	// Permits, each on one limit: reserved; and of settled reservations used, given back, and used
	// beyond the reserved permits. For late commits Beyond counts permits beyond the kept permits.
	Reserved, Used, GivenBack, Beyond int64

	left     int64 // open records that were replaced or forgotten
	replaced int64 // of these, by another record of the same id
	named    int64 // open records with named amounts now
}

// Expired returns the number of open records that were removed without a settlement: five minutes after
// the end, or earlier because the key was deleted, flushed or evicted.
func (t *ReservationStats) Expired() int64 { return t.left - t.replaced }

// A Count is a number with its name.
type Count struct {
	Name string
	N    int64
}

// States are the numbers of records now, by state.
func (t *ReservationStats) States() []Count { return []Count{{"open", t.Open}, {"settled", t.Settled}} }

// Results are the numbers of requests by result.
func (t *ReservationStats) Results() []Count {
	return []Count{{"granted", t.Granted}, {"limited", t.Limited}, {"repeated", t.Repeated}}
}

// Settlements are the numbers of reservations by their end.
func (t *ReservationStats) Settlements() []Count {
	return []Count{{"committed", t.Committed}, {"canceled", t.Canceled}, {"late", t.Late}, {"expired", t.Expired()}}
}

// Tokens are the numbers of permits by their use.
func (t *ReservationStats) Tokens() []Count {
	return []Count{{"reserved", t.Reserved}, {"used", t.Used}, {"given_back", t.GivenBack}, {"beyond", t.Beyond}}
}

func (t *ReservationStats) add(more *ReservationStats) {
	for _, x := range [...]struct {
		to *int64
		n  int64
	}{
		{&t.Open, more.Open}, {&t.Settled, more.Settled}, {&t.Granted, more.Granted}, {&t.Limited, more.Limited},
		{&t.Repeated, more.Repeated}, {&t.Conflicts, more.Conflicts}, {&t.Committed, more.Committed},
		{&t.Canceled, more.Canceled}, {&t.Late, more.Late}, {&t.Reserved, more.Reserved}, {&t.Used, more.Used},
		{&t.GivenBack, more.GivenBack}, {&t.Beyond, more.Beyond}, {&t.left, more.left}, {&t.replaced, more.replaced},
	} {
		*x.to += x.n
	}
}

// current returns the numbers of now alone.
func (t *ReservationStats) current() ReservationStats {
	return ReservationStats{Open: t.Open, Settled: t.Settled, named: t.named}
}

// none returns the totals once all records are gone.
func (t ReservationStats) none() ReservationStats {
	t.left += t.Open
	t.Open, t.Settled, t.named = 0, 0, 0
	return t
}
