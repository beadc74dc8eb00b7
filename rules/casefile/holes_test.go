package casefile

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"coroner/ingest"
)

// However many holes there are, few are looked through, and none of them says that something
// was read that was not: what was near a death stays near it, source by source.
func TestFewHoles(t *testing.T) {
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	random := rand.New(rand.NewPCG(1, 2))
	sources := []ingest.Source{ingest.Kernel, ingest.Kubelet, ingest.Containerd}
	for _, n := range []int{3, maxHoles, maxHoles + 1, 20 * maxHoles} {
		for _, apart := range []int{1, 40, 4000} {
			all := []Coverage{{Source: ingest.Kernel, From: at, To: at.Add(time.Hour)}}
			for i := range n {
				from := at.Add(time.Duration(random.IntN(apart*n)) * time.Second)
				k := Coverage{
					Source: sources[i%3],
					From:   from,
					To:     from.Add(30 * time.Second),
					Why:    fmt.Sprint("lost ", i%7),
				}
				switch i % 50 {
				case 48:
					k.From = time.Time{}
				case 49:
					k.To = time.Time{}
				}
				all = append(all, k)
			}
			few := FewHoles(all)
			if n <= maxHoles && len(few) != len(all) || len(few) > maxHoles+10 {
				t.Errorf("%d holes, %d s apart: %d are left", n, apart, len(few)-1)
			}
			for range 500 {
				died := at.Add(time.Duration(random.IntN(apart*n)) * time.Second)
				for _, s := range sources {
					if near(all, s, died) && !near(few, s, died) {
						t.Fatalf("%d holes, %d s apart: none of %s is near %v any more", n, apart, s, died)
					}
				}
			}
		}
	}
}

func near(all []Coverage, s ingest.Source, died time.Time) bool {
	for _, k := range all {
		if k.Source == s && k.Why != "" && nearDeath(new(Case), k, died) {
			return true
		}
	}
	return false
}
