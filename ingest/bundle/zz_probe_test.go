package bundle
import ("testing";"os";"fmt";"strings";"sort";"runtime";"time";"coroner/ingest")
func TestProbe(t *testing.T){
 for _,p:=range strings.Fields(os.Getenv("KP")) {
  t0:=time.Now()
  b,err:=Open([]string{p},Options{Now:time.Now()})
  if err!=nil{t.Fatal(err)}
  n:=map[string]int{}; mk:=map[string]int{}
  var peak uint64
  calls:=0
  for e:=range b.Entries(func(pr Progress){calls++; if calls%20==0 {var m runtime.MemStats; runtime.ReadMemStats(&m); if m.Sys>peak{peak=m.Sys}}}) {
   if e.Mark!=nil {mk[fmt.Sprintf("%s/%d/%s", e.Source,e.Mark.Kind,e.Pod)]++; continue}
   n[fmt.Sprintf("%s/%d",e.Source,e.Trust)]++
  }
  fmt.Println("==",p,b.Documents(),b.ref.Format(time.RFC3339),b.times.zone,time.Since(t0).Round(time.Millisecond),"sysMB",peak>>20)
  pr:=func(m map[string]int){ks:=[]string{}; for k:=range m{ks=append(ks,k)}; sort.Strings(ks); for _,k:=range ks{fmt.Print(" ",k,":",m[k])}; fmt.Println()}
  pr(n); if len(mk)<30 {pr(mk)}
  for _,q:=range b.Problems(){fmt.Println(" PROBLEM",q)}
 }
}
