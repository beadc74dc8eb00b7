package outlet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"sync"

	"coroner/classify/deliver"
	"coroner/classify/notify"
	"coroner/cmd/daemon"

	"github.com/rs/zerolog"
)

// notices tell the receivers of a file, which can be read again while they run.
type notices struct {
	file    string
	inForce []byte // its text
	changed chan *notify.Config
	loop    func(*notify.Config, notify.Receiver) *deliver.Loop
	log     zerolog.Logger
}

// load reads the file; where it has mistakes, or says what it said, nothing changes.
func (n *notices) load() error {
	if n.file == "" {
		return nil
	}
	data, err := os.ReadFile(n.file)
	if err != nil {
		return daemon.Wrong("notify.config-file", "%w", err)
	}
	config, err := notify.Parse(n.file, data)
	if err != nil || bytes.Equal(data, n.inForce) {
		return err
	}
	n.inForce = data
	select {
	case <-n.changed: // nobody needs the one between
	default:
	}
	n.changed <- config
	n.log.Info().Str("file", n.file).Int("receivers", len(config.Receivers)).Msg("notify configuration loaded")
	return nil
}

// content names what load would read, and whether it could.
func (n *notices) content() string {
	data, unread := os.ReadFile(n.file)
	_, bad := notify.Parse(n.file, data)
	sum := sha256.Sum256(data)
	return fmt.Sprint(hex.EncodeToString(sum[:]), unread, bad)
}

// run tells the receivers until ctx is done. Those of a file that was read again begin when those
// before have stopped; what they had not yet sent is still on the ledger's lists.
func (n *notices) run(ctx context.Context) error {
	stop, told := func() {}, sync.WaitGroup{}
	for {
		select {
		case <-ctx.Done():
			stop()
			told.Wait()
			return nil
		case config := <-n.changed:
			stop()
			told.Wait()
			inner, cancel := context.WithCancel(ctx)
			stop = cancel
			for _, r := range config.Receivers {
				told.Go(func() { _ = n.loop(config, r).Run(inner) }) // it ends with its context, without an error
			}
		}
	}
}
